//! The conversations, and how they are sent.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rig::BenchSystem;

/// A conversation with its questions.
#[derive(Deserialize)]
pub(super) struct Sample {
    pub(super) sample_id: String,
    pub(super) qa: Vec<Question>,
    conversation: Value,
}

#[derive(Deserialize)]
pub(super) struct Question {
    pub(super) question: String,
    #[serde(default)]
    evidence: Vec<String>,
    pub(super) category: u8,
}

impl Question {
    /// Returns the ids of the evidence turns. Some cells of the data name several.
    pub(super) fn evidence_turns(&self) -> BTreeSet<String> {
        let cells = self
            .evidence
            .iter()
            .flat_map(|cell| cell.split([';', ' ', ',']));
        cells
            .filter(|id| id.starts_with('D') && id.contains(':'))
            .map(str::to_owned)
            .collect()
    }
}

#[derive(Deserialize)]
pub(super) struct EvidenceTurn {
    pub(super) speaker: String,
    pub(super) dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

impl EvidenceTurn {
    pub(super) fn turn_text(&self) -> String {
        match &self.blip_caption {
            Some(caption) => format!("{} [photo: {caption}]", self.text),
            None => self.text.clone(),
        }
    }
}

/// A session as it was sent.
pub(super) struct Session {
    pub(super) document: String,
    /// The characters that spans refer to.
    pub(super) text: Vec<char>,
    pub(super) turns: Vec<EvidenceTurn>,
}

pub(super) fn read_samples(folder: &Path) -> Result<Vec<Sample>> {
    let text = std::fs::read_to_string(folder.join("conversations.json"))
        .context("read conversations.json")?;
    Ok(serde_json::from_str(&text)?)
}

/// Sends the sessions of a conversation and waits until they are done.
pub(super) async fn ingest_sessions(rig: &BenchSystem, sample: &Sample) -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for number in 1.. {
        let Some(turns) = sample.conversation.get(format!("session_{number}")) else {
            if sample
                .conversation
                .get(format!("session_{number}_date_time"))
                .is_some()
            {
                continue;
            }
            break;
        };
        let turns: Vec<EvidenceTurn> = serde_json::from_value(turns.clone())?;
        let date = sample.conversation[format!("session_{number}_date_time")]
            .as_str()
            .and_then(iso_date);
        let first = turns.first().map(|turn| turn.speaker.clone());
        let messages: Vec<Value> = turns
            .iter()
            .map(|turn| {
                let role = if Some(&turn.speaker) == first.as_ref() {
                    "user"
                } else {
                    "assistant"
                };
                json!({"role": role, "name": turn.speaker, "content": turn.turn_text()})
            })
            .collect();
        let body = json!({
            "conversationId": format!("{}-session-{number}", sample.sample_id),
            "containerTag": sample.sample_id,
            "documentDate": date,
            "messages": messages,
        });
        let answer = rig.post("/v4/conversations", &body).await?;
        let document = answer["id"].as_str().unwrap_or_default().to_owned();
        sessions.push(Session {
            document,
            text: Vec::new(),
            turns,
        });
    }

    for session in &mut sessions {
        rig.wait_until_done(&session.document).await?;
        let path = format!("/v3/documents/{}", session.document);
        let document = rig.call("GET", &path, &Value::Null).await?;
        session.text = document["content"]
            .as_str()
            .unwrap_or_default()
            .chars()
            .collect();
    }

    Ok(sessions)
}

/// Converts `1:56 pm on 8 May, 2023` to `2023-05-08`.
fn iso_date(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (_, date) = text.split_once(" on ")?;
    let mut parts = date.split([' ', ',']).filter(|part| !part.is_empty());
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;

    Some(format!("{year}-{month:02}-{:02}", day.parse::<u8>().ok()?))
}
