//! The rate at which conversations are read.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use domain::{Timestamp, Trust};
use extraction::{Passage, Role, SourceText, extract_statements};
use serde_json::Value;

use super::{SAID_AT, check_not_invented, describe};

/// The bytes of conversation that are read to measure the rate.
const RATE_BYTES: usize = 8 << 20;

/// Measures the rate at which one core reads conversations.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) fn measure_rate(folder: &Path, show: bool) -> Result<()> {
    let text = std::fs::read_to_string(folder.join("conversations.json"))
        .context("read conversations.json")?;
    let samples: Vec<Value> = serde_json::from_str(&text)?;
    let sessions: Vec<Vec<(String, String)>> = samples.iter().flat_map(parse_sessions).collect();
    let (mut bytes, mut turns, mut found) = (0, 0, 0);
    let begun = Instant::now();
    let mut round = 0;
    while bytes < RATE_BYTES {
        for session in &sessions {
            let statements = extract_statements(&build_conversation(session));
            if round == 0 {
                check_not_invented(
                    &statements,
                    &session
                        .iter()
                        .map(|(_, text)| format!("{text}\n"))
                        .collect::<String>(),
                )?;
            }
            bytes += session.iter().map(|(_, text)| text.len()).sum::<usize>();
            turns += session.len();
            found += statements.len();
            if show && round == 0 {
                statements
                    .iter()
                    .for_each(|statement| println!("{}", describe(statement)));
            }
        }
        round += 1;
    }

    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "conversations: {:.2} statements a turn, {:.1} MB/s on one core   (goal 1)",
        found as f64 / turns.max(1) as f64,
        bytes as f64 / 1e6 / seconds
    );

    Ok(())
}

/// Parses the sessions of a conversation as pairs of speaker and text.
fn parse_sessions(sample: &Value) -> Vec<Vec<(String, String)>> {
    let turns = |session: &Value| {
        let turn = |turn: &Value| {
            Some((
                turn["speaker"].as_str()?.to_owned(),
                turn["text"].as_str()?.to_owned(),
            ))
        };
        session
            .as_array()
            .map(|turns| turns.iter().filter_map(turn).collect())
    };
    (1..100)
        .filter_map(|number| turns(&sample["conversation"][format!("session_{number}")]))
        .collect()
}

fn build_conversation(session: &[(String, String)]) -> SourceText<'_> {
    let said_at = Timestamp::from_millis(SAID_AT);
    let mut start = 0;
    let passages = session.iter().map(|(speaker, text)| {
        let passage = Passage {
            text,
            start_char: start,
            role: Role::User,
            speaker: Some(speaker),
            origin: None,
            said_at,
        };
        start += text.chars().count() + 1;
        passage
    });

    SourceText {
        passages: passages.collect(),
        trust: Trust::User,
    }
}
