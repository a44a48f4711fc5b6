//! Memories that clients write directly.

use domain::{MemoryKind, Statement, Timestamp, Topic, Trust};

use extraction::{Passage, Role, SourceText, extract_statements};

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
        metadata: serde_json::Map::new(),
    }
}

fn parse_topic(text: &str, said_at: Timestamp) -> (MemoryKind, Option<Topic>) {
    let passage = Passage {
        text,
        start_char: 0,
        role: Role::User,
        speaker: None,
        origin: None,
        said_at,
    };

    let found = extract_statements(&SourceText {
        passages: vec![passage],
        trust: Trust::Client,
    });

    // One sentence among several must not decide which memory the whole text replaces.
    match found.as_slice() {
        [only] if only.start == 0 && only.end + 1 >= text.chars().count() => {
            (only.kind, only.topic.clone())
        }
        _ => (MemoryKind::Fact, None),
    }
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
