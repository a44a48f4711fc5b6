//! Requests that several commands send.

use anyhow::{Result, bail};
use api_client::{ApiClient, ApiError, Method, StatusCode};
use domain::ContainerTag;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::output::clean_text;

/// The most container tags of a request.
const MAX_TAGS: usize = 100;

/// Sends a GET.
pub(super) async fn get(client: &ApiClient, path: &str) -> Result<Value, ApiError> {
    client.send(Method::GET, path, None).await
}

/// Sends a POST.
pub(super) async fn post(client: &ApiClient, path: &str, body: &Value) -> Result<Value, ApiError> {
    client.send(Method::POST, path, Some(body)).await
}

/// Returns the path of a document, whose id may be any text.
pub(super) fn document_path(id: &str) -> String {
    let id = utf8_percent_encode(id, NON_ALPHANUMERIC);
    format!("/v3/documents/{id}")
}

/// Returns the answer, or `None` if the object does not exist.
pub(super) fn found(answer: Result<Value, ApiError>) -> Result<Option<Value>, ApiError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(ApiError::Refused(refusal)) if refusal.status == StatusCode::NOT_FOUND => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the tags of all containers that the key reaches, the most recent first.
pub(super) async fn list_tags(client: &ApiClient) -> Result<Vec<String>> {
    let session = get(client, "/v3/session").await?;
    let own = session["containerTags"].as_array();
    if let Some(own) = own {
        return Ok(tags_of(own));
    }
    let listed = get(client, "/v3/container-tags/list").await?;
    Ok(listed
        .as_array()
        .map(|all| tags_of(all))
        .unwrap_or_default())
}

/// Returns the tags of containers as the API lists them.
pub(super) fn tags_of(containers: &[Value]) -> Vec<String> {
    let tags = containers
        .iter()
        .filter_map(|container| text_of(&container["containerTag"]));
    tags.collect()
}

/// Returns the tags that a command names, or those of all containers.
///
/// # Errors
/// Fails if there are more than a request can name.
pub(super) async fn named_or_all_tags(client: &ApiClient, named: &[String]) -> Result<Vec<String>> {
    let named = non_empty(named);
    if !named.is_empty() {
        return Ok(named);
    }
    let all = list_tags(client).await?;
    if all.len() > MAX_TAGS {
        bail!(
            "there are {} containers; name some with --tag, at most {MAX_TAGS}",
            all.len()
        );
    }
    Ok(all)
}

/// Returns the container that a command is about: the named one, or the only one, or the one of
/// content without a tag.
///
/// # Errors
/// Fails if none of them exists, and names those that do.
pub(super) async fn choose_container(client: &ApiClient, named: Option<&str>) -> Result<String> {
    if named == Some("") {
        bail!("--tag is empty: name a container, or leave the option out");
    }
    if let Some(tag) = named {
        return Ok(tag.to_owned());
    }
    let tags = list_tags(client).await?;
    match tags.as_slice() {
        [] => Ok(ContainerTag::DEFAULT.to_owned()),
        [only] => Ok(only.clone()),
        tags if tags.iter().any(|tag| tag == ContainerTag::DEFAULT) => {
            Ok(ContainerTag::DEFAULT.to_owned())
        }
        tags => {
            let first: Vec<&str> = tags.iter().take(10).map(String::as_str).collect();
            bail!("name a container with --tag, such as {}", first.join(", "))
        }
    }
}

/// Returns a body with the tags, if there are any.
pub(super) fn scoped_body(mut body: Value, tags: &[String]) -> Value {
    let tags = non_empty(tags);
    if !tags.is_empty() {
        body["containerTags"] = json!(tags);
    }
    body
}

/// Leaves out empty tags: an empty variable in the environment names none.
fn non_empty(tags: &[String]) -> Vec<String> {
    tags.iter().filter(|tag| !tag.is_empty()).cloned().collect()
}

/// The requests and fields that hints of the API name, and the commands and options in their place.
const WORDS_OF_COMMANDS: [(&str, &str); 4] = [
    (
        "GET /v3/container-tags/list",
        "`recollect list --containers`",
    ),
    ("POST /v3/documents", "`recollect add`"),
    ("GET /v3/documents/processing", "`recollect status`"),
    ("`searchMode`: `hybrid`", "`--mode all`"),
];

