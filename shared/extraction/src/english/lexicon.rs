//! Classification of words.

use super::classes::{
    ADVERB, AUXILIARY, DETERMINER, MODAL, PREPOSITION, PRONOUN, SMALL, is_in_class,
};
use super::verbs::find_verb;
use super::vocabulary::vocabulary;

/// The form of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerbForm {
    /// `work`.
    Base,
    /// `works`.
    Present,
    /// `worked`, as past tense or participle.
    Past,
    /// `working`.
    Ing,
}

/// Returns the base and the form of `lower` if it is a form of a known verb. For an unknown word in
/// -ed, the base is empty.
pub(crate) fn parse_verb(lower: &str) -> Option<(&'static str, VerbForm)> {
    if let Some(found) = find_verb(lower) {
        return Some(found);
    }

    if let Some(unprefixed) = lower.strip_prefix("re-") {
        return parse_verb(unprefixed);
    }

    let regular = if let Some(stem) = lower.strip_suffix("ing") {
        base_of_stem(stem).map(|base| (base, VerbForm::Ing))
    } else if let Some(stem) = lower.strip_suffix("ed") {
        base_of_stem(stem).map(|base| (base, VerbForm::Past))
    } else {
        base_of_third_person(lower).map(|base| (base, VerbForm::Present))
    };

    let is_past =
        || lower.len() > 4 && lower.ends_with("ed") && !vocabulary().false_past_forms.has(lower);
    regular.or_else(|| is_past().then_some(("", VerbForm::Past)))
}

/// Returns the base of `lower` if it is a form of a known verb, or an empty string.
pub(crate) fn verb_base(lower: &str) -> &'static str {
    parse_verb(lower).map_or("", |(base, _)| base)
}

fn base_form(lower: &str) -> Option<&'static str> {
    find_verb(lower)
        .filter(|(_, form)| *form == VerbForm::Base)
        .map(|(base, _)| base)
}

/// Returns the verb whose form without -ing or -ed is `stem`: unchanged, with an added e, with y
/// for i, or with a doubled consonant reduced.
fn base_of_stem(stem: &str) -> Option<&'static str> {
    let mut with_e = String::with_capacity(stem.len() + 1);
    with_e.push_str(stem);
    with_e.push('e');
    if let Some(base) = base_form(&with_e).or_else(|| base_form(stem)) {
        return Some(base);
    }

    if let Some(short) = stem.strip_suffix('i') {
        return base_form(&format!("{short}y"));
    }

    let mut reversed = stem.bytes().rev();
    match (reversed.next(), reversed.next()) {
        (Some(last), Some(before)) if last == before && last.is_ascii_alphabetic() => {
            base_form(&stem[..stem.len() - 1])
        }
        _ => None,
    }
}

fn base_of_third_person(lower: &str) -> Option<&'static str> {
    let stem = lower.strip_suffix('s')?;
    base_form(stem)
        .or_else(|| stem.strip_suffix('e').and_then(base_form))
        .or_else(|| {
            stem.strip_suffix("ie")
                .and_then(|short| base_form(&format!("{short}y")))
        })
}

/// Returns the third person of a base form: `works`, `tries`, `watches`.
pub(crate) fn to_third_person(base: &str) -> String {
    match base {
        "be" => "is".into(),
        "have" => "has".into(),
        "go" => "goes".into(),
        "do" => "does".into(),
        _ if base.ends_with(['s', 'x', 'z']) || base.ends_with("ch") || base.ends_with("sh") => {
            format!("{base}es")
        }
        _ => match base.strip_suffix('y') {
            Some(short) if !short.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{short}ies"),
            _ => format!("{base}s"),
        },
    }
}

/// Checks whether the word is a form of be, have or do, or a modal verb.
pub(crate) fn is_auxiliary(lower: &str) -> bool {
    is_in_class(lower, AUXILIARY | MODAL)
}

/// Checks whether the word is a modal verb.
pub(crate) fn is_modal(lower: &str) -> bool {
    is_in_class(lower, MODAL)
}

/// Checks whether the word is an adverb that may stand between a subject and its verb.
pub(crate) fn is_adverb(lower: &str) -> bool {
    is_in_class(lower, ADVERB)
}

/// Checks whether the word opens a noun phrase.
pub(crate) fn is_determiner(lower: &str) -> bool {
    is_in_class(lower, DETERMINER)
}

/// Checks whether the word is a preposition that continues a noun phrase or follows a verb.
pub(crate) fn is_preposition(lower: &str) -> bool {
    is_in_class(lower, PREPOSITION)
}

/// Checks whether the word is a pronoun that needs another sentence to be understood.
pub(crate) fn is_pronoun(lower: &str) -> bool {
    is_in_class(lower, PRONOUN)
}

/// Checks whether the word carries meaning of its own.
pub(crate) fn is_content_word(lower: &str) -> bool {
    lower.chars().next().is_some_and(char::is_alphanumeric) && !is_in_class(lower, SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_by_their_forms() {
        let cases = [
            ("lives", Some(("live", VerbForm::Present))),
            ("moved", Some(("move", VerbForm::Past))),
            ("planning", Some(("plan", VerbForm::Ing))),
            ("tried", Some(("try", VerbForm::Past))),
            ("watches", Some(("watch", VerbForm::Present))),
            ("studies", Some(("study", VerbForm::Present))),
            ("went", Some(("go", VerbForm::Past))),
            ("need", Some(("need", VerbForm::Base))),
            ("frobbed", Some(("", VerbForm::Past))),
            ("table", None),
            ("red", None),
        ];
        for (word, expected) in cases {
            assert_eq!(parse_verb(word), expected, "{word}");
        }

        let thirds = ["have", "try", "play", "watch", "live"].map(to_third_person);
        assert_eq!(thirds, ["has", "tries", "plays", "watches", "lives"]);
    }
}
