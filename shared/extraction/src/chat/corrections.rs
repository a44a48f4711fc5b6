//! Values that a person corrects while typing: `2019. no wait 2018`, `on Tuesday, i mean Wednesday`.
//!
//! Only the corrected value is kept. The text keeps its length in characters, so that every position
//! in it stays the same.

use std::borrow::Cow;
use std::ops::Range;

use text::Language;

use super::denials::resolve_denials;
use super::words::{ChatWords, LowerText, chat_words_of, lower_in_place, word_ranges};

/// The most words between a value and the phrase that corrects it: `4 small cats, no wait, 5`.
const MAX_WORDS_BETWEEN: usize = 3;
/// The most phrases and linking words between a value and its correction: `no wait sorry, it's the`.
const MAX_LINKS: usize = 5;
/// The most words of a corrected name or noun.
const MAX_CORRECTED_WORDS: usize = 2;
/// The length of the part of a text in which corrections are looked for at a time, in bytes.
const WINDOW_BYTES: usize = 1_000;
/// The length of the text on both sides of it that is read as well, in bytes. A value, its correction
/// and what stands between them are shorter.
const MARGIN_BYTES: usize = 400;

/// Returns a text in which each corrected value is replaced by its correction.
pub(crate) fn resolve_corrections(text: &str, language: Language) -> Cow<'_, str> {
    let words = chat_words_of(language);
    let mut resolved = resolve_denials(text, words);
    let lower = LowerText::new(text);
    if !words.corrections.occur_in(&lower) && !words.weak_corrections.occur_in(&lower) {
        return resolved;
    }

    let mut from = 0;
    while from < resolved.len() {
        let window = Window::at(&resolved, from);
        let near = &resolved[window.range.clone()];
        match find_next_correction(near, &window, words) {
            Some(correction) => {
                let replacement = correction.replacement(near);
                let first = window.range.start;
                let region = first + correction.old.start..first + correction.new.end;
                from = region.start + replacement.len();
                resolved.to_mut().replace_range(region, &replacement);
            }
            None => from = window.to,
        }
    }

    resolved
}

/// The part of a text in which the next correction is looked for. After each correction, the words of
/// this part are read again, so that a long text with many corrections does not take too long.
struct Window {
    /// The bytes from which a phrase of correction begins.
    from: usize,
    /// The bytes before which it begins.
    to: usize,
    /// The bytes that are read: those and the words around them.
    range: Range<usize>,
}

impl Window {
    fn at(text: &str, from: usize) -> Self {
        let to = text.floor_char_boundary(from + WINDOW_BYTES);
        let start = text.floor_char_boundary(from.saturating_sub(MARGIN_BYTES));
        let end = text.floor_char_boundary(to + MARGIN_BYTES);
        // Words stay whole.
        let start = match text[start..from].find(char::is_whitespace) {
            Some(at) if start > 0 => start + at,
            _ => start,
        };
        let end = match text[to..end].rfind(char::is_whitespace) {
            Some(at) if end < text.len() => to + at,
            _ => end,
        };

        Self {
            from,
            to,
            range: start..end,
        }
    }
}

/// A corrected value.
struct Correction {
    /// The value that does not hold.
    old: Range<usize>,
    /// The words that follow it and hold for the correction as well: `cats` in `4 cats, no, 5`.
    following: Range<usize>,
    /// The value that holds.
    new: Range<usize>,
}

impl Correction {
    /// Returns the text that stands for everything from the old value to the new one, as long in
    /// characters.
    fn replacement(&self, text: &str) -> String {
        let region = &text[self.old.start..self.new.end];
        let mut kept = text[self.new.clone()].to_owned();
        if !self.following.is_empty() {
            kept.push(' ');
            kept.push_str(&text[self.following.clone()]);
        }

        let padding = region.chars().count().saturating_sub(kept.chars().count());
        format!("{}{kept}", " ".repeat(padding))
    }
}

