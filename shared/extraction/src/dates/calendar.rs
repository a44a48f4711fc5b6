//! Days, weeks, months and years around a given day.

use domain::{EventPeriod, Timestamp};
use jiff::Span;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

/// A range of days, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayRange {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
}

impl DayRange {
    /// Returns the days from the first to the last.
    pub fn new(from: Date, to: Date) -> Self {
        Self { from, to }
    }

    pub(super) fn single_day(day: Date) -> Self {
        Self::new(day, day)
    }

    /// Returns the days as a period in UTC.
    pub fn to_period(self) -> Option<EventPeriod> {
        let millis = |day: Date| {
            let midnight = TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?;
            Some(midnight.as_millisecond())
        };
        let end = millis(self.to)? + 86_400_000 - 1;
        Some(EventPeriod {
            from: Timestamp::from_millis(millis(self.from)?),
            to: Timestamp::from_millis(end),
        })
    }

    /// Formats the days in digits: `2025-04-16`, `2025-04`, `2025`, `2025-04-14 to 2025-04-20`.
    pub(crate) fn format_label(self) -> String {
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
pub(crate) fn utc_day(time: Timestamp) -> Option<Date> {
    let moment = jiff::Timestamp::from_millisecond(time.as_millis()).ok()?;
    Some(moment.to_zoned(TimeZone::UTC).date())
}

/// A unit of time in relative dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
}

/// Returns the day `count` days away.
pub(super) fn add_days(day: Date, count: i64) -> Option<Date> {
    day.checked_add(Span::new().try_days(count).ok()?).ok()
}

/// Returns the day `count` units away.
pub(super) fn add_units(day: Date, unit: TimeUnit, count: i64) -> Option<Date> {
    let span = match unit {
        TimeUnit::Day => Span::new().try_days(count),
        TimeUnit::Week | TimeUnit::Weekend => Span::new().try_weeks(count),
        TimeUnit::Month => Span::new().try_months(count),
        TimeUnit::Quarter => Span::new().try_months(count.checked_mul(3)?),
        TimeUnit::Year => Span::new().try_years(count),
    };
    day.checked_add(span.ok()?).ok()
}

/// Returns the whole unit that contains `day`. Weeks begin on Monday, and the weekend is that of
/// the same week.
pub(super) fn containing_unit(day: Date, unit: TimeUnit) -> Option<DayRange> {
    let monday = add_days(day, -i64::from(day.weekday().to_monday_zero_offset()))?;
    Some(match unit {
        TimeUnit::Day => DayRange::single_day(day),
        TimeUnit::Week => DayRange::new(monday, add_days(monday, 6)?),
        TimeUnit::Weekend => DayRange::new(add_days(monday, 5)?, add_days(monday, 6)?),
        TimeUnit::Month => DayRange::new(day.first_of_month(), day.last_of_month()),
        TimeUnit::Quarter => {
            let first = month_range(day.year(), (day.month() - 1) / 3 * 3 + 1)?;
            let last = month_range(day.year(), (day.month() - 1) / 3 * 3 + 3)?;
            DayRange::new(first.from, last.to)
        }
        TimeUnit::Year => year_range(day.year())?,
    })
}

/// Returns a date, or `None` if there is no such day.
pub(super) fn date_of(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

/// Returns the days of a month.
pub(crate) fn month_range(year: i16, month: i8) -> Option<DayRange> {
    let first = Date::new(year, month, 1).ok()?;
    Some(DayRange::new(first, first.last_of_month()))
}

/// Returns the days of a year.
pub(crate) fn year_range(year: i16) -> Option<DayRange> {
    (1..=9998)
        .contains(&year)
        .then(|| DayRange::new(date(year, 1, 1), date(year, 12, 31)))
}

/// Returns the days of a season on the northern hemisphere. `season` counts from spring (0) to
/// winter (3), which begins in December.
pub(crate) fn season_range(year: i16, season: i8) -> Option<DayRange> {
    let first = month_range(year, season * 3 + 3)?.from;
    let last = add_units(first, TimeUnit::Month, 2)?;
    Some(DayRange::new(first, last.last_of_month()))
}
