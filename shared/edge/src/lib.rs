//! The HTTP edge, the same under every function and on one machine: who asks, in which shape, and how refusals look.

mod auth;
mod error;
mod extract;
mod fields;
mod memories;
mod router;

pub use auth::{Auth, LoopbackPeer, Read, Write};
pub use error::{ApiError, ApiResult};
pub use extract::{Json, JsonParts, Path, Query, parse_fields};
pub use fields::{Order, Pagination, SortField, count, flexible_bool, object_text, scope, tag_of};
pub use memories::{MemoryEntry, MemoryVersion, review_status};
pub use router::{App, MAX_JSON_BYTES, finish, request_id};
