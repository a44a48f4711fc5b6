//! The HTTP edge that every function and the local server share: authentication, extractors, the
//! shape of errors, and the request log.

mod auth;
mod console_session;
mod cookie;
mod cors;
mod credentials;
mod error;
mod extract;
mod fields;
mod memories;
mod namespace;
mod provider_names;
mod redact;
mod request_log;
mod request_type;
mod router;
mod schemas;
mod scope_names;
mod value_count;
mod wrong_keys;

pub use auth::{
    Admin, AnyKey, Auth, ClientAddress, ForwardedKey, LoopbackPeer, ReadContent, ReadOrganization,
    ReadUnscoped, RequiredPermission, WriteContent, WriteUnscoped, read_bearer_token,
};
pub use console_session::{console_cookie, read_console_session};
pub use cookie::{HostCookie, SameSite};
pub use cors::AllowedOrigins;
pub use error::{ApiError, ApiResult};
pub use extract::{Json, JsonParts, Path, Query, parse_fields, read_body};
pub use fields::{
    MAX_ENTRIES, NoFields, Order, Pagination, SortField, as_whole_number, check_length,
    deserialize_bool, deserialize_count, deserialize_optional_object, deserialize_whole_number,
    page_and_limit, parse_object_text, parse_scope, parse_single_tag, resolve_tag, take_page,
};
pub use memories::{MemoryEntry, MemoryVersion, review_status};
pub use namespace::{
    CreatedAt, IncludeQuery, ItemPage, NamespaceChunk, NamespaceMemory, NoItem, RelatedMemories,
    RelatedMemory, SourceDocument, TimesOfItem, namespace_scope, parse_namespace, public_id,
    rename_fields,
};
pub use provider_names::{ProviderName, ProviderNames, TypeName};
pub use request_log::{ForwardedRequestId, note_request_body, request_id};
pub use request_type::POST_TYPES;
pub use router::{App, MAX_JSON_BYTES, build_service};
pub use schemas::{count_schema, flexible_boolean_schema, page_schema};
pub use scope_names::check_field_name;
pub use value_count::MAX_JSON_VALUES;
