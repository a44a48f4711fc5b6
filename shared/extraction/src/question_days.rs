//! The days that a question asks about, and whether a text is about them.

use domain::{EventPeriod, Timestamp};
use jiff::ToSpan;
use jiff::civil::Date;

use crate::chat;
use crate::cues;
use crate::dates::{
    DateDirection, DayRange, FoundDate, find_dates, month_range, parse_day, parse_month,
    parse_season, parse_year, season_range, utc_day, year_range,
};
use crate::english::words::{Clause, split_words};
use text::{Language, detect_language};

/// The longest period that a text may name to count as being about a shorter one. A text about `last
/// year` is not about a day of that year.
const MAX_NAMED_DAYS: i32 = 7;

/// The days that a question names: `on 3 May 2023`, `last week`, `between June and August`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionDays {
    spans: Vec<DaySpan>,
}

/// Some of the days of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DaySpan {
    days: DayRange,
    /// True if the same days of every year are meant: `in March`.
    is_yearly: bool,
}

impl QuestionDays {
    /// Finds the days that a question names. Relative days are counted from `asked_at`. A date
    /// without a year means the days of every year.
    pub fn find(question: &str, asked_at: Timestamp) -> Self {
        let language = detect_language(question);
        let Some(today) = utc_day(asked_at) else {
            return Self::default();
        };

        let spans = match language {
            Language::English => find_english_spans(question, asked_at, today),
            _ => cues::find_question_days(question, language, asked_at)
                .map(|(days, is_yearly)| DaySpan { days, is_yearly })
                .into_iter()
                .collect(),
        };
        Self { spans }
    }

    /// Checks whether the question names no days.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Checks whether a point in time lies on one of the days, in UTC.
    pub fn include(&self, time: Timestamp) -> bool {
        utc_day(time).is_some_and(|day| self.overlap(DayRange::new(day, day)))
    }

    /// Checks whether a period is about these days: it lies within them, or is short and shares a day
    /// with them.
    pub fn include_period(&self, period: EventPeriod) -> bool {
        match (utc_day(period.from), utc_day(period.to)) {
            (Some(from), Some(to)) => self.overlap(DayRange::new(from, to)),
            _ => false,
        }
    }

    /// Checks whether a text, which was said at `said_at`, names one of the days.
    pub fn are_named_in(&self, text: &str, said_at: Timestamp) -> bool {
        match detect_language(text) {
            Language::English => {
                let lower = text.to_ascii_lowercase();
                let words = split_words(text, &lower);
                let found = find_dates(Clause { words: &words }, said_at, DateDirection::Past);
                found
                    .iter()
                    .any(|found| !found.is_lasting && self.overlap(found.days))
            }
            language => text
                .lines()
                .filter_map(|line| cues::find_days(line, language, said_at))
                .any(|days| self.overlap(days)),
        }
    }

    fn overlap(&self, days: DayRange) -> bool {
        self.spans.iter().any(|span| span.is_about(days))
    }
}

impl DaySpan {
    fn is_about(self, days: DayRange) -> bool {
        if !self.is_yearly {
            return is_about(self.days, days);
        }

        let shift = days.from.year() - self.days.from.year();
        (shift - 1..=shift).any(|years| {
            let moved = |day: Date| day.checked_add(i32::from(years).years()).ok();
            match (moved(self.days.from), moved(self.days.to)) {
                (Some(from), Some(to)) => is_about(DayRange::new(from, to), days),
                _ => false,
            }
        })
    }
}

/// Checks whether `days` lie within the days of a question, or are few and share a day with them.
fn is_about(asked: DayRange, days: DayRange) -> bool {
    let is_within = asked.from <= days.from && days.to <= asked.to;
    let shares_day = asked.from <= days.to && days.from <= asked.to;
    let is_short = (days.to - days.from).get_days() < MAX_NAMED_DAYS;
    is_within || shares_day && is_short
}

/// A date of a question.
#[derive(Debug, Clone, Copy)]
struct QuestionDate {
    /// The index of the first word.
    first: usize,
    /// The index after the last word.
    end: usize,
    span: DaySpan,
}

