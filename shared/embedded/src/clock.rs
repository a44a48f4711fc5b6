//! The only place of this crate that reads the system clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A function that returns the time in milliseconds since 1970.
///
/// SQS (visibility, delay, retention, deduplication) and S3 (times of last change) use it. A test
/// passes its own clock to move time without sleeping.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Returns the system clock.
pub(crate) fn system_clock() -> Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the embedded services stand for AWS, which has its own clock"
    )]
    Arc::new(|| {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        u64::try_from(since_1970.unwrap_or(Duration::ZERO).as_millis()).unwrap_or(u64::MAX)
    })
}
