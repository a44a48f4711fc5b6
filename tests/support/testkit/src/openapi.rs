//! Validation of every answer of the app, and of every accepted request, against `openapi.yaml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt;
use jsonschema::{Draft, Registry, Validator};
use serde_json::{Map, Value, json};

const OPENAPI_YAML: &str = include_str!("../../../../openapi.yaml");
/// The URI by which schemas refer to the document.
const DOCUMENT_URI: &str = "urn:recollect:openapi";

static CONTRACT: LazyLock<OpenApiContract> = LazyLock::new(OpenApiContract::load);

/// The document, and the schemas of its request bodies and responses, by reference and media type.
struct OpenApiContract {
    document: Value,
    schemas: HashMap<(String, String), Validator>,
}

/// A request and its answer.
struct HttpExchange {
    method: Method,
    /// The path as the router knows it.
    path: String,
    headers: HeaderMap,
    request_body: Bytes,
    status: StatusCode,
    response_headers: HeaderMap,
    response_body: Bytes,
}

/// Checks whether the document leaves a route out, because it is not for clients of the API: pages,
/// requests from pages, addresses that a provider calls, and the protocol of assistants, which
/// describes itself.
pub fn is_undescribed(path: &str) -> bool {
    let suffixes = ["/callback", "/notifications"];
    path.starts_with("/picker")
        || path.starts_with("/docs")
        || path == "/"
        || path.starts_with("/console/")
        || path == "/mcp"
        || path.starts_with("/.well-known/")
        || path.starts_with("/v3/connections/auth/")
        || suffixes.iter().any(|suffix| path.ends_with(suffix))
}

/// Wraps routes so that they panic if an answer, or a request that was accepted, does not match the
/// document.
pub(crate) fn with_contract_checks(routes: Router) -> Router {
    routes.layer(from_fn(check_exchange))
}

async fn check_exchange(request: Request, next: Next) -> Response {
    let Some(path) = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| path.as_str().to_owned())
    else {
        return next.run(request).await;
    };

    if is_undescribed(&path) {
        return next.run(request).await;
    }

    let (parts, body) = request.into_parts();
    let (method, headers) = (parts.method.clone(), parts.headers.clone());
    let request_body = read_whole_body(body).await;
    let response = next
        .run(Request::from_parts(parts, Body::from(request_body.clone())))
        .await;
    let (parts, body) = response.into_parts();
    let response_body = read_whole_body(body).await;
    let (status, response_headers) = (parts.status, parts.headers.clone());
    let exchange = HttpExchange {
        method,
        path,
        headers,
        request_body,
        status,
        response_headers,
        response_body: response_body.clone(),
    };

    if let Err(fault) = CONTRACT.check(&exchange).await {
        let HttpExchange {
            method,
            path,
            response_body,
            ..
        } = &exchange;
        let response_body = shorten(&String::from_utf8_lossy(response_body));
        panic!(
            "openapi.yaml and the service differ at {method} {path}, answered {status}: {fault}\n{response_body}"
        );
    }

    Response::from_parts(parts, Body::from(response_body))
}

async fn read_whole_body(body: Body) -> Bytes {
    body.collect()
        .await
        .expect("bodies in tests are in memory")
        .to_bytes()
}

fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 500;
    let mut shortened: String = text.chars().take(MAX_CHARS).collect();
    if shortened.len() < text.len() {
        shortened.push('…');
    }
    shortened
}

impl OpenApiContract {
    fn load() -> Self {
        let document: Value = serde_norway::from_str(OPENAPI_YAML).expect("openapi.yaml is YAML");
        let registry = Registry::new()
            .add(DOCUMENT_URI, document.clone())
            .expect("a document to refer to");
        let registry = registry.prepare().expect("references within the document");
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_registry(&registry);
        let mut schemas = HashMap::new();
        for kind in ["requestBodies", "responses"] {
            for (name, component) in object_entries(&document["components"][kind]) {
                let reference = format!("#/components/{kind}/{name}");
                for (media_type, _) in object_entries(&component["content"]) {
                    let pointer = format!(
                        "{reference}/content/{}/schema",
                        media_type.replace('/', "~1")
                    );
                    let schema =
                        options.build(&json!({"$ref": format!("{DOCUMENT_URI}{pointer}")}));
                    let schema = schema.unwrap_or_else(|error| panic!("{pointer}: {error}"));
                    schemas.insert((reference.clone(), media_type.clone()), schema);
                }
            }
        }

        Self { document, schemas }
    }

