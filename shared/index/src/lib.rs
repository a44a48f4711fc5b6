//! The index of a container, computed from its segments and log and kept warm in memory: the chunks
//! to search, and the memories.

mod cache;
mod chunks;
mod compact;
mod count;
mod memories;
mod mend;
mod view;

pub use cache::Cache;
pub use chunks::{Chunks, attributes};
pub use compact::{compact, rebuild, rewrite};
pub use count::count_memories;
pub use memories::{Memories, MemoryIndex};
pub use mend::{Verdict, mend, verify};
pub use view::View;
