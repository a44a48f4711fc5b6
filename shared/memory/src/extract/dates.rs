//! Dates in English sentences. Relative dates are resolved against the day on which they were said.

mod calendar;
mod names;
mod relative;

use domain::Timestamp;
use jiff::civil::Date;

use super::english::classes;
use super::english::words::Clause;
pub(crate) use calendar::{Days, day_of};
use calendar::{civil, month, season, shifted, year};
use names::{day_number, month_of, season_of, weekday_of, year_number};

/// The direction in which a date without a year or week is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lean {
    Past,
    Future,
    /// The nearest day in either direction.
    Either,
}

/// A date and the words that state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The index of the first word.
    pub(crate) first: usize,
    /// The index after the last word.
    pub(crate) end: usize,
    /// The days that the words mean.
    pub(crate) days: Days,
    /// True if the date says how long something has been so, as in `since 2016`, or how often.
    /// Nothing happens on such a date.
    pub(crate) lasting: bool,
}

/// Checks whether a word names a day of the week, in the singular or plural.
pub(crate) fn is_weekday(low: &str) -> bool {
    weekday_of(low).is_some()
}

/// Checks whether a word names a season or a month.
pub(crate) fn is_season_or_month(low: &str) -> bool {
    season_of(low).is_some() || low.len() > 3 && month_of(low).is_some()
}

/// Finds the dates in `clause`, which was said at `said_at`, in order.
pub(crate) fn dates(clause: Clause<'_>, said_at: Timestamp, lean: Lean) -> Vec<Found> {
    let mut found = Vec::new();
    let mut today = None;
    let mut at = 0;
    while at < clause.len() {
        let before = if at == 0 { "" } else { clause.low(at - 1) };
        let lean = if matches!(before, "by" | "until" | "till") {
            Lean::Future
        } else {
            lean
        };

        let next = if could_begin(clause.low(at)) {
            // Most sentences hold no date, so the day is computed only when one seems to begin.
            today = today.or_else(|| day_of(said_at));
            today.and_then(|today| date_at(clause, at, today, lean))
        } else {
            None
        };

        match next {
            Some((end, days)) => {
                let whose = clause.low(end) == "'s";
                let lasting = whose
                    || matches!(before, "since" | "every" | "each" | "most" | "from")
                    || before == "the" && at > 1 && matches!(clause.low(at - 2), "since");
                found.push(Found {
                    first: at,
                    end,
                    days,
                    lasting,
                });
                at = end;
            }
            None => at += 1,
        }
    }

    found
}

/// Checks quickly whether a date could begin with a word, so that most words cost little.
fn could_begin(low: &str) -> bool {
    low.starts_with(|first: char| first.is_ascii_digit()) || classes::is(low, classes::DATE)
}

/// Returns the date that begins at word `at`, and the index after it.
fn date_at(clause: Clause<'_>, at: usize, today: Date, lean: Lean) -> Option<(usize, Days)> {
    relative::relative(clause, at, today, lean)
        .or_else(|| iso(clause, at))
        .or_else(|| month_first(clause, at, today, lean))
        .or_else(|| day_first(clause, at, today, lean))
        .or_else(|| weekday(clause, at, today, lean))
        .or_else(|| bare_year(clause, at))
        .or_else(|| season_at(clause, at))
}

fn iso(clause: Clause<'_>, at: usize) -> Option<(usize, Days)> {
    let text = clause.low(at);
    let day: Date = text.get(..10)?.parse().ok()?;
    (text.len() == 10 || text.as_bytes()[10] == b't').then_some((at + 1, Days::day(day)))
}

