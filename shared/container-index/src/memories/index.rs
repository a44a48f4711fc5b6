//! The index in which memories are found by a query.

use std::sync::Arc;

use domain::MemoryId;
use memory_model::Memory;
use memory_model::asking::{aspect_question_words, topic_question_words};
use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, Replacing, Segment, StaticEmbedder,
};

use super::listing::times_of;

/// The number of memories from which a newly read index becomes a segment. As a tail, it would be
/// copied with each change.
const MIN_SEGMENT_CHUNKS: usize = 512;

/// An index in which memories are found by a query; `()` for readers that never search.
pub trait MemoryIndex: Clone + Default + Send + Sync {
    /// False if the index is never searched.
    const IS_SEARCHED: bool;

    /// Creates the index of stored memories.
    fn restore(stored: &ContainerIndex) -> Self;
    /// Adds a memory, or replaces it.
    fn put(&mut self, memory: &Memory);
    /// Removes a memory.
    fn remove(&mut self, id: &MemoryId);
    /// Optimizes the index. Called once, after all memories were computed and added.
    fn optimize(&mut self);
    /// Returns the approximate size in bytes.
    fn bytes(&self) -> usize;
}

impl MemoryIndex for () {
    const IS_SEARCHED: bool = false;

    fn restore(_: &ContainerIndex) -> Self {}
    fn put(&mut self, _: &Memory) {}
    fn remove(&mut self, _: &MemoryId) {}
    fn optimize(&mut self) {}
    fn bytes(&self) -> usize {
        0
    }
}

impl MemoryIndex for ContainerIndex {
    const IS_SEARCHED: bool = true;

    fn restore(stored: &ContainerIndex) -> Self {
        stored.clone()
    }

    fn put(&mut self, memory: &Memory) {
        self.upsert_document(to_index(memory));
    }

    fn remove(&mut self, id: &MemoryId) {
        Self::remove_document(self, id.as_str());
    }

    fn optimize(&mut self) {
        if self.tail_chunks() < MIN_SEGMENT_CHUNKS {
            return;
        }
        // If the index cannot be sealed, only its speed is lost.
        let mut sealed = Self::new();
        if let Ok(file) = self.build_compacted(Replacing::ByNumber)
            && let Ok(segment) = Segment::open(file.into())
            && sealed.push_segment(Arc::new(segment)).is_ok()
        {
            *self = sealed;
        }
    }

    fn bytes(&self) -> usize {
        Self::estimated_bytes(self)
    }
}

/// Converts a memory for the search engine, with its record as the attributes. Only the latest version
/// has a chunk to find.
fn to_index(memory: &Memory) -> Document {
    let chunks = match memory.is_latest {
        true => vec![to_chunk(memory)],
        false => Vec::new(),
    };
    let live_until = memory.live_until();
    Document {
        id: memory.id.to_string(),
        attributes: memory.to_record().into(),
        expires_at: (memory.is_latest && live_until < i64::MAX).then_some(live_until),
        times: memory.is_latest.then(|| times_of(memory)),
        chunks,
        ..Document::default()
    }
}

/// Returns the chunk of a memory. A query can also match the day on which it was said or to which it
/// refers, and the question that it answers in other words.
fn to_chunk(memory: &Memory) -> ChunkInput {
    let day = match memory.event {
        Some(event) => event.from,
        None => memory.said_at,
    };
    let day = day.format_long_date();
    let question = match &memory.topic_answer {
        Some(answer) => topic_question_words(answer),
        None => aspect_question_words(&memory.changed_aspects),
    };

    ChunkInput {
        text: memory.text.clone(),
        headings: format!("{day}\n{question}").trim_end().to_owned(),
        vector: StaticEmbedder.embed(&memory.text),
        position: 0,
        start: 0,
        end: u32::try_from(memory.text.chars().count()).unwrap_or(u32::MAX),
        model_vector: None,
    }
}
