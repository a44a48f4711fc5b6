//! What the service does, each as a function over a [`crate::Ctx`]. A step that may be repeated says which write makes
//! the repetition harmless.

mod access;
mod find;
mod list;
mod manage_keys;
mod remove;
mod submit;

pub use access::Authenticator;
pub use find::{Scope, containers, find_document, read_chunks, read_text};
pub use list::{ListQuery, Page, Sort, list_documents, path_matches};
pub use manage_keys::{create_key, list_keys, set_key_enabled};
pub use remove::remove_document;
pub use submit::{Accepted, Content, NewDocument, submit};
