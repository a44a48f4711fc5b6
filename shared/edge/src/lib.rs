//! The HTTP edge that every function and the local server share: authentication, extractors, the
//! shape of errors, and the request log.

mod auth;
mod error;
mod extract;
mod fields;
mod kind;
mod memories;
mod misnamed;
mod record;
mod redact;
mod router;
mod secret;
mod wrong_keys;

pub use auth::{
    Admin, Anyone, Auth, ClientAddress, Demand, LoopbackPeer, Read, ReadContent, ReadOrganization,
    Write, WriteContent,
};
pub use error::{ApiError, ApiResult};
pub use extract::{Json, JsonParts, Path, Query, parse_fields};
pub use fields::{
    MAX_ENTRIES, Order, Pagination, SortField, bounded, count, flexible_bool, object, object_text,
    optional_object, own_tag, scope, tag_of,
};
pub use memories::{MemoryEntry, MemoryVersion, review_status};
pub use misnamed::check_name;
pub use record::{note_body, request_id};
pub use router::{App, MAX_JSON_BYTES, finish};
