//! Statements from text, by rules.

mod language;
mod quoted;
pub(crate) mod sentences;
mod world;

pub(crate) mod dates;
mod english;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use domain::{Attribution, Medium, MemoryKind, Statement, Timestamp, Trust};

use crate::model::addresses_a_model;
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
    /// Where the speaker has it from, when the words are somebody else's.
    pub quoted: Option<Quoted<'a>>,
    /// When it was said; relative dates count from here.
    pub said_at: Timestamp,
}

/// A text of somebody else within a source: a pasted mail, a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a> {
    /// What it is.
    pub medium: Medium,
    /// Its name: a sender, a speaker.
    pub name: Option<&'a str>,
}

/// What statements are to be found in.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The turns of a conversation in their order, or the text of a document as one passage.
    pub passages: Vec<Passage<'a>>,
    /// How far the statements can be relied on; turns of assistants get [`Trust::Assistant`], and what is somebody else's
    /// gets [`Trust::External`].
    pub trust: Trust,
}

impl<'a> Source<'a> {
    /// The source with what is only passed on in it (pasted mails and pages, quotations, transcripts) as passages of their
    /// own. A source of somebody else stays whole.
    #[must_use]
    pub fn divided(self) -> Self {
        if !self.trust.is_own() {
            return self;
        }

        let is_own = |passage: &Passage<'_>| matches!(passage.role, Role::User | Role::Author);
        let divide = |passage: Passage<'a>| {
            if is_own(&passage) {
                quoted::divide(&passage)
            } else {
                vec![passage]
            }
        };

        Self {
            passages: self.passages.into_iter().flat_map(divide).collect(),
            ..self
        }
    }

    /// What the statements of a passage may do.
    pub(crate) fn trust_of(&self, passage: &Passage<'_>) -> Trust {
        if passage.quoted.is_some() || self.trust == Trust::External {
            Trust::External
        } else if passage.role == Role::Assistant {
            Trust::Assistant
        } else {
            self.trust
        }
    }
}

impl Quoted<'_> {
    /// What the statements say of where they were read.
    pub(crate) fn attribution(self) -> Attribution {
        Attribution::new(self.medium, self.name)
    }
}

/// The sender of a text that begins with the headers of a mail, as far as they name one; none for any other text.
pub fn mail_sender(text: &str) -> Option<Option<&str>> {
    quoted::mail_sender(text)
}

/// The person's name in the sender of a mail, if it is one and cannot be read as anything else.
pub fn person(sender: &str) -> Option<&str> {
    quoted::person(sender)
}

/// The statements of a source, in the order of the text.
pub fn extract(source: &Source<'_>) -> Vec<Statement> {
    let talk = Talk::of(source);
    let mut statements = Vec::new();
    for passage in source
        .passages
        .iter()
        .filter(|passage| passage.role != Role::Other)
    {
        let (trust, before) = (source.trust_of(passage), statements.len());
        read(passage, talk.scene(passage, trust), &mut statements);
        let mut found = statements.split_off(before);
        found.retain(may_be_stated);
        let attribution = passage.quoted.map(Quoted::attribution);
        found
            .iter_mut()
            .for_each(|statement| statement.attribution.clone_from(&attribution));
        statements.extend(found);
    }

    let mut repeated = repeated(&statements).into_iter();
    statements.retain(|_| !repeated.next().unwrap_or(false));

    statements
}

/// What a sentence begins with that tells whoever reads it what to do, in lower case.
const ORDERS: &[&str] = &[
    "always ",
    "never ",
    "from now on",
    "please ",
    "answer ",
    "remember ",
    "make sure ",
    "be sure ",
    "do not ever ",
    "don't ever ",
    "whenever ",
    "call me ",
    "going forward",
    "by default,",
];

/// Whether a statement is none of somebody else's orders: their words state, and never instruct.
fn may_be_stated(statement: &Statement) -> bool {
    let is_order = || {
        let text = statement.text.to_lowercase();
        ORDERS.iter().any(|order| text.starts_with(order)) || addresses_a_model(&statement.text)
    };
    statement.trust.is_own()
        || statement.kind != MemoryKind::Instruction
            && (statement.trust != Trust::External || !is_order())
}

/// Which statements are said again: the first stays, unless another answer came between; then the last one holds.
fn repeated(statements: &[Statement]) -> Vec<bool> {
    let mut drop = vec![false; statements.len()];
    let mut seen = HashMap::new();
    let mut latest = HashMap::new();
    for (at, statement) in statements.iter().enumerate() {
        let text = statement.text.to_lowercase();
        let topic = statement
            .topic
            .as_ref()
            .map(|topic| (&topic.subject, &topic.attribute));
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
        if !matches!(
            sentence.block,
            Block::Heading | Block::Code | Block::Table | Block::Quote
        ) {
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
        let users = source
            .passages
            .iter()
            .filter(|passage| passage.role == Role::User);
        let names: HashSet<_> = users.map(|passage| passage.speaker).collect();
        let assistant = source
            .passages
            .iter()
            .any(|passage| passage.role == Role::Assistant);
        let user = if names.len() == 1 {
            names.iter().next().copied().flatten()
        } else {
            None
        };

        Self {
            user,
            people: names.len() > 1 && !assistant,
        }
    }

    fn scene<'p>(&self, passage: &Passage<'p>, trust: Trust) -> Scene<'p>
    where
        'a: 'p,
    {
        let unnamed = match passage.role {
            Role::Assistant => "The assistant",
            _ if trust == Trust::External => "The author",
            _ => "User",
        };
        let speaker = passage.speaker.unwrap_or(unnamed);
        let key = if speaker == "The author" {
            "author"
        } else {
            speaker
        };
        let user = if trust == Trust::External {
            "The author"
        } else {
            "User"
        };
        let listener = (passage.role == Role::Assistant).then(|| self.user.unwrap_or(user));
        Scene {
            speaker,
            key,
            listener,
            chat: self.people,
            trust,
        }
    }
}
