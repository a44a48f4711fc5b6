//! Reading of LoCoMo conversations, and splitting them into chunks.

use std::path::Path;

use search_engine::{ChunkInput, ContainerIndex, Document, Embedder, StaticEmbedder};
use serde_json::Value;

pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) text: String,
}

pub(crate) struct Session {
    pub(crate) number: u32,
    pub(crate) date: String,
    pub(crate) turns: Vec<Turn>,
}

pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) category: u64,
    /// The ids of the turns that answer it.
    pub(crate) evidence: Vec<String>,
}

pub(crate) struct Conversation {
    pub(crate) speakers: [String; 2],
    pub(crate) sessions: Vec<Session>,
    pub(crate) questions: Vec<Question>,
}

/// The parameters of splitting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkingOptions {
    /// The number of turns in a chunk.
    pub(crate) window: usize,
    /// The number of turns that adjacent chunks share.
    pub(crate) overlap: usize,
    /// True if the headings contain date and speakers.
    pub(crate) headings: bool,
    /// True if the vector is of headings and text, false if it is of the text alone.
    pub(crate) embed_headings: bool,
}

pub(crate) fn read_conversations(
    folder: &Path,
) -> Result<Vec<Conversation>, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(folder.join("conversations.json"))?;
    let all: Value = serde_json::from_str(&text)?;
    Ok(all
        .as_array()
        .into_iter()
        .flatten()
        .map(conversation)
        .collect())
}

fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn conversation(value: &Value) -> Conversation {
    let inner = &value["conversation"];
    let mut sessions = Vec::new();
    for number in 1..100 {
        let Some(turns) = inner[format!("session_{number}")].as_array() else {
            continue;
        };
        sessions.push(Session {
            number,
            date: string(inner, &format!("session_{number}_date_time")),
            turns: turns.iter().map(turn).collect(),
        });
    }

    let turn_ids: Vec<&str> = sessions
        .iter()
        .flat_map(|s| &s.turns)
        .map(|t| t.id.as_str())
        .collect();
    let questions = value["qa"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|qa| question(qa, &turn_ids))
        .collect();

    Conversation {
        speakers: [string(inner, "speaker_a"), string(inner, "speaker_b")],
        questions,
        sessions,
    }
}

fn turn(value: &Value) -> Turn {
    let (speaker, utterance) = (string(value, "speaker"), string(value, "text"));
    let text = match value["blip_caption"].as_str() {
        Some(caption) => format!("{speaker}: {utterance} [photo: {caption}]"),
        None => format!("{speaker}: {utterance}"),
    };
    Turn {
        id: string(value, "dia_id"),
        text,
    }
}

fn question(value: &Value, turn_ids: &[&str]) -> Question {
    let cited = value["evidence"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let evidence = cited
        .flat_map(|c| c.split([';', ' ', ',']))
        .filter(|id| turn_ids.contains(id));

    Question {
        text: string(value, "question"),
        category: value["category"].as_u64().unwrap_or(0),
        evidence: evidence.map(str::to_owned).collect(),
    }
}

/// The turn ids of each chunk, by session (document) number and chunk position.
pub(crate) type Members = std::collections::HashMap<(String, u32), Vec<String>>;

/// Indexes a conversation with one document per session.
pub(crate) fn index(
    conversation: &Conversation,
    chunking: ChunkingOptions,
) -> (ContainerIndex, Members) {
    let (mut index, mut members) = (ContainerIndex::new(), Members::new());
    for session in &conversation.sessions {
        let id = format!("session-{:03}", session.number);
        let [a, b] = &conversation.speakers;
        let headings = if chunking.headings {
            format!("{} — {a} and {b}", session.date)
        } else {
            String::new()
        };
        let mut chunks: Vec<ChunkInput> = Vec::new();
        for turns in turn_windows(&session.turns, chunking) {
            let position = chunks.len() as u32;
            members.insert(
                (id.clone(), position),
                turns.iter().map(|turn| turn.id.clone()).collect(),
            );
            chunks.push(chunk(turns, position, &headings, chunking));
        }
        index.upsert_document(Document {
            id,
            chunks,
            ..Document::default()
        });
    }

    (index, members)
}

fn turn_windows(turns: &[Turn], chunking: ChunkingOptions) -> Vec<&[Turn]> {
    let (mut windows, mut start) = (Vec::new(), 0);
    while start < turns.len() {
        let end = (start + chunking.window).min(turns.len());
        windows.push(&turns[start..end]);
        start = if end == turns.len() {
            end
        } else {
            start + chunking.window - chunking.overlap
        };
    }
    windows
}

fn chunk(turns: &[Turn], position: u32, headings: &str, chunking: ChunkingOptions) -> ChunkInput {
    let text = turns
        .iter()
        .map(|turn| turn.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let embedded = if chunking.embed_headings {
        format!("{headings}\n{text}")
    } else {
        text.clone()
    };

    let vector = StaticEmbedder.embed(&embedded);
    ChunkInput {
        vector,
        text,
        headings: headings.to_owned(),
        position,
        ..ChunkInput::default()
    }
}
