//! The check that the cited sentences say what a proposal says.

use std::collections::HashSet;

use text::{Language, detect_language};

use super::validate::ProposalRejection;
use super::words::{SourceWord, WordForm, tokenize_words, word_root};

/// The share of a proposal's words that must be in the cited sentences; the others may be
/// paraphrases. Nine out of ten statements that people wrote about notes have a higher share.
const MIN_SUPPORTED_SHARE: f32 = 0.75;
/// The share if most words are single characters of a script that does not mark names.
const MIN_UNCASED_SHARE: f32 = 0.8;

/// The share of a summary's words that must be in the source.
const MIN_COVERED_SHARE: f32 = 0.5;

/// The words that a proposal may be made of.
#[derive(Debug, Default)]
pub(super) struct SourceEvidence {
    words: HashSet<String>,
    roots: HashSet<String>,
    /// The roots of words with a capital, which may be names.
    names: HashSet<String>,
    /// The speaker's name, `user` if that stands for the speaker, and the date of the event. A
    /// proposal may add these words, but they support nothing by themselves.
    added: HashSet<String>,
}

impl SourceEvidence {
    pub(super) fn new(sentences: &[&str]) -> Self {
        let mut evidence = Self::default();
        for word in sentences
            .iter()
            .flat_map(|sentence| tokenize_words(sentence))
        {
            let root = word_root(&word.lower);
            if word.text.chars().any(char::is_uppercase) {
                evidence.names.insert(root.clone());
            }
            evidence.roots.insert(root);
            evidence
                .words
                .insert(strip_number_unit(&word.lower).to_owned());
            evidence.words.insert(word.lower);
        }
        evidence
    }

    pub(super) fn add(&mut self, text: &str) {
        for word in tokenize_words(text) {
            self.added.insert(word.lower);
        }
    }

    /// Checks that nothing in `text` is invented or taken from `context_words`.
    ///
    /// # Errors
    /// The [`ProposalRejection`] that names the first failed check.
    pub(super) fn support(
        &self,
        text: &str,
        context_words: &HashSet<String>,
    ) -> Result<(), ProposalRejection> {
        let words = tokenize_words(text);
        let checked_words: Vec<_> = words
            .iter()
            .filter(|word| word.form != WordForm::Function && !self.adds(word))
            .collect();
        if let Some(word) = checked_words.iter().find(|word| self.is_invented(word)) {
            return Err(if word.form == WordForm::Number {
                ProposalRejection::Number
            } else {
                ProposalRejection::Name
            });
        }

        let missing: Vec<_> = checked_words
            .iter()
            .filter(|word| !self.has(word))
            .collect();
        let context_word_count = missing
            .iter()
            .filter(|word| context_words.contains(&word_root(&word.lower)))
            .count();
        if context_word_count > 1 || context_word_count * 3 > checked_words.len() {
            return Err(ProposalRejection::ContextOnly);
        }

        let uncased_count = checked_words
            .iter()
            .filter(|word| word.form == WordForm::Uncased)
            .count();
        let min_share = if uncased_count * 2 > checked_words.len() {
            MIN_UNCASED_SHARE
        } else {
            MIN_SUPPORTED_SHARE
        };

        let supported_count = checked_words.len() - missing.len();
        if supported_count == 0
            || (supported_count as f32) < min_share * checked_words.len() as f32
            || self.misses_a_run(&checked_words)
        {
            return Err(ProposalRejection::Invented);
        }

        Ok(())
    }

    /// Checks that a paraphrase of many sentences is about them: it has no digits and no names of
    /// its own, and most of its words.
    pub(super) fn covers(&self, text: &str) -> bool {
        // Every noun of German has a capital.
        let marks_names = detect_language(text) != Language::German;

        let (mut checked_count, mut supported_count) = (0, 0);
        for word in tokenize_words(text) {
            if word.form == WordForm::Function || self.adds(&word) {
                continue;
            }

            let is_supported = self.has(&word);
            let is_binding = word.lower.contains(|c: char| c.is_ascii_digit())
                || (marks_names && word.form == WordForm::Name);
            if is_binding && !is_supported {
                return false;
            }
            checked_count += 1;
            supported_count += usize::from(is_supported);
        }

        supported_count as f32 >= MIN_COVERED_SHARE * checked_count as f32 && supported_count > 0
    }

    /// Checks whether all words of a short text, such as the value of a topic, have support.
    pub(super) fn has_all(&self, text: &str) -> bool {
        let words = tokenize_words(text);
        let mut checked_words = words.iter().filter(|word| word.form != WordForm::Function);
        !words.is_empty() && checked_words.all(|word| self.adds(word) || self.has(word))
    }

    fn adds(&self, word: &SourceWord<'_>) -> bool {
        self.added.contains(&word.lower)
            || (word.form == WordForm::Number
                && self.added.contains(strip_number_unit(&word.lower)))
    }

    fn has(&self, word: &SourceWord<'_>) -> bool {
        match word.form {
            WordForm::Number => self.words.contains(strip_number_unit(&word.lower)),
            _ => self.words.contains(&word.lower) || self.roots.contains(&word_root(&word.lower)),
        }
    }

    /// Checks whether a word without support is one that cannot be a paraphrase: a name, a number
    /// or the first word. Statements begin with whom they are about.
    fn is_invented(&self, word: &SourceWord<'_>) -> bool {
        match word.form {
            WordForm::Number | WordForm::Initial => !self.has(word),
            WordForm::Name => {
                !self.words.contains(&word.lower) && !self.names.contains(&word_root(&word.lower))
            }
            // A whole word that may be a name.
            WordForm::Uncased => word.text.chars().nth(1).is_some() && !self.has(word),
            WordForm::Function | WordForm::Plain => false,
        }
    }

    /// Checks whether two adjacent characters are missing. Together they can amount to a name.
    fn misses_a_run(&self, words: &[&SourceWord<'_>]) -> bool {
        let is_missing = |word: &SourceWord<'_>| word.form == WordForm::Uncased && !self.has(word);
        words.windows(2).any(|pair| {
            is_missing(pair[0])
                && is_missing(pair[1])
                && pair[0].at + pair[0].text.len() == pair[1].at
        })
    }
}

/// Returns the digits of a number with a short unit or ending, such as `16GB` and `3rd`. Anything
/// else is returned unchanged, because an identifier counts as a whole.
fn strip_number_unit(lower: &str) -> &str {
    let end = lower
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(end);
    let is_unit = !digits.is_empty() && unit.len() <= 3 && unit.chars().all(char::is_alphabetic);
    if is_unit { digits } else { lower }
}
