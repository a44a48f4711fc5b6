//! The search engine: text analysis, the built-in embedding, lexical and vector index segments, and
//! fusion of both rankings.
//!
//! The crate is pure: it does no I/O, reads no clock and has no async code. A caller turns
//! documents into [`Document`]s with chunk vectors, keeps them in a [`ContainerIndex`] (immutable
//! [`Segment`]s and a small mutable tail) and calls [`search`].
//!
//! Ranking does not depend on how documents are laid out. Statistics count the live chunks of all
//! parts of a request, and ties are broken by document id and position, so a compaction does not
//! change any result. Only while vectors of a segment are not in memory, hits far down may differ,
//! because their cosines are estimated.

pub mod analysis;
mod config;
pub mod embedding;
mod error;
mod index;
mod kernel;
mod search;
mod segment;
mod vector;
mod vector_code;

pub use config::{RankingConfig, SimilarityCalibration};
pub use embedding::{Embedder, StaticEmbedder};
pub use error::SegmentError;
pub use index::{
    ChunkInput, ContainerIndex, Document, DocumentCount, DocumentPlace, DocumentTimes,
    DocumentView, ListedDocument, ListedTime, Piece, Replacing, merge_segments,
};
pub use search::{
    CosineLevels, CosineScale, HitFeatures, HitScores, QueryModel, SearchHit, SearchOutcome,
    SearchProgress, SearchQuery, WiderLimit, continue_search, search_containers,
};
pub use segment::{FirstReads, PageSource, Segment, StoredDocument};
pub use vector::{DIMENSIONS, MAX_MODEL_DIMENSIONS, ModelVector, QuantizedVector};
