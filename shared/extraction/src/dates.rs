//! Dates in English sentences. Relative dates are resolved against the day on which they were said.

mod calendar;
mod names;
mod relative;
mod tense;

use domain::Timestamp;
use jiff::ToSpan;
use jiff::civil::Date;

use super::english::classes;
use super::english::words::Clause;
pub use calendar::DayRange;
use calendar::{add_days, date_of};
pub(crate) use calendar::{month_range, season_range, utc_day, year_range};
use names::parse_weekday;
pub(crate) use names::{
    EnglishCalendar, is_full_date_name, parse_day, parse_month, parse_number_word, parse_season,
    parse_year,
};

/// The direction in which a date without a year or week is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DateDirection {
    Past,
    Future,
    /// The nearest date in either direction, if it names a month. A day of the week or of a month
    /// alone is the next one.
    Either,
}

/// The time at which a text was said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SaidAt {
    pub(crate) time: Timestamp,
    /// A day that was named before, from which the end of a span counts.
    pub(crate) named_day: Option<Date>,
}

impl From<Timestamp> for SaidAt {
    fn from(time: Timestamp) -> Self {
        Self {
            time,
            named_day: None,
        }
    }
}

/// A date and the words that state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundDate {
    /// The index of the first word.
    pub(crate) first: usize,
    /// The index after the last word.
    pub(crate) end: usize,
    /// The days that the words mean.
    pub(crate) days: DayRange,
    /// True if the date says how long something has been so, as in `since 2016`, or how often.
    /// Nothing happens on such a date.
    pub(crate) is_lasting: bool,
}

/// Checks whether a word names a day of the week, in the singular or plural.
pub(crate) fn is_weekday(lower: &str) -> bool {
    parse_weekday(lower).is_some()
}

/// Checks whether a word names a season or a month.
pub(crate) fn is_season_or_month(lower: &str) -> bool {
    parse_season(lower).is_some() || lower.len() > 3 && parse_month(lower).is_some()
}

/// Finds the dates in `clause`, which was said at `said_at`, in order.
pub(crate) fn find_dates(
    clause: Clause<'_>,
    said_at: impl Into<SaidAt>,
    direction: DateDirection,
) -> Vec<FoundDate> {
    let SaidAt { time, named_day } = said_at.into();
    let mut found = Vec::new();
    let mut today = None;
    let mut at = 0;
    while at < clause.len() {
        let previous = if at == 0 { "" } else { clause.lower_at(at - 1) };
        let direction = if matches!(previous, "by" | "until" | "till") {
            DateDirection::Future
        } else if previous == "since" {
            DateDirection::Past
        } else {
            direction_at(clause, at, direction)
        };

        let next = if could_begin_date(clause.lower_at(at)) {
            // Most sentences hold no date, so the day is computed only when one seems to begin.
            today = today.or_else(|| utc_day(time));
            let ends_span = at > 1 && matches!(clause.lower_at(at - 2), "until" | "till" | "til");
            let named = named_day.filter(|_| ends_span).map(DayRange::single_day);
            let earlier = found.last().map(|found: &FoundDate| found.days).or(named);
            today.and_then(|today| parse_date(clause, at, today, direction, earlier))
        } else {
            None
        };

        match next {
            Some((end, _)) if is_birthday(clause, at, end) => at = end,
            Some((end, days)) => {
                let is_possessive = clause.lower_at(end) == "'s";
                let is_lasting = is_possessive
                    || matches!(previous, "since" | "every" | "each" | "most" | "from")
                    || previous == "the" && at > 1 && matches!(clause.lower_at(at - 2), "since");
                found.push(FoundDate {
                    first: at,
                    end,
                    days,
                    is_lasting,
                });
                at = end;
            }
            None => at += 1,
        }
    }

    found
}

/// Returns the direction of a date at `at` in a clause whose dates lie in a direction. Words close to
/// a day or month say it better than the first verb of the clause.
fn direction_at(clause: Clause<'_>, at: usize, direction: DateDirection) -> DateDirection {
    let is_calendar_date =
        || parse_month(clause.lower_at(at)).is_some() || parse_day(clause.lower_at(at)).is_some();
    match direction {
        DateDirection::Past if is_calendar_date() && tense::is_coming_at(clause, at) => {
            DateDirection::Future
        }
        DateDirection::Either if is_calendar_date() && tense::is_yearly_at(clause, at) => {
            DateDirection::Future
        }
        direction => direction,
    }
}

/// The most words between `born` and a date: `born on the 3rd of March`.
const WORDS_AFTER_BORN: usize = 3;

/// Checks whether a date is the day or month of a birth without its year, which nothing tells: `born
/// on March 3`.
fn is_birthday(clause: Clause<'_>, at: usize, end: usize) -> bool {
    let born_at =
        (at.saturating_sub(WORDS_AFTER_BORN)..at).rfind(|&index| clause.lower_at(index) == "born");
    let is_past = born_at.is_some_and(|born_at| {
        born_at == 0 || !matches!(clause.lower_at(born_at - 1), "be" | "being")
    });
    let has = |is_part: fn(&str) -> bool| (at..end).any(|index| is_part(clause.lower_at(index)));
    let is_relative = matches!(clause.lower_at(at), "last" | "this");
    is_past
        && !is_relative
        && has(|lower| parse_month(lower).is_some())
        && !has(|lower| parse_year(lower).is_some())
}

