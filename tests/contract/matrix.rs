//! Every parameter in `openapi.yaml` that names something, sent with names that belong to someone
//! else. The answer must be the same as for a name that does not exist.

pub(crate) mod operations;

use std::collections::BTreeMap;

use domain::key::Permission;
use http::StatusCode;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment, multipart_form};

use crate::client::OrgClient;
use operations::{NamedKind, NamingParameter, TestRequest, UNKNOWN, naming_parameters};

const CANARY: &str = "CANARY-alpha";

/// Names of existing objects of each kind, which someone else may try.
type ObjectNames = BTreeMap<NamedKind, Vec<String>>;

/// Two organizations in one world, with objects of every kind.
struct Scene {
    alpha: OrgClient,
    beta: OrgClient,
    /// The objects of alpha.
    theirs: ObjectNames,
    /// The objects that beta had and deleted.
    deleted: ObjectNames,
    /// The objects of beta outside the container `box`.
    outside: ObjectNames,
}

impl Scene {
    async fn new() -> Self {
        let world = TestEnvironment::new().expect("a folder");
        let mut clients = Vec::new();
        for org in ["alpha", "beta"] {
            clients
                .push(OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), org).await);
        }
        let (beta, alpha) = (clients.pop().expect("two"), clients.pop().expect("two"));
        let theirs = create_everything(&alpha, "theirs", CANARY).await;
        let outside = create_everything(&beta, "outside", "Beta elsewhere").await;
        create_everything(&beta, "box", "Beta in its box").await;
        let deleted = create_everything(&beta, "gone", "Beta before").await;
        delete_everything(&beta, &deleted).await;

        Self {
            alpha,
            beta,
            theirs,
            deleted,
            outside,
        }
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("a text, not {value}"))
        .to_owned()
}

/// Creates one object of each kind for an organization. Documents and memories are in the container
/// `tag`.
async fn create_everything(client: &OrgClient, tag: &str, canary: &str) -> ObjectNames {
    let content = format!("{canary} sings. I prefer {canary} to tea.");
    let custom_id = format!("note-in-{tag}");
    let document = client
        .add_document(json!({"content": content, "containerTag": tag, "customId": custom_id}))
        .await;
    let shared = json!({"content": format!("{canary} is shared."), "containerTags": [tag, format!("{tag}-more")]});
    let shared = client.add_document(shared).await;
    let memories = json!([{"content": format!("{canary} is remembered.")}]);
    let made = client
        .post(
            "/v4/memories",
            json!({"containerTag": tag, "memories": memories}),
        )
        .await;
    let memory = text(&made.body["memories"][0]["id"]);
    let key = client
        .post(
            "/v3/auth/scoped-key",
            json!({"containerTag": tag, "name": canary}),
        )
        .await;
    let request = text(&key.body["id"]);
    let site = json!({"containerTag": tag, "metadata": {"startUrl": "https://site.example/", "owner": canary}});
    let connection = client.post("/v3/connections/web-crawler", site).await;
    let connection = text(&connection.body["id"]);
    for part in ["from", "lost"] {
        let body = json!({"content": format!("{canary} {part}."), "containerTag": format!("{tag}-{part}")});
        client.send_document(body).await;
    }

    client.run_until_settled().await;
    let merge = json!({"containerTags": [format!("{tag}-from"), tag], "targetContainerTag": tag});
    let merge = client.post("/v3/container-tags/merge", merge).await;
    assert_eq!(merge.status, StatusCode::ACCEPTED, "{}", merge.body);

    let deletion = client
        .delete(&format!("/v3/container-tags/{tag}-lost"))
        .await;
    client.run_until_settled().await;
    BTreeMap::from([
        (NamedKind::Tag, vec![tag.to_owned()]),
        (NamedKind::Connection, vec![connection]),
        (NamedKind::Document, vec![document, custom_id, shared]),
        (NamedKind::Memory, vec![memory]),
        (NamedKind::Key, vec![request.clone()]),
        (NamedKind::Merge, vec![text(&merge.body["mergeId"])]),
        (
            NamedKind::Deletion,
            vec![text(&deletion.body["deletionId"])],
        ),
        (
            NamedKind::Request,
            vec![text(&json!(
                key.headers["x-request-id"].to_str().expect("a text")
            ))],
        ),
    ])
}

