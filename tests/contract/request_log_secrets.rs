//! Credentials that people paste into content, names and questions never get into the log, neither
//! stored nor printed.

use domain::settings::LogContentMode;
use serde_json::{Value, json};
use testkit::LogCapture;
use tracing::Level;

use crate::client::OrgClient;
use crate::request_log::{read_log, set_log_content};

#[path = "../../shared/edge/src/credentials/tests/samples.rs"]
mod samples;

/// Returns requests with a text in every place that allows it. Refused requests are in the log as
/// well.
fn requests_with_text(text: &str) -> Vec<(&'static str, String, Value)> {
    // The text is also sent as a name if it is a valid one.
    let is_name = text.len() <= 90
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c));
    let plain = if is_name {
        text.to_owned()
    } else {
        "name".to_owned()
    };
    let note = json!({"role": "user", "content": text, "name": text});

    vec![
        (
            "POST",
            "/v3/documents".into(),
            json!({
                "content": format!("Remember: {text}"), "containerTag": "box", "filepath": format!("/{plain}"),
                "metadata": {"note": text, "id": text, plain.clone(): "x"}, "entityContext": text,
            }),
        ),
        (
            "POST",
            "/v3/documents".into(),
            json!({"content": "Words.", "customId": plain, "containerTag": "box"}),
        ),
        (
            "POST",
            "/v3/documents".into(),
            json!({"content": 1, "taskType": text, text: text, "id": text}),
        ),
        (
            "POST",
            "/v3/documents/batch".into(),
            json!({"documents": [{"content": text, "status": text}, text]}),
        ),
        (
            "POST",
            "/v3/documents/list".into(),
            json!({"status": text, "containerTags": [plain]}),
        ),
        (
            "GET",
            format!("/v3/documents/{plain}?containerTag={plain}"),
            Value::Null,
        ),
        (
            "POST",
            "/v3/search".into(),
            json!({"q": text, "containerTag": "box"}),
        ),
        (
            "POST",
            "/v4/search".into(),
            json!({
                "q": text, "containerTag": "box", "searchMode": "hybrid", "threshold": 0,
                "filters": {"AND": [{"key": plain, "value": text}]},
            }),
        ),
        (
            "POST",
            "/v4/memories".into(),
            json!({
                "containerTag": "box", "memories": [{"content": format!("I wrote {text} down.")}],
            }),
        ),
        (
            "POST",
            "/v4/memories/list".into(),
            json!({"containerTags": ["box"]}),
        ),
        (
            "POST",
            "/v4/profile".into(),
            json!({"containerTag": "box", "q": text, "buckets": [text]}),
        ),
        (
            "POST",
            "/v4/conversations".into(),
            json!({
                "conversationId": plain, "messages": [note], "containerTag": "box",
            }),
        ),
        (
            "PATCH",
            "/v3/container-tags/box".into(),
            json!({"entityContext": text}),
        ),
        (
            "PATCH",
            "/v3/settings".into(),
            json!({"workspacePrompt": text, "chunkSize": text}),
        ),
    ]
}

#[tokio::test]
async fn what_looks_like_a_credential_is_in_no_log() {
    let printed = LogCapture::start(Level::INFO);
    let client = OrgClient::new().await;
    client
        .send_document(json!({"content": "Words.", "containerTag": "box"}))
        .await;
    let credentials = samples::credentials();
    assert!(credentials.len() >= 60, "{}", credentials.len());
    let mut sent = 1;
    for mode in [LogContentMode::Redacted, LogContentMode::Full] {
        set_log_content(&client, mode).await;
        for (text, _) in &credentials {
            for (method, path, body) in requests_with_text(text) {
                let answer = client
                    .app
                    .call_json(method, &path, &client.key, &body)
                    .await;
                assert!(
                    answer.status.as_u16() < 500,
                    "{method} {path} {body}: {}",
                    answer.body
                );
                sent += 1;
            }
        }
    }

    let records = read_log(&client).await;
    assert_eq!(records.len(), sent, "every request is there to be searched");
    let stored: Vec<String> = records
        .iter()
        .map(|record| serde_json::to_string(record).expect("JSON"))
        .collect();
    let printed = printed.finish();
    let start: String = printed.chars().take(300).collect();
    assert!(
        printed.contains("answered 200"),
        "something was printed: {start}"
    );
    let mut found = Vec::new();
    for (text, secret) in credentials {
        let secret: String = secret.chars().take(12).collect();
        let lines = stored.iter().filter(|line| line.contains(&secret));
        found.extend(lines.take(2).map(|line| format!("{text}: {line}")));
        assert!(!printed.contains(&secret), "{text} was printed");
    }

    assert!(
        found.is_empty(),
        "{} are in the log:\n{}",
        found.len(),
        found.join("\n")
    );
    assert!(stored.iter().any(|line| line.contains("[secret]")));
}
