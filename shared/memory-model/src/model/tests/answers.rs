//! Tests of whole answers.

use domain::{MemoryKind, Statement, Trust};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{check_first_proposal, document_source, only_request, passage, proposal, user_source};
use crate::model::outcome::combine_with;
use crate::model::{
    CheckedAnswer, ExtractorKind, FallbackReason, ModelAnswerError, build_requests, validate_answer,
};
use extraction::{Role, SourceText};

#[test]
fn the_place_the_speaker_the_time_and_the_trust_come_from_the_source() {
    let source = SourceText {
        passages: vec![
            passage("Good evening!", 10, Role::User, Some("Ida")),
            passage(
                "I have a dentist appointment tomorrow. It is at Nordby Clinic.",
                30,
                Role::User,
                Some("Ida"),
            ),
            passage("Noted: Ida sees a dentist.", 100, Role::Assistant, None),
        ],
        trust: Trust::User,
    };

    let answer = json!({ "id": "mem_1", "containerTag": "other", "memories": [
        proposal("Ida sees a dentist.", json!({ "sentences": [4], "confidence": 1, "speaker": "Zoe" })),
        proposal("Ida has a dentist appointment at Nordby Clinic on 16 April 2025.", json!({
            "sentences": [3, 2], "kind": "plan", "static": true, "confidence": 7, "speaker": "ida",
            "eventDate": "2025-04-16", "forgetAfter": "2025-04-16", "trust": "client", "start": 0,
            "id": "mem_2", "containerTag": "other", "updates": ["mem_3"], "metadata": { "admin": true },
            "topic": { "subject": "Ida", "attribute": "Dentist  appointment", "value": "tomorrow", "negated": false },
        })),
    ]});

    let request = only_request(&source, None);
    let found = validate_answer(&answer.to_string(), &request, &source).unwrap();
    let expected = json!([
        {
            "text": "Ida has a dentist appointment at Nordby Clinic on 16 April 2025.", "start": 30, "end": 92,
            "kind": "plan", "confidence": 0.95, "trust": "user", "speaker": "Ida",
            "said_at": "2025-04-15T20:00:00.000Z",
            "event": { "from": "2025-04-16T00:00:00.000Z", "to": "2025-04-16T23:59:59.999Z" },
            "forget_after": "2025-04-16T23:59:59.999Z", "forget_reason": "it is over",
            "topic": { "subject": "ida", "attribute": "dentist appointment", "value": "tomorrow" },
        },
        {
            "text": "Ida sees a dentist.", "start": 100, "end": 126, "kind": "fact", "confidence": 0.6,
            "trust": "assistant", "said_at": "2025-04-15T20:00:00.000Z",
        },
    ]);

    let round = |value: Value| {
        let statements: Vec<Statement> = serde_json::from_value(value).unwrap();
        statements
    };

    assert_eq!(found.statements, round(expected));
}

