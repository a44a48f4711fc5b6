//! The index of a container, computed from its segments and log and kept warm in memory: the chunks
//! to search, and the memories.

mod cache;
mod chunks;
mod compact;
mod count;
mod documents;
mod embedding;
mod lease;
mod memories;
mod opened;
mod repair;
mod rewrite;
mod segment_list;
mod segments;
mod tail;
mod view;

pub use cache::{CacheSettings, LargeRead, ViewCache};
pub use chunks::{IndexedChunks, decode_attributes, read_attributes};
pub use compact::{CompactionOutcome, CompactionSettings, compact_index};
pub use count::count_memories;
pub use documents::IndexedDocuments;
pub use embedding::ChosenModel;
pub use memories::{IndexedMemories, ListedMemory, MemoryIndex, listed_at};
pub use repair::{IndexFaults, repair_index, verify_index};
pub use rewrite::{rebuild_index, rewrite_index};
pub use search_engine::ListedTime;
pub use segments::{PartialSegment, SegmentReading, partial_segments, read_until_fetched};
pub use view::{ContainerState, ContainerView, FetchedBlobs};
