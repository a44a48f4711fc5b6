//! The span of time that analytics cover.

use domain::activity::{Hour, RETENTION_DAYS, RETENTION_SECONDS};
use domain::error::{Error, Result};
use domain::time::Timestamp;

/// The longest time that a request may spend on its way, in seconds. When the caller's clock
/// counted the days up to now, `from` may be this much older than the limit.
const ON_ITS_WAY_SECONDS: i64 = 60;

/// The time from one moment up to, but not including, another. A span never begins before the
/// retention and never ends in the future, except a span of a whole hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan {
    from: Timestamp,
    to: Timestamp,
}

impl TimeSpan {
    /// Returns the span that a request asks for: `to` defaults to now, and `from` to `seconds`
    /// before `to`. The part that is older than the retention or in the future is cut off.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] about `from` when it is after `to`, or more than 90 days before
    /// it.
    pub fn from_request(
        from: Option<Timestamp>,
        to: Option<Timestamp>,
        seconds: i64,
        now: Timestamp,
    ) -> Result<Self> {
        let end = to.unwrap_or(now);
        let begin = from.unwrap_or_else(|| end.plus_seconds(-seconds));
        if begin > end {
            return Err(Error::invalid_field(
                "from",
                "not after `to`, which is now unless it is sent",
            ));
        }

        let allowance = if to.is_none() { ON_ITS_WAY_SECONDS } else { 0 };
        let earliest = end.plus_seconds(-(RETENTION_SECONDS + allowance));
        if begin < earliest {
            return Err(Error::invalid_field(
                "from",
                format!("at most {RETENTION_DAYS} days before `to`"),
            ));
        }

        Ok(Self::within_retention(begin, end, now))
    }

    /// Returns the last `seconds` before now.
    pub fn last_seconds(seconds: i64, now: Timestamp) -> Self {
        Self::within_retention(now.plus_seconds(-seconds), now, now)
    }

    /// Returns the span for which records are kept.
    pub fn retained(now: Timestamp) -> Self {
        Self::last_seconds(RETENTION_SECONDS, now)
    }

    /// Returns the span of a whole hour.
    pub fn for_hour(hour: Hour) -> Self {
        Self {
            from: hour.start_time(),
            to: hour.end_time(),
        }
    }

    fn within_retention(from: Timestamp, to: Timestamp, now: Timestamp) -> Self {
        let oldest = now.plus_seconds(-RETENTION_SECONDS);
        let from = from.clamp(oldest, now);
        Self {
            from,
            to: to.clamp(from, now),
        }
    }

    /// Returns the span of the same length that ends where this one begins.
    #[must_use]
    pub fn preceding(self) -> Self {
        let length = self.to.as_millis() - self.from.as_millis();
        Self {
            from: Timestamp::from_millis(self.from.as_millis() - length),
            to: self.from,
        }
    }

    /// Checks whether a moment lies in the span.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at < self.to
    }

    /// Checks whether the whole hour lies in the span.
    pub fn covers(self, hour: Hour) -> bool {
        self.from <= hour.start_time() && hour.end_time() <= self.to
    }

    /// Returns the first and the last hour of the span, or `None` if it is empty.
    pub fn hours(self) -> Option<(Hour, Hour)> {
        let last = Timestamp::from_millis(self.to.as_millis() - 1);
        (self.from < self.to).then(|| (Hour::containing(self.from), Hour::containing(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3600;
    const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

    fn ago(seconds: i64) -> Timestamp {
        NOW.plus_seconds(-seconds)
    }

    #[test]
    fn a_span_is_cut_to_what_is_kept() {
        let days = |days: i64| Some(ago(days * DAY));
        let cases = [
            (None, None, (ago(3600), NOW)),
            (None, days(2), (ago(2 * DAY + 3600), ago(2 * DAY))),
            (days(3), days(1), (ago(3 * DAY), ago(DAY))),
            (days(90), None, (ago(90 * DAY), NOW)),
            (Some(ago(90 * DAY + 60)), None, (ago(90 * DAY), NOW)),
            (days(100), days(50), (ago(90 * DAY), ago(50 * DAY))),
            (days(1), days(-1), (ago(DAY), NOW)),
            (days(100), days(95), (ago(90 * DAY), ago(90 * DAY))),
            (days(-1), days(-2), (NOW, NOW)),
            (days(1), days(1), (ago(DAY), ago(DAY))),
        ];

        for (from, to, (expected_from, expected_to)) in cases {
            let expected = TimeSpan {
                from: expected_from,
                to: expected_to,
            };
            assert_eq!(
                TimeSpan::from_request(from, to, 3600, NOW).unwrap(),
                expected,
                "{from:?} {to:?}"
            );
        }
    }

    #[test]
    fn too_long_and_reversed_spans_are_refused() {
        let milli = |time: Timestamp, by: i64| Some(Timestamp::from_millis(time.as_millis() + by));
        for (from, to) in [
            (milli(ago(90 * DAY + 60), -1), None),
            (milli(ago(91 * DAY), -1), Some(ago(DAY))),
            (milli(ago(DAY), 1), Some(ago(DAY))),
            (milli(NOW, 1), None),
        ] {
            let error = TimeSpan::from_request(from, to, 3600, NOW).unwrap_err();
            assert!(error.to_string().starts_with("from: "), "{error}");
        }
    }

    #[test]
    fn neighbours_share_no_moment_and_leave_none_out() {
        let span = TimeSpan::last_seconds(DAY, NOW);
        let before = span.preceding();
        assert_eq!((before.from, before.to), (ago(2 * DAY), ago(DAY)));
        assert!(span.contains(ago(DAY)) && !before.contains(ago(DAY)) && !span.contains(NOW));
        let hour = Hour::containing(NOW);
        assert_eq!(TimeSpan::for_hour(hour).hours(), Some((hour, hour)));
        assert!(TimeSpan::for_hour(hour).covers(hour) && !span.covers(hour));
        assert_eq!(TimeSpan { from: NOW, to: NOW }.hours(), None);
    }
}
