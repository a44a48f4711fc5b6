//! Checks of dates that a model resolved, against the sentences from which they come.

use domain::{EventPeriod, Timestamp};
use extraction::DayRange;
use jiff::civil::Date;
use text::calendar::CalendarWords;

use super::words::tokenize_words;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Returns the time of an event, if the sentences can mean it.
///
/// If the model resolved the date badly, the statement has no event.
pub(super) fn resolve_event(
    text: Option<&str>,
    said_at: Timestamp,
    sentences: &[&str],
) -> Option<EventPeriod> {
    let period = parse_period(text?)?;
    let mut sentence_words = Vec::new();
    for word in sentences
        .iter()
        .flat_map(|sentence| tokenize_words(sentence))
    {
        sentence_words.push(word.lower);
    }

    let has_digits = sentence_words
        .iter()
        .any(|word| word.chars().any(char::is_numeric));
    let has_cased_letters = sentence_words
        .iter()
        .any(|word| word.chars().any(|c| c.is_lowercase() || c.is_uppercase()));
    let calendar = CalendarWords::shared();
    let time_word_count = sentence_words
        .iter()
        .filter(|word| calendar.names_time(word))
        .count();
    if has_cased_letters && !has_digits && time_word_count == 0 {
        return None;
    }

    let days = (period.from.as_millis() - said_at.as_millis()).div_euclid(DAY_MILLIS);
    let may_be_distant = has_digits || sentence_words.iter().any(|word| calendar.is_distant(word));
    let max_days = if may_be_distant { 150 * 366 } else { 400 };

    let exact_day = sentence_words
        .iter()
        .find_map(|word| calendar.exact_day(word))
        .filter(|_| !has_digits && time_word_count == 1);
    let is_plausible = match exact_day {
        // The tolerance is one day, because the time zone of the speaker is unknown.
        Some(offset) => (days - i64::from(offset)).abs() <= 1,
        None => days.abs() <= max_days,
    };

    is_plausible.then_some(period)
}

/// Returns the time from which a memory is forgotten: the end of the given day.
pub(super) fn parse_expiry(text: Option<&str>) -> Option<Timestamp> {
    let period = parse_period(text?)?;
    Some(Timestamp::from_millis(period.to.as_millis()))
}

/// Returns the spellings that the days of a period may have in a statement.
pub(super) fn spell_period(period: EventPeriod) -> String {
    let at =
        |time: Timestamp| jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default();
    let spell = |time: Timestamp| {
        at(time)
            .strftime("%Y %m %-m %d %-d %B %b %A %a %Y")
            .to_string()
    };
    format!("{} {}", spell(period.from), spell(period.to))
}

/// Parses a year, a month, a day, a point in time, or two of these with a slash between them.
fn parse_period(text: &str) -> Option<EventPeriod> {
    let text = text.trim();
    if let Some((from, to)) = text.split_once('/') {
        let period = EventPeriod {
            from: parse_single_date(from)?.from,
            to: parse_single_date(to)?.to,
        };
        return (period.from <= period.to).then_some(period);
    }

    parse_single_date(text)
}

fn parse_single_date(text: &str) -> Option<EventPeriod> {
    let parse_with = |ending: &str| -> Option<Date> { format!("{text}{ending}").parse().ok() };
    let days = match text.len() {
        4 => {
            let day = parse_with("-01-01")?;
            DayRange::new(day, day.last_of_year())
        }
        7 => {
            let day = parse_with("-01")?;
            DayRange::new(day, day.last_of_month())
        }
        10 => {
            let day = parse_with("")?;
            DayRange::new(day, day)
        }
        _ => {
            let moment = Timestamp::parse("date", text).ok()?;
            return Some(EventPeriod {
                from: moment,
                to: moment,
            });
        }
    };

    days.to_period()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_holds_where_the_sentence_can_mean_it() {
        let said_at = Timestamp::parse("x", "2025-04-15T20:00:00Z").unwrap();

        for (sentence, date, expected) in [
            (
                "The dentist is tomorrow.",
                "2025-04-16",
                Some("2025-04-16T00:00:00.000Z/2025-04-16T23:59:59.999Z"),
            ),
            ("The dentist is tomorrow.", "2025-05-16", None),
            (
                "We met last May.",
                "2024-05",
                Some("2024-05-01T00:00:00.000Z/2024-05-31T23:59:59.999Z"),
            ),
            ("We met last May.", "1984-05", None),
            (
                "Mara founded it in 1984.",
                "1984",
                Some("1984-01-01T00:00:00.000Z/1984-12-31T23:59:59.999Z"),
            ),
            ("Mara likes tea.", "2025-04-15", None),
            (
                "Der Termin ist nächste Woche.",
                "2025-04-21",
                Some("2025-04-21T00:00:00.000Z/2025-04-21T23:59:59.999Z"),
            ),
            (
                "The trip is next week.",
                "2025-04-21/2025-04-27",
                Some("2025-04-21T00:00:00.000Z/2025-04-27T23:59:59.999Z"),
            ),
            (
                "The call is at 9 on Friday.",
                "2025-04-18T09:00:00Z",
                Some("2025-04-18T09:00:00.000Z/2025-04-18T09:00:00.000Z"),
            ),
            ("The trip is next week.", "2025-04-27/2025-04-21", None),
            ("The trip is next week.", "next week", None),
            ("The trip is next week.", "äöüß", None),
            ("The trip is next week.", "9999-12-31", None),
            ("The trip is next week.", "", None),
        ] {
            let found = resolve_event(Some(date), said_at, &[sentence])
                .map(|period| format!("{}/{}", period.from, period.to));
            assert_eq!(found.as_deref(), expected, "{sentence} {date}");
        }
    }
}