    /// Validates the answer, and the request if it was accepted.
    async fn check(&self, exchange: &HttpExchange) -> Result<(), String> {
        let method = exchange.method.as_str().to_lowercase();
        let operation = &self.document["paths"][&exchange.path][method];
        if operation.is_null() {
            let is_expected = exchange.status == StatusCode::METHOD_NOT_ALLOWED;
            return if is_expected {
                Ok(())
            } else {
                Err("the document has no such operation".into())
            };
        }

        let response = &operation["responses"][exchange.status.as_str()];
        let response = response["$ref"]
            .as_str()
            .ok_or("the document has no such status")?;
        let (answer, answer_type) = self.check_answer(response, exchange)?;
        self.check_schema(response, answer_type, &answer)?;
        let Some(body) = operation["requestBody"]["$ref"].as_str() else {
            return Ok(());
        };

        // A batch is accepted even if some of its documents are refused.
        let is_partial = answer["failed"].as_u64().is_some_and(|failed| failed > 0);
        if !exchange.status.is_success() || is_partial {
            return Ok(());
        }

        let declared = media_type(self.find_component(body));
        let request_body = match declared {
            Some("multipart/form-data") => form_fields(exchange).await?,
            _ if exchange.request_body.is_empty() => json!({}),
            _ => serde_json::from_slice(&exchange.request_body)
                .map_err(|error| format!("the request: {error}"))?,
        };

        self.check_schema(body, declared, &request_body)
            .map_err(|fault| format!("the request was taken, but {fault}"))
    }

    /// Parses the body of an answer, which must have a media type and headers that the document
    /// names. Returns the body and the media type.
    fn check_answer(
        &self,
        response: &str,
        exchange: &HttpExchange,
    ) -> Result<(Value, Option<&str>), String> {
        let (component, headers) = (self.find_component(response), &exchange.response_headers);
        let missing_header =
            object_entries(&component["headers"]).find(|(name, _)| !headers.contains_key(*name));
        if let Some((name, _)) = missing_header {
            return Err(format!("the answer lacks the header {name}"));
        }

        let declared = headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let mut media_types =
            object_entries(&component["content"]).map(|(media, _)| media.as_str());
        match media_types.clone().next() {
            None if exchange.response_body.is_empty() => return Ok((Value::Null, None)),
            None => return Err("the answer should be empty".into()),
            Some(_) => {}
        }

        let matched_type = media_types.find(|media| declared.starts_with(media));
        let matched_type = matched_type
            .ok_or_else(|| format!("the document has no answer that is {declared:?}"))?;
        let value = match matched_type {
            "application/json" => serde_json::from_slice(&exchange.response_body)
                .map_err(|error| format!("the answer: {error}"))?,
            _ => String::from_utf8_lossy(&exchange.response_body).into(),
        };

        Ok((value, Some(matched_type)))
    }

    fn find_component(&self, reference: &str) -> &Value {
        let component = self.document.pointer(reference.trim_start_matches('#'));
        component.unwrap_or_else(|| panic!("openapi.yaml has no {reference}"))
    }

    /// Validates `value` against the schema of a request body or a response, which may be empty.
    fn check_schema(
        &self,
        reference: &str,
        media_type: Option<&str>,
        value: &Value,
    ) -> Result<(), String> {
        let key = (
            reference.to_owned(),
            media_type.unwrap_or_default().to_owned(),
        );
        let Some(schema) = self
            .schemas
            .get(&key)
            .filter(|schema| !schema.is_valid(value))
        else {
            return Ok(());
        };

        let faults = schema.iter_errors(value).take(3);
        let faults: Vec<String> = faults
            .map(|fault| {
                shorten(&format!(
                    "at `{}` {}",
                    fault.instance_path(),
                    fault.masked()
                ))
            })
            .collect();

        Err(format!("{reference} does not hold: {}", faults.join("; ")))
    }
}

/// Iterates over the properties of a value; there are none if it is not an object.
fn object_entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> + Clone {
    value.as_object().into_iter().flatten()
}

/// Returns the only media type of a request body.
fn media_type(component: &Value) -> Option<&str> {
    object_entries(&component["content"])
        .next()
        .map(|(media, _)| media.as_str())
}

