//! Searches whose order depends on the days that a question names, and on who said something.

use serde_json::{Value, json};

use crate::client::OrgClient;

/// An answer of an assistant that repeats the words of a question many times.
fn long_answer() -> String {
    let sentence = "A parrot that moved to Lisbon is a parrot that needs time in Lisbon. ";
    sentence.repeat(12)
}

async fn add_conversation(client: &OrgClient, date: &str, messages: Value) {
    let body = json!({
        "conversationId": format!("chat-{date}"), "documentDate": date, "messages": messages,
    });
    let answer = client.post("/v4/conversations", body).await;
    assert!(answer.status.is_success(), "{}", answer.body);
}

/// Returns the text of the first result of `POST /v4/search`.
async fn find_first(client: &OrgClient, question: &str, mode: &str) -> String {
    let body = json!({"q": question, "searchMode": mode, "threshold": 0, "limit": 1});
    let answer = client.post("/v4/search", body).await;
    let result = &answer.body["results"][0];
    let text = result.get("memory").or(result.get("chunk"));
    text.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_was_said_on_the_days_of_a_question_comes_first() {
    let client = OrgClient::new().await;
    let trips = [
        ("2022-01-20", "Narvik"),
        ("2022-04-20", "Lucerne"),
        ("2022-07-20", "Tarifa"),
        ("2022-10-20", "Galway"),
    ];
    for (date, place) in trips {
        let said = format!("I visited my cousin in {place} today.");
        let messages = json!([
            {"role": "user", "name": "Ana", "content": said},
            {"role": "assistant", "name": "Ben", "content": "How nice!"},
        ]);
        add_conversation(&client, date, messages).await;
    }
    client.run_until_settled().await;

    for (days, place) in [
        ("in the summer of 2022", "Tarifa"),
        ("between March and May 2022", "Lucerne"),
        ("between September and November", "Galway"),
        ("from 18 to 22 January 2022", "Narvik"),
    ] {
        let question = format!("Where did Ana visit her cousin {days}?");
        for mode in ["memories", "documents", "hybrid"] {
            let first = find_first(&client, &question, mode).await;
            assert!(first.contains(place), "{mode}, {question} {first}");
        }

        let body = json!({"q": question, "limit": 1});
        let answer = client.post("/v3/search", body).await;
        let first = &answer.body["results"][0]["chunks"][0]["content"];
        let text = first.as_str().unwrap_or_default();
        assert!(text.contains(place), "{question} {first}");
    }
}

#[tokio::test]
async fn what_the_user_said_comes_before_long_answers_of_the_assistant() {
    const SAID: &str = "My parrot and I have moved to Lisbon.";
    let question = "Which parrot moved to Lisbon?";
    for (user, assistant, expected) in [
        (None, None, "User: My parrot"),
        (Some("Ana"), None, "Ana: My parrot"),
        (Some("Ana"), Some("Ben"), "Ben: A parrot"),
    ] {
        let client = OrgClient::new().await;
        let turn = |role: &str, name: Option<&str>, content: &str| {
            let mut turn = json!({"role": role, "content": content});
            if let Some(name) = name {
                turn["name"] = json!(name);
            }
            turn
        };
        let messages = json!([
            turn("user", user, SAID),
            turn("assistant", assistant, &long_answer().repeat(2)),
        ]);
        add_conversation(&client, "2026-05-04", messages).await;
        client.run_until_settled().await;

        let first = find_first(&client, question, "documents").await;
        assert!(
            first.starts_with(expected),
            "{user:?} {assistant:?} {first}"
        );
    }
}
