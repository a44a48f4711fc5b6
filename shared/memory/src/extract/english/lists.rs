//! Lists of words and phrases, read when they are first asked for.

use std::sync::OnceLock;

use super::hash::Table;
use super::words::Clause;

/// Words, divided by spaces.
pub(crate) struct List {
    words: &'static str,
    table: OnceLock<Table<()>>,
}

impl List {
    pub(crate) const fn new(words: &'static str) -> Self {
        Self {
            words,
            table: OnceLock::new(),
        }
    }

    /// Whether the word is one of them.
    pub(crate) fn has(&self, low: &str) -> bool {
        let table = || self.words.split(' ').map(|word| (word, ())).collect();
        self.table.get_or_init(table).contains_key(low)
    }
}

/// Phrases, divided by semicolons.
pub(crate) struct Phrases {
    phrases: &'static str,
    /// By their first word.
    table: OnceLock<Table<Vec<&'static str>>>,
}

impl Phrases {
    pub(crate) const fn new(phrases: &'static str) -> Self {
        Self {
            phrases,
            table: OnceLock::new(),
        }
    }

    fn beginning_with(&self, low: &str) -> &[&'static str] {
        let table = self.table.get_or_init(|| {
            let mut table: Table<Vec<_>> = Table::default();
            for phrase in self.phrases.split(';') {
                table
                    .entry(phrase.split(' ').next().unwrap_or(phrase))
                    .or_default()
                    .push(phrase);
            }
            table
        });
        table.get(low).map_or(&[], Vec::as_slice)
    }

    /// The phrases that stand at `at`, each with the place after it.
    pub(crate) fn standing(
        &self,
        clause: Clause<'_>,
        at: usize,
    ) -> impl Iterator<Item = (&'static str, usize)> {
        let phrases = self.beginning_with(clause.low(at)).iter();
        phrases.filter_map(move |phrase| Some((*phrase, clause.phrase(at, phrase)?)))
    }

    /// The place after the longest phrase at `at`.
    pub(crate) fn end(&self, clause: Clause<'_>, at: usize) -> Option<usize> {
        self.standing(clause, at).map(|(_, end)| end).max()
    }

    /// Whether the word alone is one of them.
    pub(crate) fn has(&self, low: &str) -> bool {
        self.beginning_with(low).contains(&low)
    }
}
