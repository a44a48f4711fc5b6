//! Dates in the words of a language.

mod numbers;
mod question;

use domain::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

pub(super) use self::question::find_question_days;

use self::numbers::{date_of, ends_with_word, parse_number_after, parse_number_before, span_of};
use super::answers::strip_word;
use super::cue::is_unspaced;
use crate::dates::{self, utc_day};
use text::calendar::{CalendarNames, DayOffset};

/// The words for dates in a language. A longer word may begin with them.
#[derive(Debug)]
pub(super) struct CalendarWords {
    /// Names of days, weekdays, months, units and numbers.
    pub(super) names: CalendarNames,
    /// True if the day stands before the month.
    pub(super) is_day_first: bool,
    /// Words before or after a weekday that place it in the next week.
    pub(super) next: Vec<&'static str>,
    /// Words before or after a weekday that place it in the last week.
    pub(super) last: Vec<&'static str>,
    /// Words before a weekday that make it a repeated one.
    pub(super) before_repeated_weekday: Vec<&'static str>,
    /// Words before a day of the month without its month. Empty if none is needed.
    pub(super) before_day_of_month: Vec<&'static str>,
    /// Text right after a day of the month without its month. Empty if none is needed.
    pub(super) after_day_of_month: Vec<&'static str>,
    /// Text after which such a number is no day: `日間`.
    pub(super) after_other_numbers: Vec<&'static str>,
    /// Words for stretches of time.
    pub(super) stretches: Vec<(Vec<&'static str>, TimeStretch)>,
    /// Words before a count of units that lies ahead.
    pub(super) before_count_ahead: Vec<&'static str>,
    /// Words after a count of units that lies ahead.
    pub(super) after_count_ahead: Vec<&'static str>,
    /// Words before a count of units that has passed.
    pub(super) before_count_ago: Vec<&'static str>,
    /// Words after a count of units that has passed.
    pub(super) after_count_ago: Vec<&'static str>,
}

/// A stretch of time, counted from the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeStretch {
    Week(i32),
    Month(i32),
    Year(i32),
    WeekEnd,
    MonthEnd,
    QuarterEnd,
    YearEnd,
}

/// The side of today on which an ambiguous date lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateSide {
    Future,
    Past,
}

/// Returns the days on which something happens according to the text, which is in lower case.
pub(super) fn find_days(
    calendar: &CalendarWords,
    text: &str,
    said_at: Timestamp,
    side: DateSide,
) -> Option<dates::DayRange> {
    let today = utc_day(said_at)?;
    // In languages that place the month first, spaces carry no meaning.
    let unspaced_text =
        (!calendar.is_day_first).then(|| text.split_whitespace().collect::<String>());
    let reader = DateReader {
        calendar,
        text: unspaced_text.as_deref().unwrap_or(text),
        today,
        side,
    };

    let written_date = || reader.written().or_else(|| reader.month_and_day());
    let (from, to) = Some(text)
        .filter(|text| text.contains(|c: char| c.is_ascii_digit()))
        .and_then(|_| written_date())
        .or_else(|| reader.counted())
        .or_else(|| reader.weekday())
        .or_else(|| reader.day_of_month())
        .or_else(|| reader.stretch())
        .or_else(|| reader.day())?;

    Some(dates::DayRange::new(from, to))
}

/// A range of days, both ends included.
type DayRange = (Date, Date);

struct DateReader<'t> {
    calendar: &'t CalendarWords,
    text: &'t str,
    today: Date,
    side: DateSide,
}

