//! A sleep implementation that makes the SDK's pauses between retries take no time in tests.

use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};

/// A sleep that ends every pause at once and never reaches a timeout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoSleep;

impl AsyncSleep for NoSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        /// The upper limit of pauses between attempts. A longer sleep is a timeout.
        const LONGEST_PAUSE: Duration = Duration::from_secs(21);
        if duration < LONGEST_PAUSE {
            Sleep::new(std::future::ready(()))
        } else {
            Sleep::new(std::future::pending())
        }
    }
}
