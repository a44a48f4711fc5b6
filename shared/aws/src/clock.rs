//! The system clock.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use domain::Timestamp;
use domain::ports::Clock;

/// The largest step back, in milliseconds, that the clock compensates. A clock that is set back
/// further was wrong before, so its new time is used.
const MAX_SET_BACK_MS: i64 = 24 * 3600 * 1000;

/// The time of this machine. It never goes back within a process, nor behind the time given to
/// [`SystemClock::continue_from`].
///
/// If the machine's clock is set back, the time continues from its last value. Expiries, leases and
/// retention periods therefore keep their order and their length.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// The last time that the clock returned. All parts of the process share it.
static LAST_TIME: Mutex<Option<LastTime>> = Mutex::new(None);

/// A time that the clock returned.
#[derive(Debug, Clone, Copy)]
struct LastTime {
    millis: i64,
    at: Instant,
}

impl SystemClock {
    /// Continues from `time`, at which something was written before this process began. Does
    /// nothing if the process has already read the clock or called this function.
    pub fn continue_from(time: SystemTime) {
        let last_time = LastTime {
            millis: unix_millis(time),
            at: Instant::now(),
        };
        LAST_TIME
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(last_time);
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock that everything else takes its time from"
        )]
        let wall = unix_millis(SystemTime::now());
        let at = Instant::now();
        // A panic while the lock was held cannot leave half a time.
        let mut last = LAST_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let millis = match *last {
            Some(last) => next_millis(last.millis, at.saturating_duration_since(last.at), wall),
            None => wall,
        };

        // A time is kept only when it differs from the last one: the rounding of many small steps
        // would add up.
        let is_same = matches!(*last, Some(last) if last.millis == millis);
        if !is_same {
            *last = Some(LastTime { millis, at });
        }

        Timestamp::from_millis(millis)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

fn unix_millis(time: SystemTime) -> i64 {
    let elapsed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the time that follows `last` after `elapsed`, while the machine's clock says `wall`.
fn next_millis(last: i64, elapsed: Duration, wall: i64) -> i64 {
    let steady = last.saturating_add(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX));
    let set_back = steady.saturating_sub(wall);
    if set_back > MAX_SET_BACK_MS {
        wall
    } else {
        wall.max(steady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const NOW: i64 = 1_767_225_600_000;

    #[test]
    fn the_time_goes_on_when_the_clock_is_set_back() {
        let second = Duration::from_secs(1);
        assert_eq!(next_millis(NOW, second, NOW + 1_000), NOW + 1_000);
        assert_eq!(
            next_millis(NOW, second, NOW + 1_000 - HOUR),
            NOW + 1_000,
            "an hour back"
        );
        assert_eq!(
            next_millis(NOW, Duration::ZERO, NOW - HOUR),
            NOW,
            "never before what was told"
        );
        assert_eq!(
            next_millis(NOW, second, NOW + HOUR),
            NOW + HOUR,
            "forward, as after a sleep"
        );
        assert_eq!(
            next_millis(NOW, second, NOW - 48 * HOUR),
            NOW - 48 * HOUR,
            "it was wrong before"
        );
    }

    #[test]
    fn the_time_never_goes_back() {
        let mut before = SystemClock.now();
        for _ in 0..1000 {
            let now = SystemClock.now();
            assert!(now >= before);
            before = now;
        }
    }
}
