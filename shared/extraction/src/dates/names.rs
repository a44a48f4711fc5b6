//! Names and numbers of days, months, seasons and units.

use super::calendar::TimeUnit;

/// Returns the number of a month, counted from January (1), by its name or short form.
pub(super) fn parse_month(lower: &str) -> Option<i8> {
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

    let is_abbreviation = lower == "sept" || lower.len() == 3;

    (1..)
        .zip(NAMES)
        .find(|(_, name)| *name == lower || is_abbreviation && name.starts_with(lower))
        .map(|(number, _)| number)
}

/// Returns the number of a weekday, counted from Monday (0), by its name, plural or short form.
pub(super) fn parse_weekday(lower: &str) -> Option<i8> {
    const NAMES: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let is_abbreviation = matches!(
        lower,
        "mon" | "tue" | "tues" | "wed" | "thu" | "thurs" | "fri"
    );
    let bare = lower
        .strip_suffix('s')
        .filter(|bare| bare.ends_with("day"))
        .unwrap_or(lower);

    (0..)
        .zip(NAMES)
        .find(|(_, name)| *name == bare || is_abbreviation && name.starts_with(lower))
        .map(|(number, _)| number)
}

/// Returns the number of a season, counted from spring (0).
pub(super) fn parse_season(lower: &str) -> Option<i8> {
    match lower {
        "spring" => Some(0),
        "summer" => Some(1),
        "fall" | "autumn" => Some(2),
        "winter" => Some(3),
        _ => None,
    }
}

/// Parses a day of the month: `15`, `15th`.
pub(super) fn parse_day(lower: &str) -> Option<i8> {
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let ending = &lower[digits.len()..];
    let day = digits.parse().ok().filter(|day| (1..=31).contains(day))?;
    matches!(ending, "" | "st" | "nd" | "rd" | "th").then_some(day)
}

/// Parses a year of four digits.
pub(super) fn parse_year(lower: &str) -> Option<i16> {
    (lower.len() == 4)
        .then(|| lower.parse().ok())
        .flatten()
        .filter(|year| (1500..=2200).contains(year))
}

/// Parses a small count in words or digits. `few` is not a count, since its number is not known.
pub(super) fn parse_count(lower: &str) -> Option<i64> {
    const WORDS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    match lower {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        _ => (1..)
            .zip(WORDS)
            .find(|(_, word)| *word == lower)
            .map(|(number, _)| number)
            .or_else(|| {
                lower
                    .parse()
                    .ok()
                    .filter(|count| (1..=2000).contains(count))
            }),
    }
}

/// Returns the unit that a word names, in the singular or plural.
pub(super) fn parse_unit(lower: &str) -> Option<TimeUnit> {
    Some(match lower {
        "day" | "days" => TimeUnit::Day,
        "week" | "weeks" | "wk" | "wks" => TimeUnit::Week,
        "weekend" | "weekends" => TimeUnit::Weekend,
        "month" | "months" => TimeUnit::Month,
        "quarter" | "quarters" => TimeUnit::Quarter,
        "year" | "years" | "yr" | "yrs" => TimeUnit::Year,
        _ => return None,
    })
}
