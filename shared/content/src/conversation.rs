//! Conversations: one paragraph per turn, and chunks that are windows of whole turns.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::canonical::to_canonical;
use crate::chunk::{
    Chunk, ChunkOptions, ChunkSpan, HeadingPath, MAX_CHUNKS, TextUnit, UnitEnd, chunks_from_spans,
    pack_units,
};
use crate::sentences::{split_pieces, split_sentences};

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// The role in the protocol: `user`, `assistant`, `system`, `tool`.
    pub role: String,
    /// The name of the speaker, if it is known.
    pub speaker: Option<String>,
    /// The words of the turn.
    pub text: String,
    /// The date as the sender wrote it. It is not part of the rendered text.
    pub date: Option<String>,
}

/// Renders a conversation as canonical text, one `Speaker: text` paragraph per turn.
///
/// Also returns the span of each turn in characters. A blank turn has an empty span and no
/// paragraph.
pub fn render_conversation(turns: &[Turn]) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut ranges = Vec::with_capacity(turns.len());
    let mut chars = 0;
    for turn in turns {
        let turn_text = to_canonical(&turn.text);
        if turn_text.trim().is_empty() {
            ranges.push(chars..chars);
            continue;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
            chars += 2;
        }
        let speaker = speaker_name(turn);
        // White space at the start of a turn has no meaning after a name.
        let paragraph = to_canonical(&format!(
            "{speaker}{}{}",
            if speaker.is_empty() { "" } else { ": " },
            turn_text.trim()
        ));
        let length = paragraph.chars().count();
        text.push_str(&paragraph);
        ranges.push(chars..chars + length);
        chars += length;
    }

    (text, ranges)
}

/// Returns the name of the speaker, or else the role with a capital letter.
fn speaker_name(turn: &Turn) -> String {
    let speaker = turn.speaker.as_ref();
    let speaker = speaker.filter(|speaker| !speaker.trim().is_empty());
    let name = to_canonical(speaker.unwrap_or(&turn.role))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let mut letters = name.chars();

    match letters.next() {
        Some(first) if speaker.is_none() => first.to_uppercase().chain(letters).collect(),
        _ => name,
    }
}

/// Cuts a rendered conversation into windows of whole turns. Each chunk has the indexes of its
/// turns.
///
/// A window has `turns_per_window` turns, or fewer if they exceed the target size. Adjacent windows
/// share `overlap_turns`. A turn longer than the target is cut at its sentences, into chunks of its
/// own. Turns that are added later change only the last window. A conversation with more than
/// [`MAX_CHUNKS`] is cut only until there are more. `turn_spans` are those that
/// [`render_conversation`] returned with the text.
pub fn chunk_conversation(
    text: &str,
    turn_spans: &[Range<usize>],
    options: &ChunkOptions,
) -> Vec<Chunk> {
    let (turn_indices, turns): (Vec<usize>, Vec<TextUnit>) =
        spoken_turns(text, turn_spans).into_iter().unzip();
    let target = options.clamped_target();
    let mut spans = Vec::new();
    let mut first = 0;
    while first < turns.len() && spans.len() <= MAX_CHUNKS {
        if turns[first].chars > target {
            let span_count = spans.len();
            pack_units(
                text,
                &long_turn_units(text, &turns[first], target),
                &HeadingPath::default(),
                options,
                &mut spans,
            );
            for span in &mut spans[span_count..] {
                span.turns = Some(turn_indices[first]..turn_indices[first] + 1);
            }
            first += 1;
            continue;
        }

        let end = find_window_end(text, &turns, first, options);
        let bytes = turns[first].bytes.start..turns[end - 1].bytes.end;
        spans.push(ChunkSpan {
            bytes,
            headings: Vec::new(),
            turns: Some(turn_indices[first]..turn_indices[end - 1] + 1),
        });
        first = find_next_window(&turns, first, end, options);
    }

    chunks_from_spans(text, spans)
}

/// Converts the character spans of turns to bytes. Returns each turn that is not blank, with its
/// index.
fn spoken_turns(text: &str, ranges: &[Range<usize>]) -> Vec<(usize, TextUnit)> {
    let mut turns = Vec::with_capacity(ranges.len());
    let mut indices = text.char_indices().map(|(at, _)| at).enumerate().peekable();
    let mut byte_index_of = |character: usize| {
        while indices.next_if(|(index, _)| *index < character).is_some() {}
        match indices.peek() {
            Some((_, at)) => *at,
            None => text.len(),
        }
    };

    for (index, range) in ranges.iter().enumerate() {
        let start = byte_index_of(range.start);
        let bytes = start..byte_index_of(range.end).max(start);
        if !text[bytes.clone()].trim().is_empty() {
            turns.push((index, TextUnit::of(text, bytes, UnitEnd::Block)));
        }
    }

    turns
}

fn find_window_end(text: &str, turns: &[TextUnit], first: usize, options: &ChunkOptions) -> usize {
    let mut end = first + 1;
    let mut chars = turns[first].chars;
    while end < turns.len() && end - first < options.turns_per_window.max(1) {
        chars += text[turns[end - 1].bytes.end..turns[end].bytes.start]
            .chars()
            .count()
            + turns[end].chars;
        if chars > options.clamped_target() {
            break;
        }
        end += 1;
    }

    end
}

/// Returns the first turn of the next window, which always holds a turn that the last one did not.
fn find_next_window(turns: &[TextUnit], first: usize, end: usize, options: &ChunkOptions) -> usize {
    let target = options.clamped_target();
    if end == turns.len() || turns[end].chars > target {
        return end;
    }

    let chars_from = |start: usize| -> usize {
        let window = &turns[start..=end];
        window.iter().map(|turn| turn.chars + 2).sum()
    };
    let mut start = end.saturating_sub(options.overlap_turns).max(first + 1);
    // Shared turns must leave room for the next one.
    while start < end && chars_from(start) > target {
        start += 1;
    }

    start
}

/// Cuts a long turn into sentences, and those into pieces if necessary. Leaves out blank pieces,
/// because a chunk that began with one would begin at the same character as the next chunk.
fn long_turn_units(text: &str, turn: &TextUnit, target: usize) -> Vec<TextUnit> {
    let mut units = Vec::new();
    for sentence in split_sentences(text, turn.bytes.clone()) {
        let parts = match text[sentence.clone()].chars().nth(target) {
            Some(_) => split_pieces(text, sentence, target),
            None => vec![sentence],
        };
        for part in parts {
            if !text[part.clone()].trim().is_empty() {
                units.push(TextUnit::of(text, part, UnitEnd::Sentence));
            }
        }
    }

    units
}
