//! A scope that is misspelled, or that an operation does not accept, never widens a request. It is
//! refused by name in the body, the query string and the form of every operation of `openapi.yaml`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use testkit::{TestAnswer, multipart_form};

use crate::client::OrgClient;
use crate::matrix::operations::{entries, every_operation, resolve_reference};

/// Names that people use for a container tag.
const WRITTEN: [&str; 16] = [
    "containerTag",
    "containerTags",
    "container_tag",
    "container_tags",
    "containertag",
    "containertags",
    "ContainerTag",
    "container-tag",
    "contanerTag",
    "containerTga",
    "container",
    "containers",
    "spaceId",
    "space_id",
    "space",
    "spaces",
];

/// A place in which an operation takes fields, with their names.
enum FieldPlace {
    Body(BTreeSet<String>),
    Form(BTreeSet<String>),
    Query(BTreeSet<String>),
}

impl FieldPlace {
    fn of(operation: &Value) -> Vec<Self> {
        let parameters = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(resolve_reference);
        let query = parameters.filter(|parameter| parameter["in"] == "query");
        let query: BTreeSet<String> = query
            .map(|parameter| parameter["name"].as_str().expect("a name").to_owned())
            .collect();
        let mut places = Vec::new();
        for (media, content) in resolve_reference(&operation["requestBody"])["content"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let names = schema_fields(&content["schema"]);
            let is_form = media == "multipart/form-data";
            places.push(if is_form {
                Self::Form(names)
            } else {
                Self::Body(names)
            });
        }

        if !query.is_empty() {
            places.push(Self::Query(query));
        }

        places
    }

    fn accepts_field(&self, name: &str) -> bool {
        let (Self::Body(fields) | Self::Form(fields) | Self::Query(fields)) = self;
        fields.contains(name)
    }

    /// Sends a request with only a field of this name.
    async fn send_field(
        &self,
        client: &OrgClient,
        method: &str,
        path: &str,
        name: &str,
    ) -> TestAnswer {
        match self {
            Self::Body(_) => {
                let body = Value::from(Map::from_iter([(name.to_owned(), json!("box"))]));
                client.app.call_json(method, path, &client.key, &body).await
            }
            Self::Form(_) => {
                let form = multipart_form("a.txt", b"Words.", &[(name, "box")]);
                client.app.send_form(method, path, &client.key, form).await
            }

            Self::Query(_) => {
                client
                    .app
                    .call_json(
                        method,
                        &format!("{path}?{name}=box"),
                        &client.key,
                        &Value::Null,
                    )
                    .await
            }
        }
    }
}

#[tokio::test]
async fn every_operation_refuses_a_misspelled_scope_by_its_right_name() {
    let client = OrgClient::new().await;
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for (method, path, operation) in every_operation() {
        let path = fill_path(&path);
        for place in FieldPlace::of(operation) {
            for name in WRITTEN {
                let answer = place.send_field(&client, &method, &path, name).await;
                let message = answer.body["error"].as_str().unwrap_or_default();
                let is_refused = answer.status == 400
                    && message.starts_with(&format!("unknown field `{name}`: "));
                let advice = if place.accepts_field("containerTag")
                    || place.accepts_field("containerTags")
                {
                    "did you mean `containerTag"
                } else {
                    "this request takes no container tag"
                };
                let right = if place.accepts_field(name) {
                    !message.contains("unknown field")
                } else {
                    // A scope of the body is sent there from the query string.
                    let is_sent_to_body =
                        operation["requestBody"].is_object() && message.ends_with("` in the body");
                    is_refused && (message.contains(advice) || is_sent_to_body)
                };

                if !right {
                    wrong.push(format!(
                        "{method} {path} {name}: {} {message}",
                        answer.status
                    ));
                }

                asked += 1;
            }
        }
    }

    assert!(
        wrong.is_empty(),
        "{} of {asked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(asked > 500, "{asked} requests");

    let all = client.listed_ids(json!({})).await;
    assert_eq!(
        all,
        client.listed_ids(json!({"containerTags": ["box"]})).await,
        "nothing went elsewhere"
    );
}

/// Returns the names of the fields in a schema, including those behind references.
fn schema_fields(schema: &Value) -> BTreeSet<String> {
    let own = entries(&schema["properties"]).map(|(name, _)| name.clone());
    let parts = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|kind| schema[kind].as_array())
        .flatten();
    let referred = schema["$ref"]
        .is_string()
        .then(|| resolve_reference(schema));
    own.chain(parts.chain(referred).flat_map(schema_fields))
        .collect()
}

