//! The statements of a document, with the extractor that found them and the reason for a fallback.

use std::fmt;

use domain::Statement;

use extraction::{SourceText, extract_statements};

use super::prompt::ModelRequest;
use super::validate::CheckedAnswer;

/// The extractor that found the statements of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtractorKind {
    /// The rules of [`extract_statements`].
    BuiltIn,
    /// The operator's model.
    Model,
    /// The model, and the rules for the parts that it did not answer.
    Both,
}

/// The reason why the built-in extractor was used. Its message contains nothing of the source, so
/// it may be logged and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackReason {
    /// The model did not answer in time.
    TimedOut,
    /// The endpoint could not be reached, was too busy, or closed the connection early.
    Unavailable,
    /// The endpoint refused the request with a status.
    Refused(u16),
    /// The answers could not be read, or the source supported none of them.
    NotUsable,
    /// The settings of the endpoint are invalid.
    NotConfigured,
}

impl fmt::Display for FallbackReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("the model timed out"),
            Self::Unavailable => f.write_str("the model endpoint did not answer"),
            Self::Refused(status) => write!(
                f,
                "the model endpoint refused the request with status {status}"
            ),
            Self::NotUsable => f.write_str("the model's answer was not usable"),
            Self::NotConfigured => f.write_str("the model endpoint's settings are not usable"),
        }
    }
}

/// The statements of a document, with the extractor that found them.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractionOutcome {
    /// The statements, in the order of the text.
    pub statements: Vec<Statement>,
    /// The extractor that found them.
    pub extractor: ExtractorKind,
    /// The reason why the built-in extractor was needed; the first one of several.
    pub fallback: Option<FallbackReason>,
    /// The summary that the model wrote.
    pub summary: Option<String>,
}

impl ExtractionOutcome {
    /// Returns the statements that the rules alone find, for sources without a model and for those
    /// with nothing to ask a model about.
    pub fn built_in(source: &SourceText<'_>) -> Self {
        Self {
            statements: extract_statements(source),
            extractor: ExtractorKind::BuiltIn,
            fallback: None,
            summary: None,
        }
    }
}

/// Combines the answers to all requests of a source.
///
/// For a part without an answer, the built-in extractor reads the source, so a document never ends
/// up without memories because a model failed.
pub fn combine_answers(
    source: &SourceText<'_>,
    answers: Vec<(&ModelRequest<'_>, Result<CheckedAnswer, FallbackReason>)>,
) -> ExtractionOutcome {
    combine_with(answers, || extract_statements(source))
}

pub(super) fn combine_with(
    answers: Vec<(&ModelRequest<'_>, Result<CheckedAnswer, FallbackReason>)>,
    built_in: impl FnOnce() -> Vec<Statement>,
) -> ExtractionOutcome {
    let fallback = answers
        .iter()
        .find_map(|(_, answer)| answer.as_ref().err().copied());
    let has_answer = answers.iter().any(|(_, answer)| answer.is_ok());
    let (mut statements, mut missing_ranges) = (Vec::new(), Vec::new());
    let mut summary = None;
    for (request, answer) in answers {
        match answer {
            Ok(found) => {
                statements.extend(found.statements);
                summary = summary.or(found.summary);
            }
            Err(_) => missing_ranges.push(request.covered_chars()),
        }
    }

    if !missing_ranges.is_empty() {
        let found = built_in().into_iter();
        statements.extend(found.filter(|found| {
            missing_ranges
                .iter()
                .any(|part| part.contains(&found.start))
        }));
    }

    let extractor = match (has_answer, fallback) {
        (_, None) => ExtractorKind::Model,
        (true, Some(_)) => ExtractorKind::Both,
        (false, Some(_)) => ExtractorKind::BuiltIn,
    };

    ExtractionOutcome {
        statements: sort_and_dedup(statements),
        extractor,
        fallback,
        summary,
    }
}

/// Sorts statements by position, and removes duplicates that two requests found in the sentences
/// that both had shown.
pub(super) fn sort_and_dedup(mut statements: Vec<Statement>) -> Vec<Statement> {
    statements.sort_by_key(|statement| (statement.start, statement.end));
    let mut unique: Vec<Statement> = Vec::with_capacity(statements.len());
    for statement in statements {
        let mut preceding = unique.iter().rev().take(32);
        if !preceding.any(|other| other.end > statement.start && other.text == statement.text) {
            unique.push(statement);
        }
    }
    unique
}