fn find_english_spans(question: &str, asked_at: Timestamp, today: Date) -> Vec<DaySpan> {
    let spelled = chat::spell_out(question, Language::English);
    let lower = spelled.to_ascii_lowercase();
    let words = split_words(&spelled, &lower);
    let clause = Clause { words: &words };

    let mut dates = find_question_dates(clause, asked_at, today);
    dates.sort_by_key(|date| date.first);

    let mut spans = Vec::new();
    let mut next = 0;
    while let Some(date) = dates.get(next) {
        let joined = dates
            .get(next + 1)
            .and_then(|other| join_dates(clause, date, other));
        next += if joined.is_some() { 2 } else { 1 };
        let span = joined
            .or_else(|| join_bare_day(clause, date))
            .unwrap_or(date.span);
        spans.push(extend_span(clause, date.first, span, today));
    }

    // "On Friday" is the last or the next one.
    for ahead in find_dates(clause, asked_at, DateDirection::Future) {
        let span = to_span(clause, &ahead);
        let is_single = dates
            .iter()
            .any(|date| date.first == ahead.first && spans.contains(&date.span));
        if is_single && !span.is_yearly && !spans.contains(&span) {
            spans.push(span);
        }
    }

    spans
}

/// Finds the dates of a question: those that a statement may have, and months, seasons and years that
/// only a question or a span names alone.
fn find_question_dates(clause: Clause<'_>, asked_at: Timestamp, today: Date) -> Vec<QuestionDate> {
    let mut dates = Vec::new();
    for found in find_dates(clause, asked_at, DateDirection::Past) {
        dates.push(QuestionDate {
            first: found.first,
            end: found.end,
            span: to_span(clause, &found),
        });
    }

    for at in 0..clause.len() {
        let is_known = dates
            .iter()
            .any(|date| (date.first..date.end).contains(&at));
        if is_known {
            continue;
        }
        if let Some(span) = parse_bare_period(clause, at, today) {
            dates.push(QuestionDate {
                first: at,
                end: at + 1,
                span,
            });
        }
    }

    dates
}

/// Returns the days of a date. Those of every year are meant if it names a month and no year.
fn to_span(clause: Clause<'_>, found: &FoundDate) -> DaySpan {
    let has = |test: fn(&str) -> bool| (found.first..found.end).any(|at| test(clause.lower_at(at)));
    let is_relative =
        |lower: &str| matches!(lower, "last" | "past" | "next" | "coming" | "this" | "ago");
    let names_month = has(|lower| parse_month(lower).is_some() || parse_season(lower).is_some());
    let names_year = has(|lower| parse_year(lower).is_some());
    let is_yearly = names_month && !names_year && !has(is_relative);
    DaySpan {
        days: found.days,
        is_yearly,
    }
}

/// Parses a month, a season or a year after a word that allows no other meaning: `between June`,
/// `during the summer`.
fn parse_bare_period(clause: Clause<'_>, at: usize, today: Date) -> Option<DaySpan> {
    let previous = |distance: usize| {
        at.checked_sub(distance)
            .map_or("", |at| clause.lower_at(at))
    };
    let introduces = |word: &str| {
        matches!(
            word,
            "in" | "of"
                | "during"
                | "since"
                | "until"
                | "till"
                | "before"
                | "after"
                | "between"
                | "and"
                | "from"
                | "to"
                | "through"
                | "by"
                | "around"
                | "or"
                | "-"
                | "–"
        )
    };
    let follows_article = matches!(previous(1), "the" | "that");
    let introduction = previous(if follows_article { 2 } else { 1 });

    let lower = clause.lower_at(at);
    if let Some(year) = parse_year(lower).filter(|_| introduces(introduction)) {
        let days = year_range(year)?;
        return Some(DaySpan {
            days,
            is_yearly: false,
        });
    }

    let days = if let Some(season) = parse_season(lower)
        && introduces(introduction)
    {
        season_range(today.year(), season)?
    } else if let Some(month) = parse_month(lower)
        && clause.words[at].is_capitalized()
        && introduces(introduction)
        && !follows_article
    {
        month_range(today.year(), month)?
    } else {
        return None;
    };
    Some(DaySpan {
        days,
        is_yearly: true,
    })
}

