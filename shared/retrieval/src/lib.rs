//! The recall engine: text analysis, the built-in embedding, lexical and vector index segments, fusion.
//!
//! Pure: no I/O, no clock, no async. A caller turns documents into [`Document`]s with chunk vectors, keeps them in a
//! [`ContainerIndex`] (immutable [`Segment`]s plus a small mutable tail) and asks [`search`].
//!
//! Ranking never depends on how documents are laid out: statistics count living chunks over all parts of a request,
//! ties are broken by document id and position, so a compaction changes no answer.

pub mod analysis;
mod config;
pub mod embedding;
mod error;
mod index;
mod kernel;
mod search;
mod segment;
mod vector;

pub use config::{Calibration, Config};
pub use embedding::{Embedder, StaticEmbedder};
pub use error::Error;
pub use index::{ChunkInput, ContainerIndex, Document, DocumentView, merge};
pub use search::{Features, Hit, Query, Response, Scores, search};
pub use segment::{Segment, SegmentBuilder, StoredDocument};
pub use vector::{DIMENSIONS, Vector};
