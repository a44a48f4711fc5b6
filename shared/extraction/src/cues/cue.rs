//! Cues: small patterns of words, gaps and answers, matched against a sentence in lower case.
//!
//! `languages/README.md` documents how they are written.

use std::borrow::Cow;
use std::ops::Range;

use super::KinshipWord;
use text::file::{REJECTS_IDLE_WORDS, has_capital};

/// A sentence that says what is wrong with a cue.
type CueProblem = String;

/// The number of the capture of the subject.
const SUBJECT: usize = 0;
/// The number of the capture of the property.
const PROPERTY: usize = 1;
/// The number of the capture of the answer.
const ANSWER: usize = 2;

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CueWord {
    pub(super) text: Cow<'static, str>,
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
        self.captures[SUBJECT].clone()
    }

    /// Returns the range that names the property.
    pub(super) fn property(&self) -> Option<Range<usize>> {
        self.captures[PROPERTY].clone()
    }

    /// Returns the range that contains the answer, from its first byte. The answer may end before
    /// the range does.
    pub(super) fn answer(&self) -> Option<Range<usize>> {
        self.captures[ANSWER].clone()
    }
}

impl Cue {
    /// Parses a cue. A line that ends with `|` is continued by the next one. The error says what is
    /// wrong with the cue.
    pub(super) fn parse(lines: impl IntoIterator<Item = &'static str>) -> Result<Self, CueProblem> {
        let mut parts = Vec::new();
        for (index, line) in lines.into_iter().enumerate() {
            let mut tokens = line.split(' ').filter(|token| !token.is_empty());
            if index > 0 {
                continue_words(&mut parts, tokens.next().unwrap_or_default())?;
            }
            for token in tokens {
                parts.push(parse_part(token)?);
            }
        }

        let cue = Self { parts };
        cue.check()?;

        Ok(cue)
    }

    /// Checks that the parts stand where they have a meaning.
    fn check(&self) -> Result<(), CueProblem> {
        let last = self.parts.len().saturating_sub(1);
        let mut has_words = false;
        let mut is_after_gap = false;
        let mut captured = [false; 3];

        for (index, part) in self.parts.iter().enumerate() {
            let is_gap = matches!(part, CuePart::Gap);
            match part {
                CuePart::Words(words) => {
                    has_words |= words.iter().any(|word| !word.text.is_empty())
                }
                CuePart::Gap if index == 0 || index == last || is_after_gap => {
                    return Err("`*` must stand between two other parts".to_owned());
                }
                CuePart::Start if index > 0 => return Err("`^` must be the first part".to_owned()),
                CuePart::End if index < last => return Err("`$` must be the last part".to_owned()),
                CuePart::Capture(slot) | CuePart::CaptureWord(slot) => {
                    if captured[*slot] {
                        return Err("a part is captured twice".to_owned());
                    }
                    captured[*slot] = true;
                }
                CuePart::Gap | CuePart::Start | CuePart::End | CuePart::Kinship => {}
            }
            is_after_gap = is_gap;
        }

        if has_words {
            Ok(())
        } else {
            Err("a cue needs a word".to_owned())
        }
    }

    /// Checks whether the cue captures the answer.
    pub(super) fn captures_answer(&self) -> bool {
        self.captures(ANSWER)
    }

    /// Checks whether the cue captures the property.
    pub(super) fn captures_property(&self) -> bool {
        self.captures(PROPERTY)
    }

    fn captures(&self, wanted: usize) -> bool {
        self.parts.iter().any(|part| match part {
            CuePart::Capture(slot) | CuePart::CaptureWord(slot) => *slot == wanted,
            _ => false,
        })
    }

    /// Checks whether the cue contains a word for a relative.
    pub(super) fn captures_kinship(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, CuePart::Kinship))
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
    pub(super) fn find_match(&self, text: &str, kinship: &[KinshipWord]) -> Option<CueMatch> {
        let mut found = CueMatch::default();
        let matcher = CueMatcher { text, kinship };
        matcher
            .search(&self.parts, 0, text.len(), &mut found)
            .map(|_| found)
    }
}

/// Adds the first words of a line to the words with which the line before it ends.
fn continue_words(parts: &mut [CuePart], token: &'static str) -> Result<(), CueProblem> {
    match parts.last_mut() {
        Some(CuePart::Words(words)) if words.last().is_some_and(|word| word.text.is_empty()) => {
            words.pop();
            add_words(token, words)
        }
        _ => Err("only a line that ends with `|` can be continued".to_owned()),
    }
}