#[test]
fn an_answer_is_read_in_any_wrapping_or_is_garbage() {
    let source = user_source("I live in Lund.");
    let request = only_request(&source, None);
    let good = json!({ "memories": [proposal("User lives in Lund.", json!({}))] }).to_string();
    let short = r#"{"memories":[{"text":"User lives in Lund.","sentences":[1],"kind":"fact"}]}"#;
    let mixed = json!({ "memories": [7, proposal("User lives in Lund.", json!({}))] }).to_string();
    let twice =
        json!({ "memories": vec![proposal("User lives in Lund.", json!({})); 2] }).to_string();
    let many =
        json!({ "memories": vec![proposal("User lives in Lund.", json!({})); 5_000] }).to_string();

    for (answer, expected) in [
        (good.clone(), Ok(1)),
        (short.to_owned(), Ok(1)),
        (mixed, Ok(1)),
        (twice, Ok(1)),
        (many, Ok(1)),
        (format!("```json\n{good}\n```"), Ok(1)),
        (
            format!("<think>{{maybe}}</think>Here it is:\n{good}"),
            Ok(1),
        ),
        (r#"{"memories":[]}"#.to_owned(), Ok(0)),
        (String::new(), Err(ModelAnswerError::NotJson)),
        ("}{".to_owned(), Err(ModelAnswerError::NotJson)),
        (
            good[..good.len() - 2].to_owned(),
            Err(ModelAnswerError::NotJson),
        ),
        (
            "[".repeat(100_000) + "{}",
            Err(ModelAnswerError::WrongShape),
        ),
        (
            "{\"memories\":".repeat(100_000) + "}",
            Err(ModelAnswerError::NotJson),
        ),
        (
            r#"{"facts":[]}"#.to_owned(),
            Err(ModelAnswerError::WrongShape),
        ),
        (
            r#"{"memories":{}}"#.to_owned(),
            Err(ModelAnswerError::WrongShape),
        ),
        (
            r#"{"memories":["User lives in Lund."]}"#.to_owned(),
            Err(ModelAnswerError::WrongShape),
        ),
        (
            good.replace("Lund", "Malmö"),
            Err(ModelAnswerError::Unsupported),
        ),
    ] {
        let found = validate_answer(&answer, &request, &source).map(|found| found.statements.len());
        assert_eq!(
            found,
            expected,
            "{}",
            answer.chars().take(80).collect::<String>()
        );
    }
}

#[test]
fn the_first_answer_has_the_summary_whatever_its_memories_are() {
    let text = "Mara moved to Lisbon in 2021. Her sister Ines repairs violins there. ";
    let good = json!("Mara moved to Lisbon, where Ines repairs violins.");
    let moved = || proposal("Mara moved to Lisbon in 2021.", json!({}));

    let source = document_source(text, Trust::Document);
    let request = only_request(&source, None);
    for (summary, is_kept) in [
        (good.clone(), true),
        (json!("Zoe flies jets over Oslo."), false),
        (json!(["Mara moved to Lisbon."]), false),
        (json!({ "text": "Mara moved to Lisbon." }), false),
        (json!(7), false),
        (Value::Null, false),
    ] {
        for memories in [vec![], vec![moved()]] {
            let count = memories.len();
            let answer = json!({ "memories": memories, "summary": summary });
            let found = validate_answer(&answer.to_string(), &request, &source).unwrap();
            assert_eq!(found.summary.is_some(), is_kept, "{answer}");
            assert_eq!(found.statements.len(), count, "{answer}");
        }
    }

    // An answer whose memories are garbage is asked for again.
    let answer = json!({ "memories": ["Mara"], "summary": good });
    assert!(validate_answer(&answer.to_string(), &request, &source).is_err());

    let long = text.repeat(400);
    let source = document_source(&long, Trust::Document);
    let requests = build_requests(&source, None, &[]);
    let answer = json!({ "memories": [], "summary": good }).to_string();
    let answers = requests.iter().map(|request| {
        (
            request,
            Ok(validate_answer(&answer, request, &source).unwrap()),
        )
    });
    let answers: Vec<_> = answers.collect();
    let summaries = answers
        .iter()
        .map(|(_, answer)| answer.as_ref().unwrap().summary.is_some());
    assert!(requests.len() > 1 && summaries.eq((0..requests.len()).map(|index| index == 0)));
    assert_eq!(
        combine_with(answers, Vec::new).summary.as_deref(),
        good.as_str()
    );
}

#[test]
fn the_built_in_extractor_reads_what_the_model_did_not_answer() {
    let text: String = (0..600)
        .map(|i| format!("Crate {i} holds lamps of some order. "))
        .collect();
    let source = document_source(&text, Trust::Document);
    let requests = build_requests(&source, None, &[]);
    assert!(requests.len() >= 2);
    let statement = |start: usize, text: &str| Statement {
        text: text.to_owned(),
        ..check_first_proposal(
            &user_source("I live in Lund."),
            proposal("User lives in Lund.", json!({})),
        )
        .map(|found| Statement {
            start,
            end: start + 10,
            ..found
        })
        .unwrap()
    };

    let second = requests[1].covered_chars().start;
    let built_in = || vec![statement(5, "rule"), statement(second, "rule")];
    let model = || {
        Ok(CheckedAnswer {
            statements: vec![statement(40, "model")],
            summary: None,
        })
    };
    let run = |answers: [Result<CheckedAnswer, FallbackReason>; 2]| {
        let found = combine_with(requests.iter().zip(answers).collect(), built_in);
        let texts: Vec<_> = found
            .statements
            .iter()
            .map(|s| (s.start, s.text.clone()))
            .collect();
        (
            texts,
            found.extractor,
            found.fallback.map(|fallback| fallback.to_string()),
        )
    };

    let (rule, asked) = ("rule".to_owned(), "model".to_owned());
    assert_eq!(
        run([model(), model()]),
        (vec![(40, asked.clone())], ExtractorKind::Model, None)
    );
    assert_eq!(
        run([model(), Err(FallbackReason::TimedOut)]),
        (
            vec![(40, asked), (second, rule.clone())],
            ExtractorKind::Both,
            Some("the model timed out".into())
        )
    );
    assert_eq!(
        run([
            Err(FallbackReason::NotUsable),
            Err(FallbackReason::Refused(401))
        ]),
        (
            vec![(5, rule.clone()), (second, rule)],
            ExtractorKind::BuiltIn,
            Some("the model's answer was not usable".into())
        )
    );
}

proptest! {
    #[test]
    fn no_answer_makes_a_statement_outside_of_its_source(
        text in "([A-Za-zäß一二三не0-9'’.!<`#|\n -]|not |\\. ){0,200}",
        proposed in "\\PC{0,60}",
        numbers in proptest::collection::vec(-2_i64..9, 0..4),
        date in "\\PC{0,12}|20[0-9]{2}-[01][0-9]-[0-3][0-9](/|T|Z|-)?",
    ) {
        let mut source = document_source(&text, Trust::Document);
        source.passages[0].start_char = 17;
        let length = text.chars().count();

        for request in build_requests(&source, Some(&proposed), &[]) {
            for said in [proposed.as_str(), text.as_str(), date.as_str()] {
                let fields = json!({ "sentences": numbers, "eventDate": date, "forgetAfter": date });
                let answer = json!({ "memories": [proposal(said, fields)] }).to_string();
                let found = validate_answer(&answer, &request, &source).unwrap_or_default();
                for found in found.statements {
                    prop_assert!(17 <= found.start && found.start < found.end && found.end <= 17 + length);
                    prop_assert!(found.trust == Trust::Document && found.kind == MemoryKind::Fact);
                }
            }
            prop_assert!(validate_answer(&proposed, &request, &source).is_err());
        }
    }
}
