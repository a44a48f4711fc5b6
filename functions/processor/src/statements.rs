//! Extracts the statements of a document's text, by the operator's model if there is one, and by
//! rules.

use std::collections::HashMap;
use std::time::Duration;

use domain::document::StatementsRef;
use domain::{
    Authorship, BodyForm, Document, Provenance, SourceMedium, Statement, StatementSet, TaskType,
    Timestamp,
};
use extraction::{Passage, Role, SourceText, TextOrigin, parse_person_name};
use futures::{StreamExt, stream};
use memory_model::model::{
    ExtractionOutcome, ExtractorKind, FallbackReason, ModelRequest, build_requests,
    combine_answers, validate_answer,
};
use remote::{AnswerError, ModelClient, Question};
use service::CLIENT_EXTRACTOR;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::analysis::ProcessingContext;
use crate::provenance::mail_sender_of;
use crate::read::ExtractedText;

/// The time that the model has for one part of a document, including attempts and pauses.
const PART_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that the model has for the whole document. Even after a slow page and a slow parser, it
/// ends before the worker's time does.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(45);
/// The number of parts of a document that are sent to the model at a time.
const PARALLEL_QUESTIONS: usize = 4;

/// The most statements of a document, because every reader of its container holds them in memory.
const MAX_STATEMENTS: usize = 20_000;

/// The statements to store, with a record of their extraction.
pub(crate) struct ExtractedStatements {
    pub(crate) statements: Vec<Statement>,
    pub(crate) statements_ref: StatementsRef,
    /// The summary that the model wrote in the same answer.
    pub(crate) summary: Option<String>,
}

/// Extracts the statements of a document. Returns `None` for a document that is processed into
/// chunks only, or that lies outside the folders from which its container learns. A statement that
/// `previous` has word for word keeps the time at which it was first said, so that processing a
/// document again makes nothing newer.
pub(crate) async fn extract_statements(
    models: &ModelClient,
    document: &Document,
    text: &ExtractedText,
    authorship: &Authorship,
    context: &ProcessingContext,
    previous: Option<&StatementSet>,
) -> Option<ExtractedStatements> {
    if document.task_type == TaskType::Superrag {
        return None;
    }

    if let Some(container) = &context.container
        && !container.makes_memories_from(document.filepath.as_deref())
    {
        return None;
    }

    if let Some(extracted) = written_memories(document, previous) {
        return Some(extracted);
    }

    let source = build_source(document, text, authorship);
    let outcome = if models.reads_memories() {
        let container = context.container.as_ref();
        let entity_context = container.and_then(|found| found.entity_context.as_deref());
        let guidance = context.settings.extraction_guidance(entity_context);
        ask_model(models, &source, guidance.as_deref()).await
    } else {
        ExtractionOutcome::built_in(&source)
    };

    if let Some(reason) = outcome.fallback {
        let id = &document.id;
        warn!(document.id = %id, "the built-in rules read document {id}, because {reason}");
    }

    let (mut statements, summary) = (outcome.statements, outcome.summary);
    let is_truncated = statements.len() > MAX_STATEMENTS;
    statements.truncate(MAX_STATEMENTS);
    if let Some(previous) = previous
        && document.body.form != BodyForm::Conversation
        && document.document_date.is_none()
    {
        keep_first_times(&mut statements, previous, source_time(document));
    }

    let fallback_reason = match outcome.fallback {
        Some(reason) => Some(reason.to_string()),
        None if is_truncated => {
            let reason = format!("only the first {MAX_STATEMENTS} statements are kept");
            Some(reason)
        }
        None => None,
    };
    let extractor = extractor_name(outcome.extractor);
    let statements_ref = StatementsRef::new(&statements, extractor, fallback_reason);

    Some(ExtractedStatements {
        statements,
        statements_ref,
        summary,
    })
}

