//! Words of the same meaning. A memory of a few words often answers in other words than those of
//! the question: "allergic" for "allergies", "scared" for "afraid".

use std::sync::LazyLock;

use hashbrown::HashMap;
use text::find_words;

use super::candidates::{ScoredCandidates, select_best};
use super::lexical::LexicalQuery;
use super::{SearchQuery, SearchScope};
use crate::analysis::{LatinStemmer, QueryTerm, stem_word};
use crate::embedding::{Embedder, StaticEmbedder};
use crate::error::{FirstError, SegmentError};
use crate::vector::QuantizedVector;

/// The cosine of two words from which they are near.
const NEAR_COSINE: f32 = 0.4;
/// The cosine from which they count as the same word.
const SAME_COSINE: f32 = 0.8;
/// The nearness of a word that has the same meaning but is not the same word.
const LARGEST_NEARNESS: f32 = 0.8;
/// The nearness of a word that answers questions with the term.
const ANSWER_NEARNESS: f32 = 0.6;
/// The number of characters that forms of one word have in common at least.
const SHARED_PREFIX: usize = 5;

/// The aspects of everyday life, each with the words of questions and those of answers.
static ASPECTS: &str = include_str!("everyday.txt");

/// The aspects of a word, as bits.
#[derive(Debug, Clone, Copy, Default)]
struct Aspects {
    asked: u64,
    answered: u64,
}

/// Returns the aspects of a word. The file is read once.
fn aspects_of(word: &str) -> Aspects {
    static TABLE: LazyLock<HashMap<String, Aspects>> = LazyLock::new(load_aspects);
    let mut stem = String::new();
    stem_word(word, LatinStemmer::English, &mut stem);
    TABLE.get(&stem).copied().unwrap_or_default()
}

fn load_aspects() -> HashMap<String, Aspects> {
    let mut table: HashMap<String, Aspects> = HashMap::new();
    let mut bit = 0;
    for line in ASPECTS.lines().filter(|line| !line.starts_with('#')) {
        // An indented line belongs to the aspect above it.
        if !line.starts_with(' ') {
            bit = if bit == 0 { 1 } else { bit << 1 };
        }
        let (questions, answers) = line.split_once(':').unwrap_or((line, ""));
        let mut add = |word: &str, is_question: bool| {
            let mut stem = String::new();
            stem_word(word, LatinStemmer::English, &mut stem);
            let aspects = table.entry(stem).or_default();
            if is_question {
                aspects.asked |= bit;
            } else {
                aspects.answered |= bit;
            }
        };
        for word in questions.split_whitespace() {
            add(word, true);
        }
        for word in answers.split_whitespace() {
            add(word, false);
        }
    }

    table
}

/// Compares the words of the best short chunks with the terms that they lack, and raises the
/// scores by what is near.
///
/// # Errors
/// [`SegmentError::Corrupt`] if the stored text of a chunk cannot be read, and
/// [`SegmentError::NotFetched`] if some texts are missing; all that are were asked for.
pub(super) fn apply_meaning(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    terms: &[QueryTerm],
    lexical: &LexicalQuery<'_>,
    scored: &mut ScoredCandidates,
) -> Result<(), SegmentError> {
    let config = &query.config;
    let total: f32 = lexical.weights.iter().sum();
    if config.meaning_weight <= 0.0 || total <= 0.0 {
        return Ok(());
    }

    let mut texts: Vec<(usize, String)> = Vec::new();
    let mut first_error = FirstError::default();
    for index in select_best(scope, scored, config.meaning_candidates) {
        let candidate = &scored.candidates[index];
        let part = scope.parts[candidate.part].1;
        if part.lengths()[candidate.chunk as usize] > config.meaning_words {
            continue;
        }

        let row = index * terms.len()..(index + 1) * terms.len();
        if scored.nearness[row].iter().any(|&near| near <= 0.0)
            && let Some(chunk) = first_error.ok(part.chunk(candidate.chunk))
        {
            texts.push((index, chunk.text));
        }
    }
    first_error.into_result()?;

    let vectors: Vec<Option<QuantizedVector>> = terms.iter().map(embed_term).collect();
    for (index, text) in texts {
        let row = index * terms.len()..(index + 1) * terms.len();
        let words = embed_words(&text);
        let mut gained = 0.0;
        for (term, place) in row.enumerate() {
            if scored.nearness[place] > 0.0 {
                continue;
            }
            if let Some(vector) = &vectors[term] {
                let near = find_nearness(&terms[term].word, vector, &words);
                scored.nearness[place] = near;
                gained += near * lexical.weights[term];
            }
        }
        scored.candidates[index].fused += config.meaning_weight * gained / total;
    }

    Ok(())
}

