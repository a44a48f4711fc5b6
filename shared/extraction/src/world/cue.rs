//! Cues: small patterns of words, gaps and answers, matched against a sentence in lower case.
//!
//! A cue consists of parts separated by spaces:
//!
//! - `a|b`: one of several words. In a word, `_` stands for a space, and `~` at its start or end
//!   allows the word to continue there. An empty word makes the part optional.
//! - `*`: a gap.
//! - `^`, `$`: the start and the end of the sentence.
//! - `{s}`, `{a}`, `{v}`: the subject, the property and the answer.
//! - `{s1}`, `{a1}`: a subject and a property of one word.
//! - `{k}`: a word for a relative.

use std::ops::Range;

/// The longest gap, in bytes.
const MAX_GAP_BYTES: usize = 90;

/// A part of a cue.
#[derive(Debug)]
enum CuePart {
    Words(Vec<CueWord>),
    Gap,
    Start,
    End,
    Capture(usize),
    CaptureWord(usize),
    Kinship,
}

/// A word, with the sides on which it may continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CueWord {
    pub(super) text: String,
    pub(super) open_start: bool,
    pub(super) open_end: bool,
}

/// A compiled cue.
#[derive(Debug)]
pub(super) struct Cue {
    parts: Vec<CuePart>,
}

/// The match of a cue, as byte ranges of the text.
#[derive(Debug, Default, Clone)]
pub(super) struct CueMatch {
    /// The subject, the property and the answer.
    captures: [Option<Range<usize>>; 3],
    /// The English word for the relative.
    pub(super) kinship: Option<&'static str>,
}

impl CueMatch {
    /// Returns the range that names the subject.
    pub(super) fn subject(&self) -> Option<Range<usize>> {
        self.captures[0].clone()
    }

    /// Returns the range that names the property.
    pub(super) fn property(&self) -> Option<Range<usize>> {
        self.captures[1].clone()
    }

    /// Returns the range that contains the answer, from its first byte. The answer may end before
    /// the range does.
    pub(super) fn answer(&self) -> Option<Range<usize>> {
        self.captures[2].clone()
    }
}

impl Cue {
    /// Parses a cue.
    pub(super) fn new(text: &str) -> Self {
        Self {
            parts: text.split_whitespace().map(parse_part).collect(),
        }
    }

    /// Returns the sets of words of which one must occur in every text that the cue matches.
    pub(super) fn required_words(&self) -> impl Iterator<Item = &[CueWord]> {
        self.parts.iter().filter_map(|part| match part {
            CuePart::Words(words) if words.iter().all(|word| !word.text.is_empty()) => {
                Some(&words[..])
            }
            _ => None,
        })
    }

    /// Returns the first match of the cue in a text.
    pub(super) fn find_match(
        &self,
        text: &str,
        kinship: &'static [(&'static str, &'static str)],
    ) -> Option<CueMatch> {
        let mut found = CueMatch::default();
        let matcher = CueMatcher { text, kinship };
        matcher
            .search(&self.parts, 0, text.len(), &mut found)
            .map(|_| found)
    }
}

fn parse_part(token: &str) -> CuePart {
    match token {
        "*" => CuePart::Gap,
        "^" => CuePart::Start,
        "$" => CuePart::End,
        "{s}" => CuePart::Capture(0),
        "{a}" => CuePart::Capture(1),
        "{v}" => CuePart::Capture(2),
        "{s1}" => CuePart::CaptureWord(0),
        "{a1}" => CuePart::CaptureWord(1),
        "{k}" => CuePart::Kinship,
        words => CuePart::Words(words.split('|').map(parse_word).collect()),
    }
}

fn parse_word(text: &str) -> CueWord {
    CueWord {
        text: text.trim_matches('~').replace('_', " "),
        open_start: text.starts_with('~'),
        open_end: text.ends_with('~'),
    }
}

struct CueMatcher<'t> {
    text: &'t str,
    kinship: &'static [(&'static str, &'static str)],
}

