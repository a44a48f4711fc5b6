//! A clock that only a test advances.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use domain::Timestamp;
use domain::ports::Clock;

/// A clock that begins at 2026-01-01T00:00:00Z. It advances by one millisecond each time it is
/// read, so that no two writes have the same time.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<AtomicI64>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(1_767_225_600_000)))
    }
}

impl TestClock {
    /// Advances the clock.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Returns the clock for the embedded services.
    pub fn as_service_clock(&self) -> embedded::Clock {
        let now = self.0.clone();
        Arc::new(move || now.load(Ordering::SeqCst).unsigned_abs())
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::SeqCst))
    }

    /// Lets others proceed. The time of the clock stays the same.
    async fn sleep(&self, _: Duration) {
        tokio::task::yield_now().await;
    }
}
