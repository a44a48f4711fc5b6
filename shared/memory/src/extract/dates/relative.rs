//! Dates relative to the day on which they are said.

use jiff::civil::Date;

use super::calendar::{Days, Unit, month, moved, season, shifted, whole};
use super::names::{count_of, month_of, season_of, unit_of, weekday_of};
use super::{Clause, Lean};

/// Returns the relative date at word `at`, and the index after it.
pub(super) fn relative(
    clause: Clause<'_>,
    at: usize,
    today: Date,
    lean: Lean,
) -> Option<(usize, Days)> {
    named(clause, at, today)
        .or_else(|| turned(clause, at, today, lean))
        .or_else(|| counted(clause, at, today))
        .or_else(|| end_of(clause, at, today))
}

/// Parses `yesterday`, `last night` and `the day after tomorrow`.
fn named(clause: Clause<'_>, at: usize, today: Date) -> Option<(usize, Days)> {
    const NAMES: [(&str, i64); 16] = [
        ("the day before yesterday", -2),
        ("day before yesterday", -2),
        ("the day after tomorrow", 2),
        ("day after tomorrow", 2),
        ("the other day", i64::MAX),
        ("today", 0),
        ("tonight", 0),
        ("this morning", 0),
        ("this afternoon", 0),
        ("this evening", 0),
        ("last night", -1),
        ("last evening", -1),
        ("yesterday", -1),
        ("tomorrow", 1),
        ("end of day", 0),
        ("eod", 0),
    ];
    let (end, shift) = NAMES
        .iter()
        .find_map(|(name, shift)| Some((clause.phrase(at, name)?, *shift)))?;

    Some((end, Days::day(shifted(today, shift)?)))
}

/// Parses `last week`, `next Friday`, `this fall`, `the coming month` and `next May`.
fn turned(clause: Clause<'_>, at: usize, today: Date, lean: Lean) -> Option<(usize, Days)> {
    let the = usize::from(clause.low(at) == "the");
    let turn = match clause.low(at + the) {
        "last" | "past" => -1,
        "next" | "coming" => 1,
        "this" => 0,
        _ => return None,
    };

    let past_or_coming = matches!(clause.low(at + the), "past" | "coming");
    let next = at + the + 1;
    let what = clause.low(next);
    let end = next + 1;
    if let Some(unit) = unit_of(what).filter(|_| !what.ends_with('s')) {
        // "The last week of May" and "the next day" do not count from today.
        let elsewhere = the == 1 && !past_or_coming || clause.low(end) == "of" || unit == Unit::Day;
        return (!elsewhere).then(|| Some((end, turned_unit(today, unit, turn)?)))?;
    }

    if the == 1 {
        return None;
    }

    if let Some(wanted) = weekday_of(what).filter(|_| !what.ends_with("days")) {
        return Some((end, Days::day(turned_weekday(today, wanted, turn)?)));
    }

    if let Some(place) = season_of(what) {
        return Some((end, turned_season(today, place, turn, lean)?));
    }

    let number = month_of(what).filter(|_| clause.words[next].capital())?;
    let year = match turn {
        -1 if number >= today.month() => today.year() - 1,
        1 if number <= today.month() => today.year() + 1,
        _ => today.year(),
    };

    Some((end, month(year, number)?))
}

fn turned_unit(today: Date, unit: Unit, turn: i64) -> Option<Days> {
    let mut turn = turn;
    if unit == Unit::Weekend && turn < 0 && today.weekday().to_monday_zero_offset() == 6 {
        // On a Sunday, the last weekend is the one before the current weekend.
        turn = -1;
    }
    let first = whole(today, unit)?.from;
    whole(moved(first, unit, turn)?, unit)
}

/// Returns the day of a relative weekday. The last one is the latest before today; the next one is
/// that of next week.
fn turned_weekday(today: Date, wanted: i8, turn: i64) -> Option<Date> {
    let offset = i64::from(wanted) - i64::from(today.weekday().to_monday_zero_offset());
    let shift = match turn {
        -1 if offset < 0 => offset,
        -1 => offset - 7,
        0 if offset < 0 => offset + 7,
        0 => offset,
        _ => offset + 7,
    };
    shifted(today, shift)
}

fn turned_season(today: Date, place: i8, turn: i64, lean: Lean) -> Option<Days> {
    let this = season(today.year(), place)?;
    // Said in December, a plan for this summer means the coming summer.
    if turn == 0 && lean == Lean::Future && this.to < today {
        return season(today.year() + 1, place);
    }

    let year = match turn {
        -1 if this.to >= today => today.year() - 1,
        1 if this.from <= today => today.year() + 1,
        // In January and February, this winter began last year.
        0 if place == 3 && today.month() <= 2 => today.year() - 1,
        _ => today.year(),
    };

    season(year, place)
}

/// Parses `two weeks ago`, `a couple of months ago`, `in three days` and `10 days from now`. Does
/// not parse `a week before last`.
fn counted(clause: Clause<'_>, at: usize, today: Date) -> Option<(usize, Days)> {
    let leading = usize::from(clause.low(at) == "in");
    let article =
        usize::from(clause.low(at + leading) == "a" && clause.low(at + leading + 1) == "couple");
    let count = count_of(clause.low(at + leading + article))?;
    let of = usize::from(article == 1 && clause.low(at + leading + article + 1) == "of");
    let place = at + leading + article + of + 1;
    let unit = unit_of(clause.low(place))?;
    let after = place + 1;
    let (end, count) = if clause.low(after) == "ago" {
        (after + 1, -count)
    } else if let Some(end) = clause.any(after, &["from now", "from today"]) {
        (end, count)
    } else if leading == 1 && !matches!(clause.low(after), "of" | "'") {
        (after, count)
    } else {
        return None;
    };

    let day = moved(today, unit, count)?;
    // "Three months ago" does not name an exact day, so the result is the whole unit.
    let days = if matches!(unit, Unit::Day) || count > 0 && unit == Unit::Week {
        Days::day(day)
    } else {
        whole(day, unit)?
    };

    Some((end, days))
}

/// Parses `end of week`, `the end of the month`, `end of next week` and `month-end` as the last day
/// of the unit.
fn end_of(clause: Clause<'_>, at: usize, today: Date) -> Option<(usize, Days)> {
    let unit = match clause.low(at) {
        "month-end" => Some(Unit::Month),
        "year-end" => Some(Unit::Year),
        "eow" => Some(Unit::Week),
        _ => None,
    };

    if let Some(unit) = unit {
        return Some((at + 1, Days::day(whole(today, unit)?.to)));
    }

    let the = usize::from(clause.low(at) == "the");
    let mut place = clause.phrase(at + the, "end of")?;
    let turn = match clause.low(place) {
        "next" => 1,
        "the" | "this" => 0,
        "last" => -1,
        _ => -2,
    };

    place += usize::from(turn != -2);
    let unit = unit_of(clause.low(place)).filter(|unit| *unit != Unit::Day)?;
    let first = moved(
        whole(today, unit)?.from,
        unit,
        turn.max(-1) + i64::from(turn == -2),
    )?;

    Some((place + 1, Days::day(whole(first, unit)?.to)))
}
