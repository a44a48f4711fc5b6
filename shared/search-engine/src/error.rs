//! The errors of the engine. Only stored bytes can cause them; a query by itself never fails.

/// The reason why a segment could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The bytes are not a segment, are truncated, or fail a checksum. The text names the part.
    #[error("segment is corrupt: {0}")]
    Corrupt(&'static str),
    /// The segment was written by a newer version of the program.
    #[error("segment format {0} is not known to this version")]
    UnknownVersion(u32),
    /// The documents do not fit into one segment (4 GiB per section, 2^31 chunks).
    #[error("too much for one segment: {0}")]
    TooLarge(&'static str),
}