/// Deletes those objects that can be deleted.
async fn delete_everything(client: &OrgClient, things: &ObjectNames) {
    client
        .delete(&format!(
            "/v3/auth/scoped-key/{}",
            things[&NamedKind::Key][0]
        ))
        .await;
    client
        .delete(&format!(
            "/v3/connections/{}",
            things[&NamedKind::Connection][0]
        ))
        .await;
    let tag = &things[&NamedKind::Tag][0];
    for tag in [tag.clone(), format!("{tag}-more")] {
        client.delete(&format!("/v3/container-tags/{tag}")).await;
        client.run_until_settled().await;
    }
}

/// Returns the status and the body of an answer, without the parts that differ between any two
/// answers and without the requested name.
async fn comparable_answer(
    client: &OrgClient,
    key: &str,
    asked: &TestRequest,
    name: &str,
) -> (u16, String) {
    let answer = if asked.is_form {
        let fields: Vec<(String, String)> = asked
            .body
            .as_object()
            .into_iter()
            .flatten()
            .map(form_field)
            .collect();
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let form = multipart_form("note.txt", b"A file.", &fields);
        client
            .app
            .send_form(&asked.method, &asked.path, key, form)
            .await
    } else {
        client
            .app
            .call_json(&asked.method, &asked.path, key, &asked.body)
            .await
    };

    // An unknown provider gets the same answer as one that is not supported.
    let is_fault = answer.status.is_server_error() && answer.status != StatusCode::NOT_IMPLEMENTED;
    assert!(!is_fault, "{asked:?}: {} {}", answer.status, answer.body);
    let mut body = answer.body;
    let whole = body.to_string();
    assert!(
        !whole.contains(CANARY),
        "{asked:?} shows what is another's: {whole}"
    );

    mask_named_fields(&mut body);
    let masked = body.to_string().replace(name, "<name>");
    (answer.status.as_u16(), mask_random_parts(&masked))
}

/// Replaces the ids of keys, and the policies and signatures of upload forms, which contain random
/// ids. The ids of keys have ten characters, and some look like a word, so the name of the field
/// tells all of these apart.
fn mask_named_fields(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(mask_named_fields),
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_id_field = name == "id" || name.ends_with("Id");
                let is_key_id = value.as_str().is_some_and(|text| text.len() == 10);
                let is_signed = ["policy", "x-amz-signature"].contains(&name.as_str());
                if is_signed || (is_id_field && is_key_id) {
                    *value = json!("*");
                } else {
                    mask_named_fields(value);
                }
            }
        }
        _ => {}
    }
}

fn form_field((name, value): (&String, &Value)) -> (String, String) {
    let value = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    (name.clone(), value)
}

/// Returns the text with every id of 22 characters, key, time and duration replaced.
fn mask_random_parts(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !(c.is_alphanumeric() || "_.:-".contains(c)));
    words
        .map(|word| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let is_id = bare.len() == UNKNOWN.len();
            let is_key = bare.starts_with("rk_");
            let is_number = bare.starts_with(|c: char| c.is_ascii_digit());
            if is_id || is_key || is_number {
                "*"
            } else {
                word
            }
        })
        .collect()
}

/// Requests `name` and a name that does not exist with this key, and checks that the answers are
/// equal.
async fn assert_as_if_never_existed(
    client: &OrgClient,
    key: &str,
    target: &NamingParameter,
    name: &str,
) {
    let never = if target.names == NamedKind::Tag {
        "never-was"
    } else {
        UNKNOWN
    };
    let found = comparable_answer(client, key, &target.build_request(name, "box"), name).await;
    let unknown = comparable_answer(client, key, &target.build_request(never, "box"), never).await;
    assert_eq!(
        found, unknown,
        "{} {}: {} {name}",
        target.method, target.path, target.parameter
    );
}

