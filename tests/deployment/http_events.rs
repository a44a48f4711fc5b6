//! Recorded API Gateway events through the Lambda glue get the same answers as the same requests
//! over HTTP.

use aws::AnswerStore;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use container_index::SegmentReading;
use edge::App;
use lambda_http::request::LambdaRequest;
use lambda_http::tower::ServiceExt;
use lambda_http::{Adapter, Context, LambdaEvent};
use serde_json::{Value, json};
use service::Authenticator;
use testkit::{TestAnswer, TestApp, multipart_form};

use crate::tree::read_file;

/// The two kinds of API in front of a function.
pub(crate) const KINDS: [&str; 2] = ["http-api", "rest-api"];

/// A request as a test writes it.
#[derive(Clone, Default)]
pub(crate) struct EventCall<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    /// The content type; `None` sends none.
    pub(crate) content_type: Option<&'a str>,
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) key: &'a str,
    /// The stage; empty stands for `$default`.
    pub(crate) stage: &'a str,
}

impl EventCall<'_> {
    /// Builds the event that API Gateway sends for this request: text as it is, other bytes as
    /// Base64.
    pub(crate) fn to_event(&self, kind: &str) -> Value {
        let text =
            read_file(&format!("tests/deployment/data/{kind}.json")).replace("KEY", self.key);
        let mut event: Value = serde_json::from_str(&text).unwrap();
        let stage = if self.stage.is_empty() {
            "$default"
        } else {
            self.stage
        };

        event["requestContext"]["stage"] = stage.into();
        if kind == "http-api" {
            event["rawPath"] = self.path.into();
            event["rawQueryString"] = self.query.into();
            event["requestContext"]["http"]["method"] = self.method.into();
            event["requestContext"]["http"]["path"] = self.path.into();
        } else {
            event["path"] = self.path.into();
            event["httpMethod"] = self.method.into();
            event["requestContext"]["httpMethod"] = self.method.into();
            self.rest_query(&mut event);
        }

        for (headers, many) in [("headers", false), ("multiValueHeaders", true)] {
            let Some(headers) = event[headers].as_object_mut() else {
                continue;
            };
            headers.retain(|name, _| !name.eq_ignore_ascii_case("content-type"));
            if let Some(kind) = self.content_type {
                headers.insert(
                    "Content-Type".into(),
                    if many { json!([kind]) } else { json!(kind) },
                );
            }
        }

        let fields = event.as_object_mut().unwrap();
        fields.remove("body");
        if let Some(body) = self.body {
            let is_text = self
                .content_type
                .is_some_and(|kind| kind.starts_with("application/json"));
            let text = if is_text {
                String::from_utf8(body.to_vec()).unwrap()
            } else {
                BASE64_STANDARD.encode(body)
            };
            fields.insert("body".into(), text.into());
            fields.insert("isBase64Encoded".into(), (!is_text).into());
        }

        event
    }

    /// Adds the query string, which REST APIs decode.
    fn rest_query(&self, event: &mut Value) {
        let Some((name, value)) = self.query.split_once('=') else {
            return;
        };
        let value = value.replace("%3A", ":");
        event["queryStringParameters"] = json!({ name: value });
        event["multiValueQueryStringParameters"] = json!({ name: [value] });
    }

    /// Sends the same request over HTTP.
    pub(crate) async fn send_over_http(&self, app: &TestApp) -> TestAnswer {
        let target = if self.query.is_empty() {
            self.path.to_owned()
        } else {
            format!("{}?{}", self.path, self.query)
        };

        let request = http::Request::builder().method(self.method).uri(target);
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let request = match self.content_type {
            Some(kind) => request.header("content-type", kind),
            None => request,
        };

        let body = self.body.unwrap_or_default().to_vec();
        app.send(request.body(body.into()).unwrap()).await
    }
}

/// Returns the function's answer to an event. Runs the code of `lambda::http` on the ports of
/// `app`.
pub(crate) async fn invoke_function(app: &TestApp, function: &str, event: &Value) -> Value {
    let ctx = app.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let state = App::new(ctx, authenticator);
    let router = match function {
        "search" => search::router(state.clone(), 1024 * 1024),
        _ => documents::router(
            state.clone(),
            documents::LAMBDA_FILE_BYTES,
            SegmentReading::OVER_NETWORK,
        ),
    };

    let request: LambdaRequest =
        serde_json::from_value(event.clone()).expect("an event of API Gateway");
    let answers = AnswerStore::new(&app.system.clients, &app.system.names);
    let routes = edge::build_service(router, &state);
    let routes = lambda::limit_answers(routes, answers, state.ctx.clock.clone());
    let service = Adapter::from(lambda::strip_stage(routes));
    let response = service
        .oneshot(LambdaEvent::new(request, Context::default()))
        .await
        .unwrap();

    serde_json::to_value(response).unwrap()
}

/// Clears the fields that differ from request to request.
fn without_variable_fields(mut body: Value) -> Value {
    for field in ["requestId", "timing"] {
        if let Some(found) = body
            .as_object_mut()
            .and_then(|fields| fields.get_mut(field))
        {
            *found = Value::Null;
        }
    }
    body
}

