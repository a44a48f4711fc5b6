//! Names and numbers of days, months, seasons and units.

use super::calendar::TimeUnit;

/// Returns the number of a month, counted from January (1), by its name or short form.
pub(super) fn parse_month(low: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];

    let short = low == "sept" || low.len() == 3;

    (1..)
        .zip(NAMES)
        .find(|(_, name)| *name == low || short && name.starts_with(low))
        .map(|(number, _)| number)
}

/// Returns the number of a weekday, counted from Monday (0), by its name, plural or short form.
pub(super) fn parse_weekday(low: &str) -> Option<i8> {
    const NAMES: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let short = matches!(
        low,
        "mon" | "tue" | "tues" | "wed" | "thu" | "thurs" | "fri"
    );
    let bare = low
        .strip_suffix('s')
        .filter(|bare| bare.ends_with("day"))
        .unwrap_or(low);

    (0..)
        .zip(NAMES)
        .find(|(_, name)| *name == bare || short && name.starts_with(low))
        .map(|(number, _)| number)
}

/// Returns the number of a season, counted from spring (0).
pub(super) fn parse_season(low: &str) -> Option<i8> {
    match low {
        "spring" => Some(0),
        "summer" => Some(1),
        "fall" | "autumn" => Some(2),
        "winter" => Some(3),
        _ => None,
    }
}

/// Parses a day of the month: `15`, `15th`.
pub(super) fn parse_day(low: &str) -> Option<i8> {
    let digits = low.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let ending = &low[digits.len()..];
    let day = digits.parse().ok().filter(|day| (1..=31).contains(day))?;
    matches!(ending, "" | "st" | "nd" | "rd" | "th").then_some(day)
}

/// Parses a year of four digits.
pub(super) fn parse_year(low: &str) -> Option<i16> {
    (low.len() == 4)
        .then(|| low.parse().ok())
        .flatten()
        .filter(|year| (1500..=2200).contains(year))
}

/// Parses a small count in words or digits. `few` is not a count, since its number is not known.
pub(super) fn parse_count(low: &str) -> Option<i64> {
    const WORDS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    match low {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        _ => (1..)
            .zip(WORDS)
            .find(|(_, word)| *word == low)
            .map(|(number, _)| number)
            .or_else(|| low.parse().ok().filter(|count| (1..=2000).contains(count))),
    }
}

/// Returns the unit that a word names, in the singular or plural.
pub(super) fn parse_unit(low: &str) -> Option<TimeUnit> {
    Some(match low {
        "day" | "days" => TimeUnit::Day,
        "week" | "weeks" | "wk" | "wks" => TimeUnit::Week,
        "weekend" | "weekends" => TimeUnit::Weekend,
        "month" | "months" => TimeUnit::Month,
        "quarter" | "quarters" => TimeUnit::Quarter,
        "year" | "years" | "yr" | "yrs" => TimeUnit::Year,
        _ => return None,
    })
}
