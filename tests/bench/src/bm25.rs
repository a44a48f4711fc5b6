//! BM25 over lower-cased words, the baseline of the measurements of quality. It shares no code with
//! the search engine: no stems, no stop words, no context.

use std::collections::HashMap;

/// The saturation of repeated words, as in most implementations.
const K1: f64 = 1.2;
/// The weight of the length of a text, as in most implementations.
const B: f64 = 0.75;

/// An index of texts.
pub(crate) struct Bm25 {
    /// For each word, the texts that have it and how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// The number of words of each text.
    lengths: Vec<f64>,
}

impl Bm25 {
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (place, text) in texts.into_iter().enumerate() {
            let words = split_words(text);
            lengths.push(words.len() as f64);
            for word in words {
                let entries = postings.entry(word).or_default();
                match entries.last_mut() {
                    Some((last, count)) if *last == place => *count += 1.0,
                    _ => entries.push((place, 1.0)),
                }
            }
        }

        Self { postings, lengths }
    }

    /// Returns the texts that have a word of the question, the best first and at most `limit`. The
    /// earlier text comes first among equal ones.
    pub(crate) fn rank(&self, question: &str, limit: usize) -> Vec<usize> {
        let mut words = split_words(question);
        words.sort_unstable();
        words.dedup();

        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in &words {
            self.add_scores(word, &mut scores);
        }

        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_unstable_by(|one, other| {
            other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0))
        });
        ranked.truncate(limit);
        ranked.into_iter().map(|(place, _)| place).collect()
    }

    /// Adds the score of a word to each text that has it.
    fn add_scores(&self, word: &str, scores: &mut HashMap<usize, f64>) {
        let Some(entries) = self.postings.get(word) else {
            return;
        };
        let texts = self.lengths.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / texts;
        let having = entries.len() as f64;
        let rarity = (1.0 + (texts - having + 0.5) / (having + 0.5)).ln();
        for (place, count) in entries {
            let length = 1.0 - B + B * self.lengths[*place] / mean;
            let score = rarity * count * (K1 + 1.0) / (count + K1 * length);
            *scores.entry(*place).or_default() += score;
        }
    }
}

/// Returns the runs of letters and digits, in lower case.
fn split_words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
