//! Extraction of statements by a model, with a summary of the source in the same answer: the
//! requests to it ([`prompt`]), the check of its proposals ([`validate`]) and of its summary
//! ([`summary`]), and the result for a document, including the fallback when the model fails
//! ([`outcome`]).
//!
//! A model proposes and never decides. The author of the source may have written it for the model,
//! so no part of an answer is taken on trust. A proposal must cite sentences that were shown and
//! say what they say; its place, speaker, time and trust are taken from them. The answer has no
//! field for an id, a container or an edit. An injection that the model obeys can therefore do no
//! more than add a statement about its own document, which has the trust of that document and
//! disappears with it. A summary is a plain text about its own document as well. It has no more
//! effect than the sentences that are chosen without a model, which stand in for one that is
//! rejected.

mod answer;
mod dates;
mod grounding;
mod outcome;
mod polarity;
mod prompt;
mod summary;
mod validate;
mod words;

#[cfg(test)]
mod tests;

pub use answer::ModelAnswerError;
pub use outcome::{ExtractionOutcome, ExtractorKind, FallbackReason, combine_answers};
pub use prompt::{KnownMemory, ModelRequest, build_requests};
pub use validate::{CheckedAnswer, validate_answer};
