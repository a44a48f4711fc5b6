//! A day that was named shortly before a text, from which `till the 30th` counts.

use jiff::civil::Date;
use text::Language;

use crate::Passage;
use crate::chat::spell_out;
use crate::dates::{DateDirection, find_dates, parse_month};
use crate::english::words::{Clause, split_words};

/// Phrases before a day of the month that ends a span.
const SPAN_ENDS: [&str; 3] = ["till the ", "until the ", "til the "];
/// The passages before a text in which the day may be named.
const MAX_PASSAGES: usize = 2;

/// Returns the first coming day with a month that is named before the end of a span: `we fly dec 21`,
/// and then `i can stay till the 30th`. `passages` are those of the conversation up to the text.
pub(crate) fn find_named_day(passages: &[Passage<'_>]) -> Option<Date> {
    let (last, earlier) = passages.split_last()?;
    let ends = SPAN_ENDS.iter().filter_map(|end| last.text.find(end));
    let head = &last.text[..ends.min()?];

    let earlier = earlier.iter().rev().take(MAX_PASSAGES);
    let mut texts = [head]
        .into_iter()
        .chain(earlier.map(|passage| passage.text));
    texts.find_map(|text| first_named_day(text, last))
}

/// Returns the first coming day with a month in an English text.
fn first_named_day(text: &str, passage: &Passage<'_>) -> Option<Date> {
    let spelled = spell_out(text, Language::English);
    let lower = spelled.to_ascii_lowercase();
    let words = split_words(&spelled, &lower);
    let clause = Clause { words: &words };
    let names_month = |first: usize, end: usize| {
        (first..end).any(|at| parse_month(clause.lower_at(at)).is_some())
    };

    let found = find_dates(clause, passage.said_at, DateDirection::Future);
    let days = found
        .iter()
        .find(|found| found.days.from == found.days.to && names_month(found.first, found.end));
    days.map(|found| found.days.from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::passage_of;

    #[test]
    fn the_end_of_a_span_counts_from_the_day_named_before() {
        for (texts, expected) in [
            (
                &[
                    "we fly out may 21 and come back jun 4",
                    "i can do it till the 30th",
                ][..],
                Some("2025-05-21"),
            ),
            (
                &["the fair opens june 3. i can help until the 8th"],
                Some("2025-06-03"),
            ),
            (&["i can help until the 8th"], None),
            (&["the fair opens june 3", "i have a scan on the 8th"], None),
        ] {
            let passages: Vec<_> = texts.iter().map(|text| passage_of(text)).collect();
            let found = find_named_day(&passages).map(|day| day.to_string());
            assert_eq!(found.as_deref(), expected, "{texts:?}");
        }
    }
}