/// The form of a value, by which a correction is recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm<'t> {
    /// A number with the letters after it: `20k`, `5th`, `7.40`.
    Number {
        unit: &'t str,
        is_year: bool,
    },
    Weekday,
    Month,
    Word,
}

/// The words of a text, in which a number has its marks: `7.40`, `1,250`.
struct ValueTokens<'t> {
    lower: &'t str,
    ranges: Vec<Range<usize>>,
    words: &'static ChatWords,
}

/// Returns the first correction that begins in a window, whose text is given.
fn find_next_correction(
    text: &str,
    window: &Window,
    words: &'static ChatWords,
) -> Option<Correction> {
    let lower = lower_in_place(text);
    let tokens = ValueTokens::new(&lower, words);
    let starts = window.from - window.range.start..window.to - window.range.start;
    (1..tokens.ranges.len())
        .filter(|&at| starts.contains(&tokens.ranges[at].start))
        .find_map(|at| tokens.correction_at(at, text))
}

/// A remark that corrects a number of an earlier message: `32 not 30`, `sorry, i meant 25k`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LaterCorrection {
    /// The number that does not hold in lower case, if the remark names it.
    pub(crate) old: Option<String>,
    /// The number that holds.
    pub(crate) new: String,
    /// The bytes of the remark.
    pub(crate) range: Range<usize>,
}

/// Returns the correction of an earlier message with which a message begins.
pub(crate) fn find_later_correction(text: &str, language: Language) -> Option<LaterCorrection> {
    let lower = lower_in_place(text);
    let tokens = ValueTokens::new(&lower, chat_words_of(language));
    tokens.contrast().or_else(|| tokens.leading_correction())
}

/// Returns the range of the last number in a text that a number may correct. If the remark does not name
/// the old number, it corrects one in digits with the same unit only: `25k` corrects `20k`, but
/// neither `two` nor `2`.
pub(crate) fn find_corrected_number(
    text: &str,
    correction: &LaterCorrection,
    language: Language,
) -> Option<Range<usize>> {
    let lower = lower_in_place(text);
    let tokens = ValueTokens::new(&lower, chat_words_of(language));
    let new_form = number_form(&correction.new);
    let at = (0..tokens.ranges.len()).rfind(|&at| match &correction.old {
        Some(old) => tokens.word(at) == old,
        None => tokens.is_number(at) && tokens.form(at) == new_form,
    })?;
    Some(tokens.ranges[at].clone())
}

/// Returns the ranges of the words of a text. The digits of a number stay together.
pub(super) fn merge_numbers(lower: &str) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in word_ranges(lower) {
        if let Some(last) = merged.last_mut() {
            let is_within_number = matches!(&lower[last.end..range.start], "." | "," | ":")
                && lower[..last.end].ends_with(|c: char| c.is_ascii_digit())
                && lower[range.start..].starts_with(|c: char| c.is_ascii_digit());
            if is_within_number {
                last.end = range.end;
                continue;
            }
        }
        merged.push(range);
    }

    merged
}

impl<'t> ValueTokens<'t> {
    fn new(lower: &'t str, words: &'static ChatWords) -> Self {
        Self {
            lower,
            ranges: merge_numbers(lower),
            words,
        }
    }

