//! Words in the form in which statements are compared: two statements with the same words say the
//! same.

use domain::memory::OF_ANOTHER;
use text::find_words;

/// Words that do not change the meaning of a statement. Sorted.
const FUNCTION_WORDS: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "being", "by", "did", "do", "does",
    "for", "from", "had", "has", "have", "in", "is", "it", "its", "of", "on", "or", "that", "the",
    "their", "there", "this", "to", "very", "was", "were", "will", "with",
];

/// Words that turn a statement into its opposite, in the supported languages. Sorted.
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

/// Returns the words of a text in their order, in lower case and without possessive endings.
pub fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in find_words(&text.to_lowercase()) {
        let word = word.text.replace('’', "'");
        words.push(word.strip_suffix("'s").unwrap_or(&word).to_owned());
    }

    words
}

/// Returns the aspect of a person's life without the mark that it is another's: `school` for `school
/// of another`.
pub(crate) fn own_aspect(aspect: &str) -> &str {
    aspect.strip_suffix(OF_ANOTHER).unwrap_or(aspect)
}

/// Checks whether the text contains a negation.
pub fn is_negated(text: &str) -> bool {
    split_words(text).iter().any(|word| is_negation(word))
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.binary_search(&word).is_ok() || word.ends_with("n't")
}

/// Returns the words that carry the meaning of a statement.
///
/// Function words and negations are left out, so statements that say the same, or the opposite,
/// have the same content words. A text of nothing but such words keeps all of them.
pub fn content_words(text: &str) -> Vec<String> {
    let all_words = split_words(text);
    let mut content = Vec::new();
    for word in &all_words {
        let is_function_word = FUNCTION_WORDS.binary_search(&word.as_str()).is_ok();
        if !is_function_word && !is_negation(word) {
            content.push(strip_plural(word).to_owned());
        }
    }

    if content.is_empty() {
        all_words
    } else {
        content
    }
}

/// Removes the ending of an English plural or third person.
fn strip_plural(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(rest) if rest.len() > 2 && rest.is_ascii() && !rest.ends_with('s') => rest,
        _ => word,
    }
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
        for (statement, opposite) in [
            ("The API supports gRPC.", "The API does not support gRPC."),
            ("Anna eats meat", "Anna doesn't eat meat"),
            ("Anna's dog is Rex.", "Anna's dogs are not Rex"),
        ] {
            assert_eq!(content_words(statement), content_words(opposite));
            assert!(!is_negated(statement) && is_negated(opposite), "{opposite}");
        }
        assert_ne!(
            content_words("Anna prefers tea over coffee"),
            content_words("Anna prefers coffee over tea")
        );
    }
}
