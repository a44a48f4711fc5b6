//! Messages that only correct a date, a weekday or a name of the message before: `sorry *july 3`,
//! `i mean Biel, typo`.

use std::ops::Range;

use text::Language;

use super::corrections::merge_numbers;
use super::words::{ChatWords, chat_words_of, lower_in_place};

/// The most words of such a message.
const MAX_WORDS: usize = 8;
/// The most letters that differ between a word and its correction.
const MAX_DIFFERENT_LETTERS: usize = 2;
/// The fewest letters of a word that is corrected for a few of them.
const MIN_LETTERS: usize = 3;

/// The form of a corrected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A day with its month: `july 3`, `3rd of July`.
    Date,
    Weekday,
    Name,
    /// A word after a star.
    Word,
}

/// A correction of the message before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MessageCorrection {
    /// The value that holds.
    value: String,
    form: Form,
    /// True if it can mean nothing else than a correction.
    pub(crate) is_clear: bool,
}

/// The words of a text, in which a number has its marks.
struct Words<'t> {
    text: &'t str,
    lower: String,
    ranges: Vec<Range<usize>>,
    words: &'static ChatWords,
}

impl<'t> Words<'t> {
    fn new(text: &'t str, language: Language) -> Self {
        let lower = lower_in_place(text);
        let ranges = merge_numbers(&lower);
        let words = chat_words_of(language);
        Self {
            text,
            lower,
            ranges,
            words,
        }
    }

    fn lower_at(&self, at: usize) -> &str {
        let range = self.ranges.get(at);
        range.map_or("", |range| &self.lower[range.clone()])
    }

    fn is_day(&self, at: usize) -> bool {
        let digits = self.lower_at(at).trim_end_matches(char::is_alphabetic);
        digits
            .parse::<u8>()
            .is_ok_and(|day| (1..=31).contains(&day))
    }

    fn is_month(&self, at: usize) -> bool {
        self.words.calendar.months.contains_key(self.lower_at(at))
    }

    fn is_weekday(&self, at: usize) -> bool {
        self.words.calendar.weekdays.contains_key(self.lower_at(at))
    }

    fn is_name(&self, at: usize) -> bool {
        let Some(range) = self.ranges.get(at) else {
            return false;
        };
        let word = &self.text[range.clone()];
        word.starts_with(char::is_uppercase)
            && word.chars().count() > 1
            && !word.contains(['\'', '’'])
            && !self.is_month(at)
            && !self.is_weekday(at)
    }

    /// Returns the end of the value that begins with a word, and its form.
    fn value_at(&self, at: usize) -> Option<(usize, Form)> {
        let of = usize::from(self.lower_at(at + 1) == "of");
        if self.is_month(at) && self.is_day(at + 1) {
            Some((at + 2, Form::Date))
        } else if self.is_day(at) && self.is_month(at + 1 + of) {
            Some((at + 2 + of, Form::Date))
        } else if self.is_weekday(at) {
            Some((at + 1, Form::Weekday))
        } else if self.is_name(at) {
            let end = at + 1 + usize::from(self.is_name(at + 1));
            Some((end, Form::Name))
        } else {
            None
        }
    }

    /// Returns the number of words of the longest of some phrases that a word begins.
    fn phrase_len(&self, at: usize, is_strong: bool) -> Option<usize> {
        let rest = &self.lower[self.ranges.get(at)?.start..];
        let phrases = match is_strong {
            true => &self.words.corrections,
            false => &self.words.weak_corrections,
        };
        let len = phrases.opening_len(rest)?;
        let end = self.ranges[at].start + len;
        let ranges = self.ranges[at..].iter();
        Some(ranges.take_while(|range| range.start < end).count())
    }

    fn text_of(&self, first: usize, end: usize) -> Range<usize> {
        self.ranges[first].start..self.ranges[end - 1].end
    }
}

