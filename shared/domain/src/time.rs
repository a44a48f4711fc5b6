//! Points in time: milliseconds since the Unix epoch, and ISO 8601 with milliseconds on the wire.

use std::fmt;

use schemars::JsonSchema;

use crate::error::{Error, Result};

/// A point in time in UTC, with millisecond precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(extend("format" = "date-time", "pattern" = TIMESTAMP_PATTERN))]
pub struct Timestamp(#[schemars(with = "String")] i64);

/// The form of a timestamp on the wire.
const TIMESTAMP_PATTERN: &str =
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$";

impl Timestamp {
    /// Creates a timestamp from milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time `seconds` later.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0 + seconds * 1000)
    }

    /// Returns the seconds until `later`, rounded up, or 0 if that time has passed.
    pub const fn seconds_until(self, later: Self) -> i64 {
        let ms = later.0 - self.0;
        if ms > 0 { (ms - 1) / 1000 + 1 } else { 0 }
    }

    /// Returns the day in words, as in `Tuesday, 15 April 2025`, so that a query for any part of it
    /// matches.
    pub fn format_long_date(self) -> String {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        time.strftime("%A, %-d %B %Y").to_string()
    }

    /// Parses a day in the form of [`Timestamp::format_long_date`], which stands for its first moment.
    pub fn parse_long_date(text: &str) -> Option<Self> {
        let day = jiff::civil::Date::strptime("%A, %d %B %Y", text).ok()?;
        let midnight = jiff::tz::TimeZone::UTC
            .to_timestamp(day.at(0, 0, 0, 0))
            .ok()?;
        Some(Self(midnight.as_millisecond()))
    }

    /// Parses an ISO 8601 timestamp, or a date, which stands for its first moment. Without an offset,
    /// it is in UTC.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] about `field` when the text is neither.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Ok(Self(time.as_millisecond()));
        }

        // compat: `datetime.isoformat()` of Python writes no offset.
        let in_utc = text
            .parse::<jiff::civil::DateTime>()
            .and_then(|time| jiff::tz::TimeZone::UTC.to_timestamp(time));
        match in_utc {
            Ok(time) => Ok(Self(time.as_millisecond())),
            Err(_) => Err(Error::invalid_field(
                field,
                "a date as 2025-04-15 or a timestamp as 2025-04-15T09:30:00Z",
            )),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        write!(f, "{time:.3}")
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse("time", &text).map_err(serde::de::Error::custom)
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_iso_8601_with_milliseconds() {
        assert_eq!(
            Timestamp::from_millis(1_744_709_400_000).to_string(),
            "2025-04-15T09:30:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(1_744_709_400_120).to_string(),
            "2025-04-15T09:30:00.120Z"
        );
    }

    #[test]
    fn waiting_is_rounded_up_and_never_negative() {
        let until = |ms: i64| {
            Timestamp::from_millis(1_000).seconds_until(Timestamp::from_millis(1_000 + ms))
        };
        assert_eq!([-5_000, 0, 1, 1_000, 1_001].map(until), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_day_reads_in_words() {
        assert_eq!(
            Timestamp::from_millis(1_744_709_400_000).format_long_date(),
            "Tuesday, 15 April 2025"
        );
        assert_eq!(
            Timestamp::parse_long_date("Tuesday, 15 April 2025"),
            Timestamp::parse("day", "2025-04-15").ok()
        );
        assert_eq!(Timestamp::parse_long_date("Caroline, Melanie"), None);
    }

    #[test]
    fn parses_dates_and_timestamps_and_nothing_else() {
        let time = |text| Timestamp::parse("documentDate", text);
        assert_eq!(
            time("2025-04-15").unwrap().to_string(),
            "2025-04-15T00:00:00.000Z"
        );
        assert_eq!(
            time("2025-04-15T11:30:00+02:00").unwrap().to_string(),
            "2025-04-15T09:30:00.000Z"
        );
        for without_offset in [
            "2025-04-15T09:30:00",
            "2025-04-15 09:30",
            "2025-04-15T09:30:00.000",
        ] {
            let time = time(without_offset).unwrap().to_string();
            assert_eq!(time, "2025-04-15T09:30:00.000Z", "{without_offset}");
        }
        for bad in [
            "",
            "yesterday",
            "2025-13-01",
            "2025-04",
            "09:30",
            "2025-04-15T25:00",
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
