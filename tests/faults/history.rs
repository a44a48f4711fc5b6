//! What a client knows it did, and what must then be true.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};
use testkit::{Answer, TestApp};

/// One client of one organization, who remembers every request and whether it was answered.
pub(crate) struct Client {
    pub(crate) key: String,
    org: String,
    count: usize,
    documents: BTreeMap<String, Vec<Attempt>>,
}

/// A request about one customId, in the order sent.
struct Attempt {
    /// The canary word of the content; `None` for a deletion.
    canary: Option<String>,
    answered: bool,
}

const TAG: &str = "box";

impl Client {
    pub(crate) fn new(org: &str, key: String) -> Self {
        Self { key, org: org.to_owned(), count: 0, documents: BTreeMap::new() }
    }

    /// Sends new content under a customId.
    pub(crate) async fn put(&mut self, app: &TestApp, custom_id: &str) {
        self.count += 1;
        let canary = format!("{}-{:04}", self.org, self.count);
        let body = json!({
            "content": format!("The lighthouse keeper wrote the number {canary} into the log."),
            "containerTag": TAG,
            "customId": custom_id,
        });
        let answer = app.post("/v3/documents", &self.key, &body).await;
        self.remember(custom_id, Some(canary), &answer, StatusCode::OK);
    }

    /// Deletes by customId.
    pub(crate) async fn delete(&mut self, app: &TestApp, custom_id: &str) {
        let answer = app.delete(&format!("/v3/documents/{custom_id}?containerTag={TAG}"), &self.key).await;
        if answer.status == StatusCode::NOT_FOUND {
            return;
        }
        self.remember(custom_id, None, &answer, StatusCode::NO_CONTENT);
    }

    /// Searches, for the load on the index that it is; the answer may be an error.
    pub(crate) async fn search(&self, app: &TestApp) {
        let answer = search(app, &self.key, "lighthouse keeper").await;
        assert!(answer.status.is_success() || answer.status.is_server_error(), "{}", answer.body);
    }

    fn remember(&mut self, custom_id: &str, canary: Option<String>, answer: &Answer, success: StatusCode) {
        let answered = answer.status == success;
        assert!(answered || answer.status.is_server_error(), "{} {}", answer.status, answer.body);
        self.documents.entry(custom_id.to_owned()).or_default().push(Attempt { canary, answered });
    }

    /// Checks everything that must hold once faults have stopped and all work has ended.
    pub(crate) async fn check(&self, app: &TestApp) {
        let mut alive = Vec::new();
        for (custom_id, attempts) in &self.documents {
            let found = self.check_document(app, custom_id, attempts).await;
            alive.extend(found);
        }
        let listed = app.post("/v3/documents/list", &self.key, &json!({"limit": 100})).await;
        assert_eq!(listed.body["pagination"]["totalItems"], alive.len(), "{}", listed.body);
        for attempt in self.documents.values().flatten() {
            let Some(canary) = &attempt.canary else { continue };
            let answer = search(app, &self.key, canary).await;
            let texts = answer.body["results"].to_string();
            assert_eq!(
                texts.contains(canary.as_str()),
                alive.contains(canary),
                "{canary} in {}",
                answer.body
            );
        }
    }

    /// The state must be that of the last answered request, or of one sent after it whose answer was lost.
    async fn check_document(&self, app: &TestApp, custom_id: &str, attempts: &[Attempt]) -> Option<String> {
        let last = attempts.iter().rposition(|attempt| attempt.answered);
        let mut possible: Vec<Option<&str>> =
            attempts[last.unwrap_or(0)..].iter().map(|attempt| attempt.canary.as_deref()).collect();
        if last.is_none() {
            possible.push(None);
        }
        let answer = app.get(&format!("/v3/documents/{custom_id}?containerTag={TAG}"), &self.key).await;
        if answer.status == StatusCode::NOT_FOUND {
            assert!(possible.contains(&None), "{custom_id} is lost; possible were {possible:?}");
            return None;
        }
        assert_eq!(answer.body["status"], "done", "{}", answer.body);
        let content = answer.body["content"].as_str().unwrap_or_default();
        let canary = possible.iter().flatten().find(|canary| content.contains(**canary));
        Some((*canary.unwrap_or_else(|| panic!("{content:?} is none of {possible:?}"))).to_owned())
    }
}

async fn search(app: &TestApp, key: &str, q: &str) -> Answer {
    let body: Value =
        json!({"q": q, "containerTag": TAG, "searchMode": "documents", "threshold": 0, "limit": 50});
    app.post("/v4/search", key, &body).await
}
