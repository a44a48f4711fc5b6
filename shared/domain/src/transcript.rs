//! Transcripts: texts in which every turn of a conversation begins with its speaker, and lists of
//! messages as JSON. Many clients store their chats like this.

mod labels;
mod lines;
mod messages;

use crate::conversation::{self, ConversationTurn};
use crate::provenance::Provenance;
use crate::time::Timestamp;

pub use labels::SpeakerKind;
pub use lines::{SpeakerLine, find_speaker_lines};

/// The most lines with words above the first speaker of a transcript, such as a title and a date.
const MAX_TITLE_LINES: usize = 2;

/// A transcript, with the text that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript<'a> {
    text: &'a str,
    form: TranscriptForm,
    turns: Vec<ConversationTurn>,
}

#[derive(Debug, Clone, PartialEq)]
enum TranscriptForm {
    /// Lines that begin with a speaker.
    Lines {
        /// The byte at which each turn begins.
        starts: Vec<usize>,
    },
    /// A list of messages as JSON, or a message as JSON in each line.
    Messages(Vec<messages::Message>),
}

impl<'a> Transcript<'a> {
    /// Reads a transcript. Returns `None` for any other text: a transcript begins with a speaker
    /// or a list of messages, at most below a title.
    pub fn parse(text: &'a str) -> Option<Self> {
        Self::parse_whole(text, false)
    }

    /// Reads what is sent under the `customId` of a transcript: a transcript, or a single turn that
    /// is too short to be recognized by itself, as in `User: Yes.`
    pub fn parse_continuation(text: &'a str) -> Option<Self> {
        Self::parse_whole(text, true).or_else(|| {
            let line = lines::find_next_turn(text)?;
            Some(Self {
                text,
                turns: turns_of_lines(text, std::slice::from_ref(&line)),
                form: TranscriptForm::Lines {
                    starts: vec![line.start],
                },
            })
        })
    }

    fn parse_whole(text: &'a str, is_continuation: bool) -> Option<Self> {
        if text.len() > conversation::MAX_CONVERSATION_BYTES {
            return None;
        }
        Self::parse_messages(text, is_continuation).or_else(|| Self::parse_lines(text))
    }

    fn parse_messages(text: &'a str, is_continuation: bool) -> Option<Self> {
        let list = messages::read_messages(text)?;
        Some(Self {
            text,
            turns: messages::turns_of_messages(&list, is_continuation)?,
            form: TranscriptForm::Messages(list.messages),
        })
    }

    fn parse_lines(text: &'a str) -> Option<Self> {
        let mut lines = find_speaker_lines(text);
        if lines.is_empty() {
            lines.extend(lines::find_single_turn(text));
        }
        let title = &text[..lines.first()?.start];
        let title_lines = title.lines().filter(|line| !line.trim().is_empty());
        if title_lines.count() > MAX_TITLE_LINES {
            return None;
        }

        let (mut starts, mut turns) = (Vec::new(), Vec::new());
        if !title.trim().is_empty() {
            starts.push(0);
            turns.push(new_turn("system", title.trim(), None));
        }
        starts.extend(lines.iter().map(|line| line.start));
        turns.extend(turns_of_lines(text, &lines));

        Some(Self {
            text,
            turns,
            form: TranscriptForm::Lines { starts },
        })
    }

    /// Returns the turns in order. Turns of people who are not the user are marked as external.
    pub fn into_turns(self) -> Vec<ConversationTurn> {
        self.turns
    }

    /// Returns the text after `sent` has arrived under the `customId` of this transcript: its
    /// turns, followed by the new ones, as [`conversation::merge_turns`] merges them. Returns
    /// `None` if `sent` begins with all turns of this one: it then replaces this text.
    pub fn join(self, sent: Transcript<'_>) -> Option<String> {
        let known = conversation::count_known_turns(&self.turns, &sent.turns);
        if known == self.turns.len() {
            return None;
        }
        let new_turns = &sent.turns[known..];
        if new_turns.is_empty() {
            return Some(self.text.to_owned());
        }

        let added = match (self.form, sent.form) {
            (TranscriptForm::Messages(stored), TranscriptForm::Messages(sent)) => {
                let new_messages = sent.into_iter().skip(known);
                return Some(messages::write_messages(
                    stored.into_iter().chain(new_messages),
                ));
            }
            (TranscriptForm::Messages(stored), TranscriptForm::Lines { .. }) => {
                let new_messages = new_turns.iter().map(messages::message_of_turn);
                return Some(messages::write_messages(
                    stored.into_iter().chain(new_messages),
                ));
            }
            (TranscriptForm::Lines { .. }, TranscriptForm::Messages(_)) => write_lines(new_turns),
            (TranscriptForm::Lines { .. }, TranscriptForm::Lines { starts }) => {
                sent.text[starts[known]..].to_owned()
            }
        };
        Some(format!("{}\n{added}", self.text.trim_end()))
    }
}

fn write_lines(turns: &[ConversationTurn]) -> String {
    let mut text = String::new();
    for turn in turns {
        let speaker = turn.name.as_deref().unwrap_or(&turn.role);
        text.push_str(&format!("{speaker}: {}\n", turn.text));
    }

    text
}

fn turns_of_lines(text: &str, lines: &[SpeakerLine<'_>]) -> Vec<ConversationTurn> {
    let has = |kind: SpeakerKind| lines.iter().any(|line| line.kind == kind);
    // Without another user, the person who talks to an assistant is the user.
    let is_person_user = has(SpeakerKind::Assistant) && !has(SpeakerKind::User);

    let mut turns = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let end = lines.get(index + 1).map_or(text.len(), |next| next.start);
        let speech = text[line.speech_start..end].trim();
        let mut turn = new_turn(line.kind.role(), speech, line.at);
        if line.kind == SpeakerKind::Person {
            turn.name = Some(line.label.to_owned());
            turn.provenance = (!is_person_user).then_some(Provenance::External);
        }
        turns.push(turn);
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
