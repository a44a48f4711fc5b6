//! Transcripts: texts whose lines begin with the speaker.

use std::collections::HashMap;
use std::ops::Range;

use domain::SourceMedium;

use super::{PassagePart, marks};
use crate::all_languages::all_languages;
use crate::word_list::WordList;
use crate::{Role, TextOrigin};

/// The longest name of a speaker, in characters.
const MAX_NAME_CHARS: usize = 40;
/// The least number of labelled lines in a transcript of named people. Lists of properties have
/// labels too, but do not repeat them.
const MIN_LABELLED_LINES: usize = 3;

/// A line with a label.
struct LabelledLine<'a> {
    line_start: usize,
    text_start: usize,
    label: &'a str,
}

/// Divides a transcript into turns by speaker. Returns nothing if the text is not a transcript.
///
/// In a text of the user's own, the lines of `User` are the user's. In a transcript that is pasted
/// into a turn, every line is a third party's, whoever speaks.
pub(super) fn divide_transcript(text: &str, role: Role) -> Vec<PassagePart<'_>> {
    let labelled_lines = find_labelled_lines(text);
    if !is_transcript(&labelled_lines) {
        return Vec::new();
    }

    let turn_ends = labelled_lines
        .iter()
        .skip(1)
        .map(|next| next.line_start)
        .chain([text.len()]);
    let turns = labelled_lines
        .iter()
        .zip(turn_ends)
        .flat_map(|(turn, end)| {
            let label = PassagePart::ignored(turn.line_start..turn.text_start);
            [label, turn_part(turn.label, turn.text_start..end, role)]
        });

    turns.filter(|part| !part.range.is_empty()).collect()
}

/// Returns the part that one speaker says.
fn turn_part<'a>(label: &'a str, range: Range<usize>, role: Role) -> PassagePart<'a> {
    let lower = label.to_lowercase();
    let lists = all_languages();
    let is_assistant = lists.assistant_labels.has(&lower);
    let is_pasted = role == Role::User;
    if lists.machine_labels.has(&lower) || is_pasted && is_assistant {
        return PassagePart::ignored(range);
    }

    let is_known_role = lists.user_labels.has(&lower) || is_assistant;
    let name = (!is_known_role).then_some(label);
    let origin = (is_pasted || !is_known_role).then_some(TextOrigin {
        medium: SourceMedium::Transcript,
        name,
    });

    let role = match origin {
        Some(_) if name.is_none() => Role::Author,
        _ if is_assistant => Role::Assistant,
        _ => Role::User,
    };

    PassagePart {
        range,
        role,
        speaker: name,
        origin,
    }
}

fn is_transcript(labelled_lines: &[LabelledLine<'_>]) -> bool {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for turn in labelled_lines {
        *counts.entry(turn.label.to_lowercase()).or_default() += 1;
    }

    let lists = all_languages();
    let count_labels = |list: &WordList| {
        let listed = counts.iter().filter(|(label, _)| list.has(label));
        listed.map(|(_, count)| count).sum::<usize>()
    };

    let (user_count, machine_count) = (
        count_labels(&lists.user_labels),
        count_labels(&lists.assistant_labels) + count_labels(&lists.machine_labels),
    );
    let speakers = counts
        .iter()
        .filter(|(label, _)| !lists.note_labels.has(label));
    let repeated_count = speakers.clone().filter(|(_, count)| **count >= 2).count();
    let has_names =
        labelled_lines.len() >= MIN_LABELLED_LINES && repeated_count >= 1 && speakers.count() >= 2;

    user_count + machine_count >= 2 && (machine_count >= 1 || user_count >= 2) || has_names
}

fn find_labelled_lines(text: &str) -> Vec<LabelledLine<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        found.extend(parse_label(line).map(|(label, words)| LabelledLine {
            line_start: at,
            text_start: at + words,
            label,
        }));
        at += line.len();
    }
    found
}

/// Returns the label of a line and the position of the words after it. A label is a role or a name,
/// and may follow a time in brackets.
fn parse_label(line: &str) -> Option<(&str, usize)> {
    let trimmed = line.trim_start();
    let after_time = match trimmed.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.1.trim_start(),
        None => trimmed,
    };

    let (label, speech) = after_time.split_once([':', '：'])?;
    let label = label.trim().trim_matches('*');
    if marks::parse_header(line).is_some() {
        return None;
    }

    let lower = label.to_lowercase();
    let lists = all_languages();
    let role_labels = [
        &lists.user_labels,
        &lists.assistant_labels,
        &lists.machine_labels,
    ];
    let is_role = role_labels.into_iter().any(|list| list.has(&lower));
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '\''))
    };

    let is_valid_name = (1..=3).contains(&label.split_whitespace().count())
        && label.chars().count() <= MAX_NAME_CHARS
        && label.split_whitespace().all(is_name);
    let text_start = line.len() - speech.len();

    ((is_role || is_valid_name) && !speech.trim().is_empty() && !speech.starts_with("//"))
        .then_some((label, text_start))
}
