//! Days, weeks, months and years around a given day.

use domain::{Period, Timestamp};
use jiff::Span;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

/// A range of days, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Days {
    pub(crate) from: Date,
    pub(crate) to: Date,
}

impl Days {
    pub(crate) fn new(from: Date, to: Date) -> Self {
        Self { from, to }
    }

    pub(super) fn day(day: Date) -> Self {
        Self::new(day, day)
    }

    /// Returns the days as a period in UTC.
    pub(crate) fn period(self) -> Option<Period> {
        let millis = |day: Date| {
            let midnight = TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?;
            Some(midnight.as_millisecond())
        };
        let end = millis(self.to)? + 86_400_000 - 1;
        Some(Period {
            from: Timestamp::from_millis(millis(self.from)?),
            to: Timestamp::from_millis(end),
        })
    }

    /// Formats the days in digits: `2025-04-16`, `2025-04`, `2025`, `2025-04-14 to 2025-04-20`.
    pub(crate) fn label(self) -> String {
        let Self { from, to } = self;
        if from == to {
            from.to_string()
        } else if from == from.first_of_year() && to == from.last_of_year() {
            from.strftime("%Y").to_string()
        } else if from == from.first_of_month() && to == from.last_of_month() {
            from.strftime("%Y-%m").to_string()
        } else {
            format!("{from} to {to}")
        }
    }
}

/// Returns the day of a point in time, in UTC.
pub(crate) fn day_of(time: Timestamp) -> Option<Date> {
    let moment = jiff::Timestamp::from_millisecond(time.as_millis()).ok()?;
    Some(moment.to_zoned(TimeZone::UTC).date())
}

/// A unit of time in relative dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
}

/// Returns the day `count` days away.
pub(super) fn shifted(day: Date, count: i64) -> Option<Date> {
    day.checked_add(Span::new().try_days(count).ok()?).ok()
}

/// Returns the day `count` units away.
pub(super) fn moved(day: Date, unit: Unit, count: i64) -> Option<Date> {
    let span = match unit {
        Unit::Day => Span::new().try_days(count),
        Unit::Week | Unit::Weekend => Span::new().try_weeks(count),
        Unit::Month => Span::new().try_months(count),
        Unit::Quarter => Span::new().try_months(count.checked_mul(3)?),
        Unit::Year => Span::new().try_years(count),
    };
    day.checked_add(span.ok()?).ok()
}

/// Returns the whole unit that contains `day`. Weeks begin on Monday, and the weekend is that of
/// the same week.
pub(super) fn whole(day: Date, unit: Unit) -> Option<Days> {
    let monday = shifted(day, -i64::from(day.weekday().to_monday_zero_offset()))?;
    Some(match unit {
        Unit::Day => Days::day(day),
        Unit::Week => Days::new(monday, shifted(monday, 6)?),
        Unit::Weekend => Days::new(shifted(monday, 5)?, shifted(monday, 6)?),
        Unit::Month => Days::new(day.first_of_month(), day.last_of_month()),
        Unit::Quarter => {
            let first = month(day.year(), (day.month() - 1) / 3 * 3 + 1)?;
            let last = month(day.year(), (day.month() - 1) / 3 * 3 + 3)?;
            Days::new(first.from, last.to)
        }
        Unit::Year => year(day.year())?,
    })
}

/// Returns a date, or `None` if there is no such day.
pub(super) fn civil(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

/// Returns the days of a month.
pub(super) fn month(year: i16, month: i8) -> Option<Days> {
    let first = Date::new(year, month, 1).ok()?;
    Some(Days::new(first, first.last_of_month()))
}

/// Returns the days of a year.
pub(super) fn year(year: i16) -> Option<Days> {
    (1..=9998)
        .contains(&year)
        .then(|| Days::new(date(year, 1, 1), date(year, 12, 31)))
}

/// Returns the days of a season on the northern hemisphere. `place` counts from spring (0) to
/// winter (3), which begins in December.
pub(super) fn season(of: i16, place: i8) -> Option<Days> {
    let first = month(of, place * 3 + 3)?.from;
    let last = moved(first, Unit::Month, 2)?;
    Some(Days::new(first, last.last_of_month()))
}
