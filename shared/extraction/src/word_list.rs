//! Sets of words, from sections of the language files.

use text::WordTable;
use text::file::{LanguageFileError, Section};

/// A set of words.
#[derive(Default)]
pub(crate) struct WordList {
    table: WordTable<()>,
}

impl WordList {
    /// Loads the words of a section, which are separated by spaces.
    pub(crate) fn load(section: &Section) -> Result<Self, LanguageFileError> {
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
