//! Tells changes that have happened from those that might happen, almost happened or did not happen.

use std::ops::Range;

use super::subjects::clause_before;
use super::words::{ChatWords, LowerText, word_ranges, words_of};

/// Phrases that need a negation before them.
const NEGATED_PHRASES: [&str; 2] = ["any more", "anymore"];

/// Checks whether the phrase at a position says what has happened. It does not after a negation, a
/// wish or a condition in its clause: `haven't sold the`, `i want to quit`, `if i lost my job`.
pub(super) fn is_asserted(lower: &LowerText, at: usize, words: &ChatWords) -> bool {
    let rest = &lower.text[at..];
    if NEGATED_PHRASES
        .iter()
        .any(|phrase| rest.starts_with(phrase))
    {
        return true;
    }

    let before = scope_before(&lower.text, at, words);
    !words.words_of_no_change.occur_in(&LowerText::new(before))
}

/// Returns the words before a phrase that may deny it: those of its clause, from the word before its
/// subject on. In `i can't believe i got fired` the denial is of another verb.
fn scope_before<'t>(text: &'t str, at: usize, words: &ChatWords) -> &'t str {
    let clause = clause_before(text, at);
    let clause_at = at - clause.len();
    let is_subject = |word: &str| words.first_person_subjects.is(word);
    let first_of_phrase = words_of(&text[at..]).next().unwrap_or_default();

    let mut has_subject = is_subject(first_of_phrase);
    let ranges: Vec<Range<usize>> = word_ranges(clause).collect();
    for range in ranges.into_iter().rev() {
        let word = &clause[range.clone()];
        if words.clause_conjunctions.is(word) {
            return &text[clause_at + range.end..at];
        }
        if has_subject {
            return &text[clause_at + range.start..at];
        }
        has_subject = is_subject(word);
    }
    clause
}

#[cfg(test)]
mod tests {
    use text::Language;

    use super::*;
    use crate::chat::words::chat_words_of;

    #[test]
    fn denials_wishes_and_conditions_say_nothing_of_what_has_happened() {
        use Language::{English, French, German, Spanish};
        for (language, text, phrase, expected) in [
            (English, "i haven't sold the car yet", "sold the", false),
            (English, "i never got married", "got married", false),
            (English, "i almost got fired today", "got fired", false),
            (English, "i want to quit my job", "quit my", false),
            (
                English,
                "don't know what i'd do if i lost my job",
                "lost my",
                false,
            ),
            (English, "i still haven't quit smoking", "quit", false),
            (English, "we might get a new car", "new car", false),
            (German, "ich habe noch nicht gekündigt", "gekündigt", false),
            (French, "je n'ai pas été viré", "été viré", false),
            (Spanish, "si pierdo y dejé el trabajo", "dejé", true),
            (English, "i can't believe i got fired", "got fired", true),
            (English, "i never liked it and got fired", "got fired", true),
            (English, "i'm not vegan anymore", "anymore", true),
            (English, "i finally quit my job", "quit my", true),
        ] {
            let lower = LowerText::new(text);
            let at = text.find(phrase).unwrap();
            let found = is_asserted(&lower, at, chat_words_of(language));
            assert_eq!(found, expected, "{text}");
        }
    }
}
