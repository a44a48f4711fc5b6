//! Runs `content::extract` where a crash, a leak or a bomb in a parser cannot take the server down:
//! in a child process of the same executable, with limits on memory, processor time and wall time.
//!
//! The parent writes a header and the bytes to the child's standard input and reads one JSON result from its
//! standard output. The child sees no environment variables, so no credentials, and dies with the call. It runs at a low
//! priority, and where the kernel offers it, it can neither open a file nor a connection nor start a program.

mod child;
mod parent;
mod walls;

use std::io;

pub use child::child_main;
pub use parent::{Sandbox, WALL_TIME};
pub use walls::{Walls, confine};

use content::Failure;

/// The first argument that makes an executable call [`child_main`].
pub const CHILD_ARGUMENT: &str = "extract-child";

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The document cannot be read: the same bytes fail the same way again.
    #[error(transparent)]
    Content(#[from] Failure),
    /// The sandbox itself failed, for example because no process could be started: worth another try.
    #[error("the extraction sandbox is unavailable")]
    Unavailable(#[source] io::Error),
}

/// What the parent tells the child about the bytes that follow, after its length as four bytes, big endian.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Header {
    name: Option<String>,
    declared: Option<String>,
    /// How many bytes follow.
    size: usize,
    /// Whether the child is to tell its walls instead of reading a document.
    asks_for_walls: bool,
}