impl CueMatcher<'_> {
    /// Matches the parts somewhere from `from`, beginning before `limit`. Returns the position at
    /// which the first part begins.
    fn search(
        &self,
        parts: &[CuePart],
        from: usize,
        limit: usize,
        found: &mut CueMatch,
    ) -> Option<usize> {
        match parts.first() {
            Some(CuePart::Words(words)) if words.iter().all(|word| !word.text.is_empty()) => {
                self.search_words(words, &parts[1..], from, limit, found)
            }
            Some(CuePart::Start) => self.fit(parts, from, found).then_some(from),
            Some(CuePart::Capture(slot)) if from == 0 => {
                self.take(*slot, &parts[1..], 0, found).then_some(0)
            }
            _ => {
                let mut positions = self.text[from..limit]
                    .char_indices()
                    .map(|(at, _)| from + at);
                positions.find(|at| self.fit(parts, *at, found))
            }
        }
    }

    fn search_words(
        &self,
        words: &[CueWord],
        rest: &[CuePart],
        from: usize,
        limit: usize,
        found: &mut CueMatch,
    ) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for word in words {
            let hits = self.text[from..]
                .match_indices(word.text.as_str())
                .map(|(at, _)| from + at);
            let hit = hits
                .take_while(|at| *at < limit && best.is_none_or(|(first, _)| *at < first))
                .find(|at| {
                    is_bounded(self.text, word, *at) && self.fit(rest, at + word.text.len(), found)
                });
            best = hit.map(|at| (at, at + word.text.len())).or(best);
        }

        let (at, end) = best?;
        // Match the parts again: a later attempt with another word may have overwritten the
        // captures.
        self.fit(rest, end, found).then_some(at)
    }

    /// Matches the parts exactly at `at`, after any spaces.
    fn fit(&self, parts: &[CuePart], at: usize, found: &mut CueMatch) -> bool {
        let Some(part) = parts.first() else {
            return true;
        };

        let rest = &parts[1..];
        let next = at + (self.text[at..].len() - self.text[at..].trim_start().len());

        match part {
            CuePart::Words(words) => words.iter().any(|word| match word.text.is_empty() {
                true => self.fit(rest, at, found),
                false => {
                    let start = if word.open_start {
                        self.ending(word, next)
                    } else {
                        next
                    };
                    self.text[start..].starts_with(&word.text)
                        && is_bounded(self.text, word, start)
                        && self.fit(rest, start + word.text.len(), found)
                }
            }),
            CuePart::Gap => self
                .search(
                    rest,
                    at,
                    floor_char_boundary(self.text, at + MAX_GAP_BYTES),
                    found,
                )
                .is_some(),
            CuePart::Start => self.text[..at].trim().is_empty() && self.fit(rest, at, found),
            CuePart::End => !self.text[at..].contains(char::is_alphanumeric),
            CuePart::Capture(slot) => self.take(*slot, rest, next, found),
            CuePart::CaptureWord(slot) => {
                let end = next
                    + self.text[next..]
                        .find(' ')
                        .unwrap_or(self.text.len() - next);
                found.captures[*slot] = Some(next..end);
                end > next && self.fit(rest, end, found)
            }
            CuePart::Kinship => self.kinship.iter().any(|(name, english)| {
                let is_match =
                    self.text[next..].starts_with(name) && self.fit(rest, next + name.len(), found);
                if is_match {
                    found.kinship = Some(english);
                }
                is_match
            }),
        }
    }

    /// Captures the text before the match of the remaining parts, or all of it if no parts remain.
    fn take(&self, slot: usize, rest: &[CuePart], at: usize, found: &mut CueMatch) -> bool {
        if at >= self.text.len() {
            return false;
        }

        let end = match rest.is_empty() {
            true => Some(self.text.len()),
            false => {
                let first = self.text[at..].chars().next().map_or(0, char::len_utf8);
                self.search(
                    rest,
                    at + first,
                    floor_char_boundary(self.text, at + MAX_GAP_BYTES + first),
                    found,
                )
            }
        };

        let Some(end) = end else { return false };
        found.captures[slot] = Some(at..end);

        true
    }

    /// Returns the position, in the word at `at`, of the ending that a cue names.
    fn ending(&self, word: &CueWord, at: usize) -> usize {
        let length = self.text[at..]
            .find(|c: char| !is_letter(c))
            .unwrap_or(self.text.len() - at);
        self.text[at..at + length]
            .rfind(&word.text)
            .map_or(at, |inside| at + inside)
    }
}

/// Checks whether a word at `at` is not part of a longer word. Scripts without spaces have no such
/// boundaries.
pub(super) fn is_bounded(text: &str, word: &CueWord, at: usize) -> bool {
    let is_joined = |inside: Option<char>, outside: Option<char>| {
        inside.is_some_and(joins_word) && outside.is_some_and(joins_word)
    };
    let end = at + word.text.len();
    let before = || is_joined(word.text.chars().next(), text[..at].chars().next_back());
    let after = || is_joined(word.text.chars().next_back(), text[end..].chars().next());
    (word.open_start || !before()) && (word.open_end || !after())
}

/// Checks whether a character forms one word with the letters beside it.
pub(super) fn joins_word(c: char) -> bool {
    !is_unspaced(c) && is_letter(c)
}

/// Checks whether a character belongs to a script whose words are not separated by spaces, or carry
/// endings that cues leave out.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}')
}

/// Checks for letters, digits and the signs of Devanagari that stand within words.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\u{900}'..='\u{963}')
}

/// Returns the last character boundary at or before `at`.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_find_subjects_and_answers() {
        let cases = [
            (
                "wohne * in {v}",
                "ich wohne seit mai in bonn",
                Some((None, Some("bonn"))),
            ),
            ("wohne in {v}", "ich bewohne in bonn", None),
            (
                "~wohne in {v}",
                "ich bewohne in bonn",
                Some((None, Some("bonn"))),
            ),
            (
                "{s} live|lives in {v} now",
                "tom lives in bonn now",
                Some((Some("tom "), Some("bonn "))),
            ),
            (
                "{s} は {v} に 住んで",
                "田中は大阪に住んでいます",
                Some((Some("田中"), Some("大阪"))),
            ),
            (
                "^ so_far|never {v}",
                "so far good",
                Some((None, Some("good"))),
            ),
            ("^ never {v}", "so never good", None),
            ("eat very|much| well $", "i eat well.", Some((None, None))),
            ("eat well $", "i eat well today", None),
            ("i ~ed {v}", "i walked home", Some((None, Some("home")))),
            ("i ~ed {v}", "i walk home", None),
            (
                "{s1} {v} में रहता|रहती",
                "रवि पुणे में रहता है",
                Some((Some("रवि"), Some("पुणे "))),
            ),
        ];
        for (cue, text, expected) in cases {
            let found = Cue::new(cue).find_match(text, &[]);
            let captures = found.map(|found| {
                (
                    found.subject().map(|range| &text[range]),
                    found.answer().map(|range| &text[range]),
                )
            });
            assert_eq!(captures, expected, "{cue}: {text}");
        }
    }
}