/// Returns a path with a value for each parameter.
fn fill_path(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{tag}" => "box",
        _ if part.starts_with('{') => "1111111111111111111111",
        _ => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn a_scope_in_the_query_string_of_a_body_is_sent_to_where_it_belongs() {
    let client = OrgClient::new().await;
    for path in [
        "/v3/documents",
        "/v4/search",
        "/v3/documents/list",
        "/v4/memories/list",
    ] {
        let body = json!({"content": "Words.", "q": "words", "containerTags": ["box"]});
        let answer = client.post(&format!("{path}?containerTag=box"), body).await;
        crate::shape::expect_error(
            &answer,
            400,
            "ValidationError",
            "send `containerTag` in the body",
        );
    }

    assert!(client.listed_ids(json!({})).await.is_empty());
}

#[tokio::test]
async fn a_document_of_a_batch_is_refused_for_its_own_misspelled_scope() {
    let client = OrgClient::new().await;
    let documents = json!([{"content": "One.", "container_tag": "box"}, {"content": "Two.", "containerTag": "box"}]);
    let answer = client
        .post("/v3/documents/batch", json!({"documents": documents}))
        .await;
    assert_eq!(
        (&answer.body["success"], &answer.body["failed"]),
        (&json!(1), &json!(1)),
        "{}",
        answer.body
    );

    let refused = answer.body["results"][1]["error"]
        .as_str()
        .expect("an error");
    assert_eq!(
        refused,
        "unknown field `container_tag`: did you mean `containerTag`?"
    );
}

#[tokio::test]
async fn other_unknown_fields_are_ignored_as_ever() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Words.", "containerTag": "box", "tags": ["a"], "userId": "u", "project": "p"});
    client.send_document(body).await;
    let found = client
        .post(
            "/v4/search?verbose=1",
            json!({"q": "words", "namespace": "n"}),
        )
        .await;
    assert_eq!(found.status, 200, "{}", found.body);
}

#[tokio::test]
async fn a_misspelled_option_deletes_forgets_and_merges_nothing() {
    let client = OrgClient::new().await;
    for (tag, path) in [("box", "/p/one.txt"), ("other", "/p/two.txt")] {
        let body = json!({"content": "Zoe has four cats.", "containerTag": tag, "filepath": path});
        client.add_document(body).await;
    }
    let state = async || {
        let memories = client
            .post("/v4/memories/list", json!({"containerTags": ["box"]}))
            .await;
        let tags = client.get("/v3/container-tags/list").await;
        let documents = client.listed_ids(json!({})).await;
        (documents, memories.body["pagination"].clone(), tags.body)
    };
    let before = state().await;

    let delete = |field: &str| json!({"containerTags": ["box"], field: "/p/zero.txt"});
    for field in ["filePath", "path", "customIds", "filters"] {
        let request = delete(field).to_string();
        let answer = client
            .send_bytes("DELETE", "/v3/documents/bulk", "application/json", request)
            .await;
        assert_eq!(answer.status, 400, "{field}: {}", answer.body);
    }
    let forget = json!({"containerTag": "box", "query": "cats", "threshold": 0, "dry_run": true});
    let merge = json!({"containerTags": ["other"], "targetContainerTag": "box", "dry_run": true});
    for (path, body) in [
        ("/v4/memories/forget-matching", forget),
        ("/v3/container-tags/merge", merge),
    ] {
        let answer = client.post(path, body).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.body);
    }
    client.run_until_settled().await;
    assert_eq!(state().await, before);
}
