//! Every operation of `openapi.yaml`, requested with every kind of key. The tests derive the
//! required permission a second time, from the path and the method alone.

use domain::key::{
    KeyKind, KeySpec, NewKey, Permission, SCOPED_ENDPOINTS, SCOPED_NAMESPACE_ENDPOINTS,
};
use domain::{ContainerTag, Timestamp};
use http::Request;
use serde_json::{Value, json};
use testkit::{TestAnswer, TestApp, multipart_form};

use crate::shape::ErrorMismatches;

/// The tag of every example.
const TAG: &str = "user_42";

/// An operation with the example of its request.
pub(crate) struct Operation {
    pub(crate) method: String,
    pub(crate) path: String,
    is_open: bool,
    body: Value,
    is_form: bool,
}

/// The permission that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ExpectedPermission {
    Any,
    ReadContent,
    WriteContent,
    Read,
    Write,
    ReadOrganization,
    Admin,
}

impl Operation {
    /// Returns every operation of the document.
    pub(crate) fn all_operations() -> Vec<Self> {
        let text = include_str!("../../openapi.yaml");
        let document: Value = serde_norway::from_str(text).expect("openapi.yaml is YAML");
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let body = operation["requestBody"]["$ref"].as_str().unwrap_or("#");
                let content = &document.pointer(&body[1..]).expect("a body")["content"];
                all.push(Self {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    is_open: operation["security"].as_array().is_some_and(Vec::is_empty),
                    body: content["application/json"]["example"].clone(),
                    is_form: content["multipart/form-data"].is_object(),
                });
            }
        }

        all
    }

    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    fn need(&self) -> ExpectedPermission {
        let (get, path) = (self.method == "GET", self.path.as_str());
        let reads = get
            || [
                "/list",
                "/documents/documents",
                "/by-ids",
                "/search",
                "/profile",
                "/profile/buckets",
                "/memory-counts",
            ]
            .iter()
            .any(|end| path.ends_with(end) && ["GET", "POST"].contains(&self.method.as_str()))
            || path.starts_with("/ns/{namespace}/list/");
        let below = |root: &str| path == root || path.starts_with(&format!("{root}/"));

        let may_be_scoped = SCOPED_ENDPOINTS
            .iter()
            .chain(&SCOPED_NAMESPACE_ENDPOINTS)
            .any(|root| below(root));

        match path {
            "/ns/{namespace}/profile/buckets" if !reads => ExpectedPermission::Write,
            _ if may_be_scoped => {
                if reads {
                    ExpectedPermission::ReadContent
                } else {
                    ExpectedPermission::WriteContent
                }
            }
            "/v3/session" => {
                if self.method == "POST" {
                    ExpectedPermission::Admin
                } else {
                    ExpectedPermission::Any
                }
            }
            _ if below("/v3/analytics") => ExpectedPermission::ReadOrganization,
            "/v3/settings/suggest-buckets" => ExpectedPermission::ReadOrganization,
            "/v3/settings" if get => ExpectedPermission::ReadOrganization,
            "/organization" if get => ExpectedPermission::ReadOrganization,
            _ if below("/v3/settings") || below("/v3/auth") || below("/organization") => {
                ExpectedPermission::Admin
            }
            _ if below("/v3/container-tags/merge") || below("/v3/container-tags/deletions") => {
                ExpectedPermission::Admin
            }
            "/v3/container-tags/{tag}" | "/ns/{namespace}" if self.method == "DELETE" => {
                ExpectedPermission::Admin
            }
            _ if path.ends_with("/hosted-picker") => ExpectedPermission::Admin,

            // The answer includes items that are not selected.
            "/v3/connections/{id}/resources" => ExpectedPermission::Write,
            "/v3/connections/{id}/connection" | "/v3/connections/{id}/documents" => {
                ExpectedPermission::Read
            }
            _ if reads => ExpectedPermission::Read,
            _ => ExpectedPermission::Write,
        }
    }

    /// Requests the operation with a key, on objects that may or may not exist.
    pub(crate) async fn send(&self, app: &TestApp, key: &str) -> TestAnswer {
        let path = self.path.replace("{tag}", TAG).replace("{namespace}", TAG);
        let path = if self.names_provider() {
            path.replace("{id}", "web-crawler")
        } else {
            path
        };
        let path = ["{id}", "{memoryId}", "{mergeId}", "{deletionId}"]
            .iter()
            .fold(path, |path, name| path.replace(name, "never-was"));
        if !self.is_form {
            return app.call_json(&self.method, &path, key, &self.body).await;
        }
        let fields: &[(&str, &str)] = match self.path.contains("{namespace}") {
            true => &[],
            false => &[("containerTag", TAG)],
        };
        let (kind, body) = multipart_form("a.txt", b"Words.", fields);
        let request = Request::builder()
            .method(self.method.as_str())
            .uri(path)
            .header("content-type", kind);
        let request = if key.is_empty() {
            request
        } else {
            request.header("x-api-key", key)
        };

        app.send(request.body(body.into()).expect("a request"))
            .await
    }

    /// Checks whether the path names a provider. The containers are then in the body.
    fn names_provider(&self) -> bool {
        let Some(end) = self.path.strip_prefix("/v3/connections/{id}") else {
            return false;
        };
        match end {
            "" => ["POST", "DELETE"].contains(&self.method.as_str()),
            _ => ["/connection", "/documents", "/import"].contains(&end),
        }
    }

    /// Checks whether the request names the tag of the examples, so that a key of another tag is
    /// refused.
    fn names_tag(&self) -> bool {
        self.is_form
            || self.path.contains("{tag}")
            || self.path.contains("{namespace}")
            || self.body.to_string().contains(&format!("\"{TAG}\""))
    }
}