/// Returns the hint of an empty answer in the words of the command line.
pub(super) fn hint_for_person(answer: &Value) -> Option<String> {
    let mut hint = clean_text(answer["hint"].as_str()?);
    for (word_of_api, word_of_commands) in WORDS_OF_COMMANDS {
        hint = hint.replace(word_of_api, word_of_commands);
    }
    Some(hint)
}

/// Returns the memories of a document that still count: the latest versions that nobody has
/// forgotten.
pub(super) fn live_memories(document: &Value) -> Vec<&Value> {
    let memories = document["memories"].as_array().into_iter().flatten();
    memories
        .filter(|memory| memory["isForgotten"] != true && memory["isLatest"] != false)
        .collect()
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;

    use super::*;

    fn client(session_tags: Value, containers: &[&str]) -> ApiClient {
        let session = json!({"containerTags": session_tags}).to_string();
        let containers: Vec<Value> = containers
            .iter()
            .map(|tag| json!({"containerTag": tag}))
            .collect();
        let list = json!(containers).to_string();
        let routes = Router::new()
            .route("/v3/session", get(move || async move { session }))
            .route("/v3/container-tags/list", get(move || async move { list }))
            .layer(axum::middleware::map_response(
                |mut response: axum::response::Response| async {
                    let json = http::HeaderValue::from_static("application/json");
                    response.headers_mut().insert("content-type", json);
                    response
                },
            ));
        ApiClient::in_process(routes)
    }

    #[tokio::test]
    async fn the_container_is_the_named_one_or_the_only_one_or_the_default() {
        let default = ContainerTag::DEFAULT;
        let all = Value::Null;
        let cases = [
            (Some("a"), all.clone(), vec!["b", "c"], Some("a")),
            (Some(""), all.clone(), vec!["b"], None),
            (None, all.clone(), vec![], Some(default)),
            (None, all.clone(), vec!["b"], Some("b")),
            (None, all.clone(), vec!["b", default], Some(default)),
            (None, all, vec!["b", "c"], None),
            (
                None,
                json!([{"containerTag": "d", "permission": "write"}]),
                vec!["b", "c"],
                Some("d"),
            ),
        ];
        for (named, session_tags, containers, expected) in cases {
            let client = client(session_tags, &containers);
            let chosen = choose_container(&client, named).await;
            assert_eq!(chosen.ok().as_deref(), expected, "{named:?} {containers:?}");
        }
    }

    #[test]
    fn only_the_latest_memories_that_nobody_forgot_count() {
        let document = json!({"memories": [
            {"id": "a", "isForgotten": false, "isLatest": true},
            {"id": "b", "isForgotten": true, "isLatest": true},
            {"id": "c", "isForgotten": false, "isLatest": false},
        ]});
        let ids: Vec<&Value> = live_memories(&document)
            .iter()
            .map(|one| &one["id"])
            .collect();
        assert_eq!(ids, ["a"]);
        assert!(live_memories(&json!({})).is_empty());
    }

    #[test]
    fn a_hint_names_commands() {
        for (hint, expected) in [
            (
                "There is no container `a.b`. GET /v3/container-tags/list has the tags that exist.",
                "There is no container `a.b`. `recollect list --containers` has the tags that exist.",
            ),
            (
                "There are no documents yet. Add one with POST /v3/documents.",
                "There are no documents yet. Add one with `recollect add`.",
            ),
        ] {
            let shown = hint_for_person(&json!({"hint": hint}));
            assert_eq!(shown.as_deref(), Some(expected));
        }
        assert_eq!(hint_for_person(&json!({})), None);
    }

    #[test]
    fn an_empty_tag_names_no_container() {
        let body = scoped_body(json!({}), &[String::new()]);
        assert_eq!(body, json!({}));
        let body = scoped_body(json!({}), &["a".to_owned()]);
        assert_eq!(body, json!({"containerTags": ["a"]}));
    }

    #[test]
    fn an_id_stays_one_part_of_the_path() {
        assert_eq!(
            document_path("../a?b#c"),
            "/v3/documents/%2E%2E%2Fa%3Fb%23c"
        );
    }
}
