//! Numbers and time spans in dates.

use jiff::Span;
use jiff::civil::Date;

use super::is_unspaced;

pub(super) fn date_of(year: i16, month: i16, day: i16) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

pub(super) fn span_of(unit: usize, count: i64) -> Span {
    match unit {
        0 => Span::new().try_days(count),
        1 => Span::new().try_weeks(count),
        2 => Span::new().try_months(count),
        _ => Span::new().try_years(count),
    }
    .unwrap_or_default()
}

pub(super) fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(rest) = text.strip_suffix(word) else {
        return false;
    };
    word.starts_with(is_unspaced) || rest.chars().next_back().is_none_or(|c| !c.is_alphabetic())
}

/// Returns the number at the end of a text, ignoring a full stop and small words of dates.
pub(super) fn parse_number_before(text: &str) -> Option<i64> {
    let text = text.trim_end_matches([' ', '.', '年', '년', 'º', '°', 'ª']);
    let text = ["de", "er", "го", "ого"]
        .into_iter()
        .find_map(|word| text.strip_suffix(word))
        .unwrap_or(text);
    let text = text.trim_end_matches([' ', 'º', '°', '-']);
    let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
    (text.len() - prefix.len() <= 4)
        .then(|| text[prefix.len()..].parse().ok())
        .flatten()
}

/// Returns the first number of a text, if it begins within `max_distance` bytes.
pub(super) fn parse_number_after(text: &str, max_distance: usize) -> Option<i64> {
    let at = text
        .find(|c: char| c.is_ascii_digit())
        .filter(|at| *at <= max_distance)?;
    let digit_count = text[at..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len() - at);
    (digit_count <= 4)
        .then(|| text[at..at + digit_count].parse().ok())
        .flatten()
}