/// Sends a request as events and over HTTP, checks that the answers are equal, and returns the
/// answer.
async fn check_both_ways(
    app: &TestApp,
    function: &str,
    call: &EventCall<'_>,
    status: u16,
) -> Value {
    let wanted = call.send_over_http(app).await;
    let what = format!("{} {}", call.method, call.path);
    assert_eq!(wanted.status.as_u16(), status, "{what}: {}", wanted.body);
    for kind in KINDS {
        let answer = invoke_function(app, function, &call.to_event(kind)).await;
        assert_eq!(answer["statusCode"], status, "{kind}: {what}: {answer}");
        assert_eq!(answer["isBase64Encoded"], false, "{kind}: {what}");
        let body = answer["body"].as_str().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        assert_eq!(
            without_variable_fields(body),
            without_variable_fields(wanted.body.clone()),
            "{kind}: {what}"
        );
        let headers = ["headers", "multiValueHeaders"].map(|field| answer[field].to_string());
        let has = |name: &str| headers.iter().any(|headers| headers.contains(name));
        assert!(has("x-request-id"), "{kind}: {what}: {answer}");
        assert_eq!(
            has("application/json"),
            !wanted.body.is_null(),
            "{kind}: {what}: {answer}"
        );
    }

    wanted.body
}

pub(crate) const JSON: Option<&str> = Some("application/json");

#[tokio::test]
async fn content_that_is_sent_is_accepted_and_found() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    let body = r#"{"content": "Größe zählt: the bridge opens at noon.", "containerTag": "town"}"#;
    let add = EventCall {
        method: "POST",
        path: "/v3/documents",
        content_type: JSON,
        body: Some(body.as_bytes()),
        key,
        ..EventCall::default()
    };

    // The same content is one document, whichever way it arrives.
    let accepted = check_both_ways(&app, "documents", &add, 200).await;
    app.run_until_settled().await.unwrap();
    let path = format!("/v3/documents/{}", accepted["id"].as_str().unwrap());
    let get = EventCall {
        method: "GET",
        path: &path,
        key,
        ..EventCall::default()
    };
    let document = check_both_ways(&app, "documents", &get, 200).await;
    assert_eq!(
        document["content"],
        "Größe zählt: the bridge opens at noon."
    );

    let body =
        br#"{"q": "when does the bridge open?", "containerTag": "town", "searchMode": "hybrid"}"#;
    for path in ["/v4/search", "/v3/search"] {
        let search = EventCall {
            method: "POST",
            path,
            content_type: JSON,
            body: Some(body),
            key,
            ..EventCall::default()
        };
        let found = check_both_ways(&app, "search", &search, 200).await;
        assert_eq!(found["total"], 1, "{found}");
    }
}

#[tokio::test]
async fn files_arrive_byte_by_byte_although_events_carry_text() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    let bytes = std::fs::read(
        crate::tree::workspace_root().join("shared/content/tests/data/two-pages.pdf"),
    )
    .unwrap();
    let (kind, body) = multipart_form(
        "tern point.pdf",
        &bytes,
        &[("containerTag", "coast"), ("customId", "tern")],
    );
    let upload = EventCall {
        method: "POST",
        path: "/v3/documents/file",
        content_type: Some(&kind),
        body: Some(&body),
        key,
        ..EventCall::default()
    };

    check_both_ways(&app, "documents", &upload, 200).await;
    app.run_until_settled().await.unwrap();
    let get = EventCall {
        method: "GET",
        path: "/v3/documents/tern",
        query: "containerTag=coast",
        key,
        ..EventCall::default()
    };

    let document = check_both_ways(&app, "documents", &get, 200).await;
    assert_eq!(document["status"], "done", "{document}");
    assert_eq!(document["type"], "pdf");
    assert_eq!(
        document["latestRevision"], 1,
        "three times the same bytes are one content"
    );
}

#[tokio::test]
async fn ids_and_queries_may_be_percent_encoded() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    let plain = json!({"content": "One.", "customId": "note:1", "containerTag": "team:a"});
    app.add_document(key, &plain).await;
    let conversation =
        json!({"conversationId": "chat 7/é", "messages": [{"role": "user", "content": "Two."}]});
    app.post("/v4/conversations", key, &conversation).await;
    app.run_until_settled().await.unwrap();

    for (path, content) in [
        ("/v3/documents/note%3A1", "One."),
        ("/v3/documents/note:1", "One."),
        ("/v3/documents/chat%207%2F%C3%A9", "Two."),
    ] {
        let get = EventCall {
            method: "GET",
            path,
            key,
            ..EventCall::default()
        };
        let document = check_both_ways(&app, "documents", &get, 200).await;
        assert!(
            document["content"].as_str().unwrap().contains(content),
            "{path}: {document}"
        );

        let chunks = format!("{path}/chunks");
        let chunks = check_both_ways(
            &app,
            "documents",
            &EventCall {
                path: &chunks,
                ..get
            },
            200,
        )
        .await;
        assert_eq!(chunks["total"], 1, "{path}");
    }

    let get = EventCall {
        method: "GET",
        path: "/v3/documents/note:1",
        query: "containerTag=team%3Aa",
        key,
        ..EventCall::default()
    };
    check_both_ways(&app, "documents", &get, 200).await;
    check_both_ways(
        &app,
        "documents",
        &EventCall {
            query: "containerTag=team%3Ab",
            ..get
        },
        404,
    )
    .await;
}

