//! The words that make two statements the same.

use unicode_segmentation::UnicodeSegmentation;

/// Words that change nothing about what is stated. Sorted.
const FUNCTION_WORDS: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "being", "by", "did", "do", "does",
    "for", "from", "had", "has", "have", "in", "is", "it", "its", "of", "on", "or", "that", "the",
    "their", "there", "this", "to", "very", "was", "were", "will", "with",
];

/// Words that turn a statement into its opposite, in the languages that are read. Sorted.
const NEGATIONS: &[&str] = &[
    "cannot",
    "jamais",
    "kein",
    "keine",
    "keinen",
    "mai",
    "never",
    "nicht",
    "nie",
    "niemals",
    "no",
    "non",
    "not",
    "nunca",
    "não",
    "pas",
    "не",
    "никогда",
    "नहीं",
    "不",
    "沒",
    "没",
];

/// The words of a text in lower case, in their order, possessive endings cut off.
pub fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let word = |word: &str| {
        let word = word.replace('’', "'");
        word.strip_suffix("'s").unwrap_or(&word).to_owned()
    };
    lower.unicode_words().map(word).collect()
}

/// Whether the text denies something.
pub fn is_negated(text: &str) -> bool {
    words(text).iter().any(|word| is_negation(word))
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.binary_search(&word).is_ok() || word.ends_with("n't")
}

/// What remains of a statement when the words that change nothing are left out, negations among them: equal for
/// statements that say the same or the opposite.
pub fn essence(text: &str) -> Vec<String> {
    let mut kept: Vec<String> = words(text)
        .into_iter()
        .filter(|word| FUNCTION_WORDS.binary_search(&word.as_str()).is_err() && !is_negation(word))
        .map(|word| singular(&word))
        .collect();
    if kept.is_empty() {
        kept = words(text);
    }
    kept
}

/// Without the ending of an English plural or third person.
fn singular(word: &str) -> String {
    let cut = word
        .strip_suffix('s')
        .filter(|rest| rest.len() > 2 && rest.is_ascii() && !rest.ends_with('s'));
    cut.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(FUNCTION_WORDS.is_sorted() && NEGATIONS.is_sorted());
    }

    #[test]
    fn opposite_statements_have_one_essence() {
        for (one, other) in [
            ("The API supports gRPC.", "The API does not support gRPC."),
            ("Anna eats meat", "Anna doesn't eat meat"),
            ("Anna's dog is Rex.", "Anna's dogs are not Rex"),
        ] {
            assert_eq!(essence(one), essence(other));
            assert!(!is_negated(one) && is_negated(other), "{other}");
        }
        assert_ne!(
            essence("Anna prefers tea over coffee"),
            essence("Anna prefers coffee over tea")
        );
    }
}