fn key_plan(kind: KeyKind, permission: Permission, tag: Option<&str>) -> KeySpec {
    let tags = tag.map(|tag| vec![ContainerTag::parse(tag).expect("a tag")]);
    KeySpec {
        name: "test".into(),
        kind,
        permission,
        tags,
        expires_at: None,
        rate_limit: None,
    }
}

/// Returns valid keys, each with its permissions.
fn valid_keys() -> Vec<(&'static str, KeySpec, Vec<ExpectedPermission>)> {
    use ExpectedPermission::{
        Admin, Any, Read as Reading, ReadContent, ReadOrganization, Write as Writing, WriteContent,
    };
    use KeyKind::{Agent, Full, Scoped, Session};

    use Permission::{Read, Write};
    let reader = vec![Any, ReadContent, Reading, ReadOrganization];
    let agent = vec![Any, ReadContent, WriteContent, Reading, Writing];
    let whole_agent = [agent.clone(), vec![ReadOrganization]].concat();
    let all = [whole_agent.clone(), vec![Admin]].concat();

    vec![
        ("full", key_plan(Full, Write, None), all.clone()),
        ("session", key_plan(Session, Write, None), all),
        (
            "full that reads",
            key_plan(Full, Read, None),
            reader.clone(),
        ),
        ("agent", key_plan(Agent, Write, None), whole_agent),
        ("agent that reads", key_plan(Agent, Read, None), reader),
        (
            "agent of the tag",
            key_plan(Agent, Write, Some(TAG)),
            agent.clone(),
        ),
        ("full of the tag", key_plan(Full, Write, Some(TAG)), agent),
        (
            "scoped",
            key_plan(Scoped, Write, Some(TAG)),
            vec![Any, ReadContent, WriteContent],
        ),
        (
            "scoped that reads",
            key_plan(Scoped, Read, Some(TAG)),
            vec![Any, ReadContent],
        ),
    ]
}

#[tokio::test]
async fn no_operation_answers_without_a_good_key() {
    let app = TestApp::new().await;
    let stored = async |change: fn(&mut domain::key::ApiKey)| {
        let plan = key_plan(KeyKind::Full, Permission::Write, None);
        let org = domain::OrgId::parse("acme").expect("an organization id");
        let mut key = NewKey::generate(org, plan, Timestamp::from_millis(0));
        change(&mut key.record);
        app.system
            .ctx
            .keys
            .create(&key.record)
            .await
            .expect("a stored key");
        key.key_text
    };
    let keys = [
        ("none", String::new()),
        ("garbage", "garbage".to_owned()),
        ("disabled", stored(|key| key.enabled = false).await),
        (
            "expired",
            stored(|key| key.expires_at = Some(Timestamp::from_millis(1))).await,
        ),
    ];
    let mut faults = ErrorMismatches::default();

    for operation in Operation::all_operations() {
        for (what, key) in &keys {
            let answer = operation.send(&app, key).await;
            if operation.is_open {
                assert!(
                    answer.status.is_success(),
                    "{}: {}",
                    operation.name(),
                    answer.status
                );
            } else {
                faults.check_error(
                    &format!("{what}: {}", operation.name()),
                    &answer,
                    401,
                    "AuthenticationError",
                    "",
                );
            }
        }
    }

    faults.assert_none();
}

