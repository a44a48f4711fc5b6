//! An index of the cues that could match a text: those whose words occur in it. Most texts contain
//! the words of only a few cues, so the others need not be tried.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::cue::{Cue, CueWord, is_bounded, joins_word};
use text::FnvHasher;

/// An index of cues by their words.
pub(super) struct CueIndex {
    /// Words that only occur where a word begins, by their first character.
    beginnings: Entries,
    /// Words that may occur within longer words, by their first character.
    endings: Entries,
    /// The sets of words that each cue requires, as a range of `sets`.
    cues: Vec<Range<usize>>,
    /// The words of each set, as a range of `numbers`. One of them must occur in the text.
    sets: Vec<Range<usize>>,
    /// The numbers of the words in the sets.
    numbers: Vec<usize>,
    /// The number of words.
    count: usize,
}

/// Words by their first character. They are fixed, so nobody can choose some that collide.
type Entries = HashMap<char, Vec<WordEntry>, BuildHasherDefault<FnvHasher>>;

/// The numbers of words, while an index is built.
type WordNumbers<'c> = HashMap<&'c CueWord, usize, BuildHasherDefault<FnvHasher>>;

struct WordEntry {
    word: CueWord,
    number: usize,
}

/// The words that occur in a text, by their numbers.
pub(super) struct PresentWords(Vec<bool>);

impl CueIndex {
    /// Builds the index of cues, which are numbered in their order.
    pub(super) fn new<'c>(cues: impl Iterator<Item = &'c Cue>) -> Self {
        let mut index = Self {
            beginnings: Entries::default(),
            endings: Entries::default(),
            cues: Vec::new(),
            sets: Vec::new(),
            numbers: Vec::new(),
            count: 0,
        };

        let mut numbers = WordNumbers::default();
        for cue in cues {
            let first_set = index.sets.len();
            for words in cue.required_words() {
                let first_number = index.numbers.len();
                for word in words {
                    let number = index.number(word, &mut numbers);
                    index.numbers.push(number);
                }
                index.sets.push(first_number..index.numbers.len());
            }
            index.cues.push(first_set..index.sets.len());
        }
        index.count = numbers.len();

        index
    }

    /// Returns the number of a word. A new word gets the next number.
    fn number<'c>(&mut self, word: &'c CueWord, numbers: &mut WordNumbers<'c>) -> usize {
        if let Some(number) = numbers.get(word) {
            return *number;
        }

        let number = numbers.len();
        numbers.insert(word, number);

        let first = word.text.chars().next().unwrap_or_default();
        let is_inner = word.open_start || !joins_word(first);
        let entries = if is_inner {
            &mut self.endings
        } else {
            &mut self.beginnings
        };

        entries.entry(first).or_default().push(WordEntry {
            word: word.clone(),
            number,
        });

        number
    }

    /// Returns the words that occur in a text.
    pub(super) fn present(&self, text: &str) -> PresentWords {
        let mut present_words = vec![false; self.count];
        let mut in_word = false;
        for (at, first) in text.char_indices() {
            let is_joining = joins_word(first);
            let beginnings = self
                .beginnings
                .get(&first)
                .filter(|_| !(in_word && is_joining));
            for WordEntry { word, number } in beginnings
                .into_iter()
                .chain(self.endings.get(&first))
                .flatten()
            {
                let matches_here =
                    || text[at..].starts_with(&*word.text) && is_bounded(text, word, at);
                present_words[*number] = present_words[*number] || matches_here();
            }
            in_word = is_joining;
        }

        PresentWords(present_words)
    }

    /// Checks whether the cue with this number could match a text with these words.
    pub(super) fn admits(&self, cue: usize, present_words: &PresentWords) -> bool {
        let sets = &self.sets[self.cues[cue].clone()];
        sets.iter().all(|set| {
            let mut numbers = self.numbers[set.clone()].iter();
            numbers.any(|number| present_words.0[*number])
        })
    }
}
