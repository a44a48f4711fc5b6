//! What can go wrong: only stored bytes can be wrong, every query is answerable.

/// Why a segment could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are not a segment, are cut off, or fail a checksum; the text names the part.
    #[error("segment is corrupt: {0}")]
    Corrupt(&'static str),
    /// The segment was written by a newer program.
    #[error("segment format {0} is not known to this version")]
    Version(u32),
    /// The set of documents does not fit one segment (4 GiB per section, 2^31 chunks).
    #[error("too much for one segment: {0}")]
    TooLarge(&'static str),
}