/// Returns the days from one date to another: `between June and August 2023`.
fn join_dates(clause: Clause<'_>, first: &QuestionDate, last: &QuestionDate) -> Option<DaySpan> {
    if last.first != first.end + 1 || !joins_span(clause, first.first, first.end) {
        return None;
    }

    let mut from = first.span.days.from;
    let mut to = last.span.days.to;
    let is_yearly = first.span.is_yearly && last.span.is_yearly;
    if first.span.is_yearly {
        from = in_year(from, last.span.days.from.year())?;
    } else if last.span.is_yearly {
        to = in_year(to, from.year())?;
    }
    if from > to && first.span.is_yearly {
        from = from.checked_sub(1.year()).ok()?;
    } else if from > to && last.span.is_yearly {
        to = to.checked_add(1.year()).ok()?;
    }

    let days = DayRange::new(from, to);
    (from <= to).then_some(DaySpan { days, is_yearly })
}

/// Returns the days from a day of a month to another of the same month: `from 3 to 9 May`, `May 3 to
/// 9`.
fn join_bare_day(clause: Clause<'_>, date: &QuestionDate) -> Option<DaySpan> {
    let DayRange { from, to } = date.span.days;
    if from != to {
        return None;
    }

    let days = if date.first >= 2
        && let Some(day) = parse_day(clause.lower_at(date.first - 2))
        && joins_span(clause, date.first - 2, date.first - 1)
    {
        DayRange::new(from.with().day(day).build().ok()?, to)
    } else if let Some(day) = parse_day(clause.lower_at(date.end + 1))
        && joins_span(clause, date.first, date.end)
    {
        DayRange::new(from, to.with().day(day).build().ok()?)
    } else {
        return None;
    };
    (days.from < days.to).then_some(DaySpan { days, ..date.span })
}

/// Checks whether the word at `at` joins a date that begins at `first` with the next one to a span.
fn joins_span(clause: Clause<'_>, first: usize, at: usize) -> bool {
    match clause.lower_at(at) {
        "and" => first > 0 && clause.lower_at(first - 1) == "between",
        "to" | "until" | "till" | "through" | "thru" | "-" | "–" => true,
        _ => false,
    }
}

/// Returns the days that a word before a date adds to it: `since May` lasts until today, and `the
/// week before 3 August` begins a week earlier.
fn extend_span(clause: Clause<'_>, first: usize, span: DaySpan, today: Date) -> DaySpan {
    let Some(before) = first.checked_sub(1) else {
        return span;
    };
    let mut days = span.days;
    match clause.lower_at(before) {
        "since" => {
            let from = match span.is_yearly && days.from > today {
                true => days.from.checked_sub(1.year()),
                false => Ok(days.from),
            };
            return match from {
                Ok(from) if from <= today => DaySpan {
                    days: DayRange::new(from, today),
                    is_yearly: false,
                },
                _ => span,
            };
        }
        "before" if before > 0 => {
            let unit = clause.lower_at(before - 1);
            let count = match unit {
                "week" | "weekend" | "days" | "day" => 7,
                "weeks" => 21,
                "month" => 31,
                _ => 0,
            };
            days.from = days.from.checked_sub(count.days()).unwrap_or(days.from);
        }
        _ => {}
    }
    DaySpan { days, ..span }
}