/// Parses `March 15`, `March 15th, 2024`, `March 2024` and `in March`.
fn month_first(clause: Clause<'_>, at: usize, today: Date, lean: Lean) -> Option<(usize, Days)> {
    let number = month_of(clause.low(at))?;
    if !clause.words[at].capital() {
        return None;
    }

    let point = usize::from(clause.low(at + 1) == ".");
    if let Some(day) = day_number(clause.low(at + 1 + point)) {
        let end = at + 2 + point;
        let comma = usize::from(clause.low(end) == ",");
        if let Some(year) = year_number(clause.low(end + comma)) {
            return Some((end + comma + 1, Days::day(civil(year, number, day)?)));
        }
        return Some((
            end,
            Days::day(near(today, lean, |year| civil(year, number, day))?),
        ));
    }

    let comma = usize::from(clause.low(at + 1) == ",");
    if let Some(year) = year_number(clause.low(at + 1 + comma)) {
        return Some((at + 2 + comma, month(year, number)?));
    }

    let before = if at == 0 { "" } else { clause.low(at - 1) };
    // "For May" and "to June" may refer to people.
    let named = matches!(clause.low(at), "april" | "may" | "june" | "august");
    let placed = matches!(
        before,
        "in" | "by" | "since" | "until" | "of" | "during" | "early" | "late" | "mid" | "this"
    ) || matches!(before, "for" | "to") && (!named || lean == Lean::Future);
    // The current month is both past and future: its end has not passed, and its start has.
    let edge = |days: Days| {
        if lean == Lean::Future {
            days.to
        } else {
            days.from
        }
    };

    let first = placed.then(|| near(today, lean, |year| Some(edge(month(year, number)?))))??;

    Some((at + 1, month(first.year(), number)?))
}

/// Parses `15 March` and `the 15th of March 2024`.
fn day_first(clause: Clause<'_>, at: usize, today: Date, lean: Lean) -> Option<(usize, Days)> {
    let day = day_number(clause.low(at))?;
    let of = usize::from(clause.low(at + 1) == "of");
    let number = month_of(clause.low(at + 1 + of))?;
    let end = at + 2 + of;
    let comma = usize::from(clause.low(end) == ",");
    if let Some(year) = year_number(clause.low(end + comma)) {
        return Some((end + comma + 1, Days::day(civil(year, number, day)?)));
    }
    Some((
        end,
        Days::day(near(today, lean, |year| civil(year, number, day))?),
    ))
}

/// Parses a day of the week without a week, as the last or the next one.
fn weekday(clause: Clause<'_>, at: usize, today: Date, lean: Lean) -> Option<(usize, Days)> {
    let wanted = weekday_of(clause.low(at))?;
    let habit = clause.low(at).ends_with("days")
        || matches!(
            clause.low(at + 1),
            "mornings" | "afternoons" | "evenings" | "nights"
        );
    if habit || !clause.words[at].capital() {
        return None;
    }

    let ahead =
        (i64::from(wanted) - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7);
    let shift = match lean {
        Lean::Past if ahead > 0 => ahead - 7,
        _ => ahead,
    };

    Some((at + 1, Days::day(shifted(today, shift)?)))
}

/// Parses `in 2019`, `since 2016` and `of 2020`.
fn bare_year(clause: Clause<'_>, at: usize) -> Option<(usize, Days)> {
    let number = year_number(clause.low(at))?;
    let before = if at == 0 { "" } else { clause.low(at - 1) };
    let placed = matches!(
        before,
        "in" | "since" | "of" | "until" | "by" | "from" | "during" | "late" | "early" | "mid"
    );
    // "In 2000 steps" does not name a year.
    let alone = clause
        .words
        .get(at + 1)
        .is_none_or(|next| next.mark || !super::english::lexicon::content(next.low));
    (placed && alone).then_some(())?;

    Some((at + 1, year(number)?))
}

/// Parses `the summer of 2022` and `fall 2021`. A season without a year is a habit, not a date.
fn season_at(clause: Clause<'_>, at: usize) -> Option<(usize, Days)> {
    let place = season_of(clause.low(at))?;
    let of = usize::from(clause.low(at + 1) == "of");
    if let Some(year) = year_number(clause.low(at + 1 + of)) {
        return Some((at + 2 + of, season(year, place)?));
    }
    None
}

/// Returns the date that `of_year` gives in the year that fits best.
fn near(today: Date, lean: Lean, of_year: impl Fn(i16) -> Option<Date>) -> Option<Date> {
    let year = today.year();
    let days = |date: Date| date.since(today).map_or(i32::MAX, |span| span.get_days());
    let candidates = [year - 1, year, year + 1, year + 4]
        .into_iter()
        .filter_map(of_year);
    match lean {
        Lean::Past => candidates.filter(|date| *date <= today).max(),
        Lean::Future => candidates.filter(|date| *date >= today).min(),
        Lean::Either => candidates.min_by_key(|date| days(*date).unsigned_abs()),
    }
}

#[cfg(test)]
mod tests;
