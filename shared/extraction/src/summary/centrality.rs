//! The words that the sentences of a text share.

use std::collections::HashMap;
use std::sync::LazyLock;

use text::{Language, Word, WordTable, detect_language, find_words};

use super::candidates::{Candidate, is_without_marks};
use crate::sentences::is_wide;

/// The letters of a word that are compared. Its ending changes with number, tense and case.
const STEM_CHARS: usize = 5;
/// The same for Korean, whose particles follow the stem without a space.
const KOREAN_STEM_CHARS: usize = 2;

/// The languages of each stop word, as bits. The files are a part of the program, and a test of
/// their crate loads them all, so there is no fault to report here.
static STOP_WORDS: LazyLock<WordTable<u32>> = LazyLock::new(|| {
    let mut table = WordTable::default();
    for language in Language::ALL {
        for word in language.stop_words().unwrap_or_default() {
            *table.entry(word).or_default() |= bit_of(*language);
        }
    }
    table
});

fn bit_of(language: Language) -> u32 {
    1 << language as u32
}

/// The sentences of a text as vectors of length 1, with a dimension for each term. A term has more
/// weight the fewer sentences have it.
pub(super) struct SentenceVectors {
    language: Language,
    numbers_by_term: HashMap<String, usize>,
    weights: Vec<f32>,
    vectors: Vec<SentenceVector>,
}

/// The dimensions of a vector that are not zero, in ascending order.
type SentenceVector = Vec<(usize, f32)>;

impl SentenceVectors {
    pub(super) fn new(candidates: &[Candidate<'_>]) -> Self {
        let language = language_of(candidates);
        let mut numbers_by_term = HashMap::new();
        let mut sentence_counts: Vec<u32> = Vec::new();
        let mut sentences = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let mut numbers = Vec::new();
            for_each_term(&candidate.text, language, &mut |term| {
                let next_number = numbers_by_term.len();
                let number = match numbers_by_term.get(term) {
                    Some(number) => *number,
                    None => *numbers_by_term
                        .entry(term.to_owned())
                        .or_insert(next_number),
                };
                numbers.push(number);
            });
            numbers.sort_unstable();
            numbers.dedup();

            sentence_counts.resize(numbers_by_term.len(), 0);
            for number in &numbers {
                sentence_counts[*number] += 1;
            }
            sentences.push(numbers);
        }

        let total = candidates.len() as f32;
        let weight = |count: &u32| (1.0 + total / *count as f32).ln();
        let weights: Vec<f32> = sentence_counts.iter().map(weight).collect();
        let vectors = sentences
            .iter()
            .map(|numbers| unit_vector(numbers, &weights))
            .collect();

        Self {
            language,
            numbers_by_term,
            weights,
            vectors,
        }
    }

    /// Returns for each sentence the sum of its similarities to the others, relative to the largest
    /// sum. Adding up all vectors first makes the time linear.
    pub(super) fn centralities(&self) -> Vec<f32> {
        let mut total = vec![0.0; self.weights.len()];
        for vector in &self.vectors {
            for (number, value) in vector {
                total[*number] += value;
            }
        }

        let mut sums = Vec::with_capacity(self.vectors.len());
        for vector in &self.vectors {
            let with_itself: f32 = vector
                .iter()
                .map(|(number, value)| value * total[*number])
                .sum();
            sums.push(with_itself - squared_length(vector));
        }

        let largest = sums.iter().copied().fold(0.0, f32::max);
        if largest > 0.0 {
            sums.iter_mut().for_each(|sum| *sum /= largest);
        }
        sums
    }

    /// Returns the similarity of each sentence to another text.
    pub(super) fn similarities_to(&self, text: &str) -> Vec<f32> {
        let mut numbers = Vec::new();
        for_each_term(text, self.language, &mut |term| {
            numbers.extend(self.numbers_by_term.get(term));
        });
        numbers.sort_unstable();
        numbers.dedup();

        let other = unit_vector(&numbers, &self.weights);
        let similarity = |vector: &SentenceVector| dot_product(vector, &other);
        self.vectors.iter().map(similarity).collect()
    }

    /// Returns the similarity of two sentences, from 0 to 1.
    pub(super) fn similarity(&self, first: usize, second: usize) -> f32 {
        dot_product(&self.vectors[first], &self.vectors[second])
    }
}

/// Returns the language of the first sentences.
fn language_of(candidates: &[Candidate<'_>]) -> Language {
    const DETECTED_SENTENCES: usize = 8;

    let mut beginning = String::new();
    for candidate in candidates.iter().take(DETECTED_SENTENCES) {
        beginning.push_str(&candidate.text);
        beginning.push('\n');
    }

    detect_language(&beginning)
}

/// Returns the vector of length 1 of a sentence with these terms.
fn unit_vector(numbers: &[usize], weights: &[f32]) -> SentenceVector {
    let mut vector: SentenceVector = numbers
        .iter()
        .map(|number| (*number, weights[*number]))
        .collect();
    let length = squared_length(&vector).sqrt();
    for (_, value) in &mut vector {
        *value /= length;
    }

    vector
}

fn squared_length(vector: &SentenceVector) -> f32 {
    vector.iter().map(|(_, value)| value * value).sum()
}

fn dot_product(first: &SentenceVector, second: &SentenceVector) -> f32 {
    let mut others = second.iter().peekable();
    let mut product = 0.0;
    for (number, value) in first {
        while others.next_if(|(other, _)| other < number).is_some() {}
        if let Some((_, other_value)) = others.next_if(|(other, _)| other == number) {
            product += value * other_value;
        }
    }

    product
}

/// Calls `visit` with each term of a text: the stems of its words without stop words, and pairs of
/// neighbours in scripts without spaces.
fn for_each_term(text: &str, language: Language, visit: &mut dyn FnMut(&str)) {
    let mut neighbour: Option<Word<'_>> = None;
    for word in find_words(text) {
        if is_part_of_word(word.text) {
            if let Some(neighbour) = neighbour
                && neighbour.end() == word.start
            {
                visit(&text[neighbour.start..word.end()]);
            }
            neighbour = Some(word);
            continue;
        }

        neighbour = None;
        let lower = word.text.to_lowercase();
        let is_stop_word = STOP_WORDS
            .get(lower.as_str())
            .is_some_and(|languages| languages & bit_of(language) != 0);
        if !is_stop_word && lower.chars().nth(1).is_some() {
            visit(stem_of(&lower));
        }
    }
}

/// Checks for a character of a script without spaces, which is a word to `find_words`: of Chinese
/// and Japanese, or with its vowel signs of Thai, Lao, Burmese and Khmer.
fn is_part_of_word(word: &str) -> bool {
    let mut characters = word.chars();
    let first = characters.next().unwrap_or_default();
    let is_single_character = is_wide(first) && !is_hangul(first) && characters.next().is_none();
    is_without_marks(first) || is_single_character
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// Returns the beginning of a word that inflection rarely changes. Numbers stay whole.
fn stem_of(lower: &str) -> &str {
    let first = lower.chars().next().unwrap_or_default();
    let length = if first.is_numeric() {
        return lower;
    } else if is_hangul(first) {
        KOREAN_STEM_CHARS
    } else {
        STEM_CHARS
    };

    match lower.char_indices().nth(length) {
        Some((end, _)) => &lower[..end],
        None => lower,
    }
}
