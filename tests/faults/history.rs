//! The history of a client's requests, and the state that must follow from it.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};
use testkit::{TestAnswer, TestApp};

/// A client of one organization, which records every request and whether it was answered.
pub(crate) struct HistoryClient {
    pub(crate) key: String,
    org: String,
    count: usize,
    documents: BTreeMap<String, Vec<ContentRequest>>,
    /// The metadata values that were sent, by customId.
    marks: BTreeMap<String, Vec<MetadataChange>>,
    /// The canary words sent in the conversation, and whether each request was answered.
    said: Vec<(String, bool)>,
}

/// A request about one customId, in the order sent.
struct ContentRequest {
    /// The canary word of the content; `None` for a deletion.
    canary: Option<String>,
    answered: bool,
}

/// A change of metadata.
struct MetadataChange {
    value: String,
    answered: bool,
    /// The number of requests about the content that came before it.
    after: usize,
}

const TAG: &str = "box";
const TALK: &str = "talk";

impl HistoryClient {
    pub(crate) fn new(org: &str, key: String) -> Self {
        let (documents, marks) = (BTreeMap::new(), BTreeMap::new());
        Self {
            key,
            org: org.to_owned(),
            count: 0,
            documents,
            marks,
            said: Vec::new(),
        }
    }

    /// Returns a new unique word.
    fn next_canary(&mut self) -> String {
        self.count += 1;
        format!("{}-{:04}", self.org, self.count)
    }

    /// Returns new content for a customId, and its canary word.
    fn new_note(&mut self, custom_id: &str) -> (String, Value) {
        let canary = self.next_canary();
        let content = format!("The lighthouse keeper wrote the number {canary} into the log.");
        (
            canary,
            json!({"content": content, "containerTag": TAG, "customId": custom_id}),
        )
    }

    /// Sends new content under a customId.
    pub(crate) async fn put_content(&mut self, app: &TestApp, custom_id: &str) {
        let (canary, body) = self.new_note(custom_id);
        let answer = app.post("/v3/documents", &self.key, &body).await;
        self.record_attempt(custom_id, Some(canary), &answer, StatusCode::OK);
    }

    /// Sends new content under several customIds at once.
    pub(crate) async fn put_batch(&mut self, app: &TestApp, custom_ids: &[&str]) {
        let notes: Vec<(String, Value)> = custom_ids
            .iter()
            .map(|custom_id| self.new_note(custom_id))
            .collect();
        let documents: Vec<&Value> = notes.iter().map(|(_, body)| body).collect();
        let answer = app
            .post(
                "/v3/documents/batch",
                &self.key,
                &json!({"documents": documents}),
            )
            .await;
        assert!(
            answer.status.is_success() || answer.status.is_server_error(),
            "{}",
            answer.body
        );
        let refused = |place: usize| {
            let results = answer.body["results"].as_array().into_iter().flatten();
            let place = format!("documents[{place}]");
            results
                .filter_map(|result| result["details"].as_str())
                .any(|details| details.ends_with(&place))
        };

        for (place, (custom_id, (canary, _))) in custom_ids.iter().zip(&notes).enumerate() {
            let answered = answer.status.is_success() && !refused(place);
            let attempt = ContentRequest {
                canary: Some(canary.clone()),
                answered,
            };
            self.documents
                .entry((*custom_id).to_owned())
                .or_default()
                .push(attempt);
        }
    }

    /// Changes the metadata of a customId, if it exists.
    pub(crate) async fn change_metadata(&mut self, app: &TestApp, custom_id: &str) {
        let value = self.next_canary();
        let body = json!({"metadata": {"mark": value}});
        let answer = app
            .call_json(
                "PATCH",
                &format!("/v3/documents/{custom_id}"),
                &self.key,
                &body,
            )
            .await;
        if answer.status == StatusCode::NOT_FOUND {
            return;
        }

        assert!(
            answer.status.is_success() || answer.status.is_server_error(),
            "{}",
            answer.body
        );
        let after = self.documents.get(custom_id).map_or(0, Vec::len);
        let mark = MetadataChange {
            value,
            answered: answer.status.is_success(),
            after,
        };

        self.marks
            .entry(custom_id.to_owned())
            .or_default()
            .push(mark);
    }

    /// Adds a message to the conversation.
    pub(crate) async fn send_message(&mut self, app: &TestApp) {
        let canary = self.next_canary();
        let message = json!({"role": "user", "content": format!("Remember the number {canary}.")});
        let body = json!({"conversationId": TALK, "containerTag": TAG, "messages": [message]});
        let answer = app.post("/v4/conversations", &self.key, &body).await;
        assert!(
            answer.status.is_success() || answer.status.is_server_error(),
            "{}",
            answer.body
        );
        self.said.push((canary, answer.status.is_success()));
    }

    /// Deletes by customId.
    pub(crate) async fn delete(&mut self, app: &TestApp, custom_id: &str) {
        let answer = app
            .delete(
                &format!("/v3/documents/{custom_id}?containerTag={TAG}"),
                &self.key,
            )
            .await;
        if answer.status == StatusCode::NOT_FOUND {
            return;
        }
        self.record_attempt(custom_id, None, &answer, StatusCode::NO_CONTENT);
    }

    /// Searches to put load on the index. The answer may be an error.
    pub(crate) async fn search(&self, app: &TestApp) {
        let answer = search(app, &self.key, "lighthouse keeper").await;
        assert!(
            answer.status.is_success() || answer.status.is_server_error(),
            "{}",
            answer.body
        );
    }

