//! The pure part of processing: turns text into chunks, and chunks into vectors.

use std::collections::HashMap;
use std::ops::Range;

use content::{Chunk, ChunkOptions};
use domain::conversation::ConversationTurn;
use domain::{Pack, PackedChunk, Settings};
use search_engine::{Embedder, StaticEmbedder};

use crate::read::ExtractedText;

/// The most characters of a window of turns: most windows fit six turns of a chat. Smaller windows
/// lose evidence, and larger ones return more than 2,000 tokens in ten results (`bench recall`).
pub const WINDOW_CHARS: usize = 1200;

/// Divides canonical text into chunks. If the organization has set a chunk size, it applies to
/// every kind of content.
pub(crate) fn cut_chunks(text: &ExtractedText, settings: &Settings) -> Vec<Chunk> {
    let options = match settings.chunk_size {
        Some(size) => ChunkOptions::for_chunk_size(i64::from(size)),
        None if text.turns.is_empty() => ChunkOptions::default(),
        None => ChunkOptions {
            target_chars: WINDOW_CHARS,
            ..ChunkOptions::default()
        },
    };

    if text.turns.is_empty() {
        return content::split_into_chunks(&text.text, text.format, &options);
    }

    let ranges: Vec<Range<usize>> = text.turns.iter().map(|(_, range)| range.clone()).collect();
    content::chunk_conversation(&text.text, &ranges, &options)
}

/// The pack of a text, and the number of vectors that had to be computed for it.
pub(crate) struct PreparedPack {
    pub(crate) pack: Pack,
    pub(crate) embedded: usize,
}

/// Embeds each chunk by its own text. A chunk that `known` has word for word keeps its vector.
pub(crate) fn embed_chunks(
    text: &ExtractedText,
    chunks: Vec<Chunk>,
    previous_pack: Option<&Pack>,
) -> PreparedPack {
    let model = StaticEmbedder.model_id().to_owned();
    let known_vectors = match previous_pack {
        Some(known) if known.model == model => vectors_by_text(known),
        _ => HashMap::new(),
    };

    let mut embedded = 0;
    let speakers = speaker_names(&text.turns);
    let mut packed_chunks = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let mut headings = Vec::new();
        if let Some(range) = chunk.turns
            && let Some(turns) = text.turns.get(range)
        {
            headings.extend(first_date(turns));
        }
        headings.extend(speakers.clone());
        headings.extend(chunk.headings);

        let vector = match known_vectors.get(chunk.text.as_str()) {
            Some(vector) => vector.to_vec(),
            None => {
                embedded += 1;
                StaticEmbedder.embed(&chunk.text).0.to_vec()
            }
        };
        packed_chunks.push(PackedChunk {
            start: chunk.start,
            end: chunk.end,
            headings,
            vector,
            model_vector: Vec::new(),
        });
    }

    PreparedPack {
        pack: Pack {
            v: Pack::VERSION,
            model,
            chosen_model: None,
            text: text.text.clone(),
            chunks: packed_chunks,
        },
        embedded,
    }
}

/// Returns the vectors of a pack by the texts of their chunks.
fn vectors_by_text(pack: &Pack) -> HashMap<&str, &[i8]> {
    let vectors = pack.chunks.iter().map(|chunk| chunk.vector.as_slice());
    pack.chunk_texts().into_iter().zip(vectors).collect()
}

/// Returns the day of the first turn that has one.
fn first_date(turns: &[(ConversationTurn, Range<usize>)]) -> Option<String> {
    let at = turns.iter().find_map(|(turn, _)| turn.at)?;
    Some(at.format_long_date())
}

/// Returns the names of the speakers, in the order of their first turns. They are repeated on every
/// chunk, so they are few and short.
fn speaker_names(turns: &[(ConversationTurn, Range<usize>)]) -> Option<String> {
    const MAX_SPEAKERS: usize = 12;
    const MAX_NAME_CHARS: usize = 100;

    let mut names: Vec<String> = Vec::new();
    for (turn, _) in turns {
        if let Some(name) = &turn.name
            && names.len() < MAX_SPEAKERS
        {
            let name = name.chars().take(MAX_NAME_CHARS).collect();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }

    (!names.is_empty()).then(|| names.join(", "))
}
