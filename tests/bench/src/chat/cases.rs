//! The cases: chats, and what has to be remembered of them.

use std::path::Path;

use anyhow::{Context, Result};
use fancy_regex::Regex;
use serde::{Deserialize, Serialize};

/// A chat in one or more sessions, with what has to be true afterwards.
#[derive(Deserialize)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) lang: String,
    pub(super) kind: String,
    pub(super) sessions: Vec<ChatSession>,
    /// Facts to remember: one valid memory fits each.
    #[serde(default)]
    pub(super) facts: Vec<Fact>,
    /// Falsehoods: no valid memory fits.
    #[serde(default)]
    pub(super) never: Vec<Fact>,
    /// Facts in the profile: one of its lines fits each.
    #[serde(default)]
    pub(super) profile: Vec<Fact>,
    #[serde(default)]
    pub(super) questions: Vec<ChatQuestion>,
}

#[derive(Deserialize)]
pub(super) struct ChatSession {
    pub(super) date: Option<String>,
    pub(super) messages: Vec<Message>,
    #[serde(default, rename = "as")]
    pub(super) form: Form,
}

/// The form in which a session is sent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    #[default]
    Conversation,
    /// As one text whose lines begin with the roles.
    Transcript,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl ChatSession {
    /// Returns the messages as one text.
    pub(super) fn transcript(&self) -> String {
        let mut lines = Vec::new();
        for message in &self.messages {
            let mut letters = message.role.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            let role: String = first.chain(letters).collect();
            lines.push(format!("{role}: {}", message.content));
        }

        lines.join("\n")
    }
}

/// The form of a fact. A text fits that has every pattern of `all` and, if there are some, one of
/// `any`.
#[derive(Debug, Deserialize)]
pub(super) struct Fact {
    #[serde(default)]
    all: Vec<Pattern>,
    #[serde(default)]
    any: Vec<Pattern>,
}

impl Fact {
    pub(super) fn fits(&self, text: &str) -> Result<bool> {
        for pattern in &self.all {
            if !pattern.is_in(text)? {
                return Ok(false);
            }
        }

        Ok(self.any.is_empty() || is_any_in(&self.any, text)?)
    }

    pub(super) fn fits_any(&self, texts: &[String]) -> Result<bool> {
        for text in texts {
            if self.fits(text)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A question. The answer is right if the first result has one of `first`, and each result with
/// one of `not` also has one of `first`. If `first` is empty, no result is right.
#[derive(Deserialize)]
pub(super) struct ChatQuestion {
    pub(super) q: String,
    pub(super) first: Vec<Pattern>,
    #[serde(default)]
    pub(super) not: Vec<Pattern>,
}

/// A regular expression without regard to case that begins where a word begins.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = fancy_regex::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&format!(r"(?i)(?<!\w)(?:{text})")).map(Self)
    }
}

impl Pattern {
    fn is_in(&self, text: &str) -> Result<bool> {
        Ok(self.0.is_match(text)?)
    }
}

/// Checks whether a text has one of the patterns.
pub(super) fn is_any_in(patterns: &[Pattern], text: &str) -> Result<bool> {
    for pattern in patterns {
        if pattern.is_in(text)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn read_cases(path: &Path) -> Result<Vec<Case>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let mut cases = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let case = serde_json::from_str(line)
            .with_context(|| format!("line {} of {}", number + 1, path.display()))?;
        cases.push(case);
    }

    Ok(cases)
}
