//! The pure middle of processing: text, chunks, vectors.

use std::ops::Range;

use bytes::Bytes;
use content::{Chunk, ChunkOptions, Failure, FailureCode, Format, Turn};
use domain::document::BodyForm;
use domain::{Document, DocumentType, Pack, PackedChunk};
use retrieval::{Embedder, StaticEmbedder};
use sandbox::{Sandbox, SandboxError};
use serde::Deserialize;

/// A document's canonical text and what shapes its chunks.
pub(crate) struct Text {
    pub(crate) text: String,
    format: Format,
    title: Option<String>,
    /// The turns of a conversation.
    turns: Option<Vec<Range<usize>>>,
    /// When a conversation took place and who spoke; belongs to every chunk of it.
    context: Vec<String>,
}

/// What processing makes of a document.
pub(crate) struct Prepared {
    pub(crate) pack: Pack,
    pub(crate) kind: DocumentType,
    pub(crate) title: Option<String>,
}

/// A turn as the documents function stores it.
#[derive(Deserialize)]
struct StoredTurn {
    role: String,
    name: Option<String>,
    text: String,
}

/// Bytes to canonical text.
pub(crate) async fn read(sandbox: &Sandbox, document: &Document, body: &Bytes) -> Result<Text, SandboxError> {
    let (name, declared) = match &document.body.form {
        BodyForm::Conversation => return Ok(read_conversation(document, body)?),
        BodyForm::Text => (None, None),
        BodyForm::File { name, declared } => (name.as_deref(), declared.as_deref()),
    };
    let marked = (document.body.form == BodyForm::Text).then(|| marked(body));
    let found = sandbox.extract(marked.as_deref().unwrap_or(body), name, declared).await?;
    let title = found.title.or_else(|| name.map(str::to_owned));
    Ok(Text { text: found.text, format: found.format, title, turns: None, context: Vec::new() })
}

/// A text of a JSON field with what says that it is one: the byte order mark of UTF-8 in front, which keeps a text that
/// begins like some file from being read as one, and no control characters, which would make it look like a binary file
/// and are dropped from every text.
fn marked(text: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    let kept = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    MARK.iter().chain(text.iter().filter(|byte| kept(byte))).copied().collect()
}

fn read_conversation(document: &Document, body: &[u8]) -> Result<Text, Failure> {
    let stored: Vec<StoredTurn> = serde_json::from_slice(body).map_err(|_| {
        Failure::new(FailureCode::Corrupt, "the stored turns of the conversation cannot be read")
    })?;
    let speakers = speakers(&stored);
    let turn = |turn: StoredTurn| Turn { role: turn.role, speaker: turn.name, text: turn.text, date: None };
    let (text, spans) = content::render_conversation(&stored.into_iter().map(turn).collect::<Vec<_>>());
    let date = document.document_date.map(|date| date.long_date());
    let context = date.into_iter().chain(speakers).collect();
    Ok(Text { text, format: Format::Text, title: None, turns: Some(spans), context })
}

/// The names of those who speak, in the order of their first turn.
fn speakers(turns: &[StoredTurn]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in turns.iter().filter_map(|turn| turn.name.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The most characters of a window of turns: six turns of a chat mostly fit. Smaller windows lose evidence, larger ones
/// return more than 2,000 tokens in ten results (`bench recall`).
const WINDOW_CHARS: usize = 1200;

/// Canonical text to chunks.
pub(crate) fn cut(text: &Text) -> Vec<Chunk> {
    match &text.turns {
        Some(turns) => {
            let options = ChunkOptions { target_chars: WINDOW_CHARS, ..ChunkOptions::default() };
            content::chunk_conversation(&text.text, turns, &options)
        }
        None => content::chunk(&text.text, text.format, &ChunkOptions::default()),
    }
}

/// Chunks to vectors, each of its own text.
pub(crate) fn embed(text: Text, chunks: Vec<Chunk>) -> Prepared {
    let pack_chunk = |chunk: Chunk| {
        let headings: Vec<String> = text.context.iter().cloned().chain(chunk.headings).collect();
        let vector = StaticEmbedder.embed(&chunk.text).0.to_vec();
        PackedChunk { start: chunk.start, end: chunk.end, headings, vector }
    };
    let chunks = chunks.into_iter().map(pack_chunk).collect();
    let model = StaticEmbedder.model_id().to_owned();
    let pack = Pack { v: Pack::VERSION, model, text: text.text, chunks };
    let kind = match text.format {
        Format::Pdf => DocumentType::Pdf,
        Format::Html => DocumentType::Webpage,
        _ => DocumentType::Text,
    };
    Prepared { pack, kind, title: text.title }
}
