//! Lines that begin with a speaker.

use std::collections::HashMap;

use super::labels::{SpeakerKind, is_mail_header, is_note};
use crate::time::Timestamp;

/// The longest name of a speaker, in characters.
const MAX_NAME_CHARS: usize = 40;
/// The most words of a name.
const MAX_NAME_WORDS: usize = 3;
/// The least number of lines in a transcript of named people. Lists of properties have labels too,
/// but do not repeat them.
const MIN_PERSON_LINES: usize = 3;
/// The least number of words of a single turn. A property has fewer.
const MIN_WORDS_OF_SINGLE_TURN: usize = 3;

/// A line that begins a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeakerLine<'a> {
    /// The byte at which the line begins.
    pub start: usize,
    /// The byte at which the words of the speaker begin.
    pub speech_start: usize,
    /// The label, as it is written.
    pub label: &'a str,
    /// The kind of the speaker.
    pub kind: SpeakerKind,
    /// The time in front of the label, if it has a date in the order of ISO 8601.
    pub at: Option<Timestamp>,
    /// `true` for a label in lower case without brackets or stars, which may be a key of YAML.
    is_like_key: bool,
}

/// Returns the lines of a transcript that begin with a speaker, in order. Returns none if the text
/// is not a transcript: a list of properties, a log, mail headers, YAML, prose.
pub fn find_speaker_lines(text: &str) -> Vec<SpeakerLine<'_>> {
    let (lines, key_count) = find_labelled_lines(text);
    if is_transcript(&lines, key_count) {
        lines
    } else {
        Vec::new()
    }
}

/// Returns the line of the only turn if the whole text is something that the user said, as in
/// `User: I live in Oslo.`
pub(super) fn find_single_turn(text: &str) -> Option<SpeakerLine<'_>> {
    let line = find_only_line(text)?;
    let first_line = text[line.speech_start..].lines().next()?;
    let word_count = first_line.split_whitespace().count();
    let is_said = line.kind == SpeakerKind::User
        && !line.is_like_key
        && word_count >= MIN_WORDS_OF_SINGLE_TURN;
    is_said.then_some(line)
}

/// Returns the line of the only turn if the whole text can be the next turn of a chat, as in
/// `User: Yes.`
pub(super) fn find_next_turn(text: &str) -> Option<SpeakerLine<'_>> {
    let line = find_only_line(text)?;
    matches!(line.kind, SpeakerKind::User | SpeakerKind::Assistant).then_some(line)
}

/// Returns the line with a label if the text begins with it and has no other.
fn find_only_line(text: &str) -> Option<SpeakerLine<'_>> {
    let (mut lines, key_count) = find_labelled_lines(text);
    let line = lines.pop()?;
    let is_whole_text = lines.is_empty() && key_count == 0 && text[..line.start].trim().is_empty();
    is_whole_text.then_some(line)
}

/// Returns the lines that begin with a label, and the number of lines that begin with a key of YAML.
fn find_labelled_lines(text: &str) -> (Vec<SpeakerLine<'_>>, usize) {
    let (mut lines, mut key_count, mut start) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        match parse_speaker_line(line) {
            Some(mut found) => {
                found.start += start;
                found.speech_start += start;
                lines.push(found);
            }
            None => key_count += usize::from(begins_with_key(line)),
        }
        start += line.len();
    }

    (lines, key_count)
}

fn is_transcript(lines: &[SpeakerLine<'_>], key_count: usize) -> bool {
    let count = |kind: SpeakerKind| lines.iter().filter(|line| line.kind == kind).count();
    let users = count(SpeakerKind::User);
    let assistants = count(SpeakerKind::Assistant);
    let machines = count(SpeakerKind::System) + count(SpeakerKind::Tool);
    let persons = count_persons(lines);

    // YAML has other keys as well, and roles as values rather than turns.
    let like_keys = lines.iter().filter(|line| line.is_like_key).count();
    let has_roles = users + assistants + machines > 0;
    if has_roles && like_keys == lines.len() && key_count >= like_keys {
        return false;
    }

    let has_dialogue = users >= 1 && assistants >= 1 || users >= 2;
    let has_setup = users >= 1 && machines >= 1 && like_keys < lines.len();
    let repeated = persons.values().filter(|count| **count >= 2).count();
    let has_names = lines.len() >= MIN_PERSON_LINES
        && repeated + usize::from(assistants >= 2) >= 1
        && persons.len() + usize::from(assistants > 0) + usize::from(users > 0) >= 2;

    has_dialogue || has_setup || has_names
}

/// Returns the number of lines of each person.
fn count_persons(lines: &[SpeakerLine<'_>]) -> HashMap<String, usize> {
    let mut persons = HashMap::new();
    for line in lines.iter().filter(|line| line.kind == SpeakerKind::Person) {
        let label = line.label.to_lowercase();
        if !is_note(&label) {
            *persons.entry(label).or_default() += 1;
        }
    }

    persons
}

/// Checks whether a line begins with a key of YAML or of another format of settings, as in
/// `port: 80`, `- name: x` or `port = 80`.
fn begins_with_key(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("- ");
    let Some((key, value)) = line.split_once([':', '=']) else {
        return false;
    };
    let is_key_letter = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-.".contains(letter)
    };
    let is_separate = value.is_empty() || value.starts_with(char::is_whitespace);
    let key = key.trim_end();
    !key.is_empty() && is_separate && key.chars().all(is_key_letter)
}

/// Parses a line that begins with a speaker. The positions are those within the line.
///
/// The label may follow a number (`1.`), a time, or both. It stands before a colon, with or without
/// stars (`**User**:`), or in brackets (`[user]`), or is a heading (`## User`). Only roles stand in
/// brackets and headings.
fn parse_speaker_line(line: &str) -> Option<SpeakerLine<'_>> {
    let (at, rest) = skip_time(skip_number(line.trim_start()));
    let (label, speech, is_plain) = bracketed_role(rest)
        .or_else(|| heading_role(rest))
        .map(|(label, speech)| (label, speech, false))
        .or_else(|| label_before_colon(rest))?;

    let lower = label.to_lowercase();
    let role = SpeakerKind::of_role(&lower);
    if role.is_none() && (speech.trim().is_empty() || !is_name(label)) {
        return None;
    }
    if speech.starts_with("//") || is_mail_header(&lower) {
        return None;
    }

    Some(SpeakerLine {
        start: 0,
        speech_start: line.len() - speech.len(),
        label,
        kind: role.unwrap_or(SpeakerKind::Person),
        at,
        is_like_key: is_plain && label.starts_with(|letter: char| letter.is_ascii_lowercase()),
    })
}

