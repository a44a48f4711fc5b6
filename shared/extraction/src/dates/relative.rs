//! Dates relative to the day on which they are said.

use jiff::civil::{Date, Weekday};

use super::calendar::{
    DayRange, TimeUnit, add_days, add_units, containing_unit, month_range, season_range,
};
use super::names::{named_days, parse_count, parse_month, parse_season, parse_unit, parse_weekday};
use super::{Clause, DateDirection, nearest_date, tense};

/// Returns the relative date at word `at`, and the index after it.
pub(super) fn parse_relative_date(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    parse_named_day(clause, at, today)
        .or_else(|| parse_weekday_of_month(clause, at, today, direction))
        .or_else(|| parse_last_or_next(clause, at, today, direction))
        .or_else(|| parse_week_on(clause, at, today))
        .or_else(|| parse_counted(clause, at, today, direction))
        .or_else(|| parse_end_of_unit(clause, at, today))
}

/// Parses `yesterday`, `last night` and `the day after tomorrow`.
fn parse_named_day(clause: Clause<'_>, at: usize, today: Date) -> Option<(usize, DayRange)> {
    let (end, shift) = named_days()
        .iter()
        .find_map(|(name, shift)| Some((clause.match_phrase(at, name)?, *shift)))?;

    Some((end, DayRange::single_day(add_days(today, shift)?)))
}

/// Parses `last week`, `next Friday`, `this fall`, `the coming month` and `next May`.
fn parse_last_or_next(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    if is_coming_verb(clause, at) {
        return None;
    }

    let article_len = usize::from(clause.lower_at(at) == "the");
    let step = match clause.lower_at(at + article_len) {
        "last" | "past" => -1,
        "next" | "coming" => 1,
        "this" => 0,
        _ => return None,
    };

    let direction = match direction {
        DateDirection::Past if !tense::is_past_at(clause, at) => DateDirection::Either,
        direction => direction,
    };
    let is_past_or_coming = matches!(clause.lower_at(at + article_len), "past" | "coming");
    let next = at + article_len + 1;
    let unit_word = clause.lower_at(next);
    let end = next + 1;
    if let Some(unit) = parse_unit(unit_word).filter(|_| !unit_word.ends_with('s')) {
        // "The last week of May" and "the next day" do not count from today.
        let is_other_meaning = article_len == 1 && !is_past_or_coming
            || clause.lower_at(end) == "of"
            || unit == TimeUnit::Day;
        // Said on a Monday, "we went hiking this weekend" is about the last one.
        let is_to_come = shift_unit(today, unit, step)?.from > today;
        let is_over = step == 0 && direction == DateDirection::Past && is_to_come;
        let step = step - i64::from(is_over);
        return (!is_other_meaning).then(|| Some((end, shift_unit(today, unit, step)?)))?;
    }

    if article_len == 1 {
        return None;
    }

    let is_of_month = clause.lower_at(end) == "of";
    let weekday = parse_weekday(unit_word).filter(|_| !unit_word.ends_with("days"));
    if let Some(weekday) = weekday.filter(|_| !is_of_month) {
        // The coming Saturday is the first one, unlike the next.
        let is_today = weekday == today.weekday().to_monday_zero_offset();
        let step = if is_past_or_coming && step > 0 && !is_today {
            0
        } else {
            step
        };
        let mut day = shift_weekday(today, weekday, step)?;
        // "We met this Friday", said on the day after.
        let is_of_this_week = weekday < today.weekday().to_monday_zero_offset();
        let is_this = !is_past_or_coming && step == 0;
        if is_this && is_of_this_week && direction == DateDirection::Past {
            day = add_days(day, -7)?;
        }
        return Some((end, DayRange::single_day(day)));
    }

    if let Some(season) = parse_season(unit_word) {
        return Some((end, shift_season(today, season, step, direction)?));
    }

    let number = parse_month(unit_word).filter(|_| clause.words[next].is_capitalized())?;
    let year = match step {
        -1 if number >= today.month() => today.year() - 1,
        1 if number <= today.month() => today.year() + 1,
        0 => year_towards(today, direction, |year| month_range(year, number))?,
        _ => today.year(),
    };

    Some((end, month_range(year, number)?))
}

