//! The assignment of memories to the buckets of a profile.

#[cfg(test)]
mod examples;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::settings::PREFERENCES;
use domain::{MemoryId, MemoryKind, ProfileBucket};
use search_engine::{Embedder, QuantizedVector, StaticEmbedder};

use crate::ledger::Memory;
use crate::words::content_words;

/// The score below which a memory fits no bucket. It was chosen on the examples beside this file.
const THRESHOLD: f32 = 0.2;
/// The same for preferences. They are a stance rather than a topic, and half of what somebody says
/// is a little like one.
const PREFERENCE_THRESHOLD: f32 = 0.45;
/// Words that say nothing about the topic.
const STOP_WORDS: &[&str] = &[
    "every", "get", "go", "her", "his", "my", "one", "our", "she", "they", "two", "user", "week",
    "day", "year",
];
/// The most memories whose bucket a sorter caches, and the most words. Beyond it, the cache is cleared.
const MAX_CACHED: usize = 20_000;
/// The most words of a memory or a bucket that are compared. A topic shows in a few words.
const MAX_WORDS: usize = 200;

/// Sorts memories into buckets: each into the one that it fits best, or into none. It caches the
/// bucket of each memory, because the words of a memory never change, and what it finds out about a
/// word, because most words occur in many memories.
#[derive(Debug)]
pub struct BucketSorter {
    buckets: Vec<ProfileBucket>,
    topics: Vec<BucketTopic>,
    bucket_cache: Mutex<HashMap<MemoryId, Option<usize>>>,
    /// The similarity of a word to the most similar word of each bucket.
    word_cache: Mutex<HashMap<String, Arc<[f32]>>>,
}

/// A bucket in the form in which it is compared with memories.
#[derive(Debug)]
struct BucketTopic {
    text_vector: NormalizedVector,
    words: Vec<(String, NormalizedVector)>,
}

/// A vector and its inverse norm.
#[derive(Debug)]
struct NormalizedVector(QuantizedVector, f32);

impl NormalizedVector {
    fn of(text: &str) -> Self {
        let vector = StaticEmbedder.embed(text);
        Self(vector, vector.inverse_norm())
    }

    fn cosine(&self, other: &Self) -> f32 {
        self.0.dot(&other.0) as f32 * self.1 * other.1
    }
}

impl BucketSorter {
    /// Creates a sorter into these buckets.
    pub fn new(buckets: Vec<ProfileBucket>) -> Self {
        let topic = |bucket: &ProfileBucket| {
            let text = format!(
                "{}: {}",
                bucket.key.replace(['_', '-'], " "),
                bucket.description
            );
            BucketTopic {
                text_vector: NormalizedVector::of(&text),
                words: embed_words(select_topic_words(&text)),
            }
        };

        Self {
            topics: buckets.iter().map(topic).collect(),
            buckets,
            bucket_cache: Mutex::default(),
            word_cache: Mutex::default(),
        }
    }

    /// Returns the buckets, in their order.
    pub fn buckets(&self) -> &[ProfileBucket] {
        &self.buckets
    }

    /// Returns the index of the bucket to which the memory belongs.
    pub fn bucket_index(&self, memory: &Memory) -> Option<usize> {
        if memory.kind == MemoryKind::Preference
            && let Some(index) = self
                .buckets
                .iter()
                .position(|bucket| bucket.key == PREFERENCES)
        {
            return Some(index);
        }

        if let Some(cached) = lock(&self.bucket_cache).get(&memory.id) {
            return *cached;
        }

        let index = self.find_best_bucket(&memory.text);
        insert_bounded(&mut lock(&self.bucket_cache), memory.id.clone(), index);
        index
    }

    fn find_best_bucket(&self, text: &str) -> Option<usize> {
        let words = select_topic_words(text);
        let text_vector = NormalizedVector::of(&words.join(" "));
        let similarities: Vec<Arc<[f32]>> = words
            .iter()
            .map(|word| self.word_similarities(word))
            .collect();

        let best_match = |for_preferences: bool, threshold: f32| {
            let mut best: Option<(usize, f32)> = None;
            for (index, topic) in self.topics.iter().enumerate() {
                if (self.buckets[index].key == PREFERENCES) != for_preferences {
                    continue;
                }

                // Of two equal scores, that of the earlier bucket counts.
                let best_word = similarities
                    .iter()
                    .fold(0f32, |best, similarities| best.max(similarities[index]));
                // Half is the similarity of the whole texts, half that of the most similar two words.
                let score = (topic.text_vector.cosine(&text_vector) + best_word) / 2.0;
                if best.is_none_or(|(_, best_score)| score.total_cmp(&best_score).is_gt()) {
                    best = Some((index, score));
                }
            }

            let (index, score) = best?;
            (score >= threshold).then_some(index)
        };
        best_match(false, THRESHOLD).or_else(|| best_match(true, PREFERENCE_THRESHOLD))
    }

