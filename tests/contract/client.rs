//! The client of one organization.

use bytes::Bytes;
use domain::key::Permission;
use domain::{Document, DocumentId, OrgId, Tenant};
use serde_json::{Value, json};
use testkit::{TestAnswer, TestApp};

use crate::shape::{accepted_shape, document_shape, expect_ok};

/// An app, and a key with write access to everything in one organization.
pub(crate) struct OrgClient {
    pub(crate) app: TestApp,
    pub(crate) key: String,
    pub(crate) tenant: Tenant,
}

impl OrgClient {
    /// Creates a client in a world of its own.
    pub(crate) async fn new() -> Self {
        Self::of(TestApp::new().await, "acme").await
    }

    /// Creates a client of `org` in this app.
    pub(crate) async fn of(app: TestApp, org: &str) -> Self {
        let key = app.create_key(org).await;
        Self {
            app,
            key,
            tenant: Tenant::for_operator(OrgId::parse(org).expect("an organization id")),
        }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> TestAnswer {
        self.app.post(path, &self.key, &body).await
    }

    pub(crate) async fn get(&self, path: &str) -> TestAnswer {
        self.app.get(path, &self.key).await
    }

    pub(crate) async fn send_patch(&self, path: &str, body: Value) -> TestAnswer {
        self.app.call_json("PATCH", path, &self.key, &body).await
    }

    /// Changes a document and returns the answer.
    pub(crate) async fn update_document(&self, id: &str, body: Value) -> Value {
        expect_ok(
            self.send_patch(&format!("/v3/documents/{id}"), body).await,
            &accepted_shape(),
        )
    }

    pub(crate) async fn delete(&self, path: &str) -> TestAnswer {
        self.app.delete(path, &self.key).await
    }

    /// Sends a request with any method and any bytes.
    pub(crate) async fn send_bytes(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: impl Into<Bytes>,
    ) -> TestAnswer {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind);
        let request = request.header("authorization", format!("Bearer {}", self.key));

        self.app
            .send(request.body(body.into().into()).expect("a request"))
            .await
    }

    /// Sends content without processing it, and returns the id.
    pub(crate) async fn send_document(&self, body: Value) -> String {
        let answer = self.post("/v3/documents", body).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        answer.body["id"].as_str().expect("an id").to_owned()
    }

    /// Sends content, waits until it is `done`, and returns the id.
    pub(crate) async fn add_document(&self, body: Value) -> String {
        self.app.add_document(&self.key, &body).await
    }

    /// Adds a document with a key that reaches its container alone, and waits until it is processed.
    /// Documents in other containers may have the same customId.
    pub(crate) async fn add_apart(&self, tag: &str, custom_id: &str, content: &str) -> String {
        let key = self
            .app
            .create_key_with(self.tenant.org().as_str(), Permission::Write, Some(&[tag]))
            .await;
        let body = json!({"content": content, "containerTag": tag, "customId": custom_id});
        let answer = self.app.post("/v3/documents", &key, &body).await;
        let id = expect_ok(answer, &accepted_shape())["id"].clone();
        self.run_until_settled().await;
        id.as_str().expect("an id").to_owned()
    }

    pub(crate) async fn run_until_settled(&self) {
        self.app.run_until_settled().await.expect("work that ends");
    }

    /// Returns the document with this id or customId, and checks its full shape.
    pub(crate) async fn get_document(&self, id: &str) -> Value {
        expect_ok(
            self.get(&format!("/v3/documents/{id}")).await,
            &document_shape(),
        )
    }

    /// Returns the document without checking its shape.
    pub(crate) async fn get_document_unchecked(&self, id: &str) -> Value {
        self.get(&format!("/v3/documents/{id}")).await.body
    }

    /// Returns the stored record.
    pub(crate) async fn stored_record(&self, id: &str) -> Option<Document> {
        let id = DocumentId::parse(id).expect("a document id");
        self.app
            .system
            .ctx
            .documents
            .get(&self.tenant, &[id])
            .await
            .expect("a record")
            .pop()
            .flatten()
    }

    /// Returns the texts of the chunks that a search over everything finds, best first.
    pub(crate) async fn search_texts(&self, q: &str) -> Vec<String> {
        self.search_texts_with(json!({"q": q})).await
    }

    /// Searches like [`Client::found`], with more fields in the request.
    pub(crate) async fn search_texts_with(&self, mut body: Value) -> Vec<String> {
        let defaults = json!({"searchMode": "documents", "threshold": 0, "limit": 100});
        for (name, value) in defaults.as_object().expect("an object") {
            body.as_object_mut()
                .expect("an object")
                .entry(name)
                .or_insert(value.clone());
        }

        let answer = self.post("/v4/search", body).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        let results = answer.body["results"].as_array().expect("results").clone();

        results
            .iter()
            .map(|result| result["chunk"].as_str().expect("a chunk").to_owned())
            .collect()
    }

    /// Checks whether any chunk that a search for `word` finds contains it.
    pub(crate) async fn search_finds(&self, word: &str) -> bool {
        self.search_texts(word)
            .await
            .iter()
            .any(|text| text.contains(word))
    }

    /// Returns the ids in a listing of everything, in its order.
    pub(crate) async fn listed_ids(&self, mut body: Value) -> Vec<String> {
        if body.get("limit").is_none() {
            body["limit"] = json!(1000);
        }
        let answer = self.post("/v3/documents/list", body).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        collect_field(&answer.body["memories"], "id")
    }
}

/// Returns one field of every item.
pub(crate) fn collect_field(items: &Value, field: &str) -> Vec<String> {
    let items = items.as_array().expect("an array");
    items
        .iter()
        .map(|item| item[field].as_str().expect("a string").to_owned())
        .collect()
}

/// Reads a file from the tests of the content crate.
pub(crate) fn read_fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/content/tests/data")
        .join(name);
    std::fs::read(path).expect("a fixture of the content crate")
}
