//! The days that a question names.

use domain::Timestamp;

use super::numbers::{parse_number_after, parse_number_before};
use super::{CalendarWords, DateReader, DateSide, find_days};
use crate::cues::cue::{is_letter, is_unspaced};
use crate::dates::{DayRange, month_range, season_range, utc_day, year_range};

/// The years that a number alone may name in a question.
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;
/// The bytes between a month or a season and its year, as in `März 2023` and `junio de 2022`.
const YEAR_DISTANCE: usize = 6;
/// The most letters that an inflection adds to the name of a month.
const MAX_ENDING_LETTERS: usize = 2;

/// Returns the days that a question in lower case names, and true if the same days of every year are
/// meant.
pub(in crate::cues) fn find_question_days(
    calendar: &CalendarWords,
    text: &str,
    asked_at: Timestamp,
) -> Option<(DayRange, bool)> {
    let today = utc_day(asked_at)?;
    let reader = DateReader {
        calendar,
        text,
        today,
        side: DateSide::Past,
    };
    let year = find_year(text);
    let names_month = reader.find_month().is_some();

    if let Some(days) = find_days(calendar, text, asked_at, DateSide::Past) {
        let is_yearly = names_month && year.is_none() && days.from == days.to;
        return Some((days, is_yearly));
    }

    if let Some((month, year)) = reader.find_month() {
        let days = month_range(year.unwrap_or(today.year()), month)?;
        return Some((days, year.is_none()));
    }
    if let Some((season, year)) = reader.find_season() {
        return Some((season_range(year, season)?, false));
    }

    Some((year_range(year?)?, false))
}

/// Returns the first number of a text that is a year.
fn find_year(text: &str) -> Option<i16> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    numbers.filter(|digits| digits.len() == 4).find_map(to_year)
}

fn to_year(digits: &str) -> Option<i16> {
    let year = digits.parse().ok().filter(|year| YEARS.contains(year))?;
    i16::try_from(year).ok()
}

impl DateReader<'_> {
    /// Returns the number of a month that the text names, and its year if that is given.
    fn find_month(&self) -> Option<(i8, Option<i16>)> {
        let (number, at, end) = self.find_names(&self.calendar.names.months).next()?;
        Some((number + 1, self.year_beside(at, end)))
    }

    /// Returns the number of a season that the text names together with a year. Without one, `été`
    /// is another word.
    fn find_season(&self) -> Option<(i8, i16)> {
        let mut hits = self.find_names(&self.calendar.names.seasons);
        hits.find_map(|(number, at, end)| Some((number, self.year_beside(at, end)?)))
    }

    /// Returns the places of the names of months or seasons: the index of the list in which the name
    /// stands, its position, and the position after it.
    fn find_names<'a>(
        &'a self,
        lists: &'a [Vec<&'static str>],
    ) -> impl Iterator<Item = (i8, usize, usize)> + 'a {
        let named = lists
            .iter()
            .zip(0i8..)
            .flat_map(|(names, number)| names.iter().map(move |name| (number, *name)));
        named.flat_map(|(number, name)| {
            self.whole_places(name)
                .map(move |(at, end)| (number, at, end))
        })
    }

    /// Returns the positions of a name and of the characters after it. Where words have spaces, only
    /// a short ending may follow.
    fn whole_places<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let places = self.places(name).map(|at| (at, at + name.len()));
        places.filter(move |(_, end)| {
            let after = self.text[*end..].chars().take_while(|c| is_letter(*c));
            let max_letters = if name.is_ascii() {
                0
            } else {
                MAX_ENDING_LETTERS
            };
            name.contains(is_unspaced) || after.take(MAX_ENDING_LETTERS + 1).count() <= max_letters
        })
    }

    /// Returns the year that stands right before or after a name.
    fn year_beside(&self, at: usize, end: usize) -> Option<i16> {
        let before = || parse_number_before(self.text[..at].trim_end_matches("年"));
        let number = parse_number_after(&self.text[end..], YEAR_DISTANCE)
            .filter(|year| YEARS.contains(year))
            .or_else(|| before().filter(|year| YEARS.contains(year)))?;
        i16::try_from(number).ok()
    }
}
