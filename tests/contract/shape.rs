//! Shapes of answers, written as JSON with type names in the place of values.
//!
//! An object has exactly the keys of its shape, of which those that end with `?` may be missing.
//! `[shape]` is an array of any length whose items all have the shape. The type names are `null`,
//! `bool`, `int`, `number`, `string`, `object`, `id` (22 letters and digits), `time` (ISO 8601,
//! UTC, milliseconds) and `unit` (a number from 0 to 1). Alternatives are separated by `|`.

use http::StatusCode;
use serde_json::{Value, json};
use testkit::TestAnswer;

/// Panics with the place of the mismatch unless `value` has the shape.
#[track_caller]
pub(crate) fn assert_shape(value: &Value, shape: &Value) {
    if let Err(fault) = check_shape(value, shape, "body") {
        panic!("{fault}\nin {value:#}");
    }
}

/// Checks that an answer is successful and has this shape, and returns its body.
#[track_caller]
pub(crate) fn expect_ok(answer: TestAnswer, shape: &Value) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_json(&answer);
    assert_shape(&answer.body, shape);
    answer.body
}

/// Compares an error with the expected status, type, shape and headers. The message must contain
/// `what`. Returns the difference, if there is one.
pub(crate) fn error_mismatch(
    answer: &TestAnswer,
    status: u16,
    kind: &str,
    what: &str,
) -> Option<String> {
    let TestAnswer { body, headers, .. } = answer;
    let mut shape = json!({"error": "string", "type": "string", "requestId": "id"});
    if body.get("issues").is_some() {
        shape["issues"] = json!([{"path": ["string"], "message": "string"}]);
    }
    if let Err(fault) = check_shape(body, &shape, "body") {
        return Some(format!("{fault} in {} {body}", answer.status));
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let message = body["error"].as_str().unwrap_or_default();
    let expected = [
        (answer.status.as_u16() == status, "status"),
        (body["type"] == kind, "type"),
        (
            header("content-type") == Some("application/json"),
            "content type",
        ),
        (
            header("x-request-id") == body["requestId"].as_str(),
            "request id",
        ),
        // Both official clients retry after 409 unless they are told not to.
        (
            header("x-should-retry") == (status == 409).then_some("false"),
            "x-should-retry",
        ),
        (
            header("www-authenticate") == (status == 401).then_some("Bearer"),
            "www-authenticate",
        ),
        (!message.trim().is_empty() && message.contains(what), what),
    ];
    let wrong = expected.iter().find(|(right, _)| !right)?.1;

    Some(format!("wrong {wrong}: {} {body}", answer.status))
}

/// Panics unless the answer is an error of this kind, see [`fault`].
#[track_caller]
pub(crate) fn expect_error(answer: &TestAnswer, status: u16, kind: &str, what: &str) {
    if let Some(fault) = error_mismatch(answer, status, kind, what) {
        panic!("{fault}");
    }
}

/// The differences found in many errors.
#[derive(Default)]
pub(crate) struct ErrorMismatches(Vec<String>);

impl ErrorMismatches {
    /// Checks the error of one request, which `request` describes.
    pub(crate) fn check_error(
        &mut self,
        request: &str,
        answer: &TestAnswer,
        status: u16,
        kind: &str,
        what: &str,
    ) {
        let short: String = request.chars().take(90).collect();
        self.0.extend(
            error_mismatch(answer, status, kind, what).map(|fault| format!("{short}: {fault}")),
        );
    }

    /// Panics with all differences, if there are any.
    #[track_caller]
    pub(crate) fn assert_none(self) {
        assert!(
            self.0.is_empty(),
            "{} refusals are wrong:\n{}",
            self.0.len(),
            self.0.join("\n")
        );
    }
}

#[track_caller]
fn assert_json(answer: &TestAnswer) {
    let kind = answer
        .headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    assert_eq!(kind, Some("application/json"), "{}", answer.body);
    assert!(answer.headers.contains_key("x-request-id"));
}

fn check_shape(value: &Value, shape: &Value, place: &str) -> Result<(), String> {
    match (shape, value) {
        (Value::String(types), _) => {
            let fits = types.split('|').any(|name| has_type(value, name));
            if fits {
                Ok(())
            } else {
                Err(format!("{place} is not {types}: {value}"))
            }
        }
        (Value::Object(wanted), Value::Object(found)) => {
            let is_known =
                |key: &String| wanted.contains_key(key) || wanted.contains_key(&format!("{key}?"));
            let extra = found.keys().find(|key| !is_known(key));
            if let Some(extra) = extra {
                return Err(format!(
                    "{place} has {extra}, which the contract does not name"
                ));
            }
            wanted
                .iter()
                .try_for_each(|(key, shape)| match found.get(key.trim_end_matches('?')) {
                    Some(value) => check_shape(value, shape, &format!("{place}.{key}")),
                    None if key.ends_with('?') => Ok(()),
                    None => Err(format!("{place} lacks {key}")),
                })
        }
        (Value::Array(shapes), Value::Array(items)) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(i, item)| check_shape(item, &shapes[0], &format!("{place}[{i}]")))
        }

        _ => Err(format!("{place} should look like {shape}")),
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "bool" => value.is_boolean(),
        "int" => value.is_u64(),
        "number" => value.is_number(),
        "unit" => value
            .as_f64()
            .is_some_and(|number| (0.0..=1.0).contains(&number)),
        "string" => value.is_string(),
        "object" => value.is_object(),
        "id" => value
            .as_str()
            .is_some_and(|id| id.len() == 22 && id.bytes().all(|b| b.is_ascii_alphanumeric())),
        "time" => value.as_str().is_some_and(is_time),
        _ => panic!("no such type name: {name}"),
    }
}

