use super::*;

fn redact_by_default(value: &Value) -> Value {
    redact_value(value, LogContentMode::Redacted, false).unwrap()
}

#[test]
fn by_default_a_request_shows_what_it_was_and_not_what_it_was_about() {
    let cases = [
        (
            json!({"content": "My PIN is 1234.", "containerTag": "user_42", "customId": "note-17", "q": "who?"}),
            json!({
                "content": "[15 characters]", "containerTag": "user_42", "customId": "note-17",
                "q": "[4 characters]",
            }),
        ),
        (
            json!({"metadata": {"status": "divorced", "id": "A-1", "count": 3, "tags": ["x"], "born on": "1980"}}),
            json!({"metadata": {
                "status": "[8 characters]", "id": "[3 characters]", "count": 3, "tags": ["[1 characters]"],
                "[7 characters]": "[4 characters]",
            }}),
        ),
        (
            json!({"limit": 10, "rerank": true, "filepath": "/private/a.md", "documentDate": "2025-01-02"}),
            json!({"limit": 10, "rerank": true, "filepath": "[13 characters]", "documentDate": "2025-01-02"}),
        ),
        (
            json!({"filters": {"AND": [{"key": "type", "value": "letter", "filterType": "metadata"}]}}),
            json!({"filters": {"AND": [{
                "key": "[4 characters]", "value": "[6 characters]", "filterType": "[8 characters]",
            }]}}),
        ),
        (
            json!({"clientSecret": "abc", "apiKey": {"a": 1}, "password": null, "type": "two words"}),
            json!({"clientSecret": "[secret]", "apiKey": "[secret]", "password": null, "type": "[9 characters]"}),
        ),
        (
            json!({"id": "ada@example.com", "status": ["done", "failed"]}),
            json!({"id": "[email]", "status": ["done", "failed"]}),
        ),
    ];
    for (sent, expected) in cases {
        assert_eq!(redact_by_default(&sent), expected);
    }
}

#[test]
fn full_keeps_text_but_no_credentials_and_off_keeps_nothing() {
    let sent = json!({"content": "Write to ada@example.com with sk-abcdefghijklmnop1234.", "token": "x", "n": 1});
    let full = redact_value(&sent, LogContentMode::Full, false).unwrap();
    assert_eq!(
        full,
        json!({"content": "Write to [email] with [secret]", "token": "[secret]", "n": 1})
    );

    let long = redact_value(
        &json!({"content": "wörter ".repeat(100)}),
        LogContentMode::Full,
        false,
    )
    .unwrap();
    assert_eq!(
        long["content"].as_str().unwrap().chars().count(),
        MAX_CHARS + 1
    );

    assert_eq!(redact_value(&sent, LogContentMode::Off, true), None);
}

#[test]
fn a_refusal_keeps_its_sentence_without_what_it_quotes() {
    let error_text = |error: &str| {
        let response = json!({"error": error, "type": "ValidationError", "content": "words"});
        let redacted = redact_value(&response, LogContentMode::Redacted, true).unwrap();
        assert_eq!(redacted["content"], "[5 characters]");
        redacted["error"].as_str().unwrap().to_owned()
    };

    assert_eq!(error_text("limit: 1 to 100"), "limit: 1 to 100");
    assert_eq!(
        error_text(r#"content: invalid type: string "my \"own\" words", expected u8"#),
        r#"content: invalid type: string "…", expected u8"#
    );
    assert_eq!(
        error_text("view: unknown variant `my ` words`, expected `active` or `all`"),
        "view: unknown variant `…`, expected `active` or `all`"
    );
    assert_eq!(
        error_text("the body is not as expected: unknown field `my words`, there are no fields"),
        "the body is not as expected: unknown field `…`, there are no fields"
    );
    assert_eq!(
        error_text("buckets.my own words: invalid type: integer `5`, expected a map"),
        "buckets.[12 characters]: invalid type: integer `5`, expected a map"
    );
    assert_eq!(
        error_text("documents[3].metadata: too long"),
        "documents[3].metadata: too long"
    );
    let issues = json!({"issues": [{"path": ["buckets", "my own words"], "message": "too long"}]});
    assert_eq!(
        redact_value(&issues, LogContentMode::Redacted, true).unwrap(),
        json!({"issues": [{"path": ["buckets", "[12 characters]"], "message": "too long"}]})
    );
    // Only error answers contain such sentences.
    assert_eq!(
        redact_by_default(&json!({"error": "words"})),
        json!({"error": "[5 characters]"})
    );
}

#[test]
fn whatever_is_sent_what_is_kept_is_small() {
    let mut deep = json!("x");
    for _ in 0..60 {
        deep = json!({"status": [deep]});
    }

    let wide: Map<String, Value> = (0..500)
        .map(|i| (format!("key{i}"), json!("v".repeat(200))))
        .collect();
    let names: Map<String, Value> = (0..30)
        .map(|i| (format!("{i}{}", "n".repeat(60)), json!([1, 2])))
        .collect();
    let ids: Vec<String> = (0..600)
        .map(|i| format!("{i}-{}", "i".repeat(250)))
        .collect();
    for value in [
        deep,
        json!(wide),
        json!({"metadata": names, "status": {"a": names, "b": names}}),
        json!({"ids": ids, "customId": "c".repeat(250), "containerTags": ids, "documentIds": ids}),
        json!({"documents": vec![json!({"content": "x".repeat(5000), "metadata": wide}); 600]}),
        json!({"content": "🦀".repeat(1_000_000)}),
        json!([[[[[[[[[1]]]]]]]]]),
    ] {
        for (mode, max) in [
            (LogContentMode::Redacted, MAX_REDACTED_BYTES),
            (LogContentMode::Full, MAX_BYTES),
        ] {
            let redacted = redact_value(&value, mode, false).unwrap();
            assert!(
                json_bytes(&redacted) <= max,
                "{} bytes",
                json_bytes(&redacted)
            );
        }
    }

    let redacted =
        redact_by_default(&json!({"ids": (0..12).map(|i| format!("id-{i}")).collect::<Vec<_>>()}));
    assert_eq!(redacted["ids"].as_array().unwrap().len(), 11);
    assert_eq!(redacted["ids"][10], "[2 more]");
}
