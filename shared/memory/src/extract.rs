//! Statements from text, by rules.

mod language;
pub(crate) mod sentences;
mod world;

pub(crate) mod dates;
mod english;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use domain::{Statement, Timestamp, Trust};

use english::{Reader, Scene};
use language::{Tongue, tongue_of};
use sentences::{Block, sentences};

/// Who speaks in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A person: `user` turns, and turns of anybody with a name who is not the assistant.
    User,
    /// The assistant.
    Assistant,
    /// Nobody in particular: the text of a document.
    Author,
    /// Instructions and results of tools: nothing is learned from them.
    Other,
}

/// A part of a source that one side said or wrote at one time.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// The text; markdown in documents.
    pub text: &'a str,
    /// Place of its first character in the canonical text.
    pub start: usize,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, if it is known.
    pub speaker: Option<&'a str>,
    /// When it was said; relative dates count from here.
    pub said_at: Timestamp,
}

/// What statements are to be found in.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The turns of a conversation in their order, or the text of a document as one passage.
    pub passages: Vec<Passage<'a>>,
    /// How far the statements can be relied on; turns of assistants get [`Trust::Assistant`].
    pub trust: Trust,
}

/// The statements of a source, in the order of the text.
pub fn extract(source: &Source<'_>) -> Vec<Statement> {
    let talk = Talk::of(source);
    let mut statements = Vec::new();
    for passage in source.passages.iter().filter(|passage| passage.role != Role::Other) {
        let trust = if passage.role == Role::Assistant { Trust::Assistant } else { source.trust };
        read(passage, talk.scene(passage, trust), &mut statements);
    }
    let mut repeated = repeated(&statements).into_iter();
    statements.retain(|_| !repeated.next().unwrap_or(false));
    statements
}

/// Which statements are said again: the first stays, unless another answer came between; then the last one holds.
fn repeated(statements: &[Statement]) -> Vec<bool> {
    let mut drop = vec![false; statements.len()];
    let mut seen = HashMap::new();
    let mut latest = HashMap::new();
    for (at, statement) in statements.iter().enumerate() {
        let text = statement.text.to_lowercase();
        let topic = statement.topic.as_ref().map(|topic| (&topic.subject, &topic.attribute));
        let before = topic.and_then(|topic| latest.insert(topic, text.clone()));
        match seen.entry((text, &statement.speaker)) {
            Entry::Vacant(entry) => {
                entry.insert(at);
            }
            Entry::Occupied(mut entry) if before.is_some_and(|before| before != entry.key().0) => {
                drop[entry.insert(at)] = true;
            }
            Entry::Occupied(_) => drop[at] = true,
        }
    }
    drop
}

/// Adds the statements of one passage.
fn read(passage: &Passage<'_>, scene: Scene<'_>, out: &mut Vec<Statement>) {
    let tongue = tongue_of(passage.text);
    let sentences = sentences(passage);
    if tongue != Tongue::English {
        for sentence in &sentences {
            out.extend(world::statements(passage, sentence, tongue, scene.trust));
        }
        return;
    }
    let mut reader = Reader::new(passage, scene);
    for sentence in &sentences {
        if !matches!(sentence.block, Block::Heading | Block::Code | Block::Table | Block::Quote) {
            reader.sentence(sentence);
        }
    }
    out.extend(reader.finish());
}

/// Who takes part in a source.
struct Talk<'a> {
    /// The name of the only user, if there is one.
    user: Option<&'a str>,
    /// Several people talk with each other, and no assistant.
    people: bool,
}

impl<'a> Talk<'a> {
    fn of(source: &Source<'a>) -> Self {
        let users = source.passages.iter().filter(|passage| passage.role == Role::User);
        let names: HashSet<_> = users.map(|passage| passage.speaker).collect();
        let assistant = source.passages.iter().any(|passage| passage.role == Role::Assistant);
        let user = if names.len() == 1 { names.iter().next().copied().flatten() } else { None };
        Self { user, people: names.len() > 1 && !assistant }
    }

    fn scene<'p>(&self, passage: &Passage<'p>, trust: Trust) -> Scene<'p>
    where
        'a: 'p,
    {
        let unnamed = match passage.role {
            Role::Assistant => "The assistant",
            Role::Author if trust == Trust::External => "The author",
            _ => "User",
        };
        let speaker = passage.speaker.unwrap_or(unnamed);
        let key = if speaker == "The author" { "author" } else { speaker };
        let listener = (passage.role == Role::Assistant).then(|| self.user.unwrap_or("User"));
        Scene { speaker, key, listener, chat: self.people, trust }
    }
}
