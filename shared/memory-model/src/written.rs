//! Memories that clients write directly.

use domain::{MemoryKind, Statement, Timestamp, Topic, Trust};

use crate::words::{content_words, split_words};
use extraction::{Passage, SourceText, extract_statements};

/// Returns the statement of a memory that a client wrote.
///
/// The topic is extracted from the text if the text is one plain sentence. A later memory with the
/// same topic then replaces this one.
pub fn statement_from_client(text: String, said_at: Timestamp) -> Statement {
    let (kind, topic) = parse_topic(&text, said_at);
    Statement {
        start: 0,
        end: text.chars().count(),
        text,
        kind,
        is_static: false,
        confidence: 1.0,
        trust: Trust::Client,
        speaker: None,
        attribution: None,
        said_at,
        event: None,
        forget_after: None,
        forget_reason: None,
        topic,
        aspects: Vec::new(),
        retraction: None,
        metadata: serde_json::Map::new(),
    }
}

fn parse_topic(text: &str, said_at: Timestamp) -> (MemoryKind, Option<Topic>) {
    let found = extract_statements(&SourceText {
        passages: vec![Passage::of_user(text, said_at)],
        trust: Trust::Client,
    });

    // One sentence among several must not decide which memory the whole text replaces.
    match found.as_slice() {
        [only] if only.start == 0 && only.end + 1 >= text.chars().count() => {
            let topic = only.topic.clone();
            (only.kind, topic.map(|topic| complete_value(topic, text)))
        }
        _ => (MemoryKind::Fact, None),
    }
}

/// Adds to the value of the topic what the text says after it, as in "the cello and the flute". A
/// longer memory is then no repetition of a shorter one, of which the service would keep the first.
fn complete_value(topic: Topic, text: &str) -> Topic {
    // A denial ends a value, which it has to name exactly.
    if topic.negated {
        return topic;
    }

    let words = split_words(text);
    let end = [&topic.value, &topic.attribute]
        .into_iter()
        .find_map(|part| find_end(&words, part));
    let value = match end {
        Some(end) if end == words.len() => return topic,
        Some(end) => format!("{} {}", topic.value, words[end..].join(" ")),
        // The value is in other words than the text.
        None => content_words(text).join(" "),
    };

    Topic { value, ..topic }
}

/// Returns the position after the last word of `part`, at its last occurrence in `words`.
fn find_end(words: &[String], part: &str) -> Option<usize> {
    let last = split_words(part).pop()?;
    let index = words.iter().rposition(|word| *word == last)?;
    Some(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_sentence_answers_a_question() {
        let topic = |text: &str| {
            let statement = statement_from_client(text.into(), Timestamp::from_millis(0));
            statement.topic.map(|topic| (topic.subject, topic.value))
        };
        let berlin = Some(("user".to_owned(), "berlin".to_owned()));

        for (text, expected) in [
            ("I live in Berlin.", berlin.clone()),
            ("I live in Berlin", berlin),
            (
                "I live in Berlin with two cats.",
                Some(("user".to_owned(), "berlin with two cats".to_owned())),
            ),
            (
                "I live in Berlin. The tram to the harbour is often late, and nobody knows why.",
                None,
            ),
            ("# Notes\n\nI live in Berlin.", None),
            ("I live in Berlin. My name is Anna.", None),
            ("Äpfel.", None),
        ] {
            assert_eq!(topic(text), expected, "{text}");
        }
    }
}
