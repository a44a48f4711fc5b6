//! Lists of words and phrases, indexed on first use.

use std::sync::OnceLock;

use super::hash::WordTable;
use super::words::Clause;

/// A list of words, separated by spaces.
pub(crate) struct WordList {
    words: &'static str,
    table: OnceLock<WordTable<()>>,
}

impl WordList {
    pub(crate) const fn new(words: &'static str) -> Self {
        Self {
            words,
            table: OnceLock::new(),
        }
    }

    /// Checks whether the list contains a word.
    pub(crate) fn has(&self, lower: &str) -> bool {
        let table = || self.words.split(' ').map(|word| (word, ())).collect();
        self.table.get_or_init(table).contains_key(lower)
    }
}

/// A list of phrases, separated by semicolons.
pub(crate) struct PhraseList {
    phrases: &'static str,
    /// The phrases by their first word.
    table: OnceLock<WordTable<Vec<&'static str>>>,
}

impl PhraseList {
    pub(crate) const fn new(phrases: &'static str) -> Self {
        Self {
            phrases,
            table: OnceLock::new(),
        }
    }

    fn beginning_with(&self, lower: &str) -> &[&'static str] {
        let table = self.table.get_or_init(|| {
            let mut table: WordTable<Vec<_>> = WordTable::default();
            for phrase in self.phrases.split(';') {
                table
                    .entry(phrase.split(' ').next().unwrap_or(phrase))
                    .or_default()
                    .push(phrase);
            }
            table
        });
        table.get(lower).map_or(&[], Vec::as_slice)
    }

    /// Returns the phrases that stand at `at`, each with the index after it.
    pub(crate) fn standing(
        &self,
        clause: Clause<'_>,
        at: usize,
    ) -> impl Iterator<Item = (&'static str, usize)> {
        let phrases = self.beginning_with(clause.lower_at(at)).iter();
        phrases.filter_map(move |phrase| Some((*phrase, clause.match_phrase(at, phrase)?)))
    }

    /// Returns the index after the longest phrase at `at`.
    pub(crate) fn end(&self, clause: Clause<'_>, at: usize) -> Option<usize> {
        self.standing(clause, at).map(|(_, end)| end).max()
    }

    /// Checks whether a single word is one of the phrases.
    pub(crate) fn has(&self, lower: &str) -> bool {
        self.beginning_with(lower).contains(&lower)
    }
}