#[test]
fn the_matrix_knows_what_every_parameter_names() {
    let targets = naming_parameters();
    let count = |names| {
        targets
            .iter()
            .filter(|target| target.names == names)
            .count()
    };

    assert!(targets.len() > 60, "only {}", targets.len());
    for names in [
        NamedKind::Tag,
        NamedKind::Document,
        NamedKind::Memory,
        NamedKind::Key,
        NamedKind::Merge,
        NamedKind::Deletion,
        NamedKind::Request,
        NamedKind::Connection,
    ] {
        assert!(count(names) > 0, "{names:?}");
    }
}

#[tokio::test]
async fn what_another_organization_has_is_as_if_it_did_not_exist() {
    let scene = Scene::new().await;
    for target in naming_parameters() {
        for name in &scene.theirs[&target.names] {
            assert_as_if_never_existed(&scene.beta, &scene.beta.key, &target, name).await;
        }
    }

    scene.alpha.run_until_settled().await;
    // The other organization's objects must be unchanged.
    let theirs = |names| scene.theirs[&names][0].as_str();
    assert!(scene.alpha.search_finds(CANARY).await);
    let document = scene.alpha.get_document(theirs(NamedKind::Document)).await;
    assert_eq!(
        (&document["status"], &document["latestRevision"]),
        (&json!("done"), &json!(1)),
        "{document}"
    );
    let keys = scene.alpha.get("/v3/auth/keys").await.body.to_string();
    assert!(keys.contains(theirs(NamedKind::Key)));
    let connection = scene
        .alpha
        .get(&format!(
            "/v3/connections/{}",
            theirs(NamedKind::Connection)
        ))
        .await
        .body;
    assert_eq!(connection["documentLimit"], 10_000, "{connection}");
    let body = json!({"containerTags": ["theirs"], "limit": 100});
    let memories = scene.alpha.post("/v4/memories/list", body).await.body;
    let all = memories["memoryEntries"].as_array().expect("a list");
    assert!(
        all.iter()
            .all(|memory| memory["isForgotten"] == false && memory["version"] == 1),
        "{memories}"
    );
}

#[tokio::test]
async fn what_was_deleted_is_as_if_it_had_never_existed() {
    let scene = Scene::new().await;
    for target in naming_parameters() {
        // The history of requests and tasks outlives their subjects.
        if matches!(
            target.names,
            NamedKind::Merge | NamedKind::Deletion | NamedKind::Request
        ) {
            continue;
        }

        // Deleting a connection again gets the same answer as the first time.
        let is_connection = target.names == NamedKind::Connection;
        if target.method == "DELETE" && is_connection {
            continue;
        }

        for name in &scene.deleted[&target.names] {
            assert_as_if_never_existed(&scene.beta, &scene.beta.key, &target, name).await;
        }
    }
}

#[tokio::test]
async fn what_lies_outside_a_keys_containers_is_as_if_it_did_not_exist() {
    let scene = Scene::new().await;
    let key = scene
        .beta
        .app
        .create_key_with("beta", Permission::Write, Some(&["box"]))
        .await;
    for target in naming_parameters() {
        for name in &scene.outside[&target.names] {
            assert_as_if_never_existed(&scene.beta, &key, &target, name).await;
        }
    }

    let document = scene
        .beta
        .get_document(&scene.outside[&NamedKind::Document][0])
        .await;
    assert_eq!(document["latestRevision"], 1, "{document}");
}

#[tokio::test]
async fn malformed_names_are_refused_or_unknown() {
    let scene = Scene::new().await;
    for target in naming_parameters() {
        for name in [
            "%00",
            "..%2F..%2Ftheirs",
            "%F0%9F%A6%89",
            "null",
            &"x".repeat(300),
        ] {
            let asked = target.build_request(name, "box");
            let (status, _) = comparable_answer(&scene.beta, &scene.beta.key, &asked, name).await;
            // A list of objects that do not exist is empty.
            let is_fine = (400..500).contains(&status) || [200, 201, 202, 501].contains(&status);
            assert!(is_fine, "{asked:?}: {status}");
        }
    }

    assert!(scene.alpha.search_finds(CANARY).await);
}