/// Checks whether `coming` is a verb: `my aunt is coming saturday`, but not `this coming saturday`.
fn is_coming_verb(clause: Clause<'_>, at: usize) -> bool {
    let previous = if at == 0 { "" } else { clause.lower_at(at - 1) };
    clause.lower_at(at) == "coming"
        && matches!(
            previous,
            "am" | "are"
                | "be"
                | "is"
                | "was"
                | "were"
                | "'m"
                | "'re"
                | "'s"
                | "not"
                | "also"
                | "im"
        )
}

fn shift_unit(today: Date, unit: TimeUnit, step: i64) -> Option<DayRange> {
    let first = containing_unit(today, unit)?.from;
    containing_unit(add_units(first, unit, step)?, unit)
}

/// Returns the day of a relative weekday. The last one is the latest before today; the next one is
/// that of next week.
fn shift_weekday(today: Date, weekday: i8, step: i64) -> Option<Date> {
    let offset = i64::from(weekday) - i64::from(today.weekday().to_monday_zero_offset());
    let shift = match step {
        -1 if offset < 0 => offset,
        -1 => offset - 7,
        0 if offset < 0 => offset + 7,
        0 => offset,
        _ => offset + 7,
    };
    add_days(today, shift)
}

fn shift_season(today: Date, season: i8, step: i64, direction: DateDirection) -> Option<DayRange> {
    const WINTER: i8 = 3;

    let current = season_range(today.year(), season)?;
    // In January and February, this winter began last year.
    let is_in_winter = season == WINTER && today.month() <= 2;
    let year = match step {
        -1 if is_in_winter => today.year() - 2,
        -1 if current.to >= today => today.year() - 1,
        1 if current.from <= today => today.year() + 1,
        0 if is_in_winter => today.year() - 1,
        0 => year_towards(today, direction, |year| season_range(year, season))?,
        _ => today.year(),
    };

    season_range(year, season)
}

/// Returns the year in which days of this year lie: the last year if they should have begun, the next
/// one if they should not be over. "I start this January" is said in December.
fn year_towards(
    today: Date,
    direction: DateDirection,
    days_in: impl Fn(i16) -> Option<DayRange>,
) -> Option<i16> {
    let days = days_in(today.year())?;
    Some(match direction {
        DateDirection::Past if days.from > today => today.year() - 1,
        DateDirection::Future if days.to < today => today.year() + 1,
        _ => today.year(),
    })
}

/// Parses `the last Saturday of the month`, `the first Monday of May` and `2nd Friday of next month`.
/// Without `the`, `of the month` means every month.
fn parse_weekday_of_month(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    let nth = match clause.lower_at(at) {
        "first" | "1st" => 1,
        "second" | "2nd" => 2,
        "third" | "3rd" => 3,
        "fourth" | "4th" => 4,
        "last" => -1,
        _ => return None,
    };
    let weekday = Weekday::from_monday_zero_offset(parse_weekday(clause.lower_at(at + 1))?).ok()?;
    let month_at = clause.match_phrase(at + 2, "of")?;
    let this_month = today.first_of_month();
    let day_in = |month: Date| month.nth_weekday_of_month(nth, weekday).ok();
    let follows_article = at > 0 && clause.lower_at(at - 1) == "the";

    let (end, day) = if let Some(end) = clause.match_any(month_at, &["the month", "this month"]) {
        let is_over = day_in(this_month).is_some_and(|day| day < today);
        let shift = i64::from(is_over && direction == DateDirection::Future);
        let month = add_units(this_month, TimeUnit::Month, shift)?;
        (end, day_in(month).filter(|_| follows_article)?)
    } else if let Some(end) = clause.match_phrase(month_at, "next month") {
        (end, day_in(add_units(this_month, TimeUnit::Month, 1)?)?)
    } else {
        let number = parse_month(clause.lower_at(month_at))?;
        let of_year = |year| day_in(Date::new(year, number, 1).ok()?);
        (month_at + 1, nearest_date(today, direction, of_year)?)
    };

    Some((end, DayRange::single_day(day)))
}

