//! The one place of this crate that reads the system's clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Tells the time in milliseconds since 1970. SQS (visibility, delay, retention, deduplication) and S3 (times of
/// last change) follow it; a test hands in its own to move time without sleeping.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The system's clock.
pub(crate) fn system() -> Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the embedded services stand for AWS, which has its own clock"
    )]
    Arc::new(|| {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        u64::try_from(since_1970.unwrap_or(Duration::ZERO).as_millis()).unwrap_or(u64::MAX)
    })
}
