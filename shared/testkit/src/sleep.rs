//! The SDK's pauses between retries, which take no time in tests.

use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};

/// Every pause is over at once; time-outs never come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoSleep;

impl AsyncSleep for NoSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        /// Pauses between attempts stay below this; what waits longer is a time-out.
        const LONGEST_PAUSE: Duration = Duration::from_secs(21);
        if duration < LONGEST_PAUSE {
            Sleep::new(std::future::ready(()))
        } else {
            Sleep::new(std::future::pending())
        }
    }
}
