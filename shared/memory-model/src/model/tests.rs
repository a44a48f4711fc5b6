//! Tests of the requests to a model and of the treatment of every kind of answer. All sources are
//! invented.

mod answers;
mod asking;
mod grounding;

use domain::{Statement, Timestamp, Trust};
use serde_json::{Value, json};

use super::answer::Proposal;
use super::validate::{ProposalRejection, check_proposal};
use super::{ModelRequest, build_requests};
use extraction::{Passage, Role, SourceText};

fn time(text: &str) -> Timestamp {
    Timestamp::parse("time", text).unwrap()
}

fn passage<'a>(text: &'a str, start: usize, role: Role, speaker: Option<&'a str>) -> Passage<'a> {
    Passage {
        text,
        start_char: start,
        role,
        speaker,
        origin: None,
        said_at: time("2025-04-15T20:00:00Z"),
    }
}

fn user_source(text: &str) -> SourceText<'_> {
    SourceText {
        passages: vec![passage(text, 0, Role::User, None)],
        trust: Trust::User,
    }
}

fn document_source(text: &str, trust: Trust) -> SourceText<'_> {
    SourceText {
        passages: vec![passage(text, 0, Role::Author, None)],
        trust,
    }
}

fn only_request<'a>(source: &SourceText<'a>, guidance: Option<&str>) -> ModelRequest<'a> {
    let mut requests = build_requests(source, guidance, &[]);
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

/// Returns a proposal that cites the first sentence, with `fields` in place of the defaults.
fn proposal(text: &str, fields: Value) -> Value {
    let mut proposal = json!({
        "text": text, "sentences": [1], "kind": "fact", "static": false, "confidence": 0.9,
        "speaker": null, "eventDate": null, "forgetAfter": null, "topic": null,
    });
    for (name, value) in fields.as_object().unwrap() {
        proposal[name] = value.clone();
    }
    proposal
}

fn check_first_proposal(
    source: &SourceText<'_>,
    proposal: Value,
) -> Result<Statement, ProposalRejection> {
    let proposal: Proposal = serde_json::from_value(proposal).unwrap();
    check_proposal(
        &proposal,
        &only_request(
            source,
            Some("Recipes of Tilda, who owns a bakery in Malmö with 9 ovens."),
        ),
        source,
    )
}
