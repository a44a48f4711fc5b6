//! Synthetic text: words of a Zipf-like distribution, so that postings have realistic lengths.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Makes texts by a seed.
pub(crate) struct Writer {
    random: StdRng,
    words: Vec<String>,
}

const VOCABULARY: usize = 30_000;
const SYLLABLES: [&str; 20] = [
    "ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "lan", "mer",
    "tor", "sil", "ven",
];

impl Writer {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut word = || {
            let syllables = random.random_range(1..5);
            (0..syllables).map(|_| SYLLABLES[random.random_range(0..SYLLABLES.len())]).collect::<String>()
        };
        let words = (0..VOCABULARY).map(|_| word()).collect();
        Self { random, words }
    }

    /// A word; the n-th is about 1/n as frequent as the first.
    pub(crate) fn word(&mut self) -> &str {
        let uniform: f64 = self.random.random();
        let rank = (VOCABULARY as f64).powf(uniform) as usize;
        &self.words[rank.min(VOCABULARY) - 1]
    }

    /// Sentences of about `chars` characters in all.
    pub(crate) fn text(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 20);
        while text.len() < chars {
            for place in 0..12 {
                let word = self.word().to_owned();
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

    /// A question of some words.
    pub(crate) fn question(&mut self) -> String {
        (0..5).map(|_| self.word().to_owned()).collect::<Vec<_>>().join(" ")
    }
}