/// Dates each statement that is known word for word at the time at which it was first said. Turns
/// that have a time of their own, which is not `sent_at`, keep it.
fn keep_first_times(statements: &mut [Statement], previous: &StatementSet, sent_at: Timestamp) {
    let mut said_at_by_text: HashMap<&str, Timestamp> = HashMap::new();
    for known in &previous.statements {
        let first = said_at_by_text.entry(&known.text).or_insert(known.said_at);
        *first = known.said_at.min(*first);
    }

    for statement in statements {
        if statement.said_at == sent_at
            && let Some(said_at) = said_at_by_text.get(statement.text.as_str())
        {
            statement.said_at = *said_at;
        }
    }
}

/// Returns the statements of a document that a client wrote as memories, if its text has not
/// changed since. They cannot be found in the text, so they are kept. If the document has been
/// given a date since, they take it.
fn written_memories(
    document: &Document,
    previous: Option<&StatementSet>,
) -> Option<ExtractedStatements> {
    let indexed = document.indexed.as_ref()?;
    let statements_ref = indexed.statements_ref.as_ref()?;
    if indexed.body != document.body.blob || statements_ref.extractor != CLIENT_EXTRACTOR {
        return None;
    }

    let mut statements = previous?.statements.clone();
    if let Some(date) = document.document_date {
        for statement in &mut statements {
            statement.said_at = date;
        }
    }

    Some(ExtractedStatements {
        statements,
        statements_ref: StatementsRef {
            statements: None,
            ..statements_ref.clone()
        },
        summary: None,
    })
}

/// Returns the value of `StatementsRef::extractor`.
fn extractor_name(extractor: ExtractorKind) -> &'static str {
    match extractor {
        ExtractorKind::BuiltIn => "builtin",
        ExtractorKind::Model => "model",
        ExtractorKind::Both => "model+builtin",
    }
}

/// Asks the model about every part of the source. The model sees no memories of other documents,
/// because the statements of a document must not depend on when it was processed.
async fn ask_model(
    models: &ModelClient,
    source: &SourceText<'_>,
    guidance: Option<&str>,
) -> ExtractionOutcome {
    let requests = build_requests(source, guidance, &[]);
    let deadline = Instant::now() + DOCUMENT_TIMEOUT;
    let questions = requests
        .iter()
        .map(|request: &ModelRequest<'_>| async move {
            let question = Question {
                instructions: request.instructions,
                text: &request.text,
                schema: &request.answer_schema(),
                name: "memories",
            };
            let answer = models.ask_question(&question, PART_TIMEOUT, |reply| {
                validate_answer(reply, request, source)
            });
            let answer = match timeout_at(deadline, answer).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) => Err(fallback_reason(&error)),
                Err(_) => Err(FallbackReason::TimedOut),
            };
            (request, answer)
        });

    let answers = stream::iter(questions.collect::<Vec<_>>())
        .buffered(PARALLEL_QUESTIONS)
        .collect()
        .await;
    combine_answers(source, answers)
}

fn fallback_reason(error: &AnswerError) -> FallbackReason {
    match error {
        AnswerError::NotConfigured { .. } => FallbackReason::NotConfigured,
        AnswerError::TimedOut => FallbackReason::TimedOut,
        AnswerError::Unavailable => FallbackReason::Unavailable,
        AnswerError::Refused(status) => FallbackReason::Refused(*status),
        AnswerError::Unusable => FallbackReason::NotUsable,
    }
}

/// Returns the time at which the words of a document were written, unless a turn has its own.
fn source_time(document: &Document) -> Timestamp {
    document
        .document_date
        .or(document.body.sent_at)
        .unwrap_or(document.created_at)
}