/// Parses the fields of a form as texts, with an empty text for the file.
async fn form_fields(exchange: &HttpExchange) -> Result<Value, String> {
    let invalid = |error: multer::Error| format!("the form: {error}");
    let content_type = exchange
        .headers
        .get(CONTENT_TYPE)
        .and_then(|content_type| content_type.to_str().ok())
        .unwrap_or_default();
    let boundary = multer::parse_boundary(content_type).map_err(invalid)?;
    let bytes = stream::iter([Ok::<_, std::io::Error>(exchange.request_body.clone())]);
    let mut parts = multer::Multipart::new(bytes, boundary);
    let mut fields = Map::new();
    while let Some(part) = parts.next_field().await.map_err(invalid)? {
        let name = part.name().unwrap_or_default().to_owned();
        let text = if name == "file" {
            String::new()
        } else {
            part.text().await.map_err(invalid)?
        };
        fields.insert(name, text.into());
    }

    Ok(fields.into())
}

#[cfg(test)]
mod tests {
    use axum::routing::post;
    use tower::ServiceExt;

    use super::*;

    /// Returns the error in an answer to this request.
    async fn check_fault(request: (&str, &str, &Value), status: u16, answer: &Value) -> String {
        let (method, path, request_body) = request;
        let mut answer_headers = HeaderMap::new();
        answer_headers.insert(CONTENT_TYPE, "application/json".parse().unwrap());
        let exchange = HttpExchange {
            method: method.parse().unwrap(),
            path: path.into(),
            headers: HeaderMap::new(),
            request_body: request_body.to_string().into(),
            status: StatusCode::from_u16(status).unwrap(),
            response_headers: answer_headers,
            response_body: answer.to_string().into(),
        };

        CONTRACT.check(&exchange).await.err().unwrap_or_default()
    }

    #[tokio::test]
    async fn what_the_document_does_not_say_is_a_fault() {
        let add = ("POST", "/v3/documents", &json!({"content": "Words."}));
        let id = "acxV5LHMEsG2hMSNb4umbn";
        let valid = json!({"id": id, "status": "queued"});
        assert_eq!(check_fault(add, 200, &valid).await, "");

        let refusal = json!({"error": "no", "type": "ValidationError", "requestId": id});
        assert_eq!(check_fault(add, 400, &refusal).await, "");
        let cases = [
            (add, 200, json!({"id": id}), "status"),
            (add, 200, json!({"id": id, "status": "ready"}), "status"),
            (add, 200, json!({"id": "short", "status": "done"}), "id"),
            (
                add,
                200,
                json!({"id": id, "status": "done", "more": 1}),
                "more",
            ),
            (add, 201, valid.clone(), "no such status"),
            (add, 401, refusal.clone(), "www-authenticate"),
            (add, 403, refusal, "type"),
            (
                ("PUT", "/v3/documents", &json!({})),
                200,
                valid.clone(),
                "no such operation",
            ),
            (
                ("POST", "/v3/document", &json!({})),
                200,
                valid.clone(),
                "no such operation",
            ),
            (
                ("POST", "/v3/documents", &json!({"content": 1})),
                200,
                valid.clone(),
                "content",
            ),
            (("POST", "/v3/documents", &json!({})), 200, valid, "content"),
        ];

        for (request, status, answer, location) in cases {
            let fault = check_fault(request, status, &answer).await;
            assert!(
                fault.contains(location),
                "{request:?} {status} {answer}: {fault:?} does not name {location}"
            );
        }
    }

    #[tokio::test]
    #[should_panic(expected = "differ at POST /v3/documents, answered 200 OK")]
    async fn a_route_that_answers_something_else_fails_the_test() {
        let routes = Router::new().route("/v3/documents", post(async || "nonsense"));
        let request = Request::post("/v3/documents")
            .body(Body::from("{}"))
            .unwrap();
        with_contract_checks(routes).oneshot(request).await.ok();
    }

    #[test]
    fn every_example_has_its_schema() {
        let mut example_count = 0;
        for kind in ["requestBodies", "responses"] {
            for (name, component) in object_entries(&CONTRACT.document["components"][kind]) {
                for (media, content) in object_entries(&component["content"]) {
                    if let Some(example) = content.get("example") {
                        let reference = format!("#/components/{kind}/{name}");
                        assert_eq!(
                            CONTRACT.check_schema(&reference, Some(media), example),
                            Ok(()),
                            "{reference}"
                        );
                        example_count += 1;
                    }
                }
            }
        }

        assert!(example_count > 15, "only {example_count} examples");
    }
}
