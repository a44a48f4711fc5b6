//! What the service does, each as a function over a [`crate::Ctx`]. A step that may be repeated says which write makes
//! the repetition harmless.

mod access;
mod describe;
mod files;
mod find;
mod list;
mod manage_keys;
mod remove;
mod revise;
mod settings;
mod submit;
mod update;

pub use access::Authenticator;
pub use describe::Description;
pub use files::{Upload, begin_upload, file_arrived, file_url};
pub use find::{Naming, Scope, containers, find_document, find_documents, read_chunks, read_text};
pub use list::{ListQuery, Page, Sort, list_documents, path_matches};
pub use manage_keys::{create_key, list_keys, set_key_enabled};
pub use remove::remove_documents;
pub use settings::change_settings;
pub use submit::{Accepted, Content, NewDocument, submit, submit_all};
pub use update::{Update, retry_document, update_document};