/// Parses `a week on Monday` and `a week from Friday`: a week after the next such day. Parses `a
/// week today` and `a week tomorrow`.
fn parse_week_on(clause: Clause<'_>, at: usize, today: Date) -> Option<(usize, DayRange)> {
    for (phrase, days) in [("a week today", 7), ("a week tomorrow", 8)] {
        if let Some(end) = clause.match_phrase(at, phrase) {
            return Some((end, DayRange::single_day(add_days(today, days)?)));
        }
    }

    let day_at = clause.match_any(at, &["a week on", "a week from", "week on"])?;
    let weekday = parse_weekday(clause.lower_at(day_at))?;
    let day = add_days(shift_weekday(today, weekday, 0)?, 7)?;
    Some((day_at + 1, DayRange::single_day(day)))
}

/// Parses `two weeks ago`, `a couple of months ago`, `in three days` and `10 days from now`. Does
/// not parse `a week before last`, nor `in three days` in `I finished it in three days`.
fn parse_counted(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    direction: DateDirection,
) -> Option<(usize, DayRange)> {
    let in_len = usize::from(clause.lower_at(at) == "in");
    let in_len = in_len + usize::from(in_len == 1 && clause.lower_at(at + 1) == "exactly");
    let article_len = usize::from(
        clause.lower_at(at + in_len) == "a" && clause.lower_at(at + in_len + 1) == "couple",
    );
    let count = parse_count(clause.lower_at(at + in_len + article_len))?;
    let of_len =
        usize::from(article_len == 1 && clause.lower_at(at + in_len + article_len + 1) == "of");
    let unit_index = at + in_len + article_len + of_len + 1;
    let unit = parse_unit(clause.lower_at(unit_index))?;
    let after = unit_index + 1;
    let (end, count, shift) = if clause.lower_at(after) == "ago" {
        (after + 1, -count, 0)
    } else if let Some(end) = clause.match_any(after, &["from now", "from today"]) {
        (end, count, 0)
    } else if let Some(end) = clause.match_phrase(after, "from tomorrow") {
        (end, count, 1)
    } else if in_len > 0
        && !matches!(clause.lower_at(after), "of" | "'")
        && !tense::is_length(clause, at, direction)
    {
        (after, count, 0)
    } else {
        return None;
    };

    let day = add_units(add_days(today, shift)?, unit, count)?;
    // "Three months ago" does not name an exact day, so the result is the whole unit.
    let days = if matches!(unit, TimeUnit::Day) || count > 0 && unit == TimeUnit::Week {
        DayRange::single_day(day)
    } else {
        containing_unit(day, unit)?
    };

    Some((end, days))
}

/// Parses `end of week`, `the end of the month`, `end of next week` and `month-end` as the last day
/// of the unit.
fn parse_end_of_unit(clause: Clause<'_>, at: usize, today: Date) -> Option<(usize, DayRange)> {
    let unit = match clause.lower_at(at) {
        "month-end" => Some(TimeUnit::Month),
        "year-end" => Some(TimeUnit::Year),
        "eow" => Some(TimeUnit::Week),
        _ => None,
    };

    if let Some(unit) = unit {
        return Some((
            at + 1,
            DayRange::single_day(containing_unit(today, unit)?.to),
        ));
    }

    let article_len = usize::from(clause.lower_at(at) == "the");
    let mut index = clause.match_phrase(at + article_len, "end of")?;
    let step = match clause.lower_at(index) {
        "next" => 1,
        "the" | "this" => 0,
        "last" => -1,
        _ => -2,
    };

    index += usize::from(step != -2);
    let unit = parse_unit(clause.lower_at(index)).filter(|unit| *unit != TimeUnit::Day)?;
    let first = add_units(
        containing_unit(today, unit)?.from,
        unit,
        step.max(-1) + i64::from(step == -2),
    )?;

    Some((
        index + 1,
        DayRange::single_day(containing_unit(first, unit)?.to),
    ))
}