/// Returns the correction that a message makes, if it does nothing else.
pub(crate) fn find_message_correction(text: &str, language: Language) -> Option<MessageCorrection> {
    if text.len() > MAX_WORDS * 16 {
        return None;
    }
    let words = Words::new(text, language);
    let has_star = text.contains('*') && text.matches('*').count() == 1;
    let mut is_strong = false;
    let mut has_phrase = false;
    let mut at = 0;
    while at < words.ranges.len() {
        let strong = words.phrase_len(at, true);
        let Some(len) = strong.max(words.phrase_len(at, false)) else {
            let is_link = has_phrase && words.words.correction_links.is(words.lower_at(at));
            if !is_link {
                break;
            }
            at += 1;
            continue;
        };
        is_strong |= strong.is_some();
        has_phrase = true;
        at += len;
    }

    let before = &text[..words.ranges.get(at)?.start];
    let is_starred = has_star && before.trim_end().ends_with('*');
    let (end, form) = match words.value_at(at) {
        Some(value) => value,
        None if is_starred => (at + 1, Form::Word),
        None => return None,
    };
    let may_correct = is_starred || is_strong || has_phrase && form != Form::Name;
    let mut rest = end;
    while let Some(len) = words
        .phrase_len(rest, false)
        .or_else(|| words.phrase_len(rest, true))
    {
        rest += len;
    }
    let is_whole = rest >= words.ranges.len() && words.ranges.len() <= MAX_WORDS;
    (may_correct && is_whole).then(|| MessageCorrection {
        value: text[words.text_of(at, end)].to_owned(),
        form,
        is_clear: is_starred || is_strong,
    })
}

/// Returns the range of the only value of a message that a correction can mean.
fn find_corrected(message: &Words<'_>, correction: &MessageCorrection) -> Option<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < message.ranges.len() {
        match message.value_at(at) {
            // A capital begins a sentence as well.
            Some((end, Form::Name)) if at == 0 => at = end,
            Some((end, form)) => {
                if form == correction.form {
                    found.push(message.text_of(at, end));
                }
                at = end;
            }
            None => at += 1,
        }
    }

    let value = correction.value.to_lowercase();
    let is_similar = |range: &Range<usize>| is_misspelt(&message.lower[range.clone()], &value);
    let similar = message.ranges.iter().filter(|range| is_similar(range));
    let is_word = matches!(correction.form, Form::Name | Form::Word);
    let found = match found.len() {
        1 => found,
        _ if is_word => similar.cloned().collect(),
        _ => return None,
    };
    let [range] = &found[..] else {
        return None;
    };
    (message.lower[range.clone()] != value).then(|| range.clone())
}

/// Returns a message with its corrected value, and the range of the value that did not hold.
pub(crate) fn correct_message(
    message: &str,
    correction: &MessageCorrection,
    language: Language,
) -> Option<(String, Range<usize>)> {
    let range = find_corrected(&Words::new(message, language), correction)?;
    let mut corrected = message.to_owned();
    corrected.replace_range(range.clone(), &correction.value);
    Some((corrected, range))
}

impl MessageCorrection {
    /// Returns the number of characters of the value that holds.
    pub(crate) fn chars(&self) -> usize {
        self.value.chars().count()
    }
}

/// Checks whether one word may be a slip for another, which differs in a few letters.
fn is_misspelt(word: &str, correction: &str) -> bool {
    let (left, right) = (word.chars().count(), correction.chars().count());
    let shortest = left.min(right);
    shortest >= MIN_LETTERS
        && left.abs_diff(right) <= MAX_DIFFERENT_LETTERS
        && strsim::levenshtein(word, correction) <= MAX_DIFFERENT_LETTERS.min(shortest / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_correct_a_date_a_weekday_or_a_name() {
        for (message, correction, expected) in [
            (
                "my birthday is june 3",
                "sorry *july 3",
                Some("my birthday is july 3"),
            ),
            (
                "my birthday is june 3",
                "no, july 3",
                Some("my birthday is july 3"),
            ),
            (
                "my birthday is june 3",
                "i meant 3 July",
                Some("my birthday is 3 July"),
            ),
            (
                "my flight is on friday at 6",
                "sorry saturday",
                Some("my flight is on saturday at 6"),
            ),
            (
                "I live in Bern",
                "i mean Biel, typo",
                Some("I live in Biel"),
            ),
            (
                "my daughter's name is Anna",
                "*Anne",
                Some("my daughter's name is Anne"),
            ),
            ("she is called ana", "*anna", Some("she is called anna")),
            // Nobody knows which one is meant.
            ("from monday to friday", "sorry saturday", None),
            ("Anna lives in Bern", "sorry Tom", None),
            ("my flight is on friday", "sorry, on saturday i can't", None),
            ("my flight is on friday", "saturday", None),
        ] {
            let found = find_message_correction(correction, Language::English)
                .and_then(|found| correct_message(message, &found, Language::English));
            assert_eq!(
                found.as_ref().map(|(text, _)| text.as_str()),
                expected,
                "{correction}"
            );
        }
    }
}