/// Prepares the text for the extractor: a conversation is divided into its turns, and quoted text
/// is separated unless the caller has set its provenance.
pub(crate) fn build_source<'a>(
    document: &Document,
    text: &'a ExtractedText,
    authorship: &Authorship,
) -> SourceText<'a> {
    let said_at = source_time(document);
    let trust = authorship.trust;
    if text.turns.is_empty() {
        let mail_sender = mail_sender_of(document, text);
        let speaker = match mail_sender {
            Some(Some(sender)) if !trust.is_own_words() => parse_person_name(sender),
            _ => None,
        };
        // The headers of a trusted mail are not the user's words, and would make it look like
        // somebody else's mail.
        let headers = match mail_sender {
            Some(_) if trust.is_own_words() => text.text.find("\n\n").unwrap_or_default(),
            _ => 0,
        };
        let (start, words) = (text.text[..headers].chars().count(), &text.text[headers..]);
        let body_passage = Passage {
            text: words,
            start_char: start,
            role: Role::Author,
            speaker,
            origin: None,
            said_at,
        };
        let source = SourceText {
            passages: vec![body_passage],
            trust,
        };
        return if document.provenance.is_some() {
            source
        } else {
            source.divided()
        };
    }

    let mut passages = Vec::with_capacity(text.turns.len());
    let mut characters = text
        .text
        .char_indices()
        .map(|(at, _)| at)
        .enumerate()
        .peekable();
    let mut byte_of = |character: usize| {
        while characters
            .next_if(|(index, _)| *index < character)
            .is_some()
        {}
        match characters.peek() {
            Some((_, at)) => *at,
            None => text.text.len(),
        }
    };

    for (turn, range) in &text.turns {
        let begin = byte_of(range.start);
        let paragraph = text.text.get(begin..byte_of(range.end)).unwrap_or_default();
        // A paragraph begins with the name of the speaker.
        let (name, words) = paragraph.split_once(": ").unwrap_or(("", paragraph));
        let prefix_chars = if name.is_empty() {
            0
        } else {
            name.chars().count() + 2
        };
        let declared_provenance = turn.provenance.or(document.provenance);
        let is_external = turn.provenance == Some(Provenance::External);
        let passage = Passage {
            text: words,
            start_char: range.start + prefix_chars,
            role: if is_external {
                Role::Author
            } else {
                speaker_role(&turn.role, turn.name.as_deref())
            },
            speaker: turn.name.as_deref(),
            origin: is_external.then_some(TextOrigin {
                medium: match document.body.form {
                    BodyForm::Conversation => SourceMedium::Paste,
                    _ => SourceMedium::Transcript,
                },
                name: turn.name.as_deref(),
            }),
            said_at: turn.at.unwrap_or(said_at),
        };
        let turn_source = SourceText {
            passages: vec![passage],
            trust,
        };
        passages.extend(if declared_provenance.is_some() {
            turn_source.passages
        } else {
            turn_source.divided().passages
        });
    }

    SourceText { passages, trust }
}

/// Returns the role of a speaker. Both sides of a chat between people come as `user` and
/// `assistant`, but an assistant with a person's name is a user.
fn speaker_role(role: &str, name: Option<&str>) -> Role {
    let is_machine = |name: &str| {
        let name = name.to_lowercase();
        [
            "assistant",
            "ai",
            "agent",
            "bot",
            "system",
            "tool",
            "model",
            "gpt",
            "claude",
        ]
        .iter()
        .any(|word| {
            name.split(|letter: char| !letter.is_alphanumeric())
                .any(|part| part == *word)
        })
    };
    match (role, name) {
        ("user", _) => Role::User,
        ("assistant", Some(name)) if !is_machine(name) => Role::User,
        ("assistant", _) => Role::Assistant,
        _ => Role::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(text: &str, day: i64) -> Statement {
        let statement = json!({
            "text": text, "start": 0, "end": 1, "kind": "fact", "confidence": 0.8,
            "trust": "user", "said_at": Timestamp::from_millis(day * 86_400_000),
        });
        serde_json::from_value(statement).expect("a statement")
    }

    #[test]
    fn a_sentence_keeps_the_first_of_its_times() {
        let previous = StatementSet {
            v: StatementSet::VERSION,
            statements: vec![
                said("I tango.", 2),
                said("I tango.", 1),
                said("I tango.", 3),
                said("I sing.", 4),
            ],
        };
        let sent_at = said("", 5).said_at;
        let mut statements = [
            said("I tango.", 5),
            said("I tango.", 3),
            said("I sing.", 5),
            said("I swim.", 5),
        ];

        keep_first_times(&mut statements, &previous, sent_at);
        let times = statements.map(|statement| statement.said_at);
        assert_eq!(times, [1, 3, 4, 5].map(|day| said("", day).said_at));
    }
}
