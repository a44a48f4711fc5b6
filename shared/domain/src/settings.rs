//! What an organization has set for itself.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The settings of an organization. Every field has a default that means "not set".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Counts changes; the fence of concurrent ones.
    #[serde(skip)]
    pub version: u64,
    /// The size of a chunk to aim at, in characters; `None` leaves it to the service.
    pub chunk_size: Option<u32>,
}

/// The sizes of chunks that make sense: below, a chunk is no thought; above, it is several.
pub const CHUNK_SIZES: std::ops::RangeInclusive<i64> = 64..=16_000;

impl Settings {
    /// Sets `chunkSize` as the contract sends it: -1 is the default.
    ///
    /// # Errors
    /// [`Error::Invalid`] outside [`CHUNK_SIZES`].
    pub fn set_chunk_size(&mut self, size: i64) -> Result<()> {
        self.chunk_size = match size {
            -1 => None,
            size if CHUNK_SIZES.contains(&size) => u32::try_from(size).ok(),
            _ => {
                let (least, most) = (CHUNK_SIZES.start(), CHUNK_SIZES.end());
                let rule = format!("{least} to {most} characters, or -1 for the default");
                return Err(Error::invalid_field("chunkSize", rule));
            }
        };
        Ok(())
    }
}