fn is_time(text: &str) -> bool {
    let pattern = "0000-00-00T00:00:00.000Z";
    let fits = |(found, wanted): (u8, u8)| {
        if wanted == b'0' {
            found.is_ascii_digit()
        } else {
            found == wanted
        }
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}

/// Returns the shape `{id, status}`.
pub(crate) fn accepted_shape() -> Value {
    json!({"id": "id", "status": "string"})
}

/// Returns the shape of a document in a listing.
pub(crate) fn listed_document_shape() -> Value {
    json!({
        "id": "id",
        "customId": "string|null",
        "connectionId": "null",
        "title": "string|null",
        "summary": "string|null",
        "status": "string",
        "type": "string",
        "metadata": "object|null",
        "filepath": "string|null",
        "createdAt": "time",
        "updatedAt": "time",
        "containerTag": "string",
        "containerTags": ["string"],
    })
}

/// Returns the shape of a single document.
pub(crate) fn document_shape() -> Value {
    let more = json!({
        "content": "string|null",
        "raw": "null",
        "source": "null",
        "ogImage": "string|null",
        "properties": "object",
        "taskType": "string",
        "dreamingStatus": "string",
        "latestRevision": "int",
        "memories?": [memory_version_shape()],
        "provenance?": "string",
        "trust?": "string",
        "origin?": origin_shape(),
        "memoryExtraction?": {"extractor": "string", "count": "int", "forgetRequests?": "int", "reason?": "string"},
    });

    merge_shapes(listed_document_shape(), &more)
}

/// Returns the shape of one version of a memory.
pub(crate) fn memory_version_shape() -> Value {
    json!({
        "id": "id",
        "memory": "string",
        "version": "int",
        "isLatest": "bool",
        "isForgotten": "bool",
        "isStatic": "bool",
        "isInference": "bool",
        "createdAt": "time",
        "updatedAt": "time",
        "sourceCount": "int",
        "parentMemoryId": "id|null",
        "rootMemoryId": "id",
        "metadata": "object|null",
        "trust": "string",
        "origin?": origin_shape(),
    })
}

/// Returns the shape of the origin of words that are not the user's own.
pub(crate) fn origin_shape() -> Value {
    json!({"type": "string", "name?": "string"})
}

/// Returns the additional fields of a failed document.
pub(crate) fn failure_shape() -> Value {
    json!({"errorCode": "string", "errorMessage": "string"})
}

/// Returns the shape of the position of a page.
pub(crate) fn pagination_shape() -> Value {
    json!({"currentPage": "int", "limit": "int", "totalItems": "int", "totalPages": "int"})
}

/// Returns the shape of an answer of `POST /v3/documents/list`.
pub(crate) fn listing_shape() -> Value {
    json!({"memories": [listed_document_shape()], "pagination": pagination_shape(), "hint?": "string"})
}

/// Returns the shape of an answer of `GET /v3/documents/{id}/chunks`.
pub(crate) fn chunk_list_shape() -> Value {
    let metadata = json!({"start": "int", "end": "int", "headings": ["string"]});
    let chunk = json!({
        "id": "string", "position": "int", "index": "int", "content": "string", "type": "string", "metadata": metadata,
        "createdAt": "time",
    });
    json!({"documentId": "id", "chunks": [chunk], "total": "int"})
}

/// Returns a shape with the keys of both.
pub(crate) fn merge_shapes(mut shape: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("the shape of an object") {
        shape[key] = value.clone();
    }
    shape
}
