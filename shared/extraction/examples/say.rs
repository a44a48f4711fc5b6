//! Prints the statements of conversations: `cargo run -p extraction --example say FILES`, or with
//! standard input.
//!
//! A line is a turn (`u: ` for the user, `a: ` for the assistant, `d: ` for a document, or else the
//! name of the speaker), or a case of a table: JSON with `talks`, each a day and its turns. The
//! statements of a conversation are printed after its turns, with kind, topic and event.

#![expect(clippy::print_stdout, reason = "a report is this program's purpose")]

use std::error::Error;
use std::io::Read;

use domain::{Statement, Timestamp, Trust};
use extraction::{Passage, Role, SourceText, extract_statements};
use serde_json::Value;

/// The day of turns that have none; a Tuesday.
const DAY: &str = "2025-04-15";

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for path in std::env::args().skip(1) {
        text.push_str(&std::fs::read_to_string(path)?);
    }

    if text.is_empty() {
        std::io::stdin().read_to_string(&mut text)?;
    }

    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        if line.starts_with('{') {
            print_case(number + 1, &serde_json::from_str(line)?)?;
        } else {
            print_talk(DAY, &[line])?;
        }
    }

    Ok(())
}

/// Prints one case of a table.
fn print_case(number: usize, case: &Value) -> Result<(), Box<dyn Error>> {
    println!(
        "== {number} {} new {} old {} keep {}",
        case["q"], case["new"], case["old"], case["keep"]
    );
    for talk in case["talks"].as_array().ok_or("talks")? {
        let parts: Vec<&str> = talk
            .as_array()
            .ok_or("a talk")?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let (day, turns) = parts.split_first().ok_or("a day")?;
        print_talk(day, turns)?;
    }

    Ok(())
}

/// Prints each turn of a conversation, then the statements of all of them.
fn print_talk(day: &str, turns: &[&str]) -> Result<(), Box<dyn Error>> {
    let said_at = Timestamp::parse("day", day)?;
    let (mut passages, mut start) = (Vec::new(), 0);
    for turn in turns {
        println!("{day} {turn}");
        let (speaker_label, text) = turn.split_once(": ").ok_or("who speaks")?;
        let (role, speaker) = match speaker_label {
            "u" => (Role::User, None),
            "a" => (Role::Assistant, None),
            "d" => (Role::Author, None),
            name => (Role::User, Some(name)),
        };
        passages.push(Passage {
            text,
            start_char: start,
            role,
            speaker,
            origin: None,
            said_at,
        });
        start += text.chars().count() + 1;
    }

    for statement in extract_statements(
        &SourceText {
            passages,
            trust: Trust::User,
        }
        .divided(),
    ) {
        println!("{}", format_statement(&statement));
    }

    Ok(())
}

fn format_statement(statement: &Statement) -> String {
    let topic = statement.topic.as_ref().map_or("-".to_owned(), |topic| {
        let negation = if topic.negated { "not " } else { "" };
        format!(
            "{} | {} | {negation}{}",
            topic.subject, topic.attribute, topic.value
        )
    });

    let event = statement.event.map_or(String::new(), |event| {
        format!(" @ {} .. {}", event.from, event.to)
    });

    format!(
        "    {}\n        {:?} [{topic}]{event}",
        statement.text, statement.kind
    )
}