    fn word(&self, at: usize) -> &'t str {
        self.ranges
            .get(at)
            .map_or("", |range| &self.lower[range.clone()])
    }

    /// Returns the text between a word and the one before it.
    fn gap_before(&self, at: usize) -> &'t str {
        let start = at
            .checked_sub(1)
            .map_or(0, |before| self.ranges[before].end);
        let end = self
            .ranges
            .get(at)
            .map_or(self.lower.len(), |range| range.start);
        &self.lower[start..end]
    }

    fn is_number(&self, at: usize) -> bool {
        self.word(at).starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns the correction of a message that begins with two numbers, one of them denied:
    /// `32 not 30`, `not 900, 700`.
    fn contrast(&self) -> Option<LaterCorrection> {
        let is_denial = |at: usize| self.words.denials.is(self.word(at));
        let first = (0..self.ranges.len()).find(|&at| self.is_number(at) || is_denial(at))?;
        let skipped = (0..first).all(|at| self.words.correction_links.is(self.word(at)));
        let (new, old, last) = if is_denial(first) && self.is_number(first + 1) {
            let but = usize::from(self.words.clause_conjunctions.is(self.word(first + 2)));
            (first + 2 + but, first + 1, first + 2 + but)
        } else {
            (first, first + 2, first + 2)
        };
        let is_contrast = self.is_number(new)
            && self.is_number(old)
            && (is_denial(first) || is_denial(first + 1))
            && is_same_form(self.form(old), self.form(new));
        if !skipped || !is_contrast || !self.ends_clause_or_remark(last + 1) {
            return None;
        }

        Some(LaterCorrection {
            old: Some(self.word(old).to_owned()),
            new: self.word(new).to_owned(),
            range: 0..self.ranges[last].end,
        })
    }

    /// Returns the correction of a message that begins with a phrase of correction and a number:
    /// `sorry, i meant 25k`.
    fn leading_correction(&self) -> Option<LaterCorrection> {
        let (new, is_strong) = self.skip_links(0, false)?;
        let may_correct = is_strong && self.is_number(new);
        if !may_correct || !self.ends_clause_or_remark(new + 1) {
            return None;
        }

        Some(LaterCorrection {
            old: None,
            new: self.word(new).to_owned(),
            range: 0..self.ranges[new].end,
        })
    }

    /// Checks whether a clause ends before the word at `at`, or a word that only closes a remark
    /// stands there.
    fn ends_clause_or_remark(&self, at: usize) -> bool {
        let rest = self
            .ranges
            .get(at)
            .map_or("", |range| &self.lower[range.start..]);
        self.ends_clause(at)
            || self.words.closings.opening_len(rest).is_some()
            || self.words.weak_corrections.opening_len(rest).is_some()
    }

    /// Checks whether a clause ends before the word at `at`.
    fn ends_clause(&self, at: usize) -> bool {
        at >= self.ranges.len() || self.gap_before(at).contains(|c: char| !c.is_whitespace())
    }

    fn form(&self, at: usize) -> ValueForm<'t> {
        let word = self.word(at);
        let calendar = &self.words.calendar;
        if word.starts_with(|c: char| c.is_ascii_digit()) || calendar.numbers.contains_key(word) {
            number_form(word)
        } else if calendar.weekdays.contains_key(word) {
            ValueForm::Weekday
        } else if calendar.months.contains_key(word) {
            ValueForm::Month
        } else {
            ValueForm::Word
        }
    }

    /// Returns the correction whose phrase begins at a word.
    fn correction_at(&self, at: usize, text: &str) -> Option<Correction> {
        let follows_mark = self.gap_before(at).contains(|c: char| !c.is_whitespace());
        let rest = &self.lower[self.ranges[at].start..];
        let is_strong = self.words.corrections.opening_len(rest).is_some();
        let is_weak = follows_mark && self.words.weak_corrections.opening_len(rest).is_some();
        if !is_strong && !is_weak {
            return None;
        }

        let (new, is_strong) = self.skip_links(at, is_strong)?;
        let first_old = at.saturating_sub(MAX_WORDS_BETWEEN + 1);
        let between = &self.lower[self.ranges[first_old].start..self.ranges[new].start];
        let line_at = between.rfind(['\n', '?']).map(|found| found + 1);
        let min_start = self.ranges[first_old].start + line_at.unwrap_or(0);
        let candidates = (first_old..at).rev();
        let is_in_line = |old: &usize| self.ranges[*old].start >= min_start;

        let form = self.form(new);
        if form == ValueForm::Word {
            return self.word_correction(at, new, is_strong, text);
        }
        let old = candidates
            .filter(is_in_line)
            .find(|old| is_same_form(self.form(*old), form))?;
        if self.names_part(new) && !self.names_part(old) {
            return None;
        }

        // "3 rabbits (actually 4 now": the rabbits stay.
        let next = self.word(new + 1);
        let is_alone = self.ends_clause(new + 1)
            || self.words.stop_words.contains_key(next)
            || self.words.beside_ending.is(next);
        let following = if is_alone && old + 1 < at {
            self.ranges[old + 1].start..self.ranges[at - 1].end
        } else {
            0..0
        };

        Some(Correction {
            old: self.ranges[old].clone(),
            following,
            new: self.ranges[new].clone(),
        })
    }

    /// Checks whether a number tells how many of those that were named: `one of them came`.
    fn names_part(&self, at: usize) -> bool {
        const WHOLES: [&str; 8] = ["my", "our", "the", "them", "these", "those", "us", "you"];

        let is_count = matches!(self.form(at), ValueForm::Number { unit: "", .. });
        is_count && self.word(at + 1) == "of" && WHOLES.contains(&self.word(at + 2))
    }

    /// Returns the word after the phrases and linking words that begin at a word, and whether one of
    /// the phrases is a clear one.
    fn skip_links(&self, at: usize, mut is_strong: bool) -> Option<(usize, bool)> {
        let mut next = at;
        for _ in 0..MAX_LINKS {
            let rest = &self.lower[self.ranges.get(next)?.start..];
            let strong = self.words.corrections.opening_len(rest);
            let weak = self.words.weak_corrections.opening_len(rest);
            let link = self.words.correction_links.opening_len(rest);
            let Some(len) = strong.max(weak).max(link.filter(|_| next > at)) else {
                break;
            };
            is_strong |= strong.is_some();
            let end = self.ranges[next].start + len;
            next += self.ranges[next..]
                .iter()
                .take_while(|range| range.start < end)
                .count();
        }

        (next < self.ranges.len()).then_some((next, is_strong))
    }

    /// Returns the correction of a name or noun: `a corvex, no sorry, a norvik`,
    /// `allergic to penicillin, or rather amoxicillin`, `called Petra, sorry Greta`.
    fn word_correction(
        &self,
        at: usize,
        new: usize,
        is_strong: bool,
        text: &str,
    ) -> Option<Correction> {
        let link = self.word(new - 1);
        let repeats_link = |old: usize| self.word(old - 1) == link;
        let linked = (at.saturating_sub(MAX_CORRECTED_WORDS).max(1)..at)
            .find(|old| repeats_link(*old))
            .filter(|_| is_strong && self.words.correction_links.is(link));

        let is_name = |index: usize| {
            let first = text[self.ranges[index].clone()].chars().next();
            first.is_some_and(char::is_uppercase)
        };
        let count = match linked {
            Some(old) => at - old,
            None => (1..=MAX_CORRECTED_WORDS).find(|count| self.ends_clause(new + count))?,
        };
        let (old, end) = (at.checked_sub(count)?, new + count);
        let has_content = |index: usize| !self.words.stop_words.contains_key(self.word(index));
        let is_clear = linked.is_some()
            || is_strong && (old..at).chain(new..end).all(has_content)
            || count == 1 && is_name(old) && is_name(new);
        let is_one_line =
            !self.lower[self.ranges[old].start..self.ranges[new].start].contains(['\n', '?']);
        let is_whole =
            end <= self.ranges.len() && !(old + 1..at).any(|inner| self.ends_clause(inner));
        if !is_clear || !is_one_line || !is_whole {
            return None;
        }

        Some(Correction {
            old: self.ranges[old].start..self.ranges[at - 1].end,
            following: 0..0,
            new: self.ranges[new].start..self.ranges[end - 1].end,
        })
    }
}

