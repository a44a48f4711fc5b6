//! The span of time that analytics cover.

use serde::{Deserialize, Serialize};

use crate::activity::{Hour, RETENTION_DAYS, RETENTION_SECONDS};
use crate::error::{Error, Result};
use crate::time::Timestamp;

/// The longest time that a request may spend on its way, in seconds. When the caller's clock
/// counted the days up to now, `from` may be this much older than the limit.
const ON_ITS_WAY_SECONDS: i64 = 60;

/// The milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

/// The time from one moment up to, but not including, another. The span that a request asks for never begins
/// before the retention and never ends in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

    /// Returns the span of the minute that contains a moment.
    pub fn of_minute(at: Timestamp) -> Self {
        let from = at.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
        Self {
            from: Timestamp::from_millis(from),
            to: Timestamp::from_millis(from + MINUTE_MS),
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

    /// Returns the first moment of the span.
    pub const fn start_time(self) -> Timestamp {
        self.from
    }

    /// Returns the first moment after the span.
    pub const fn end_time(self) -> Timestamp {
        self.to
    }

    /// Returns the part of the span from a moment on.
    #[must_use]
    pub fn since(self, at: Timestamp) -> Self {
        Self {
            from: at.clamp(self.from, self.to),
            ..self
        }
    }

    /// Returns the part of the span before a moment.
    #[must_use]
    pub fn until(self, at: Timestamp) -> Self {
        Self {
            to: at.clamp(self.from, self.to),
            ..self
        }
    }

    /// Returns the span from the beginning of this one to the end of a later one.
    #[must_use]
    pub const fn extended_to(self, later: Self) -> Self {
        Self {
            to: later.to,
            ..self
        }
    }

    /// Returns the time that two spans have in common, or `None` if there is none.
    pub fn intersection(self, other: Self) -> Option<Self> {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        (from < to).then_some(Self { from, to })
    }

    /// Returns the span by its minutes, the first and the last of which may be parts.
    pub fn minutes(self) -> impl Iterator<Item = Self> {
        let first = Self::of_minute(self.from);
        let minutes = std::iter::successors(Some(first), |minute| Some(Self::of_minute(minute.to)));
        minutes.map_while(move |minute| minute.intersection(self))
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
    fn a_span_is_divided_by_minutes() {
        let span = |from: i64, to: i64| TimeSpan {
            from: ago(-from),
            to: ago(-to),
        };
        assert!(span(30, 30).minutes().next().is_none());
        assert!(span(30, 50).minutes().eq([span(30, 50)]));
        let parts = [span(30, 60), span(60, 120), span(120, 121)];
        assert!(span(30, 121).minutes().eq(parts));
        assert!(span(60, 120).minutes().eq([span(60, 120)]));
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
