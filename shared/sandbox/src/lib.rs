//! Runs `content::extract` in a child process of the same executable, with limits on memory,
//! processor time and wall time, so that a crash, a leak or a bomb in a parser cannot take the
//! server down.
//!
//! The parent writes a header and the bytes to the child's standard input, and reads one JSON
//! result from its standard output. The child has none of the server's environment variables, and
//! therefore no credentials, and it ends with the call. It runs at a low priority. Where the kernel
//! supports it, the child cannot open files or connections, or start programs.

mod child;
mod confinement;
mod parent;

use std::io;

pub use child::child_main;
pub use confinement::{Confinement, confine_process};
pub use parent::{Sandbox, WALL_TIME, extract_plain_text};

use content::ContentFailure;

/// The first argument that makes an executable call [`child_main`].
pub const CHILD_ARGUMENT: &str = "extract-child";

/// The reason why no text was extracted.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The document cannot be read. The same bytes fail in the same way again.
    #[error(transparent)]
    Content(#[from] ContentFailure),
    /// The sandbox itself failed, for example because no process could be started. A retry may
    /// succeed.
    #[error("the extraction sandbox is unavailable")]
    Unavailable(#[source] io::Error),
}

/// The header that the parent sends before the bytes of the document. Its length comes first, as
/// four bytes in big-endian order.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct ChildHeader {
    name: Option<String>,
    declared: Option<String>,
    /// The number of bytes that follow.
    size: usize,
    /// True if the child must report its walls instead of reading a document.
    asks_for_walls: bool,
}
