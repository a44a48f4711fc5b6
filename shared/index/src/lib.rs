//! A container's search index over the ports: segments from the blob store, the log after them, kept warm in memory.

mod cache;
mod compact;
mod load;

pub use cache::Cache;
pub use compact::compact;
pub use load::{Loaded, attributes};
