//! Repetition of writes that fail because another writer was first.

use std::time::Duration;

use rand::RngExt;

use domain::error::PortError;
use domain::ports::{Clock, PortResult};

/// The most attempts at one write. With the pauses between them they take about half a second.
const MAX_ATTEMPTS: u32 = 40;
/// The longest pause before the second attempt. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest pause before any attempt.
const MAX_PAUSE: Duration = Duration::from_millis(32);

/// Counts the attempts at a write that other writers may be first to make, and waits between them.
///
/// The pause is random between zero and a limit that doubles, so that competing writers spread out
/// ("full jitter", Exponential Backoff And Jitter, AWS Architecture Blog 2015).
///
/// ```ignore
/// let mut retry = ConflictRetry::new(ctx.clock.as_ref());
/// loop {
///     let record = read().await?;
///     if write(record).await? {
///         return Ok(());
///     }
///     retry.wait().await?;
/// }
/// ```
pub struct ConflictRetry<'a> {
    clock: &'a dyn Clock,
    failures: u32,
}

impl<'a> ConflictRetry<'a> {
    /// Starts to count with the first attempt.
    pub fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, failures: 0 }
    }

    /// Waits after a failed attempt.
    ///
    /// # Errors
    /// Returns [`PortError::Conflict`] when the last attempt has failed.
    pub async fn wait(&mut self) -> PortResult<()> {
        self.failures += 1;
        if self.failures >= MAX_ATTEMPTS {
            return Err(PortError::Conflict);
        }

        let max_pause = FIRST_PAUSE
            .saturating_mul(1 << (self.failures - 1).min(10))
            .min(MAX_PAUSE);
        let pause = max_pause.mul_f64(rand::rng().random());
        self.clock.sleep(pause).await;

        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use domain::time::Timestamp;

    #[derive(Default)]
    struct RecordingClock(Mutex<Vec<Duration>>);

    #[async_trait]
    impl Clock for RecordingClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }

        async fn sleep(&self, duration: Duration) {
            self.0.lock().unwrap().push(duration);
        }
    }

    #[test]
    fn attempts_are_limited_and_pauses_random_and_short() {
        let clock = RecordingClock::default();
        let mut retry = ConflictRetry::new(&clock);
        let outcome = futures::executor::block_on(async {
            loop {
                if let Err(error) = retry.wait().await {
                    return error;
                }
            }
        });

        let pauses = clock.0.into_inner().unwrap();
        assert!(matches!(outcome, PortError::Conflict));
        assert_eq!(pauses.len(), MAX_ATTEMPTS as usize - 1);
        assert!(pauses[0] <= FIRST_PAUSE, "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= MAX_PAUSE), "{pauses:?}");
        let total: Duration = pauses.iter().sum();
        assert!(total > Duration::from_millis(200), "{total:?}");
    }
}