    /// Returns the similarity of a word to the most similar word of each bucket.
    fn word_similarities(&self, word: &str) -> Arc<[f32]> {
        if let Some(cached) = lock(&self.word_cache).get(word) {
            return cached.clone();
        }

        let vector = NormalizedVector::of(word);
        let topics = self.topics.iter();
        let similarities: Arc<[f32]> = topics
            .map(|topic| topic.word_similarity(word, &vector))
            .collect();
        insert_bounded(
            &mut lock(&self.word_cache),
            word.to_owned(),
            similarities.clone(),
        );
        similarities
    }
}

impl BucketTopic {
    /// Returns the similarity of a word to the most similar word of the bucket. Equal words have
    /// similarity 1.
    fn word_similarity(&self, word: &str, vector: &NormalizedVector) -> f32 {
        let mut best: f32 = 0.0;
        for (other, other_vector) in &self.words {
            let similarity = if other == word {
                1.0
            } else {
                vector.cosine(other_vector)
            };
            best = best.max(similarity);
        }
        best
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock is held cannot leave the map in an inconsistent state.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn insert_bounded<K: Eq + Hash, V>(cache: &mut HashMap<K, V>, key: K, value: V) {
    if cache.len() >= MAX_CACHED {
        cache.clear();
    }
    cache.insert(key, value);
}

fn embed_words(words: Vec<String>) -> Vec<(String, NormalizedVector)> {
    let mut embedded_words = Vec::new();
    for word in words {
        let vector = NormalizedVector::of(&word);
        embedded_words.push((word, vector));
    }

    embedded_words
}

/// Returns the words of a text that may reveal its topic.
fn select_topic_words(text: &str) -> Vec<String> {
    let mut words = content_words(text);
    words.retain(|word| !STOP_WORDS.contains(&word.as_str()));
    words.truncate(MAX_WORDS);
    words
}

#[cfg(test)]
mod tests {
    use super::examples::{BUCKETS, CALIBRATION, CHECK};
    use super::*;

    fn sorter(buckets: &[(&str, &str)]) -> BucketSorter {
        let bucket = |(key, description): &(&str, &str)| ProfileBucket {
            key: (*key).into(),
            description: (*description).into(),
        };
        BucketSorter::new(buckets.iter().map(bucket).collect())
    }

    /// Returns the share of the examples that are sorted as a person would sort them, and the
    /// failures.
    fn accuracy(examples: &[(&str, &str)]) -> (f64, Vec<String>) {
        let sorter = sorter(&BUCKETS);
        let found = |text: &str| {
            sorter
                .find_best_bucket(text)
                .map_or("", |index| BUCKETS[index].0)
        };
        let wrong = examples
            .iter()
            .filter(|(expected, text)| found(text) != *expected);
        let wrong: Vec<String> = wrong
            .map(|(expected, text)| format!("{text} {expected}/{}", found(text)))
            .collect();
        (1.0 - wrong.len() as f64 / examples.len() as f64, wrong)
    }

    #[test]
    fn most_memories_go_where_a_person_would_put_them() {
        // Measured: .95 on the examples that the threshold was chosen on, .83 on the rest.
        for (examples, min_accuracy) in [(&CALIBRATION[..], 0.9), (&CHECK[..], 0.8)] {
            let (right, wrong) = accuracy(examples);
            assert!(right >= min_accuracy, "{right:.3}: {wrong:#?}");
        }
    }

    #[test]
    fn the_list_of_empty_words_has_no_word_twice() {
        let mut sorted = STOP_WORDS.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), STOP_WORDS.len());
    }

    #[test]
    fn nothing_fits_without_buckets_and_without_words() {
        assert_eq!(sorter(&[]).find_best_bucket("User eats soup."), None);
        for empty_text in ["", "…", "!!!", "User"] {
            assert_eq!(
                sorter(&BUCKETS).find_best_bucket(empty_text),
                None,
                "{empty_text}"
            );
        }
    }
}
