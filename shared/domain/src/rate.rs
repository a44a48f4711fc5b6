//! Rate limits: a sliding window that never admits more than its maximum in any period of its
//! length.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The largest number of entries in a window. For a larger maximum, requests are counted in steps,
/// each of which is a fraction of the window.
const MAX_ENTRIES: u32 = 128;

/// The largest difference between the clocks of several machines, in milliseconds. An entry that is
/// further ahead was made before the clock was set back.
const MAX_CLOCK_SKEW_MS: i64 = 5_000;

/// A rate limit: the largest number of requests in any period of a given length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// The number of requests, at least 1.
    pub max: u32,
    /// The length of the period in milliseconds, at least 1.
    pub window_ms: i64,
}

/// The requests that a limit has recently admitted, oldest first: the time in milliseconds, and the
/// number of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RateWindow(Vec<(i64, u32)>);

impl RateLimit {
    /// Returns the length of a step in milliseconds. Requests within one step are remembered as one
    /// entry. Up to [`MAX_ENTRIES`], each request has its own entry and the limit is exact; above,
    /// a request counts for up to one step longer.
    fn step_ms(self) -> i64 {
        if self.max <= MAX_ENTRIES {
            1
        } else {
            (self.window_ms / i64::from(MAX_ENTRIES)).max(1)
        }
    }
}

impl RateWindow {
    /// Admits a request at `now`.
    ///
    /// # Errors
    /// Returns the time at which the next request will be admitted, if no other is admitted before.
    pub fn admit(&mut self, limit: RateLimit, now: Timestamp) -> Result<(), Timestamp> {
        let step = limit.step_ms();
        self.follow_clock(now, step);

        // The clocks of several machines differ a little. The newest entry of the window is never
        // in the future.
        let now = now
            .as_millis()
            .max(self.0.last().map_or(i64::MIN, |(at, _)| *at));

        // An entry stands for requests up to the end of its step.
        let expiry_of = |at: i64| at + (step - 1) + limit.window_ms;
        self.0.retain(|(at, _)| expiry_of(*at) > now);

        let used: u32 = self.0.iter().map(|(_, count)| count).sum();
        if used >= limit.max {
            return Err(Timestamp::from_millis(
                self.next_free_time(limit, used, expiry_of),
            ));
        }

        let at = now - now.rem_euclid(step);
        match self.0.last_mut() {
            Some((last, count)) if *last == at => *count += 1,
            _ => self.0.push((at, 1)),
        }

        Ok(())
    }

    /// Moves the entries back if the clock was set back, as if the newest entry had just been made.
    /// Otherwise the limit would refuse requests until the clock reaches its former time. The
    /// distances between the entries stay the same, so no additional requests are admitted.
    fn follow_clock(&mut self, now: Timestamp, step: i64) {
        let newest = self.0.last().map_or(i64::MIN, |(at, _)| *at);
        let ahead = newest.saturating_sub(now.as_millis());
        if ahead > MAX_CLOCK_SKEW_MS {
            // The shift is a whole number of steps, so that entries stay at the beginning of steps.
            let shift = ahead + (step - ahead.rem_euclid(step)) % step;
            self.0.iter_mut().for_each(|(at, _)| *at -= shift);
        }
    }

