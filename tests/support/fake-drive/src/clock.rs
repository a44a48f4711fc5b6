//! The time of the drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A function that returns the time in milliseconds since 1970.
pub type ClockFn = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The start time of the default clock, 2026-01-01T00:00:00Z.
const START_MILLIS: i64 = 1_767_225_600_000;

/// The drive's clock: one supplied by the caller, or one that moves by one millisecond each time it
/// is read. Both can be advanced.
pub(crate) struct Clock {
    source: Option<ClockFn>,
    offset: AtomicI64,
}

impl Clock {
    pub(crate) fn new(source: Option<ClockFn>) -> Self {
        let offset = if source.is_some() { 0 } else { START_MILLIS };
        Self {
            source,
            offset: AtomicI64::new(offset),
        }
    }

    pub(crate) fn now(&self) -> i64 {
        match &self.source {
            Some(now) => now() + self.offset.load(Ordering::SeqCst),
            None => self.offset.fetch_add(1, Ordering::SeqCst),
        }
    }

    pub(crate) fn advance_millis(&self, millis: i64) {
        self.offset.fetch_add(millis, Ordering::SeqCst);
    }
}

/// Formats a time as the drive writes it.
pub(crate) fn format_timestamp(millis: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Formats a time for HTTP headers.
pub(crate) fn format_http_date(millis: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Parses a time as clients write it: with an offset, without one in UTC, or only the date.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let zoned = text
        .parse::<jiff::Timestamp>()
        .or_else(|_| format!("{text}Z").parse());
    let time = zoned.or_else(|_| format!("{text}T00:00:00Z").parse::<jiff::Timestamp>());
    time.ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_spelling_that_queries_use() {
        let day = Some(1_767_225_600_000);
        for (text, millis) in [
            ("2026-01-01T00:00:00Z", day),
            ("2026-01-01T02:00:00+02:00", day),
            ("2026-01-01T00:00:00", day),
            ("2026-01-01", day),
            ("2026-01-01T00:00:00.500Z", day.map(|day| day + 500)),
            ("yesterday", None),
        ] {
            assert_eq!(parse_timestamp(text), millis, "{text}");
        }

        assert_eq!(
            format_timestamp(1_767_225_600_007),
            "2026-01-01T00:00:00.007Z"
        );
        assert_eq!(
            format_http_date(1_767_225_600_007),
            "Thu, 01 Jan 2026 00:00:00 GMT"
        );
    }

    #[test]
    fn a_clock_without_a_source_never_tells_the_same_time_twice() {
        let clock = Clock::new(None);
        let first = clock.now();
        assert!(clock.now() > first);
        clock.advance_millis(60_000);
        assert!(clock.now() >= first + 60_000);
    }
}
