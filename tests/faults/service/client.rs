//! A client of one organization, which knows what its requests may have done.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use serde_json::{Value, json};
use testkit::{TestAnswer, TestApp};

use super::TAGS;

/// The state of an item after the requests about it, of which some had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Stored,
    Deleted,
    Unknown,
}

impl Presence {
    /// Returns the presence after a deletion.
    fn after_deletion(self, answer: &TestAnswer) -> Self {
        if answer.status.is_success() {
            Self::Deleted
        } else if answer.status.is_server_error() && self == Self::Stored {
            Self::Unknown
        } else {
            self
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Document,
    Memory,
}

/// A document or a memory.
#[derive(Debug)]
struct Item {
    kind: ItemKind,
    /// Its id, if the request that created it was answered.
    id: Option<String>,
    /// The tag that it has in the end, unless a merge was not answered.
    tag: Option<&'static str>,
    /// The tags under which it may be seen. While a merge runs, these are two.
    visible_tags: BTreeSet<&'static str>,
    presence: Presence,
}

impl Item {
    /// Notes that a request may have deleted the item.
    fn may_be_deleted(&mut self) {
        if self.presence == Presence::Stored {
            self.presence = Presence::Unknown;
        }
    }

    /// Notes what was seen after all work had ended.
    fn settle(&mut self, tag: Option<&'static str>) {
        self.tag = tag;
        self.visible_tags = tag.into_iter().collect();
        self.presence = match tag {
            Some(_) => Presence::Stored,
            None => Presence::Deleted,
        };
    }
}

/// A client that knows what its requests may have done.
pub(super) struct ServiceClient {
    key: String,
    org: String,
    /// The items by their canary word.
    items: BTreeMap<String, Item>,
}

impl ServiceClient {
    pub(super) async fn new(org: String, healthy: &TestApp) -> Self {
        Self {
            key: healthy.create_key(&org).await,
            org,
            items: BTreeMap::new(),
        }
    }

    fn next_canary(&self) -> String {
        format!("{}-{:04}", self.org, self.items.len())
    }

    pub(super) async fn add(&mut self, app: &TestApp, kind: ItemKind, tag: &'static str) {
        let canary = self.next_canary();
        let content = format!("The keeper wrote the number {canary} into the log.");
        let (path, body) = match kind {
            ItemKind::Document => (
                "/v3/documents",
                json!({"content": content, "containerTag": tag}),
            ),
            ItemKind::Memory => (
                "/v4/memories",
                json!({"memories": [{"content": content}], "containerTag": tag}),
            ),
        };
        let answer = app.post(path, &self.key, &body).await;
        expect_outcome(&answer, &[StatusCode::CONFLICT]);
        let id = match kind {
            ItemKind::Document => &answer.body["id"],
            ItemKind::Memory => &answer.body["memories"][0]["id"],
        };
        let presence = if answer.status.is_success() {
            Presence::Stored
        } else if answer.status.is_server_error() {
            Presence::Unknown
        } else {
            Presence::Deleted
        };
        let item = Item {
            kind,
            id: id.as_str().map(str::to_owned),
            tag: Some(tag),
            visible_tags: BTreeSet::from([tag]),
            presence,
        };
        self.items.insert(canary, item);
    }

    /// Deletes one document or forgets one memory.
    pub(super) async fn delete_one(&mut self, app: &TestApp, random: &mut StdRng) {
        let items = self.items.values_mut();
        let Some(item) = items.filter(|item| item.id.is_some()).choose(random) else {
            return;
        };
        let id = item.id.clone().expect("a known id");
        let answer = match item.kind {
            ItemKind::Document => {
                let path = format!("/v3/documents/{id}");
                app.delete(&path, &self.key).await
            }
            ItemKind::Memory => {
                let Some(tag) = item.visible_tags.first() else {
                    return;
                };
                let body = json!({"id": id, "containerTag": tag});
                app.call_json("DELETE", "/v4/memories", &self.key, &body)
                    .await
            }
        };
        expect_outcome(&answer, &[StatusCode::CONFLICT, StatusCode::NOT_FOUND]);
        if answer.status == StatusCode::NOT_FOUND && item.visible_tags.len() == 1 {
            assert_ne!(item.presence, Presence::Stored, "{item:?} is lost");
        }
        item.presence = item.presence.after_deletion(&answer);
    }

    /// Deletes all documents with a tag, and with them the memories that a client stated.
    pub(super) async fn delete_documents(&mut self, app: &TestApp, tag: &'static str) {
        let body = json!({"containerTags": [tag]});
        let answer = app
            .call_json("DELETE", "/v3/documents/bulk", &self.key, &body)
            .await;
        expect_outcome(&answer, &[StatusCode::CONFLICT, StatusCode::NOT_FOUND]);
        let is_complete = answer.body["success"] == true;
        for item in self.items.values_mut() {
            if is_complete && item.tag == Some(tag) {
                item.presence = Presence::Deleted;
            } else if item.visible_tags.contains(tag) && !answer.status.is_client_error() {
                item.may_be_deleted();
            }
        }
    }

    pub(super) async fn delete_container(&mut self, app: &TestApp, tag: &'static str) {
        let path = format!("/v3/container-tags/{tag}");
        let answer = app.delete(&path, &self.key).await;
        expect_outcome(&answer, &[StatusCode::CONFLICT, StatusCode::NOT_FOUND]);
        for item in self.items.values_mut() {
            if item.tag == Some(tag) {
                if answer.status == StatusCode::NOT_FOUND {
                    assert_ne!(item.presence, Presence::Stored, "{item:?} is lost");
                }
                item.presence = item.presence.after_deletion(&answer);
            } else if item.visible_tags.contains(tag) && !answer.status.is_client_error() {
                item.may_be_deleted();
            }
        }
    }

    pub(super) async fn merge(
        &mut self,
        app: &TestApp,
        source: &'static str,
        target: &'static str,
    ) {
        let body = json!({"containerTags": [source], "targetContainerTag": target});
        let answer = app.post("/v3/container-tags/merge", &self.key, &body).await;
        expect_outcome(&answer, &[StatusCode::CONFLICT, StatusCode::NOT_FOUND]);
        if answer.status.is_client_error() {
            return;
        }
        for item in self.items.values_mut() {
            let is_elsewhere = item.tag.is_some_and(|tag| tag != source);
            if is_elsewhere || !item.visible_tags.contains(source) {
                continue;
            }
            item.visible_tags.insert(target);
            item.tag = match item.tag {
                Some(_) if answer.status.is_success() => Some(target),
                _ => None,
            };
        }
    }

    /// Checks that a search shows nothing that is deleted, and nothing of another tag.
    pub(super) async fn search(&self, app: &TestApp, tag: &'static str) {
        if let Some(found) = self.find(app, tag, "keeper number log").await {
            self.check_shown(tag, &found);
        }
    }

    /// Returns the canaries of what a search finds, or `None` if it was not answered.
    async fn find(&self, app: &TestApp, tag: &str, question: &str) -> Option<Vec<String>> {
        let body = json!({
            "q": question, "containerTag": tag, "searchMode": "hybrid", "threshold": 0, "limit": 100,
        });
        let answer = app.post("/v4/search", &self.key, &body).await;
        expect_outcome(&answer, &[]);
        let results = answer.body["results"].as_array()?;
        let found = results.iter().map(|result| self.canary_of(result));
        Some(found.collect())
    }

    /// Returns the canary word of an answer about one item.
    fn canary_of(&self, answer: &Value) -> String {
        let text = answer.to_string();
        let start = text.find(&self.org).expect("a canary of this organization");
        let end = start + self.next_canary().len();
        text[start..end].to_owned()
    }

    fn check_shown(&self, tag: &str, shown: &[String]) {
        for canary in shown {
            let item = &self.items[canary];
            assert_ne!(
                item.presence,
                Presence::Deleted,
                "{canary} in {tag}: {item:?}"
            );
            let may_be_seen = item.visible_tags.contains(tag);
            assert!(may_be_seen, "{canary} in {tag}: {item:?}");
        }
    }

    /// Checks everything that must hold once faults have stopped and all work has ended. What was
    /// unknown is known from then on.
    pub(super) async fn check_state(&mut self, app: &TestApp) {
        let counts = self.tag_counts(app).await;
        let mut places: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for tag in TAGS {
            let listed = self.list(app, tag).await;
            let documents = counts.get(tag).copied().unwrap_or_default();
            assert_eq!(listed.len(), documents, "the count of {tag}: {listed:?}");
            // The document of a memory stays when the memory is forgotten.
            for canary in listed {
                if self.items[&canary].kind == ItemKind::Document {
                    places.entry(canary).or_default().push(tag);
                }
            }
        }

        let canaries: Vec<String> = self.items.keys().cloned().collect();
        for canary in canaries {
            let mut found_in = Vec::new();
            for tag in TAGS {
                let found = self.find(app, tag, &canary).await.expect("an answer");
                self.check_shown(tag, &found);
                found_in.extend(found.contains(&canary).then_some(tag));
            }

            let item = self.items.get_mut(&canary).expect("an item");
            if item.kind == ItemKind::Document {
                let listed = places.remove(&canary).unwrap_or_default();
                assert_eq!(found_in, listed, "{canary} is found or listed: {item:?}");
            }
            match (item.presence, &found_in[..]) {
                (Presence::Stored, [tag]) => {
                    assert!(
                        item.tag.is_none_or(|known| known == *tag),
                        "{canary} in {tag}: {item:?}"
                    );
                }
                (Presence::Deleted, []) | (Presence::Unknown, [] | [_]) => {}
                _ => panic!("{canary} is in {found_in:?}: {item:?}"),
            }
            item.settle(found_in.first().copied());
        }
    }

    /// Returns the number of documents of each tag.
    async fn tag_counts(&self, app: &TestApp) -> BTreeMap<String, usize> {
        let answer = app.get("/v3/container-tags/list", &self.key).await;
        let mut counts = BTreeMap::new();
        for tag in answer.body.as_array().expect("tags") {
            let name = tag["containerTag"].as_str().expect("a tag").to_owned();
            let count = tag["documentCount"].as_u64().expect("a number");
            counts.insert(name, usize::try_from(count).expect("a small number"));
        }
        counts
    }

    /// Returns the canaries of the documents of a tag, all of which must be done.
    async fn list(&self, app: &TestApp, tag: &str) -> Vec<String> {
        let body = json!({"containerTags": [tag], "limit": 100, "includeContent": true});
        let answer = app.post("/v3/documents/list", &self.key, &body).await;
        let documents = answer.body["memories"].as_array().expect("documents");
        let mut canaries = Vec::new();
        for document in documents {
            assert_eq!(document["status"], "done", "{document}");
            canaries.push(self.canary_of(document));
        }
        canaries
    }
}

/// Checks that a request succeeded, was not answered because of a fault, or was refused as it may be.
fn expect_outcome(answer: &TestAnswer, refusals: &[StatusCode]) {
    assert!(
        answer.status.is_success()
            || answer.status.is_server_error()
            || refusals.contains(&answer.status),
        "{} {}",
        answer.status,
        answer.body
    );
}