/// Returns the same day of another year.
fn in_year(day: Date, year: i16) -> Option<Date> {
    day.checked_add(i32::from(year - day.year()).years()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the days of a question that was asked on 2025-04-15, a Tuesday. An asterisk marks
    /// those of every year.
    fn asked(question: &str) -> String {
        let asked_at = Timestamp::parse("day", "2025-04-15").unwrap();
        let found = QuestionDays::find(question, asked_at);
        let label = |span: &DaySpan| {
            let mark = if span.is_yearly { "*" } else { "" };
            format!("{}{mark}", span.days.format_label())
        };
        found.spans.iter().map(label).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn questions_name_days_and_spans() {
        for (question, expected) in [
            ("What did Ana do on 3 May 2023?", "2023-05-03"),
            ("what did ana do on may 3, 2023", "2023-05-03"),
            ("What did Ana do on May 3?", "2024-05-03*"),
            (
                "Where was I in the summer of 2022?",
                "2022-06-01 to 2022-08-31",
            ),
            (
                "Where did we go during the summer?",
                "2025-06-01 to 2025-08-31*",
            ),
            ("What happened in March?", "2025-03*"),
            ("what happened in march", "2025-03*"),
            ("What did I do last week?", "2025-04-07 to 2025-04-13"),
            ("What did I do yesterday?", "2025-04-14"),
            ("What did I do last March?", "2025-03"),
            (
                "What happened between June and August?",
                "2025-06-01 to 2025-08-31*",
            ),
            (
                "What happened between June and August 2023?",
                "2023-06-01 to 2023-08-31",
            ),
            (
                "Where was John between August 11 and August 15 2023?",
                "2023-08-11 to 2023-08-15",
            ),
            (
                "Where was John from 3 to 9 May 2023?",
                "2023-05-03 to 2023-05-09",
            ),
            (
                "Where was John from May 3 to 9?",
                "2024-05-03 to 2024-05-09*",
            ),
            (
                "What did he do from November 2022 to February?",
                "2022-11-01 to 2023-02-28",
            ),
            (
                "Where did I live between 2019 and 2021?",
                "2019-01-01 to 2021-12-31",
            ),
            (
                "What have I bought since March 2025?",
                "2025-03-01 to 2025-04-15",
            ),
            (
                "What did John do the week before August 3, 2023?",
                "2023-07-27 to 2023-08-03",
            ),
            ("What am I doing on Friday?", "2025-04-11, 2025-04-18"),
            ("How often did she swim in 2023?", "2023"),
        ] {
            assert_eq!(asked(question), expected, "{question}");
        }
    }

    #[test]
    fn other_words_are_no_days() {
        for question in [
            "Where does Anna work?",
            "May I ask what April's dog is called?",
            "Who will march with us?",
            "Which mattress has springs?",
            "What is the code 2023?",
            "Où ai-je été avec Anna ?",
            "Wo liegt Mailand?",
        ] {
            assert_eq!(asked(question), "", "{question}");
        }
    }

    #[test]
    fn questions_in_other_languages_name_days() {
        for (question, expected) in [
            ("Was habe ich am 3. Mai 2023 gemacht?", "2023-05-03"),
            ("Was habe ich am 3. Mai gemacht?", "2024-05-03*"),
            ("Was ist im März passiert?", "2025-03*"),
            ("Was haben wir im März 2023 gekauft?", "2023-03"),
            ("Wo war ich im Sommer 2022?", "2022-06-01 to 2022-08-31"),
            (
                "Was habe ich letzte Woche gemacht?",
                "2025-04-07 to 2025-04-13",
            ),
            ("¿Qué hice en marzo de 2023?", "2023-03"),
            ("Qu'est-ce que j'ai fait en juillet 2022 ?", "2022-07"),
            ("Что я делал в марте 2023?", "2023-03"),
            ("我2023年12月做了什么？", "2023-12"),
            ("我在2023年5月3日做了什么？", "2023-05-03"),
            ("Wohin sind wir 2021 gereist?", "2021"),
        ] {
            assert_eq!(asked(question), expected, "{question}");
        }
    }

    #[test]
    fn days_of_every_year_and_short_periods_are_included() {
        let asked_at = Timestamp::parse("day", "2025-04-15").unwrap();
        let day = |text| Timestamp::parse("day", text).unwrap();
        let period = |from, to| EventPeriod {
            from: day(from),
            to: day(to),
        };

        let march = QuestionDays::find("What happened in March?", asked_at);
        assert!(march.include(day("2021-03-31")) && !march.include(day("2021-04-01")));

        let winter = QuestionDays::find("Where were we during the winter?", asked_at);
        assert!(winter.include(day("2023-12-24")) && winter.include(day("2023-01-24")));
        assert!(!winter.include(day("2023-11-24")));

        let may = QuestionDays::find("What did I do on 3 May 2023?", asked_at);
        assert!(may.include_period(period("2023-05-01", "2023-05-07")));
        assert!(!may.include_period(period("2023-01-01", "2023-12-31")));
        assert!(may.are_named_in("We met yesterday.", day("2023-05-04")));
        assert!(may.are_named_in("Wir waren gestern dort.", day("2023-05-04")));
        assert!(!may.are_named_in("We met yesterday.", day("2023-05-08")));
        assert!(!may.are_named_in("We moved last year.", day("2024-05-08")));
    }
}