    fn record_attempt(
        &mut self,
        custom_id: &str,
        canary: Option<String>,
        answer: &TestAnswer,
        success: StatusCode,
    ) {
        let answered = answer.status == success;
        assert!(
            answered || answer.status.is_server_error(),
            "{} {}",
            answer.status,
            answer.body
        );
        self.documents
            .entry(custom_id.to_owned())
            .or_default()
            .push(ContentRequest { canary, answered });
    }

    /// Checks everything that must hold once faults have stopped and all work has ended.
    pub(crate) async fn check_state(&self, app: &TestApp) {
        let mut alive = Vec::new();
        for (custom_id, attempts) in &self.documents {
            let found = self.check_document(app, custom_id, attempts).await;
            if found.is_some() {
                self.check_metadata(app, custom_id, attempts).await;
            }
            alive.extend(found);
        }

        let talks = usize::from(self.check_conversation(app).await);
        let listed = app
            .post("/v3/documents/list", &self.key, &json!({"limit": 100}))
            .await;
        assert_eq!(
            listed.body["pagination"]["totalItems"],
            alive.len() + talks,
            "{}",
            listed.body
        );

        for attempt in self.documents.values().flatten() {
            let Some(canary) = &attempt.canary else {
                continue;
            };
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

    /// Checks that the state is that of the last answered request, or of a later one whose answer
    /// was lost.
    async fn check_document(
        &self,
        app: &TestApp,
        custom_id: &str,
        attempts: &[ContentRequest],
    ) -> Option<String> {
        let last = attempts.iter().rposition(|attempt| attempt.answered);
        let mut possible: Vec<Option<&str>> = attempts[last.unwrap_or(0)..]
            .iter()
            .map(|attempt| attempt.canary.as_deref())
            .collect();
        if last.is_none() {
            possible.push(None);
        }

        let answer = app
            .get(
                &format!("/v3/documents/{custom_id}?containerTag={TAG}"),
                &self.key,
            )
            .await;
        if answer.status == StatusCode::NOT_FOUND {
            assert!(
                possible.contains(&None),
                "{custom_id} is lost; possible were {possible:?}"
            );
            return None;
        }

        assert_eq!(answer.body["status"], "done", "{}", answer.body);
        let content = answer.body["content"].as_str().unwrap_or_default();
        let canary = possible
            .iter()
            .flatten()
            .find(|canary| content.contains(**canary));

        Some((*canary.unwrap_or_else(|| panic!("{content:?} is none of {possible:?}"))).to_owned())
    }
}

impl HistoryClient {
    /// Checks that the record and the index show the same metadata, and that it is that of the last
    /// answered change or of a later one.
    async fn check_metadata(&self, app: &TestApp, custom_id: &str, attempts: &[ContentRequest]) {
        let answer = app
            .get(
                &format!("/v3/documents/{custom_id}?containerTag={TAG}"),
                &self.key,
            )
            .await;
        let (shown, id) = (&answer.body["metadata"]["mark"], &answer.body["id"]);
        let marks = self.marks.get(custom_id).map_or(&[][..], Vec::as_slice);
        for mark in marks {
            let filter = json!({"AND": [{"key": "mark", "value": mark.value}]});
            let body = json!({"q": "lighthouse", "containerTag": TAG, "filters": filter});
            let found = app.post("/v3/search", &self.key, &body).await.body;
            let is_found = found["results"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["documentId"] == *id));
            assert_eq!(
                is_found,
                *shown == json!(mark.value),
                "{} in {found}, but {shown} is read",
                mark.value
            );
        }

        let last = marks.iter().rposition(|mark| mark.answered);
        let Some(last) = last else { return };
        // A deletion that took effect also removes the metadata.
        if attempts[marks[last].after..]
            .iter()
            .any(|attempt| attempt.canary.is_none())
        {
            return;
        }

        let possible: Vec<Value> = marks[last..].iter().map(|mark| json!(mark.value)).collect();
        assert!(
            possible.contains(shown),
            "{custom_id} shows {shown}; possible were {possible:?}"
        );
    }

    /// Checks that every answered message is there once and in order. Returns whether there is a
    /// conversation.
    async fn check_conversation(&self, app: &TestApp) -> bool {
        let answer = app
            .get(
                &format!("/v3/documents/{TALK}?containerTag={TAG}"),
                &self.key,
            )
            .await;
        if answer.status == StatusCode::NOT_FOUND {
            assert!(
                self.said.iter().all(|(_, answered)| !answered),
                "the conversation is lost"
            );
            return false;
        }

        assert_eq!(answer.body["status"], "done", "{}", answer.body);
        let text = answer.body["content"].as_str().unwrap_or_default();
        let mut behind = 0;
        for (canary, answered) in &self.said {
            let times = text.matches(canary.as_str()).count();
            assert!(
                times == 1 || (times == 0 && !answered),
                "{canary} is there {times} times: {text}"
            );
            let Some(at) = text.find(canary.as_str()) else {
                continue;
            };
            assert!(at >= behind, "{canary} is out of order: {text}");
            behind = at;
            let found = search(app, &self.key, canary).await;
            assert!(
                found.body["results"].to_string().contains(canary.as_str()),
                "{canary} in {}",
                found.body
            );
        }

        true
    }
}

async fn search(app: &TestApp, key: &str, q: &str) -> TestAnswer {
    let body: Value = json!({"q": q, "containerTag": TAG, "searchMode": "documents", "threshold": 0, "limit": 50});
    app.post("/v4/search", key, &body).await
}
