//! Synthetic text, whose words have a Zipf-like distribution so that postings have realistic
//! lengths, and the comparison of texts.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A generator of texts from a seed.
pub(crate) struct TextGenerator {
    random: StdRng,
    words: Vec<String>,
}

const VOCABULARY: usize = 30_000;
const SYLLABLES: [&str; 20] = [
    "ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu",
    "lan", "mer", "tor", "sil", "ven",
];

impl TextGenerator {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut word = || {
            let syllables = random.random_range(1..5);
            (0..syllables)
                .map(|_| SYLLABLES[random.random_range(0..SYLLABLES.len())])
                .collect::<String>()
        };
        let words = (0..VOCABULARY).map(|_| word()).collect();
        Self { random, words }
    }

    /// Returns a word. The n-th word is about 1/n as frequent as the first.
    pub(crate) fn next_word(&mut self) -> &str {
        let uniform: f64 = self.random.random();
        let rank = (VOCABULARY as f64).powf(uniform) as usize;
        &self.words[rank.min(VOCABULARY) - 1]
    }

    /// Returns sentences of about `chars` characters in all.
    pub(crate) fn generate_text(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 20);
        while text.len() < chars {
            for place in 0..12 {
                let word = self.next_word().to_owned();
                if place == 0 {
                    text.push_str(&word[..1].to_uppercase());
                    text.push_str(&word[1..]);
                } else {
                    text.push(' ');
                    text.push_str(&word);
                }
            }
            text.push_str(". ");
        }

        text.truncate(chars);
        text
    }

    /// Returns a note as people write them: sentences of about `chars` characters in all, most of
    /// which state something about invented things.
    pub(crate) fn generate_note(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 100);
        while text.len() < chars {
            let (name, thing) = (capitalize(self.next_word()), self.next_word().to_owned());
            let (other, number) = (self.next_word().to_owned(), self.random.random_range(2..28));
            text.push_str(&match self.random.random_range(0..8) {
                0 => format!("{name} prefers {thing} over {other}. "),
                1 => format!("The deadline of the {thing} project is March {number}. "),
                2 => format!(
                    "{name} lives in {} and works at {}. ",
                    capitalize(&thing),
                    capitalize(&other)
                ),
                3 => format!(
                    "We decided to switch from {thing} to {other} for the {name} pipeline. "
                ),
                4 => format!("{name}'s {thing} costs {number} euros. "),
                5 => format!("I will send the {thing} report to {name} by Friday. "),
                6 => format!("The weather near the {thing} was mostly {other}, or so it seemed. "),
                _ => format!("Did anybody see the {thing} of {name}? "),
            });
        }

        text.truncate(chars);
        text
    }

    /// Returns a text of about `chars` characters with three statements in two chunks, as documents
    /// and chats have on average.
    pub(crate) fn generate_mixed_text(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 500);
        while text.len() < chars {
            text.push_str(&self.generate_text(310));
            text.push_str(". ");
            text.push_str(&self.generate_note(60));
            text.push('\n');
        }

        text.truncate(chars);
        text
    }

    /// Returns a question of a few words.
    pub(crate) fn generate_question(&mut self) -> String {
        (0..5)
            .map(|_| self.next_word().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn capitalize(word: &str) -> String {
    format!("{}{}", word[..1].to_uppercase(), &word[1..])
}

/// Returns the text with single spaces between its words, so that line breaks do not matter.
pub(crate) fn squeeze_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