fn parse_part(token: &'static str) -> Result<CuePart, CueProblem> {
    Ok(match token {
        "*" => CuePart::Gap,
        "^" => CuePart::Start,
        "$" => CuePart::End,
        "{s}" => CuePart::Capture(SUBJECT),
        "{a}" => CuePart::Capture(PROPERTY),
        "{v}" => CuePart::Capture(ANSWER),
        "{s1}" => CuePart::CaptureWord(SUBJECT),
        "{a1}" => CuePart::CaptureWord(PROPERTY),
        "{k}" => CuePart::Kinship,
        _ if token.contains(['{', '}']) => {
            return Err(format!("`{token}` is not a part of a cue"));
        }
        _ => {
            let mut words = Vec::new();
            add_words(token, &mut words)?;
            CuePart::Words(words)
        }
    })
}

/// Returns a word with its underscores replaced by spaces.
fn replace_underscores(word: &'static str) -> Cow<'static, str> {
    if word.contains('_') {
        Cow::Owned(word.replace('_', " "))
    } else {
        Cow::Borrowed(word)
    }
}

/// Adds the words of a part, which are separated by `|`.
fn add_words(token: &'static str, words: &mut Vec<CueWord>) -> Result<(), CueProblem> {
    for text in token.split('|') {
        let word = CueWord {
            text: replace_underscores(text.trim_matches('~')),
            open_start: text.starts_with('~'),
            open_end: text.ends_with('~'),
        };

        if word.text.contains(['~', '*', '^', '$']) {
            return Err(format!("`{text}` has a sign within it"));
        }
        if word.text.is_empty() && !text.is_empty() {
            return Err(format!("`{text}` is not a word"));
        }
        if REJECTS_IDLE_WORDS && has_capital(&word.text) {
            return Err(format!("`{text}` has a capital, so it never matches"));
        }
        if REJECTS_IDLE_WORDS && words.contains(&word) {
            return Err(format!("`{text}` is repeated"));
        }

        words.push(word);
    }

    Ok(())
}

struct CueMatcher<'t> {
    text: &'t str,
    kinship: &'t [KinshipWord],
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
                .match_indices(&*word.text)
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
                    self.text[start..].starts_with(&*word.text)
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
            CuePart::Kinship => self.kinship.iter().any(|KinshipWord { word, english }| {
                let is_match = self.text[next..].starts_with(*word)
                    && self.fit(rest, next + word.len(), found);
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
            .rfind(&*word.text)
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
            let found = Cue::parse([cue]).unwrap().find_match(text, &[]);
            let captures = found.map(|found| {
                (
                    found.subject().map(|range| &text[range]),
                    found.answer().map(|range| &text[range]),
                )
            });
            assert_eq!(captures, expected, "{cue}: {text}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_cue() {
        for (cue, problem) in [
            ("wohne in {w}", "`{w}` is not a part of a cue"),
            ("wohne ^ in {v}", "`^` must be the first part"),
            ("wohne $ in", "`$` must be the last part"),
            ("* wohne", "`*` must stand between two other parts"),
            ("wohne * * in", "`*` must stand between two other parts"),
            ("{s} * {v}", "a cue needs a word"),
            ("", "a cue needs a word"),
            ("{v} und {v}", "a part is captured twice"),
            ("wohne in Bonn", "`Bonn` has a capital, so it never matches"),
            ("woh~ne", "`woh~ne` has a sign within it"),
            ("ich|du|ich", "`ich` is repeated"),
            ("ich ~", "`~` is not a word"),
        ] {
            assert_eq!(
                Cue::parse([cue]).map(|_| ()),
                Err(problem.to_owned()),
                "{cue}"
            );
        }
    }

    #[test]
    fn a_cue_may_have_several_lines() {
        let cue = Cue::parse(["ich wohne|", "lebe|", "hause in {v}"]).unwrap();
        assert!(cue.find_match("ich hause in bonn", &[]).is_some());
        assert!(cue.find_match("ich bin in bonn", &[]).is_none());

        let problem = Cue::parse(["ich wohne", "in {v}"]).map(|_| ());
        assert_eq!(
            problem,
            Err("only a line that ends with `|` can be continued".to_owned())
        );
    }
}
