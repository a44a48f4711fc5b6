//! Which cues could fit a text: those whose words stand in it. Most texts have the words of a few cues only, so that the
//! others need not be tried.

use std::collections::HashMap;

use super::cue::{Cue, Word, is_bounded, joins};

/// The words of some cues.
pub(super) struct Index {
    /// Words that stand where a word begins, by their first character.
    beginnings: Entries,
    /// Words that may stand within longer ones.
    endings: Entries,
    /// Of each cue, sets of words; of each set one word must stand in the text.
    needs: Vec<Vec<Vec<usize>>>,
    /// How many words there are.
    count: usize,
}

type Entries = HashMap<char, Vec<Entry>>;

struct Entry {
    word: Word,
    number: usize,
}

/// The words that stand in a text, by their numbers.
pub(super) struct Present(Vec<bool>);

impl Index {
    pub(super) fn new<'c>(cues: impl Iterator<Item = &'c Cue>) -> Self {
        let (beginnings, endings) = Default::default();
        let mut index = Self {
            beginnings,
            endings,
            needs: Vec::new(),
            count: 0,
        };

        for cue in cues {
            let needs = cue
                .needs()
                .map(|words| words.iter().map(|word| index.number(word)).collect());
            let needs = needs.collect();
            index.needs.push(needs);
        }

        index
    }

    /// The number of a word, a new one if it is new.
    fn number(&mut self, word: &Word) -> usize {
        let first = word.text.chars().next().unwrap_or_default();
        let inner = word.open_start || !joins(first);
        let entries = if inner {
            &mut self.endings
        } else {
            &mut self.beginnings
        };

        let entries = entries.entry(first).or_default();
        if let Some(entry) = entries.iter().find(|entry| entry.word == *word) {
            return entry.number;
        }

        entries.push(Entry {
            word: word.clone(),
            number: self.count,
        });

        self.count += 1;
        self.count - 1
    }

    /// The words that stand in a text.
    pub(super) fn present(&self, text: &str) -> Present {
        let mut present = vec![false; self.count];
        let mut inside = false;
        for (at, first) in text.char_indices() {
            let joined = joins(first);
            let begins = self.beginnings.get(&first).filter(|_| !(inside && joined));
            for Entry { word, number } in
                begins.into_iter().chain(self.endings.get(&first)).flatten()
            {
                let stands = || text[at..].starts_with(&word.text) && is_bounded(text, word, at);
                present[*number] = present[*number] || stands();
            }
            inside = joined;
        }

        Present(present)
    }

    /// Whether the cue of this number could fit a text with these words.
    pub(super) fn admits(&self, cue: usize, present: &Present) -> bool {
        self.needs[cue]
            .iter()
            .all(|words| words.iter().any(|word| present.0[*word]))
    }
}