/// Returns the form of a number in digits or as a word.
fn number_form(word: &str) -> ValueForm<'_> {
    let digits = word.trim_end_matches(char::is_alphabetic);
    let unit = match &word[digits.len()..] {
        _ if digits.is_empty() => "",
        "st" | "nd" | "rd" => "th",
        unit => unit,
    };
    let is_year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    ValueForm::Number { unit, is_year }
}

/// Checks whether one value can correct another. A number may lack the unit: `7, no wait, 8pm`.
fn is_same_form(old: ValueForm<'_>, new: ValueForm<'_>) -> bool {
    match (old, new) {
        (
            ValueForm::Number { unit, is_year },
            ValueForm::Number {
                unit: new_unit,
                is_year: is_new_year,
            },
        ) => is_year == is_new_year && (unit == new_unit || unit.is_empty() || new_unit.is_empty()),
        (old, new) => old == new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a text with its corrections resolved, without the spaces that pad it.
    fn resolved(text: &str, language: Language) -> String {
        let resolved = resolve_corrections(text, language);
        assert_eq!(resolved.chars().count(), text.chars().count(), "{text}");
        resolved.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_the_corrected_value_stays() {
        for (text, expected) in [
            ("since 2019. no wait 2018", "since 2018"),
            ("budget is 20k, sorry, 25k all in", "budget is 25k all in"),
            ("free tuesday — i mean wednesday", "free wednesday"),
            ("it's on the 5th, scratch that, the 6th", "it's on the 6th"),
            ("3 rabbits (actually 4 now lol)", "4 rabbits now lol)"),
            ("im 172 tall no sorry 182, ok?", "im 182 tall, ok?"),
            ("a corvex no sorry a norvik its old", "a norvik its old"),
            (
                "she's called Petra, sorry Greta, ok",
                "she's called Greta, ok",
            ),
            ("to penicillin, or rather amoxicillin", "to amoxicillin"),
            ("5 march, no wait, 6 march", "6 march"),
        ] {
            assert_eq!(resolved(text, Language::English), expected);
        }
        assert_eq!(
            resolved("budget 400, nein quatsch, 500 euro", Language::German),
            "budget 500 euro"
        );
    }

    #[test]
    fn a_long_text_with_many_corrections_is_resolved() {
        let count = 3_000;
        let text = "the année is 2019, sorry, 2018. ".repeat(count);
        let expected = "the année is 2018. ".repeat(count);
        assert_eq!(resolved(&text, Language::English), expected.trim());

        let chain = "1".to_owned() + &", sorry, 2".repeat(count);
        assert_eq!(resolved(&chain, Language::English), "2");
    }

    #[test]
    fn letters_whose_lower_case_has_another_length_are_read() {
        let text = "I met İnci's sister Élise, sorry Émile, in the STRAẞE";
        assert!(resolved(text, Language::English).ends_with("in the STRAẞE"));
    }

    #[test]
    fn a_later_message_may_correct_a_number() {
        for (text, old, new) in [
            ("32 not 30 lol", Some("30"), "32"),
            ("not 900, 700", Some("900"), "700"),
            ("sorry, i meant 25k", None, "25k"),
        ] {
            let found = find_later_correction(text, Language::English).unwrap();
            assert_eq!((found.old.as_deref(), found.new.as_str()), (old, new));
        }
        for text in ["3 kids, no 2 are the same", "sorry, 25 people came", "no"] {
            assert_eq!(find_later_correction(text, Language::English), None);
        }
    }

    #[test]
    fn a_number_alone_corrects_one_of_the_same_unit() {
        let correction = find_later_correction("sorry, i meant 25k", Language::English).unwrap();
        let corrected = |text| find_corrected_number(text, &correction, Language::English);
        assert_eq!(corrected("User's budget is 20k."), Some(17..20));
        assert_eq!(corrected("User has two cats."), None);
        assert_eq!(corrected("User has 2 cats."), None);
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for text in [
            "i have 2 kids. sorry im late",
            "it broke in 2019, sorry, 3 times",
            "i love it, i mean it's great",
            "2 dogs, no cats",
            "hi Tom, sorry for the wait",
            "i need 20 cups\nsorry 30 people come",
            "I invited five people. actually one of them came",
            "invited 10 friends, actually 2 of them cancelled",
        ] {
            assert_eq!(resolve_corrections(text, Language::English), text);
        }
    }
}