    /// Returns the time at which enough entries have expired to admit one more request.
    fn next_free_time(&self, limit: RateLimit, used: u32, expiry_of: impl Fn(i64) -> i64) -> i64 {
        let mut remaining = used;
        for (at, count) in &self.0 {
            remaining -= count;
            if remaining < limit.max {
                return expiry_of(*at);
            }
        }
        i64::MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn the_hundred_and_first_of_a_minute_waits_for_the_first_to_leave() {
        let limit = RateLimit {
            max: 100,
            window_ms: 60_000,
        };
        let mut window = RateWindow::default();
        for i in 0..100 {
            window.admit(limit, at(1_000 + i * 10)).unwrap();
        }
        assert_eq!(window.admit(limit, at(60_999)), Err(at(61_000)));
        window.admit(limit, at(61_000)).unwrap();
        assert_eq!(window.admit(limit, at(61_000)), Err(at(61_010)));
    }

    #[test]
    fn many_in_the_same_millisecond_are_all_counted() {
        let limit = RateLimit {
            max: 3,
            window_ms: 1_000,
        };
        let mut window = RateWindow::default();
        let admitted = (0..10)
            .filter(|_| window.admit(limit, at(5)).is_ok())
            .count();
        assert_eq!(admitted, 3);
    }

    #[test]
    fn above_the_number_of_entries_a_request_counts_until_the_end_of_its_step() {
        // A step is 100 ms.
        let limit = RateLimit {
            max: 1_280,
            window_ms: 12_800,
        };
        let mut window = RateWindow::default();
        for i in 0..1_279 {
            window.admit(limit, at(50 + i % 50)).unwrap();
        }
        window.admit(limit, at(100)).unwrap();
        assert_eq!(window.0, [(0, 1_279), (100, 1)]);
        assert_eq!(window.admit(limit, at(12_898)), Err(at(12_899)));

        window.admit(limit, at(12_899)).unwrap();
        assert_eq!(window.0, [(100, 1), (12_800, 1)]);
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_a_limit_shut_for_a_window_at_most() {
        for max in [3, 500] {
            let limit = RateLimit {
                max,
                window_ms: 60_000,
            };
            let mut window = RateWindow::default();
            let hour = 3_600_000;
            for _ in 0..max {
                window.admit(limit, at(2 * hour)).unwrap();
            }

            let next_free = window.admit(limit, at(hour)).unwrap_err();
            assert!(
                next_free > at(hour) && next_free <= at(hour + 61_000),
                "{next_free:?}"
            );
            assert!(
                window.admit(limit, at(hour + 30_000)).is_err(),
                "what was admitted still counts"
            );
            window.admit(limit, next_free).unwrap();
        }
    }

    #[test]
    fn clocks_that_differ_a_little_are_one_clock() {
        let limit = RateLimit {
            max: 1,
            window_ms: 60_000,
        };
        let mut window = RateWindow::default();
        window.admit(limit, at(100_000)).unwrap();
        assert_eq!(window.admit(limit, at(95_000)), Err(at(160_000)));
        // One more millisecond, and the clock was set back, so the entry is moved.
        assert_eq!(window.admit(limit, at(94_999)), Err(at(154_999)));
    }

    #[test]
    fn entries_stay_at_the_beginning_of_steps_when_the_clock_is_set_back() {
        // A step is 100 ms.
        let limit = RateLimit {
            max: 1_280,
            window_ms: 12_800,
        };
        let mut window = RateWindow(vec![(100_000, 1_280)]);
        assert_eq!(window.admit(limit, at(50_030)), Err(at(62_899)));
        assert_eq!(window.0, [(50_000, 1_280)]);
    }

    #[test]
    fn a_limit_that_was_lowered_opens_when_enough_entries_have_expired() {
        let limit = RateLimit {
            max: 2,
            window_ms: 1_000,
        };
        let mut window = RateWindow(vec![(0, 1), (10, 1), (20, 1)]);
        assert_eq!(window.admit(limit, at(30)), Err(at(1_010)));
    }

    proptest! {
        #[test]
        fn no_stretch_has_more_than_the_maximum_and_no_slow_caller_is_refused(
            max in 1_u32..600,
            window_ms in 1_i64..5_000,
            pauses in proptest::collection::vec(0_i64..200, 1..400),
        ) {
            let limit = RateLimit { max, window_ms };
            let (mut window, mut now, mut admitted) = (RateWindow::default(), 0, Vec::<i64>::new());

            for pause in pauses {
                now += pause;
                let step = limit.step_ms();
                let recent = admitted.iter().filter(|then| **then > now - window_ms - step).count();
                match window.admit(limit, at(now)) {
                    Ok(()) => admitted.push(now),
                    Err(next_free) => {
                        prop_assert!(recent >= max as usize, "refused after {recent} of {max}");
                        prop_assert!(next_free > at(now));
                    }
                }
                let in_window = admitted.iter().filter(|then| **then > now - window_ms).count();
                prop_assert!(in_window <= max as usize);
                prop_assert!(window.0.len() <= MAX_ENTRIES as usize + 2);
            }
        }
    }
}
