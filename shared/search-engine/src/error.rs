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
    /// A part of the file that is needed was not fetched yet. [`crate::Segment::missing`] has it.
    #[error("a part of the segment was not fetched yet")]
    NotFetched,
}

/// The first error of several reads. All reads are tried before the error is returned, so that all that
/// is missing is fetched at once.
#[derive(Debug, Default)]
pub(crate) struct FirstError(Option<SegmentError>);

impl FirstError {
    /// Returns the value of a read, if it succeeded.
    pub(crate) fn ok<T>(&mut self, read: Result<T, SegmentError>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                self.0.get_or_insert(error);
                None
            }
        }
    }

    /// Returns the first error of all reads.
    pub(crate) fn into_result(self) -> Result<(), SegmentError> {
        match self.0 {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
