//! Lists of words and phrases, from sections of the language file.

use super::words::Clause;
use text::WordTable;
use text::file::{LanguageFileError, Section};

/// A set of words.
#[derive(Default)]
pub(crate) struct WordList {
    table: WordTable<()>,
}

impl WordList {
    /// Loads the words of a section, which are separated by spaces.
    pub(super) fn load(section: &Section) -> Result<Self, LanguageFileError> {
        Ok(section.spaced_words()?.into_iter().collect())
    }

    /// Checks whether the list contains a word.
    pub(crate) fn has(&self, lower: &str) -> bool {
        self.table.contains_key(lower)
    }

    /// Returns the word of the list that equals `lower`.
    pub(crate) fn find(&self, lower: &str) -> Option<&'static str> {
        self.table.get_key_value(lower).map(|(word, ())| *word)
    }
}

impl FromIterator<&'static str> for WordList {
    fn from_iter<I: IntoIterator<Item = &'static str>>(words: I) -> Self {
        Self {
            table: words.into_iter().map(|word| (word, ())).collect(),
        }
    }
}

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

    /// Checks whether a single word is one of the phrases.
    pub(crate) fn has(&self, lower: &str) -> bool {
        self.beginning_with(lower).contains(&lower)
    }
}