/// Returns the vector of a term, or none if it is not a word.
fn embed_term(term: &QueryTerm) -> Option<QuantizedVector> {
    let is_word = term.word.chars().count() > 2 && !term.is_identifier;
    is_word.then(|| StaticEmbedder.embed(&term.word))
}

/// Returns the words of a text in lower case, with their vectors.
fn embed_words(text: &str) -> Vec<(String, QuantizedVector)> {
    let mut words = Vec::new();
    for word in find_words(text) {
        if word.text.chars().count() > 2 {
            let lower = word.text.to_lowercase();
            let vector = StaticEmbedder.embed(&lower);
            words.push((lower, vector));
        }
    }

    words
}

/// Returns the nearness of a word to the nearest of `words`, 0 to [`LARGEST_NEARNESS`].
fn find_nearness(word: &str, vector: &QuantizedVector, words: &[(String, QuantizedVector)]) -> f32 {
    let mut nearest = 0f32;
    let asked = aspects_of(word).asked;
    for (other, other_vector) in words {
        if asked & aspects_of(other).answered != 0 {
            nearest = nearest.max(ANSWER_NEARNESS);
        }
        let cosine = vector.cosine(other_vector);
        let share = (cosine - NEAR_COSINE) / (SAME_COSINE - NEAR_COSINE);
        nearest = nearest.max(share.clamp(0.0, 1.0) * LARGEST_NEARNESS);
        if cosine >= NEAR_COSINE && shares_prefix(word, other) {
            nearest = LARGEST_NEARNESS;
        }
    }

    nearest
}

/// Checks whether two words are probably forms of one word.
fn shares_prefix(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    shared >= SHARED_PREFIX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{ChunkInput, ContainerIndex, Document};
    use crate::search::search_containers;

    /// Returns the best hit for a question among memories.
    fn ask(memories: &[&str], question: &str) -> Option<(String, f32)> {
        let mut index = ContainerIndex::new();
        for (number, text) in memories.iter().enumerate() {
            let chunk = ChunkInput {
                text: (*text).to_owned(),
                vector: StaticEmbedder.embed(text),
                ..ChunkInput::default()
            };
            index.upsert_document(Document {
                id: format!("memory-{number}"),
                chunks: vec![chunk],
                ..Document::default()
            });
        }

        let query = SearchQuery::new(question, StaticEmbedder.embed(question));
        let found = search_containers(&[&index], &query).unwrap();
        let best = found.hits.into_iter().next()?;
        Some((best.text, best.similarity))
    }

    #[test]
    fn a_memory_answers_in_other_words_beside_few_and_many_others() {
        let others: Vec<String> = (0..60)
            .map(|number| format!("Box {number} stands on shelf {}", number / 7))
            .collect();
        for count in [0, 3, 60] {
            let mut memories = vec!["Lily is allergic to peanuts"];
            memories.extend(others[..count].iter().map(String::as_str));
            let (text, similarity) = ask(&memories, "any allergies?").unwrap();
            assert_eq!(text, "Lily is allergic to peanuts");
            assert!(similarity >= 0.6, "{similarity} among {count} others");
        }
    }

    #[test]
    fn one_common_word_is_no_answer() {
        let memories = [
            "The user does a run three times a week",
            "The flat has 24 steps",
        ];
        let (_, similarity) = ask(&memories, "what's 17 times 24").unwrap();
        assert!(similarity < 0.6, "{similarity}");
    }

    #[test]
    fn aspects_are_loaded() {
        assert_ne!(aspects_of("job").asked & aspects_of("nurse").answered, 0);
        assert_eq!(aspects_of("job").asked & aspects_of("parrot").answered, 0);
        assert_ne!(aspects_of("métier").asked & aspects_of("nurse").answered, 0);
        let is_first = |line: &&str| !line.starts_with([' ', '#']);
        assert!(ASPECTS.lines().filter(is_first).count() <= u64::BITS as usize);
    }
}
