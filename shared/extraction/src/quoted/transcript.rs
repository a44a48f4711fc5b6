//! Transcripts: texts whose lines begin with the speaker.

use std::ops::Range;

use domain::SourceMedium;
use domain::transcript::{SpeakerKind, SpeakerLine, find_speaker_lines};

use super::PassagePart;
use crate::{Role, TextOrigin};

/// Divides a transcript into turns by speaker. Returns nothing if the text is not a transcript.
///
/// In a text of the user's own, the lines of `User` are the user's. In a transcript that is pasted
/// into a turn, every line is a third party's, whoever speaks.
pub(super) fn divide_transcript(text: &str, role: Role) -> Vec<PassagePart<'_>> {
    let lines = find_speaker_lines(text);
    let mut parts = Vec::with_capacity(2 * lines.len());
    for (index, line) in lines.iter().enumerate() {
        let end = lines.get(index + 1).map_or(text.len(), |next| next.start);
        let label = PassagePart::ignored(line.start..line.speech_start);
        let speech = turn_part(line, line.speech_start..end, role);
        parts.extend([label, speech]);
    }

    parts.retain(|part| !part.range.is_empty());
    parts
}

/// Returns the part that one speaker says.
fn turn_part<'a>(line: &SpeakerLine<'a>, range: Range<usize>, role: Role) -> PassagePart<'a> {
    let is_pasted = role == Role::User;
    let name = match line.kind {
        SpeakerKind::System | SpeakerKind::Tool => return PassagePart::ignored(range),
        SpeakerKind::Assistant if is_pasted => return PassagePart::ignored(range),
        SpeakerKind::Person => Some(line.label),
        SpeakerKind::User | SpeakerKind::Assistant => None,
    };

    let origin = (is_pasted || name.is_some()).then_some(TextOrigin {
        medium: SourceMedium::Transcript,
        name,
    });
    let role = match line.kind {
        SpeakerKind::Assistant => Role::Assistant,
        SpeakerKind::User if is_pasted => Role::Author,
        _ => Role::User,
    };

    PassagePart {
        range,
        role,
        speaker: name,
        origin,
    }
}