/// Checks quickly whether a date could begin with a word, so that most words cost little.
fn could_begin_date(lower: &str) -> bool {
    lower.starts_with(|first: char| first.is_ascii_digit())
        || classes::is_in_class(lower, classes::DATE)
}

/// Returns the date that begins at word `at`, and the index after it. `earlier` is the date before
/// it in the clause.
fn parse_date(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
    earlier: Option<DayRange>,
) -> Option<(usize, DayRange)> {
    relative::parse_relative_date(clause, at, today, direction)
        .or_else(|| parse_iso_date(clause, at))
        .or_else(|| parse_month_first(clause, at, today, direction))
        .or_else(|| parse_day_first(clause, at, today, direction))
        .or_else(|| parse_bare_day(clause, at, today, direction, earlier))
        .or_else(|| find_weekday_date(clause, at, today, direction))
        .or_else(|| parse_bare_year(clause, at))
        .or_else(|| find_season_date(clause, at))
}

fn parse_iso_date(clause: Clause<'_>, at: usize) -> Option<(usize, DayRange)> {
    let text = clause.lower_at(at);
    let day: Date = text.get(..10)?.parse().ok()?;
    (text.len() == 10 || text.as_bytes()[10] == b't').then_some((at + 1, DayRange::single_day(day)))
}

/// Parses `March 15`, `March 15th, 2024`, `March 2024` and `in March`.
fn parse_month_first(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    let number = parse_month(clause.lower_at(at))?;
    if !clause.words[at].is_capitalized() {
        return None;
    }

    let dot_len = usize::from(clause.lower_at(at + 1) == ".");
    if let Some((first, last)) = parse_day_range(clause.lower_at(at + 1 + dot_len)) {
        let day = nearest_date(today, direction, |year| date_of(year, number, first))?;
        let days = DayRange::new(day, date_of(day.year(), number, last)?);
        return Some((at + 2 + dot_len, days));
    }
    if let Some(day) = parse_day(clause.lower_at(at + 1 + dot_len)) {
        let end = at + 2 + dot_len;
        let comma_len = usize::from(clause.lower_at(end) == ",");
        if let Some(year) = parse_year(clause.lower_at(end + comma_len)) {
            return Some((
                end + comma_len + 1,
                DayRange::single_day(date_of(year, number, day)?),
            ));
        }
        return Some((
            end,
            DayRange::single_day(nearest_date(today, direction, |year| {
                date_of(year, number, day)
            })?),
        ));
    }

    let comma_len = usize::from(clause.lower_at(at + 1) == ",");
    if let Some(year) = parse_year(clause.lower_at(at + 1 + comma_len)) {
        return Some((at + 2 + comma_len, month_range(year, number)?));
    }

    let previous = if at == 0 { "" } else { clause.lower_at(at - 1) };
    // "For May" and "to June" may refer to people.
    let is_ambiguous_month = matches!(clause.lower_at(at), "april" | "may" | "june" | "august");
    let has_date_context = matches!(
        previous,
        "in" | "by" | "since" | "until" | "of" | "during" | "early" | "late" | "mid" | "this"
    ) || matches!(previous, "for" | "to")
        && (!is_ambiguous_month || direction == DateDirection::Future);
    // The current month is both past and future: its end has not passed, and its start has.
    let boundary = |days: DayRange| {
        if direction == DateDirection::Future {
            days.to
        } else {
            days.from
        }
    };

    let first = has_date_context.then(|| {
        nearest_date(today, direction, |year| {
            Some(boundary(month_range(year, number)?))
        })
    })??;

    Some((at + 1, month_range(first.year(), number)?))
}

/// Parses `15 March` and `the 15th of March 2024`.
fn parse_day_first(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    let day = parse_day(clause.lower_at(at))?;
    let of_len = usize::from(clause.lower_at(at + 1) == "of");
    let number = parse_month(clause.lower_at(at + 1 + of_len))?;
    let end = at + 2 + of_len;
    let comma_len = usize::from(clause.lower_at(end) == ",");
    if let Some(year) = parse_year(clause.lower_at(end + comma_len)) {
        return Some((
            end + comma_len + 1,
            DayRange::single_day(date_of(year, number, day)?),
        ));
    }
    Some((
        end,
        DayRange::single_day(nearest_date(today, direction, |year| {
            date_of(year, number, day)
        })?),
    ))
}

