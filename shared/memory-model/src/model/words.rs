//! The words of a text, in the forms in which a proposal is compared with its source.

use std::collections::HashSet;
use std::sync::LazyLock;

use text::calendar::CalendarWords;
use text::find_words;

/// Words without content, in the languages that use them often. Denials are among them: they may be
/// paraphrased, and are compared separately.
static FUNCTION_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("empty_words.txt").split_whitespace().collect());

/// Characters of Chinese and Japanese that only connect others.
const FUNCTION_CHARACTERS: &str = "的了是在有和与也都会将被于我他她它你们個个着把之为為";

/// Endings that change with number, tense and case. The longest that fits is removed.
const INFLECTION_ENDINGS: &[&str] = &[
    "ations", "ation", "ments", "ement", "ungen", "ings", "ment", "ness", "ies", "ied", "ing",
    "ung", "ern", "est", "ten", "ly", "ed", "en", "er", "es", "em", "et", "te", "e", "s", "t", "y",
    "a", "o",
];

/// The form of a word, which decides how strictly it must be in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordForm {
    /// A word that connects others.
    Function,
    /// A word with digits, or a number in words.
    Number,
    /// A word with a capital that does not begin a sentence.
    Name,
    /// A word with a capital that begins a sentence: a name or any other word.
    Initial,
    /// Any other word of a script with capitals.
    Plain,
    /// A word of a script that does not mark names.
    Uncased,
}

#[derive(Debug, Clone)]
pub(super) struct SourceWord<'a> {
    pub(super) text: &'a str,
    /// The word in lower case, without a possessive ending.
    pub(super) lower: String,
    pub(super) form: WordForm,
    /// Its position in bytes.
    pub(super) at: usize,
}

/// Returns the words of a text in their order.
pub(super) fn tokenize_words(text: &str) -> Vec<SourceWord<'_>> {
    let mut end = 0;
    let mut words = Vec::new();
    for word in find_words(text) {
        let between = text.get(end..word.start).unwrap_or_default();
        let starts_sentence =
            words.is_empty() || between.contains(['.', '!', '?', ':', '\n', '。', '！', '？']);
        let lower = strip_possessive(&word.text.to_lowercase());
        words.push(SourceWord {
            text: word.text,
            form: classify_word(word.text, &lower, starts_sentence),
            lower,
            at: word.start,
        });
        end = word.end();
    }

    words
}

/// Returns the roots of the words with content in a text.
pub(super) fn content_roots(text: &str) -> HashSet<String> {
    let mut roots = HashSet::new();
    for word in tokenize_words(text) {
        if word.form != WordForm::Function {
            roots.insert(word_root(&word.lower));
        }
    }

    roots
}

fn classify_word(word: &str, lower: &str, starts_sentence: bool) -> WordForm {
    let first = word.chars().next().unwrap_or_default();
    let is_capitalized = first.is_uppercase() && !starts_sentence && word != "I";

    // A number in words is as binding as digits, in scripts in which it is a word of its own.
    let is_number_word =
        lower.contains(char::is_lowercase) && CalendarWords::shared().is_number(lower);
    if word.chars().any(char::is_numeric) || is_number_word {
        WordForm::Number
    } else if is_capitalized {
        // A capital decides even for words that usually connect others, such as May and Will.
        WordForm::Name
    } else if FUNCTION_WORDS.contains(lower)
        || FUNCTION_CHARACTERS.contains(first)
        || is_hiragana(word)
    {
        WordForm::Function
    } else if word.chars().any(char::is_uppercase) {
        if starts_sentence {
            WordForm::Initial
        } else {
            WordForm::Name
        }
    } else if word.chars().any(char::is_lowercase) {
        WordForm::Plain
    } else {
        WordForm::Uncased
    }
}

/// Checks for hiragana, which writes connecting words and inflections.
fn is_hiragana(word: &str) -> bool {
    word.chars().all(|c| ('\u{3041}'..='\u{309f}').contains(&c))
}

fn strip_possessive(lower: &str) -> String {
    let bare = match lower.strip_suffix("'s") {
        Some(bare) => bare,
        None => lower.strip_suffix("’s").unwrap_or(lower),
    };
    bare.trim_matches(['\'', '’']).to_owned()
}

/// Returns the part of a lower-case word that inflection does not change. It is an approximation,
/// the same for all languages.
pub(super) fn word_root(lower: &str) -> String {
    if lower.chars().any(char::is_numeric) {
        return lower.to_owned();
    }

    if lower
        .chars()
        .all(|c| ('\u{ac00}'..='\u{d7a3}').contains(&c))
    {
        // Korean particles follow the stem without a space.
        return lower.chars().take(2).collect();
    }

    if !lower.chars().any(|c| c.is_lowercase()) {
        let mut root = lower.to_owned();
        if root.chars().count() > 3 {
            root.pop();
        }
        return root;
    }

    let mut stem = strip_inflection(lower).to_owned();
    let mut backwards = stem.chars().rev();
    if let (Some(last), Some(previous)) = (backwards.next(), backwards.next())
        && last == previous
        && last.is_ascii_alphabetic()
        && stem.chars().count() > 3
    {
        stem.pop();
    }

    stem
}

/// Removes the longest ending that leaves a stem of three characters or more.
fn strip_inflection(lower: &str) -> &str {
    for ending in INFLECTION_ENDINGS {
        if let Some(stem) = lower.strip_suffix(ending)
            && stem.chars().count() >= 3
        {
            return stem;
        }
    }

    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_share_a_root() {
        for group in [
            &["plan", "plans", "planned", "planning"][..],
            &["move", "moved", "moving", "moves"],
            &["study", "studies", "studied"],
            &["wohne", "wohnt", "wohnen"],
            &["서울에", "서울은"],
            &["रहता", "रहती"],
        ] {
            let roots: HashSet<_> = group.iter().map(|word| word_root(word)).collect();
            assert_eq!(roots.len(), 1, "{roots:?}");
        }
        assert_ne!(word_root("tea"), word_root("team"));
    }

    #[test]
    fn forms_tell_names_and_numbers_from_words() {
        let forms: Vec<_> = tokenize_words("Tea is what Kira's 3 cats like. 东京 two")
            .into_iter()
            .map(|w| w.form)
            .collect();
        use WordForm::{Function, Initial, Name, Number, Plain, Uncased};
        let expected = [
            Initial, Function, Plain, Name, Number, Plain, Plain, Uncased, Uncased, Number,
        ];
        assert_eq!(forms, expected);
    }
}
