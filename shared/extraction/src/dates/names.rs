//! Names and numbers of days, months, seasons and units.

use super::calendar::TimeUnit;
use crate::english::vocabulary::vocabulary;
use text::WordTable;
use text::calendar::{CalendarNames, DayOffset};

/// The English words for dates.
#[derive(Default)]
pub(crate) struct EnglishCalendar {
    /// Phrases for days, with the distance of the day from today.
    days: Vec<(&'static str, i64)>,
    /// The numbers of months, counted from January (1), by their names and short forms.
    months: WordTable<i8>,
    /// The numbers of weekdays, counted from Monday (0), by their names, plurals and short forms.
    weekdays: WordTable<i8>,
    /// The numbers of seasons, counted from spring (0).
    seasons: WordTable<i8>,
    /// The numbers of units, counted from day (0), by their names in the singular and plural.
    units: WordTable<i8>,
    /// Small numbers.
    numbers: WordTable<i8>,
    /// The full names of months and weekdays.
    full_names: WordTable<()>,
}

impl EnglishCalendar {
    /// Creates the tables. The first name of each month and weekday is its full name.
    pub(crate) fn new(names: CalendarNames) -> Self {
        let named = names.months.iter().chain(&names.weekdays);
        let full_names = named.filter_map(|words| words.first());

        let mut days = Vec::new();
        for (phrases, offset) in names.days {
            if let DayOffset::Days(offset) = offset {
                days.extend(
                    phrases
                        .into_iter()
                        .map(|phrase| (phrase, i64::from(offset))),
                );
            }
        }

        Self {
            full_names: full_names.map(|name| (*name, ())).collect(),
            days,
            months: number_words(&names.months, 1),
            weekdays: number_words(&names.weekdays, 0),
            seasons: number_words(&names.seasons, 0),
            units: number_words(&names.units, 0),
            numbers: number_words(&names.numbers, 1),
        }
    }

    /// Returns the names of months, weekdays, seasons and numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> {
        let units = [&self.months, &self.weekdays, &self.seasons];
        let words = units.into_iter().flat_map(|table| table.keys());
        words.chain(self.numbers.keys()).copied()
    }
}

/// Numbers lists of words, counted from `first`.
fn number_words(lists: &[Vec<&'static str>], first: i8) -> WordTable<i8> {
    let mut numbers = WordTable::default();
    for (number, words) in (first..).zip(lists) {
        numbers.extend(words.iter().map(|word| (*word, number)));
    }

    numbers
}

/// Returns the number of a month, counted from January (1), by its name or short form.
pub(crate) fn parse_month(lower: &str) -> Option<i8> {
    vocabulary().calendar.months.get(lower).copied()
}

/// Returns the number of a weekday, counted from Monday (0), by its name, plural or short form.
pub(super) fn parse_weekday(lower: &str) -> Option<i8> {
    vocabulary().calendar.weekdays.get(lower).copied()
}

/// Returns the number of a season, counted from spring (0).
pub(crate) fn parse_season(lower: &str) -> Option<i8> {
    vocabulary().calendar.seasons.get(lower).copied()
}

/// Returns the number that a word names, from one to twelve.
pub(crate) fn parse_number_word(lower: &str) -> Option<i64> {
    let number = vocabulary().calendar.numbers.get(lower);
    number.copied().map(i64::from)
}

/// Checks whether a word is the full name of a month or of a weekday, in the singular or plural.
pub(crate) fn is_full_date_name(lower: &str) -> bool {
    let bare = lower
        .strip_suffix('s')
        .filter(|bare| bare.ends_with("day"))
        .unwrap_or(lower);
    vocabulary().calendar.full_names.contains_key(bare)
}

/// Parses a day of the month: `15`, `15th`.
pub(crate) fn parse_day(lower: &str) -> Option<i8> {
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let ending = &lower[digits.len()..];
    let day = digits.parse().ok().filter(|day| (1..=31).contains(day))?;
    matches!(ending, "" | "st" | "nd" | "rd" | "th").then_some(day)
}

/// Parses a year of four digits.
pub(crate) fn parse_year(lower: &str) -> Option<i16> {
    (lower.len() == 4)
        .then(|| lower.parse().ok())
        .flatten()
        .filter(|year| (1500..=2200).contains(year))
}

/// Parses a small count in words or digits. `few` is not a count, since its number is not known.
pub(super) fn parse_count(lower: &str) -> Option<i64> {
    match lower {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        _ => parse_number_word(lower).or_else(|| {
            let count = lower.parse().ok();
            count.filter(|count| (1..=2000).contains(count))
        }),
    }
}

/// Returns the unit that a word names, in the singular or plural.
pub(super) fn parse_unit(lower: &str) -> Option<TimeUnit> {
    match vocabulary().calendar.units.get(lower) {
        Some(0) => Some(TimeUnit::Day),
        Some(1) => Some(TimeUnit::Week),
        Some(2) => Some(TimeUnit::Month),
        Some(_) => Some(TimeUnit::Year),
        None => match lower {
            "weekend" | "weekends" => Some(TimeUnit::Weekend),
            "quarter" | "quarters" => Some(TimeUnit::Quarter),
            _ => None,
        },
    }
}

/// Returns the phrases for days, with the distance of the day from today.
pub(super) fn named_days() -> &'static [(&'static str, i64)] {
    &vocabulary().calendar.days
}
