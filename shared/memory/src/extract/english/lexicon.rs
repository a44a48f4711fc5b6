//! Classification of words.

use super::classes::{ADVERB, AUXILIARY, DETERMINER, MODAL, PREPOSITION, PRONOUN, SMALL, is};
use super::verbs::listed;

/// The form of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `work`.
    Base,
    /// `works`.
    Present,
    /// `worked`, as past tense or participle.
    Past,
    /// `working`.
    Ing,
}

/// Words that end like a past form but are not one.
const NOT_PAST: &[&str] = &[
    "need", "feed", "speed", "seed", "weed", "succeed", "proceed", "exceed", "indeed", "hundred",
    "red", "bed", "wed", "sacred", "naked", "kindred", "embed", "shed", "sled", "bleed", "breed",
];

/// Returns the base and the form of `low` if it is a form of a known verb. For an unknown word in
/// -ed, the base is empty.
pub(crate) fn verb(low: &str) -> Option<(&'static str, Form)> {
    if let Some(found) = listed(low) {
        return Some(found);
    }

    if let Some(again) = low.strip_prefix("re-") {
        return verb(again);
    }

    let regular = if let Some(stem) = low.strip_suffix("ing") {
        based(stem).map(|base| (base, Form::Ing))
    } else if let Some(stem) = low.strip_suffix("ed") {
        based(stem).map(|base| (base, Form::Past))
    } else {
        third_person(low).map(|base| (base, Form::Present))
    };

    let past = || low.len() > 4 && low.ends_with("ed") && !NOT_PAST.contains(&low);
    regular.or_else(|| past().then_some(("", Form::Past)))
}

/// Returns the base of `low` if it is a form of a known verb, or an empty string.
pub(crate) fn base(low: &str) -> &'static str {
    verb(low).map_or("", |(base, _)| base)
}

fn known(low: &str) -> Option<&'static str> {
    listed(low)
        .filter(|(_, form)| *form == Form::Base)
        .map(|(base, _)| base)
}

/// Returns the verb whose form without -ing or -ed is `stem`: unchanged, with an added e, with y
/// for i, or with a doubled consonant reduced.
fn based(stem: &str) -> Option<&'static str> {
    let mut other = String::with_capacity(stem.len() + 1);
    other.push_str(stem);
    other.push('e');
    if let Some(base) = known(&other).or_else(|| known(stem)) {
        return Some(base);
    }

    if let Some(short) = stem.strip_suffix('i') {
        return known(&format!("{short}y"));
    }

    let mut ends = stem.bytes().rev();
    match (ends.next(), ends.next()) {
        (Some(last), Some(before)) if last == before && last.is_ascii_alphabetic() => {
            known(&stem[..stem.len() - 1])
        }
        _ => None,
    }
}

fn third_person(low: &str) -> Option<&'static str> {
    let stem = low.strip_suffix('s')?;
    known(stem)
        .or_else(|| stem.strip_suffix('e').and_then(known))
        .or_else(|| {
            stem.strip_suffix("ie")
                .and_then(|short| known(&format!("{short}y")))
        })
}

/// Returns the third person of a base form: `works`, `tries`, `watches`.
pub(crate) fn third(base: &str) -> String {
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
pub(crate) fn auxiliary(low: &str) -> bool {
    is(low, AUXILIARY | MODAL)
}

/// Checks whether the word is a modal verb.
pub(crate) fn modal(low: &str) -> bool {
    is(low, MODAL)
}

/// Checks whether the word is an adverb that may stand between a subject and its verb.
pub(crate) fn adverb(low: &str) -> bool {
    is(low, ADVERB)
}

/// Checks whether the word opens a noun phrase.
pub(crate) fn determiner(low: &str) -> bool {
    is(low, DETERMINER)
}

/// Checks whether the word is a preposition that continues a noun phrase or follows a verb.
pub(crate) fn preposition(low: &str) -> bool {
    is(low, PREPOSITION)
}

/// Checks whether the word is a pronoun that needs another sentence to be understood.
pub(crate) fn pronoun(low: &str) -> bool {
    is(low, PRONOUN)
}

/// Checks whether the word carries meaning of its own.
pub(crate) fn content(low: &str) -> bool {
    low.chars().next().is_some_and(char::is_alphanumeric) && !is(low, SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_by_their_forms() {
        let cases = [
            ("lives", Some(("live", Form::Present))),
            ("moved", Some(("move", Form::Past))),
            ("planning", Some(("plan", Form::Ing))),
            ("tried", Some(("try", Form::Past))),
            ("watches", Some(("watch", Form::Present))),
            ("studies", Some(("study", Form::Present))),
            ("went", Some(("go", Form::Past))),
            ("need", Some(("need", Form::Base))),
            ("frobbed", Some(("", Form::Past))),
            ("table", None),
            ("red", None),
        ];
        for (word, expected) in cases {
            assert_eq!(verb(word), expected, "{word}");
        }

        let thirds = ["have", "try", "play", "watch", "live"].map(third);
        assert_eq!(thirds, ["has", "tries", "plays", "watches", "lives"]);
    }
}
