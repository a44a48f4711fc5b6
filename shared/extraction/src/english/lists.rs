//! Lists of words and phrases, from sections of the language file.

use text::WordTable;
use text::file::{LanguageFileError, Section};

use super::words::Clause;

/// A list of words, each with a property after a slash if it has one: the preposition before the
/// object of a verb, or the attribute that a word answers.
#[derive(Default)]
pub(crate) struct EntryList(Vec<&'static str>);

impl EntryList {
    /// Loads the entries of a section, which are separated by spaces.
    pub(super) fn load(section: &Section) -> Result<Self, LanguageFileError> {
        section.spaced_words().map(Self)
    }

    /// Returns the words in their order, each with its property or an empty one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let entries = self.0.iter();
        entries.map(|entry| entry.split_once('/').unwrap_or((entry, "")))
    }
}

/// A list of phrases.
#[derive(Default)]
pub(crate) struct PhraseList {
    /// The phrases by their first word.
    table: WordTable<Vec<&'static str>>,
}

impl PhraseList {
    /// Loads the phrases of a section, which are separated by `|`.
    pub(super) fn load(section: &Section) -> Result<Self, LanguageFileError> {
        let mut list = Self::default();
        for phrase in section.words()? {
            let first = phrase.split(' ').next().unwrap_or(phrase);
            list.table.entry(first).or_default().push(phrase);
        }

        Ok(list)
    }

    fn beginning_with(&self, lower: &str) -> &[&'static str] {
        self.table.get(lower).map_or(&[], Vec::as_slice)
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

    /// Checks whether one of the phrases stands in a clause.
    pub(crate) fn occurs_in(&self, clause: Clause<'_>) -> bool {
        (0..clause.len()).any(|at| self.end(clause, at).is_some())
    }

    /// Checks whether a single word is one of the phrases.
    pub(crate) fn has(&self, lower: &str) -> bool {
        self.beginning_with(lower).contains(&lower)
    }
}