#[tokio::test]
async fn a_post_needs_neither_body_nor_content_type() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    app.add_document(key, &json!({"content": "The only one."}))
        .await;
    let list = EventCall {
        method: "POST",
        path: "/v3/documents/list",
        key,
        ..EventCall::default()
    };

    let listed = check_both_ways(&app, "documents", &list, 200).await;
    assert_eq!(listed["pagination"]["totalItems"], 1);
    // Some events have an empty text where others have no body.
    check_both_ways(
        &app,
        "documents",
        &EventCall {
            body: Some(b""),
            content_type: JSON,
            ..list
        },
        200,
    )
    .await;
    let file = EventCall {
        path: "/v3/documents/file",
        ..list
    };

    check_both_ways(&app, "documents", &file, 415).await;
}

#[tokio::test]
async fn a_deletion_is_answered_without_a_body() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;

    for kind in KINDS {
        let id = app
            .add_document(
                key,
                &json!({"content": format!("To be deleted by {kind}.")}),
            )
            .await;
        let path = format!("/v3/documents/{id}");
        let delete = EventCall {
            method: "DELETE",
            path: &path,
            key,
            ..EventCall::default()
        };
        let answer = invoke_function(&app, "documents", &delete.to_event(kind)).await;
        assert_eq!(answer["statusCode"], 204, "{answer}");
        assert_eq!(answer["body"].as_str().unwrap_or_default(), "", "{answer}");
        check_both_ways(&app, "documents", &delete, 404).await;
    }
}

#[tokio::test]
async fn refusals_have_the_same_shape() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    let add = EventCall {
        method: "POST",
        path: "/v3/documents",
        content_type: JSON,
        key,
        ..EventCall::default()
    };

    for (body, status) in [
        ("{", 400),
        (r#"{"content": 5}"#, 400),
        (r#"{"content": " "}"#, 400),
        ("[]", 400),
    ] {
        let refused = check_both_ways(
            &app,
            "documents",
            &EventCall {
                body: Some(body.as_bytes()),
                ..add.clone()
            },
            status,
        )
        .await;
        assert_eq!(refused["type"], "ValidationError", "{body}");
    }

    let refused = check_both_ways(
        &app,
        "documents",
        &EventCall {
            key: "rk_wrong_key",
            ..add.clone()
        },
        401,
    )
    .await;
    assert_eq!(refused["type"], "AuthenticationError");

    // A request to a function never comes from this machine.
    check_both_ways(
        &app,
        "documents",
        &EventCall {
            key: "local",
            ..add.clone()
        },
        401,
    )
    .await;

    let unknown = EventCall {
        path: "/v3/nothing",
        ..add.clone()
    };
    assert_eq!(
        check_both_ways(&app, "documents", &unknown, 404).await["error"],
        "Route not found"
    );
    check_both_ways(
        &app,
        "documents",
        &EventCall {
            method: "PUT",
            ..add
        },
        405,
    )
    .await;
}

#[tokio::test]
async fn health_is_plain_text_and_needs_no_key() {
    let app = TestApp::new().await;
    for kind in KINDS {
        let health = EventCall {
            method: "GET",
            path: "/health",
            key: "none",
            ..EventCall::default()
        };
        let answer = invoke_function(&app, "documents", &health.to_event(kind)).await;
        assert_eq!(
            (&answer["statusCode"], &answer["body"]),
            (&json!(200), &json!("ok")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_named_stage_is_no_part_of_the_path() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    app.add_document(
        key,
        &json!({"content": "Kept.", "customId": "v3", "containerTag": "team:a"}),
    )
    .await;

    // An HTTP API leaves the stage in the path, and a REST API removes it. The stage `v3` looks
    // like the beginning of a route.
    for stage in ["prod", "v3"] {
        for (kind, prefix) in [
            ("http-api", format!("/{stage}")),
            ("rest-api", String::new()),
        ] {
            let path = format!("{prefix}/v3/documents/v3");
            let get = EventCall {
                method: "GET",
                path: &path,
                query: "containerTag=team%3Aa",
                key,
                stage,
                ..EventCall::default()
            };
            let answer = invoke_function(&app, "documents", &get.to_event(kind)).await;
            assert_eq!(answer["statusCode"], 200, "{kind}: {stage}: {answer}");
            let unknown = format!("{prefix}/v5/documents");
            let answer = invoke_function(
                &app,
                "documents",
                &EventCall {
                    path: &unknown,
                    ..get
                }
                .to_event(kind),
            )
            .await;
            assert_eq!(answer["statusCode"], 404, "{kind}: {stage}: {answer}");
        }
    }
}
