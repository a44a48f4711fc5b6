//! Statements from text, by a model: what it is asked ([`prompt`]), which of its proposals hold ([`validate`]), and what
//! becomes of a document when it fails ([`outcome`]).
//!
//! A model proposes and never decides. Whoever wrote the source may have written it for the model, so nothing that it
//! answers is taken as it is: a proposal has to cite sentences that were shown, say what those say, and gets its place,
//! speaker, time and trust from them. The answer has no field for an id, a container or an action, so the worst that an
//! obeyed injection can do is a statement about its own document, as little trusted as that, and gone with it.

mod addressed;
mod answer;
mod dates;
mod grounding;
mod outcome;
mod polarity;
mod prompt;
mod validate;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use addressed::addresses_a_model;
pub use answer::{Garbage, schema};
pub use outcome::{Extractor, Fallback, Outcome, outcome};
pub use prompt::{Known, Request, prompt};
pub use validate::validate;