/// Parses `the 28th`, which lies within a month of today, or after an earlier day of the clause: `we
/// fly on December 12 and come back on the 28th`.
fn parse_bare_day(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
    earlier: Option<DayRange>,
) -> Option<(usize, DayRange)> {
    let lower = clause.lower_at(at);
    let is_ordinal = lower.ends_with(|c: char| c.is_ascii_lowercase());
    let follows_article = at > 0 && clause.lower_at(at - 1) == "the";
    // "The 7th floor" is no date.
    if !is_ordinal
        || !follows_article
        || precedes_noun(clause, at)
        || clause.lower_at(at + 1) == "of"
    {
        return None;
    }

    let day = parse_day(lower)?;
    let earlier_day = earlier
        .filter(|days| days.from == days.to)
        .map(|days| days.to);
    let (base, direction) = match earlier_day {
        Some(earlier) => (earlier, DateDirection::Future),
        None => (today, direction),
    };
    let in_month = |shift: i32| {
        let month = base.first_of_month().checked_add(shift.months()).ok()?;
        date_of(month.year(), month.month(), day)
    };
    let candidates = (-1..=1).filter_map(in_month);
    let date = match direction {
        DateDirection::Past => candidates.filter(|date| *date <= base).max(),
        _ => candidates.filter(|date| *date >= base).min(),
    };

    Some((at + 1, DayRange::single_day(date?)))
}

/// Parses a range of days of a month: `6-9`.
fn parse_day_range(lower: &str) -> Option<(i8, i8)> {
    let (first, last) = lower.split_once('-')?;
    let (first, last) = (parse_day(first)?, parse_day(last)?);
    (first < last).then_some((first, last))
}

/// Parses a day of the week without a week, as the last or the next one.
fn find_weekday_date(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    let weekday = parse_weekday(clause.lower_at(at))?;
    let is_habit = clause.lower_at(at).ends_with("days")
        || matches!(
            clause.lower_at(at + 1),
            "mornings" | "afternoons" | "evenings" | "nights"
        );
    if is_habit || !clause.words[at].is_capitalized() || is_repeated(clause, at) {
        return None;
    }

    let days_ahead =
        (i64::from(weekday) - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7);
    let shift = match direction {
        DateDirection::Past if days_ahead > 0 => days_ahead - 7,
        _ => days_ahead,
    };

    Some((at + 1, DayRange::single_day(add_days(today, shift)?)))
}

/// Checks whether the weekday at `at` comes again and again: `every week on Sunday`, `the first
/// Saturday of the month`.
fn is_repeated(clause: Clause<'_>, at: usize) -> bool {
    let before = clause.until_index(at);
    let has_habit = before.contains_any(&["weekly", "usually", "always", "normally"])
        || [
            "every week",
            "each week",
            "every other",
            "every month",
            "each month",
        ]
        .iter()
        .any(|phrase| before.find_phrase(phrase).is_some());
    let is_of_month = ["of the month", "of each month", "of every month", "a month"]
        .iter()
        .any(|phrase| clause.match_phrase(at + 1, phrase).is_some());
    let is_any = at > 0 && matches!(clause.lower_at(at - 1), "any" | "every" | "each" | "most");
    has_habit || is_of_month || is_any
}

/// Parses `in 2019`, `since 2016` and `of 2020`.
fn parse_bare_year(clause: Clause<'_>, at: usize) -> Option<(usize, DayRange)> {
    let number = parse_year(clause.lower_at(at))?;
    let previous = if at == 0 { "" } else { clause.lower_at(at - 1) };
    let has_date_context = matches!(
        previous,
        "in" | "since" | "of" | "until" | "by" | "from" | "during" | "late" | "early" | "mid"
    );
    // "In 2000 steps" does not name a year.
    (has_date_context && !precedes_noun(clause, at)).then_some(())?;

    Some((at + 1, year_range(number)?))
}

/// Checks whether a word of meaning follows the one at `at`, which then belongs to it.
fn precedes_noun(clause: Clause<'_>, at: usize) -> bool {
    let next = clause.words.get(at + 1);
    next.is_some_and(|next| {
        !next.is_punctuation && super::english::lexicon::is_content_word(next.lower)
    })
}

/// Parses `the summer of 2022` and `fall 2021`. A season without a year is a habit, not a date.
fn find_season_date(clause: Clause<'_>, at: usize) -> Option<(usize, DayRange)> {
    let season = parse_season(clause.lower_at(at))?;
    let of_len = usize::from(clause.lower_at(at + 1) == "of");
    if let Some(year) = parse_year(clause.lower_at(at + 1 + of_len)) {
        return Some((at + 2 + of_len, season_range(year, season)?));
    }
    None
}

/// Returns the date that `date_in_year` gives in the year that fits best.
fn nearest_date(
    today: Date,
    direction: DateDirection,
    date_in_year: impl Fn(i16) -> Option<Date>,
) -> Option<Date> {
    let year = today.year();
    let days_from_today = |date: Date| date.since(today).map_or(i32::MAX, |span| span.get_days());
    let candidates = [year - 1, year, year + 1, year + 4]
        .into_iter()
        .filter_map(date_in_year);
    match direction {
        DateDirection::Past => candidates.filter(|date| *date <= today).max(),
        DateDirection::Future => candidates.filter(|date| *date >= today).min(),
        DateDirection::Either => {
            candidates.min_by_key(|date| days_from_today(*date).unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests;