/// Returns the label before a colon, the words after it, and whether it is without stars.
fn label_before_colon(text: &str) -> Option<(&str, &str, bool)> {
    let (label, speech) = text.split_once([':', '：'])?;
    let is_starred = label.starts_with("**");
    let label = label.trim().trim_matches('*').trim();
    // In `**User:** hello` the stars end after the colon.
    let speech = match speech.strip_prefix("**") {
        Some(speech) if is_starred => speech,
        _ => speech,
    };
    (!label.is_empty()).then_some((label, speech, !is_starred))
}

/// Returns a role in brackets, and the words after it.
fn bracketed_role(text: &str) -> Option<(&str, &str)> {
    let (open, close) = match text.chars().next()? {
        '[' => ("[", "]"),
        '<' => ("<", ">"),
        _ => return None,
    };
    let (label, speech) = text.strip_prefix(open)?.split_once(close)?;
    let label = label.trim().trim_matches('|');
    SpeakerKind::of_role(&label.to_lowercase())?;
    Some((label, speech.strip_prefix(':').unwrap_or(speech)))
}

/// Returns a role that is a heading. The words follow in the next lines.
fn heading_role(text: &str) -> Option<(&str, &str)> {
    let heading = text.trim_start_matches('#');
    let level = text.len() - heading.len();
    if !(1..=6).contains(&level) || !heading.starts_with(' ') {
        return None;
    }
    let label = heading.trim().trim_end_matches(':').trim_matches('*');
    SpeakerKind::of_role(&label.to_lowercase())?;
    let end = heading.trim_end().len();
    Some((label, &heading[end..]))
}

fn is_name(label: &str) -> bool {
    let is_name_word = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '\''))
    };
    let words = label.split_whitespace();
    (1..=MAX_NAME_WORDS).contains(&words.clone().count())
        && label.chars().count() <= MAX_NAME_CHARS
        && words.clone().all(is_name_word)
}

/// Returns the text after the number of a list, as in `1. ` or `2) `.
fn skip_number(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let after = &text[digits..];
    match after
        .strip_prefix(". ")
        .or_else(|| after.strip_prefix(") "))
    {
        Some(rest) if (1..=4).contains(&digits) => rest.trim_start(),
        _ => text,
    }
}

/// Returns the time at the start of a text, if it has a date that can only be read one way, and the
/// text after it. The time may stand in brackets, and a hyphen may follow, as in exported chats:
/// `[2026-04-15 09:30] `, `(09:30) `, `15.04.26, 09:30 - `.
fn skip_time(text: &str) -> (Option<Timestamp>, &str) {
    let bracketed = match text.chars().next() {
        Some('[') => text[1..].split_once(']'),
        Some('(') => text[1..].split_once(')'),
        _ => None,
    };
    if let Some((time, rest)) = bracketed {
        return if is_time(time) {
            (parse_time(time), skip_hyphen(rest))
        } else {
            (None, text)
        };
    }

    let letters = text.find(|letter: char| !is_time_letter(letter));
    let length = letters.unwrap_or(text.len());
    let time = text[..length].trim_end_matches([' ', '-', 'T', 'Z', 'a', 'p', 'm', 'A', 'P', 'M']);
    if !is_time(time) {
        return (None, text);
    }
    let rest = text[time.len()..]
        .trim_start_matches('Z')
        .trim_start_matches(" AM")
        .trim_start_matches(" PM");
    (parse_time(time), skip_hyphen(rest))
}

fn skip_hyphen(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("- ").unwrap_or(text).trim_start()
}

fn is_time_letter(letter: char) -> bool {
    letter.is_ascii_digit() || " :.,/-TZamp+AMP".contains(letter)
}

/// Checks whether a text is a time of day, with or without a date.
fn is_time(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let has_clock = text.split_once(':').is_some_and(|(hours, minutes)| {
        hours.ends_with(|letter: char| letter.is_ascii_digit())
            && minutes.starts_with(|letter: char| letter.is_ascii_digit())
    });
    has_clock && digits >= 3 && text.chars().all(is_time_letter)
}

/// Parses a time with a date in the order of ISO 8601, in UTC if it has no offset.
fn parse_time(text: &str) -> Option<Timestamp> {
    Timestamp::parse("time", text.trim()).ok()
}
