//! Transcripts: texts in which every turn of a conversation begins with its speaker, and lists of
//! messages as JSON. Many clients store their chats like this.

mod labels;
mod lines;
mod messages;

use std::ops::Range;

use crate::conversation::{self, ConversationTurn};
use crate::provenance::Provenance;
use crate::time::Timestamp;

pub use labels::SpeakerKind;
pub use lines::{SpeakerLine, find_speaker_lines};

/// The most lines with words above the first speaker of a transcript, such as a title and a date.
const MAX_TITLE_LINES: usize = 2;

/// A transcript, with the place of each turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    form: TranscriptForm,
    turns: Vec<(ConversationTurn, Range<usize>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TranscriptForm {
    /// Lines that begin with a speaker.
    Lines,
    /// A list of messages as JSON, or a message as JSON in each line.
    Messages,
}

impl Transcript {
    /// Reads a transcript. Returns `None` for any other text: a transcript begins with a speaker
    /// or a list of messages, at most below a title.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > conversation::MAX_CONVERSATION_BYTES {
            return None;
        }

        if let Some(turns) = messages::parse_messages(text) {
            let nowhere = turns.into_iter().map(|turn| (turn, 0..0));
            return Some(Self {
                form: TranscriptForm::Messages,
                turns: nowhere.collect(),
            });
        }

        let mut lines = find_speaker_lines(text);
        if lines.is_empty() {
            lines.extend(lines::find_single_turn(text));
        }
        let title = &text[..lines.first()?.start];
        let title_lines = title.lines().filter(|line| !line.trim().is_empty());
        if title_lines.count() > MAX_TITLE_LINES {
            return None;
        }

        Some(Self {
            form: TranscriptForm::Lines,
            turns: turns_of_lines(text, &lines),
        })
    }

    /// Returns the turns in order. Turns of people who are not the user are marked as external.
    pub fn into_turns(self) -> Vec<ConversationTurn> {
        self.turns.into_iter().map(|(turn, _)| turn).collect()
    }

    fn turns(&self) -> Vec<ConversationTurn> {
        self.turns.iter().map(|(turn, _)| turn.clone()).collect()
    }
}

/// Returns the text after `sent` has arrived under the `customId` of `stored`: the stored turns,
/// followed by the new ones, as [`conversation::merge_turns`] merges them. Returns `None` if one of
/// the texts is no transcript, or if `sent` begins with all stored turns: it then replaces the
/// stored text.
pub fn join_transcripts(stored: &str, sent: &str) -> Option<String> {
    let (old, new) = (Transcript::parse(stored)?, Transcript::parse(sent)?);
    let (old_turns, new_turns) = (old.turns(), new.turns());
    let known = conversation::count_known_turns(&old_turns, &new_turns);
    if known == old_turns.len() {
        return None;
    }
    let Some((_, first_place)) = new.turns.get(known) else {
        return Some(stored.to_owned());
    };

    let added = match (old.form, new.form) {
        (TranscriptForm::Messages, TranscriptForm::Messages) => {
            return messages::append_messages(stored, sent, known);
        }
        (TranscriptForm::Messages, TranscriptForm::Lines) => {
            return messages::append_turns(stored, &new_turns[known..]);
        }
        (TranscriptForm::Lines, TranscriptForm::Messages) => write_lines(&new_turns[known..]),
        (TranscriptForm::Lines, TranscriptForm::Lines) => sent[first_place.start..].to_owned(),
    };
    Some(format!("{}\n{added}", stored.trim_end()))
}

fn write_lines(turns: &[ConversationTurn]) -> String {
    let mut text = String::new();
    for turn in turns {
        let speaker = turn.name.as_deref().unwrap_or(&turn.role);
        text.push_str(&format!("{speaker}: {}\n", turn.text));
    }

    text
}

fn turns_of_lines(text: &str, lines: &[SpeakerLine<'_>]) -> Vec<(ConversationTurn, Range<usize>)> {
    let has = |kind: SpeakerKind| lines.iter().any(|line| line.kind == kind);
    // Without another user, the person who talks to an assistant is the user.
    let is_person_user = has(SpeakerKind::Assistant) && !has(SpeakerKind::User);

    let mut turns = Vec::with_capacity(lines.len() + 1);
    let title = text[..lines[0].start].trim();
    if !title.is_empty() {
        turns.push((new_turn("system", title, None), 0..lines[0].start));
    }

    for (index, line) in lines.iter().enumerate() {
        let end = lines.get(index + 1).map_or(text.len(), |next| next.start);
        let role = match line.kind {
            SpeakerKind::User | SpeakerKind::Person => "user",
            SpeakerKind::Assistant => "assistant",
            SpeakerKind::System => "system",
            SpeakerKind::Tool => "tool",
        };
        let mut turn = new_turn(role, text[line.speech_start..end].trim(), line.at);
        if line.kind == SpeakerKind::Person {
            turn.name = Some(line.label.to_owned());
            turn.provenance = (!is_person_user).then_some(Provenance::External);
        }
        turns.push((turn, line.start..end));
    }

    turns
}

fn new_turn(role: &str, text: &str, at: Option<Timestamp>) -> ConversationTurn {
    ConversationTurn {
        role: role.to_owned(),
        name: None,
        text: text.to_owned(),
        provenance: None,
        at,
    }
}

#[cfg(test)]
mod tests;