impl DateReader<'_> {
    /// Parses `2025-03-15`, `15.03.2025`, `15/03/2025` and `2025年3月15日`.
    fn written(&self) -> Option<DayRange> {
        let numbers = |token: &str| -> Option<Vec<i16>> {
            let parts = token
                .split(['-', '.', '/', '年', '月', '日', '년', '월', '일'])
                .filter(|part| !part.is_empty());
            parts.map(|part| part.parse().ok()).collect()
        };

        let digit_or_mark = |c: char| c.is_ascii_digit() || "-./年月日년월일".contains(c);
        let tokens = self
            .text
            .split(|c| !digit_or_mark(c))
            .filter(|token| token.len() >= 8);
        let date = tokens
            .filter_map(numbers)
            .find_map(|parts| match parts[..] {
                [year, month, day] if year >= 1000 => date_of(year, month, day),
                [day, month, year] if year >= 1000 => date_of(year, month, day),
                _ => None,
            })?;

        Some((date, date))
    }

    /// Parses `15. März`, `4 月 14 日` and `15 de marzo de 2025`.
    fn month_and_day(&self) -> Option<DayRange> {
        for (index, names) in self.calendar.names.months.iter().enumerate() {
            let hits = names
                .iter()
                .flat_map(|name| self.places(name).map(move |at| (at, at + name.len())));
            for (at, end) in hits {
                let (before, after) = (&self.text[..at], &self.text[end..]);
                let day = match self.calendar.is_day_first {
                    true => parse_number_before(before),
                    false => parse_number_after(after, 3),
                };
                let Some(day @ 1..=31) = day else { continue };
                let year = if self.calendar.is_day_first {
                    parse_number_after(after, 24)
                } else {
                    parse_number_before(before)
                };
                let year = year.filter(|year| (1000..3000).contains(year));
                if let Some(date) = self.dated(year, index as i8 + 1, day as i8) {
                    return Some((date, date));
                }
            }
        }

        None
    }

    /// Returns a day of a month, in the year that fits best if none is given.
    fn dated(&self, year: Option<i64>, month: i8, day: i8) -> Option<Date> {
        if let Some(year) = year {
            return Date::new(i16::try_from(year).ok()?, month, day).ok();
        }

        let this_year = Date::new(self.today.year(), month, day).ok()?;
        let half_year = 183;
        let days = self.today.until(this_year).ok()?.get_days();
        let shift = match self.side {
            DateSide::Future if days < -half_year => 1,
            DateSide::Past if days > 0 => -1,
            DateSide::Future | DateSide::Past => 0,
        };
        Date::new(self.today.year() + shift, month, day).ok()
    }

    /// Parses `am 30.`, `le 25` and `21日`: the next or the last such day.
    fn day_of_month(&self) -> Option<DayRange> {
        let calendar = self.calendar;
        if calendar.before_day_of_month.is_empty() && calendar.after_day_of_month.is_empty() {
            return None;
        }

        let digits = |c: char| c.is_ascii_digit();
        let starts = self.text.match_indices(digits).map(|(at, _)| at);
        let starts = starts.filter(|at| !self.text[..*at].ends_with(digits));
        let day = starts.into_iter().find_map(|at| {
            let (before, rest) = self.text.split_at(at);
            let len = rest.find(|c| !digits(c)).unwrap_or(rest.len());
            let (number, after) = rest.split_at(len);
            let day = number.parse().ok().filter(|day| (1..=31).contains(day))?;
            self.names_day(before, after).then_some(day)
        })?;
        let date = self.nearest_day(day)?;
        Some((date, date))
    }

    /// Checks whether the number between two texts is a day of a month.
    fn names_day(&self, before: &str, after: &str) -> bool {
        let calendar = self.calendar;
        let mut words = calendar.before_day_of_month.iter();
        let has_word = calendar.before_day_of_month.is_empty()
            || words.any(|word| ends_with_word(before.trim_end(), word));

        let mut marks = calendar.after_day_of_month.iter();
        let tail = match marks.find_map(|mark| after.strip_prefix(mark)) {
            Some(tail) => tail,
            None if calendar.after_day_of_month.is_empty() => after,
            None => return false,
        };
        // A word at the end of the text is followed by a space as well.
        let next_words = format!("{} ", tail.trim_start());
        let mut others = calendar.after_other_numbers.iter();
        let is_other = tail.starts_with(|c: char| c.is_ascii_digit() || c == ':' || c == '/')
            || next_words.starts_with(['%', '€', '°'])
            || tail.len() == after.len() && tail.starts_with(char::is_alphabetic)
            || others.any(|word| strip_word(&next_words, word).is_some());
        has_word && !is_other
    }

    /// Returns the next day of a month with a number, or the last one.
    fn nearest_day(&self, day: i8) -> Option<Date> {
        let in_month = |shift: i64| {
            let month = self
                .today
                .first_of_month()
                .checked_add(shift.months())
                .ok()?;
            Date::new(month.year(), month.month(), day).ok()
        };
        let mut candidates = (-2..=2).filter_map(in_month);
        match self.side {
            DateSide::Past => candidates.rfind(|date| *date <= self.today),
            DateSide::Future => candidates.find(|date| *date >= self.today),
        }
    }

    /// Parses `in zwei Wochen`, `vor 3 Tagen` and `两周后`.
    fn counted(&self) -> Option<DayRange> {
        for (unit, names) in self.calendar.names.units.iter().enumerate() {
            for name in names {
                for at in self.places(name) {
                    let (count, rest) = self.count_before(&self.text[..at])?;
                    let after = &self.text[at + name.len()..];
                    if let Some(sign) = self.direction(rest, after).filter(|_| count > 0) {
                        let date = self.today.checked_add(span_of(unit, sign * count)).ok()?;
                        return Some((date, date));
                    }
                }
            }
        }

        None
    }

    /// Returns the count at the end of a text, or zero if there is none, and the text before it.
    fn count_before<'a>(&self, before: &'a str) -> Option<(i64, &'a str)> {
        let text = before.trim_end_matches([' ', '个', '個', '개', '-']);
        let without_digits = text.trim_end_matches(|c: char| c.is_ascii_digit());
        if without_digits.len() < text.len() {
            return Some((
                text[without_digits.len()..].parse().unwrap_or(0),
                without_digits,
            ));
        }

        let words = self.calendar.names.numbers.iter().enumerate();
        let named_numbers =
            words.flat_map(|(index, names)| names.iter().map(move |name| (index as i64 + 1, name)));
        let hit = named_numbers
            .filter(|(_, name)| text.ends_with(**name))
            .max_by_key(|(_, name)| name.len());

        Some(hit.map_or((0, text), |(count, name)| {
            (count, &text[..text.len() - name.len()])
        }))
    }

    /// Returns 1 if the words around a count place it ahead, and -1 if they place it in the past.
    fn direction(&self, before: &str, after: &str) -> Option<i64> {
        let ends_with_any = |words: &[&'static str]| {
            words
                .iter()
                .any(|word| ends_with_word(before.trim_end(), word))
        };

        // The unit may have an inflectional ending before the word that follows.
        let tail = after
            .trim_start_matches(|c: char| c.is_alphabetic() && !is_unspaced(c))
            .trim_start();
        let starts_with_any = |words: &[&'static str]| {
            words
                .iter()
                .any(|word| tail.starts_with(*word) || after.trim_start().starts_with(*word))
        };

        if ends_with_any(&self.calendar.before_count_ago)
            || starts_with_any(&self.calendar.after_count_ago)
        {
            Some(-1)
        } else if ends_with_any(&self.calendar.before_count_ahead)
            || starts_with_any(&self.calendar.after_count_ahead)
        {
            Some(1)
        } else {
            None
        }
    }

    fn weekday(&self) -> Option<DayRange> {
        let names = self.calendar.names.weekdays.iter().enumerate();
        let hits = names.flat_map(|(day, names)| names.iter().map(move |name| (day, name)));
        let (at, day, name) = hits
            .filter_map(|(day, name)| Some((self.places(name).next()?, day, name)))
            .min()?;
        let before = self.text[..at].trim_end();
        let after = self.text[at + name.len()..].trim_start();
        let is_near = |words: &[&'static str]| {
            words
                .iter()
                .any(|word| ends_with_word(before, word) || after.starts_with(*word))
        };

        if self.is_repeated(before, after) {
            return None;
        }

        let weekday = Weekday::from_monday_zero_offset(day as i8).ok()?;
        let week = if is_near(&self.calendar.next) {
            1
        } else {
            -i64::from(is_near(&self.calendar.last))
        };

        if week != 0 && !self.calendar.is_day_first {
            let date = self
                .monday()?
                .checked_add(week.weeks())
                .ok()?
                .checked_add((day as i64).days())
                .ok()?;
            return Some((date, date));
        }

        let date = if is_near(&self.calendar.last)
            || (self.side == DateSide::Past && !is_near(&self.calendar.next))
        {
            self.today.nth_weekday(-1, weekday).ok()?
        } else if self.today.weekday() == weekday && !is_near(&self.calendar.next) {
            self.today
        } else {
            self.today.nth_weekday(1, weekday).ok()?
        };

        Some((date, date))
    }

    /// Checks whether a weekday between two texts comes again and again: `le samedi`, but not
    /// `le samedi 17`.
    fn is_repeated(&self, before: &str, after: &str) -> bool {
        let mut words = self.calendar.before_repeated_weekday.iter();
        words.any(|word| ends_with_word(before, word))
            && !after.starts_with(|c: char| c.is_ascii_digit())
    }

    fn monday(&self) -> Option<Date> {
        self.today
            .checked_sub(i64::from(self.today.weekday().to_monday_zero_offset()).days())
            .ok()
    }

    fn stretch(&self) -> Option<DayRange> {
        let mut stretches = self.calendar.stretches.iter();
        let is_named =
            |names: &[&'static str]| names.iter().any(|name| self.places(name).next().is_some());

        let (_, stretch) = stretches.find(|(names, _)| is_named(names))?;
        let monday = self.monday()?;
        let first = self.today.first_of_month();
        let span_from =
            |from: Date, span: Span| Some((from, from.checked_add(span).ok()?.yesterday().ok()?));

        match *stretch {
            TimeStretch::Week(n) => {
                span_from(monday.checked_add(i64::from(n).weeks()).ok()?, 1.week())
            }
            TimeStretch::Month(n) => {
                span_from(first.checked_add(i64::from(n).months()).ok()?, 1.month())
            }
            TimeStretch::Year(n) => span_from(
                self.today
                    .first_of_year()
                    .checked_add(i64::from(n).years())
                    .ok()?,
                1.year(),
            ),
            TimeStretch::WeekEnd => Some((self.today, monday.checked_add(6.days()).ok()?)),
            TimeStretch::MonthEnd => Some((self.today, self.today.last_of_month())),
            TimeStretch::QuarterEnd => {
                let months_ahead = i64::from((3 - self.today.month() % 3) % 3);
                Some((
                    self.today,
                    first
                        .checked_add(months_ahead.months())
                        .ok()?
                        .last_of_month(),
                ))
            }
            TimeStretch::YearEnd => Some((self.today, self.today.last_of_year())),
        }
    }

    fn day(&self) -> Option<DayRange> {
        let (_, offset) = self
            .calendar
            .names
            .days
            .iter()
            .find(|(names, _)| names.iter().any(|name| self.places(name).next().is_some()))?;

        let days = match *offset {
            DayOffset::None => return None,
            DayOffset::Days(days) => days,
            DayOffset::Either(days) => match self.side {
                DateSide::Past => -days,
                DateSide::Future => days,
            },
        };

        let date = self.today.checked_add(i64::from(days).days()).ok()?;
        Some((date, date))
    }

    /// Returns the positions at which a word begins with `name`.
    fn places<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let hits = self.text.match_indices(name).map(|(at, _)| at);
        hits.filter(move |at| {
            let before = self.text[..*at].chars().next_back();
            match name.chars().next() {
                Some(c) if is_unspaced(c) => true,
                Some(c) if c.is_ascii_digit() => before.is_none_or(|c| !c.is_ascii_digit()),
                _ => before.is_none_or(|c| !c.is_alphabetic() || is_unspaced(c)),
            }
        })
    }
}
