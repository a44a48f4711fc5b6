//! What the service does, each as a function over a [`crate::Ctx`]. A step that may be repeated says which write makes
//! the repetition harmless.

mod access;
mod containers;
mod describe;
mod export;
mod files;
mod find;
mod import;
mod list;
mod manage_keys;
mod memories;
mod remove;
mod revise;
mod settings;
mod submit;
mod update;

pub use access::Authenticator;
pub use containers::change_container;
pub use describe::Description;
pub use export::{BodyCopy, ContainerCopy, DocumentCopy, LearnedCopy, ServedCopy, copy_document};
pub use files::{Upload, begin_upload, file_arrived, file_url};
pub use find::{Naming, Scope, containers, find_document, find_documents, read_chunks, read_text};
pub use import::{Imported, import_container, import_documents};
pub use list::{ListQuery, Page, Sort, list_documents, path_matches};
pub use manage_keys::{create_key, list_keys, set_key_enabled};
pub use memories::{CLIENT, act_on_memories, existing_container, write_memories};
pub use remove::{after_commit, remove_documents};
pub use settings::change_settings;
pub use submit::{Accepted, Content, NewDocument, submit, submit_all};
pub use update::{Update, retry_document, update_document};
