//! Whether the cited sentences say what a proposal says.

use std::collections::HashSet;

use super::validate::Rejection;
use super::words::{Form, Word, root, words};

/// The share of a proposal's words that the cited sentences must have: others may be put differently. Of statements that
/// people wrote about notes nine of ten have more.
const SHARE: f32 = 0.75;
/// The share where most words are single characters of a script that does not set names apart.
const UNCASED_SHARE: f32 = 0.8;

/// What a proposal may be made of.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    words: HashSet<String>,
    roots: HashSet<String>,
    /// Roots of words with a capital, which may be names.
    names: HashSet<String>,
    /// The speaker's name, `user` where that stands for the speaker, and the date of the event: they may be added, and
    /// support nothing by themselves.
    added: HashSet<String>,
}

impl Evidence {
    pub(super) fn new<'a>(sentences: impl Iterator<Item = &'a str>) -> Self {
        let mut evidence = Self::default();
        for word in sentences.flat_map(words) {
            let root = root(&word.lower);
            if word.text.chars().any(char::is_uppercase) {
                evidence.names.insert(root.clone());
            }
            evidence.roots.insert(root);
            evidence.words.insert(number(&word.lower).to_owned());
            evidence.words.insert(word.lower);
        }
        evidence
    }

    pub(super) fn add(&mut self, text: &str) {
        self.added
            .extend(words(text).into_iter().map(|word| word.lower));
    }

    /// Checks that nothing in `text` is invented, and nothing of it taken from `borrowed`.
    pub(super) fn support(&self, text: &str, borrowed: &HashSet<String>) -> Result<(), Rejection> {
        let words = words(text);
        let said: Vec<_> = words
            .iter()
            .filter(|word| word.form != Form::Empty && !self.adds(word))
            .collect();
        if let Some(word) = said.iter().find(|word| self.is_invented(word)) {
            return Err(if word.form == Form::Number {
                Rejection::Number
            } else {
                Rejection::Name
            });
        }

        let missing: Vec<_> = said.iter().filter(|word| !self.has(word)).collect();
        let taken = missing
            .iter()
            .filter(|word| borrowed.contains(&root(&word.lower)))
            .count();
        if taken > 1 || taken * 3 > said.len() {
            return Err(Rejection::Borrowed);
        }

        let uncased = said
            .iter()
            .filter(|word| word.form == Form::Uncased)
            .count();
        let share = if uncased * 2 > said.len() {
            UNCASED_SHARE
        } else {
            SHARE
        };

        let supported = said.len() - missing.len();
        if supported == 0
            || (supported as f32) < share * said.len() as f32
            || self.misses_a_run(&said)
        {
            return Err(Rejection::Invented);
        }

        Ok(())
    }

    /// Whether all words of a short text, such as a topic's answer, are there.
    pub(super) fn has_all(&self, text: &str) -> bool {
        let words = words(text);
        let mut said = words.iter().filter(|word| word.form != Form::Empty);
        !words.is_empty() && said.all(|word| self.adds(word) || self.has(word))
    }

    fn adds(&self, word: &Word<'_>) -> bool {
        self.added.contains(&word.lower)
            || (word.form == Form::Number && self.added.contains(number(&word.lower)))
    }

    fn has(&self, word: &Word<'_>) -> bool {
        match word.form {
            Form::Number => self.words.contains(number(&word.lower)),
            _ => self.words.contains(&word.lower) || self.roots.contains(&root(&word.lower)),
        }
    }

    /// Names and numbers cannot be put differently. Nor may a sentence begin with a word that is not there: statements
    /// begin with whom they are about.
    fn is_invented(&self, word: &Word<'_>) -> bool {
        match word.form {
            Form::Number | Form::Initial => !self.has(word),
            Form::Name => {
                !self.words.contains(&word.lower) && !self.names.contains(&root(&word.lower))
            }
            // A whole word that could be a name.
            Form::Uncased => word.text.chars().nth(1).is_some() && !self.has(word),
            Form::Empty | Form::Plain => false,
        }
    }

    /// Whether two characters side by side are missing: together they are as good as a name.
    fn misses_a_run(&self, said: &[&Word<'_>]) -> bool {
        let missing = |word: &Word<'_>| word.form == Form::Uncased && !self.has(word);
        said.windows(2).any(|pair| {
            missing(pair[0]) && missing(pair[1]) && pair[0].at + pair[0].text.len() == pair[1].at
        })
    }
}

/// The digits of a number with a short unit or an ending, as in `16GB` and `3rd`; anything else as it is, because an
/// identifier counts as a whole.
fn number(lower: &str) -> &str {
    let end = lower
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(end);
    let is_unit = !digits.is_empty() && unit.len() <= 3 && unit.chars().all(char::is_alphabetic);
    if is_unit { digits } else { lower }
}