#[tokio::test]
async fn every_key_may_what_it_is_for_and_nothing_else() {
    let app = TestApp::new().await;
    let admin = app.create_key("acme").await;
    let operations = Operation::all_operations();
    assert!(operations.len() > 40, "{}", operations.len());

    let mut faults = ErrorMismatches::default();
    let mut wrong = Vec::new();
    app.add_document(
        &admin,
        &json!({"content": "The mill stands still.", "containerTag": TAG}),
    )
    .await;

    for (what, plan, may) in valid_keys() {
        // The tests of sessions cover the permissions of a session when it opens another.
        let opens_session =
            |operation: &&Operation| what == "session" && operation.name() == "POST /v3/session";
        let asked = operations
            .iter()
            .filter(|operation| !operation.is_open && !opens_session(operation));

        for operation in asked {
            // Earlier operations may have ended or reset the key.
            let key = app.create_planned_key("acme", plan.clone()).await.key_text;
            let answer = operation.send(&app, &key).await;
            let place = format!("{what} key: {} ({:?})", operation.name(), operation.need());
            if !may.contains(&operation.need()) {
                faults.check_error(&place, &answer, 403, "PermissionError", "");
            } else if matches!(answer.status.as_u16(), 401 | 403 | 405 | 500..) {
                wrong.push(format!("{place}: {} {}", answer.status, answer.body));
            }
        }
    }

    assert!(
        wrong.is_empty(),
        "{} are refused:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    faults.assert_none();
}

#[tokio::test]
async fn a_key_of_another_tag_reaches_nothing_of_this_one() {
    let app = TestApp::new().await;
    let admin = app.create_key("acme").await;
    app.add_document(
        &admin,
        &json!({"content": "The mill stands still.", "containerTag": TAG}),
    )
    .await;
    let mut faults = ErrorMismatches::default();

    for kind in [KeyKind::Agent, KeyKind::Scoped] {
        let key = app
            .create_planned_key("acme", key_plan(kind, Permission::Write, Some("elsewhere")))
            .await
            .key_text;
        for operation in Operation::all_operations()
            .iter()
            .filter(|operation| operation.names_tag())
        {
            let answer = operation.send(&app, &key).await;
            // A batch whose documents name their tags is refused document by document.
            if operation.path.ends_with("/batch") && !operation.path.contains("{namespace}") {
                assert_eq!(answer.body["success"], 0, "{}", answer.body);
                assert!(
                    answer.body.to_string().contains("PermissionError"),
                    "{}",
                    answer.body
                );
                continue;
            }

            faults.check_error(
                &format!("{kind:?}: {}", operation.name()),
                &answer,
                403,
                "PermissionError",
                "",
            );
        }
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_scoped_key_that_names_no_tag_means_its_own() {
    let app = TestApp::new().await;
    let admin = app.create_key("acme").await;
    for tag in ["north", "south"] {
        let content = format!("My favourite bird is the {tag} heron.");
        app.add_document(
            &admin,
            &json!({"content": content, "containerTag": tag, "filepath": "/a/b.md"}),
        )
        .await;
    }

    let key = app
        .create_planned_key(
            "acme",
            key_plan(KeyKind::Scoped, Permission::Write, Some("north")),
        )
        .await
        .key_text;
    for (method, path, body, count) in [
        (
            "POST",
            "/v3/documents/list",
            json!({}),
            "/pagination/totalItems",
        ),
        (
            "POST",
            "/v3/documents/documents",
            json!({}),
            "/pagination/totalItems",
        ),
        (
            "POST",
            "/v4/memories/list",
            json!({}),
            "/pagination/totalItems",
        ),
        ("POST", "/v3/search", json!({"q": "heron"}), "/total"),
        (
            "POST",
            "/v4/search",
            json!({"q": "heron", "searchMode": "documents", "threshold": 0}),
            "/total",
        ),
        ("POST", "/v4/profile", json!({}), ""),
        ("POST", "/v4/profile/buckets", json!({}), ""),
        ("GET", "/v3/documents/processing", Value::Null, ""),
        (
            "POST",
            "/v4/memories",
            json!({"memories": [{"content": "Mine."}]}),
            "",
        ),
        (
            "POST",
            "/v4/memories/forget-matching",
            json!({"query": "heron", "dryRun": true}),
            "",
        ),
        (
            "DELETE",
            "/v3/documents/bulk",
            json!({"filepath": "/a/"}),
            "/deletedCount",
        ),
    ] {
        let answer = app.call_json(method, path, &key, &body).await;
        assert!(
            answer.status.is_success(),
            "{method} {path}: {}",
            answer.body
        );
        assert!(
            !answer.body.to_string().contains("south"),
            "{method} {path}: {}",
            answer.body
        );
        if !count.is_empty() {
            assert_eq!(
                answer.body.pointer(count),
                Some(&json!(1)),
                "{method} {path}: {}",
                answer.body
            );
        }
    }

    // The request does not say that it means all documents.
    assert_eq!(
        app.call_json("DELETE", "/v3/documents/bulk", &key, &json!({}))
            .await
            .status,
        400
    );
    let left = app
        .post(
            "/v3/documents/list",
            &admin,
            &json!({"containerTags": ["south"]}),
        )
        .await;
    assert_eq!(left.body["pagination"]["totalItems"], 1);
}
