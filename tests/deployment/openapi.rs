//! Checks that `openapi.yaml` is a consistent document with exactly the routes of the template and
//! of the routers. The crate `testkit` validates requests and answers against it in every test that
//! sends any.

use std::collections::{BTreeMap, BTreeSet};

use domain::ports::Connectors;
use edge::App;
use fake_drive::FakeDrive;
use lambda_http::Body;
use lambda_http::tower::ServiceExt;
use serde_json::{Value, json};
use service::Authenticator;
use testkit::{
    DRIVE_ACCOUNT, TestAnswer, TestApp, TestEnvironment, is_undescribed, multipart_form,
};

use crate::routes::{OPEN_PATHS, fill_path};
use crate::tree::{list_folders, read_file};
use testkit::template::{function_events, load_template, resources};

const JSON: &str = "application/json";
/// The id of a drive's folder in the examples.
const FOLDER: &str = "1aBcPlans";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

fn load_document() -> Value {
    serde_norway::from_str(&read_file("openapi.yaml"))
        .expect("openapi.yaml is YAML with texts as keys")
}

/// Iterates over the properties of an object.
fn object_entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().expect("an object").iter()
}

/// Returns every operation: method, path and its description.
fn list_operations(document: &Value) -> Vec<(String, &str, &Value)> {
    let paths = object_entries(&document["paths"]);
    let operations = paths.flat_map(|(path, item)| {
        object_entries(item)
            .map(move |(method, operation)| (method.to_uppercase(), path.as_str(), operation))
    });
    operations.collect()
}

fn template_routes(document: &Value) -> BTreeSet<(String, String)> {
    list_operations(document)
        .into_iter()
        .map(|(method, path, _)| (method, path.to_owned()))
        .collect()
}

/// Calls `visit` with the name of every value of the tree and the value.
fn walk_values<'a>(name: &'a str, value: &'a Value, visit: &mut impl FnMut(&'a str, &'a Value)) {
    visit(name, value);
    match value {
        Value::Object(object) => object
            .iter()
            .for_each(|(name, value)| walk_values(name, value, visit)),
        Value::Array(items) => items.iter().for_each(|item| walk_values("", item, visit)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_to_a_component_and_every_component_is_used() {
    let document = load_document();
    let mut references = BTreeSet::new();
    walk_values("", &document, &mut |name, value| {
        if name == "$ref"
            && let Some(reference) = value.as_str()
        {
            assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
            // A reference may lead into a component, to one of its properties.
            let component: Vec<&str> = reference.split('/').take(4).collect();
            references.insert(component.join("/"));
        }
    });
    let components =
        object_entries(&document["components"]).filter(|(kind, _)| *kind != "securitySchemes");
    let components = components.flat_map(|(kind, all)| {
        object_entries(all).map(move |(name, _)| format!("#/components/{kind}/{name}"))
    });
    assert_eq!(references, components.collect());
}

/// Calls `visit` with a schema and every schema below it, and with the place that each has in a
/// request. Follows references.
fn visit_schemas<'a>(
    document: &'a Value,
    (place, schema): (&str, &'a Value),
    seen: &mut BTreeSet<String>,
    visit: &mut impl FnMut(&str, &'a Value),
) {
    visit(place, schema);
    // Each reference is followed once, because filters contain filters.
    if let Some(reference) = schema["$ref"].as_str()
        && seen.insert(reference.to_owned())
    {
        let target = document.pointer(&reference[1..]).expect("a component");
        visit_schemas(document, (place, target), seen, visit);
    }

    for (name, parts) in schema.as_object().into_iter().flatten() {
        match (name.as_str(), parts) {
            ("anyOf" | "oneOf" | "allOf", Value::Array(parts)) => {
                parts
                    .iter()
                    .for_each(|part| visit_schemas(document, (place, part), seen, visit));
            }
            ("properties", Value::Object(fields)) => fields.iter().for_each(|(field, part)| {
                visit_schemas(document, (&format!("{place}.{field}"), part), seen, visit);
            }),
            ("schema", part) => visit_schemas(document, (place, part), seen, visit),
            ("items", part) => visit_schemas(document, (&format!("{place}[]"), part), seen, visit),
            ("additionalProperties", part) => {
                visit_schemas(document, (&format!("{place}.*"), part), seen, visit);
            }
            _ => {}
        }
    }
}

#[test]
fn every_list_in_a_request_has_a_most() {
    let document = load_document();
    let (mut seen, mut lists, mut endless) = (BTreeSet::new(), 0, Vec::new());
    for (method, path, operation) in list_operations(&document) {
        let body = &operation["requestBody"];
        let body = body["$ref"]
            .as_str()
            .map_or(body, |reference| document.pointer(&reference[1..]).unwrap());
        let bodies = body["content"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, content)| &content["schema"]);
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for schema in bodies.chain(parameters) {
            let place = format!("{method} {path}");
            visit_schemas(
                &document,
                (&place, schema),
                &mut seen,
                &mut |place, schema| {
                    let kind = &schema["type"];
                    let is_list = kind == "array"
                        || kind
                            .as_array()
                            .is_some_and(|all| all.contains(&json!("array")));
                    lists += usize::from(is_list);
                    if is_list && !schema["maxItems"].is_u64() {
                        endless.push(place.to_owned());
                    }
                },
            );
        }
    }

    assert!(lists > 25, "{lists} lists were found");
    assert_eq!(endless, Vec::<String>::new());
}

#[test]
fn its_routes_are_those_of_the_template() {
    let template = load_template();
    let functions = resources(&template, "AWS::Serverless::Function");
    let events = functions
        .iter()
        .flat_map(|(_, function)| function_events(function, "HttpApi"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    // The event without a path is the catch-all.
    let events = events.filter(|event| event.get("Path").is_some());
    let deployed = events.map(|event| (text(&event["Method"]), text(&event["Path"])));
    let deployed: BTreeSet<_> = deployed.filter(|(_, path)| !is_undescribed(path)).collect();
    assert_eq!(template_routes(&load_document()), deployed);
}

#[test]
fn its_paths_are_those_of_the_routers() {
    let mut paths = BTreeSet::new();
    for function in list_folders("functions") {
        let text = read_file(&format!("functions/{function}/src/lib.rs"));
        let routes = text.split(".route(").skip(1);
        paths.extend(routes.map(|rest| rest.split('"').nth(1).expect("a path").to_owned()));
    }
    paths.retain(|path| !is_undescribed(path));
    let documented = template_routes(&load_document())
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    assert_eq!(paths, documented);
}

/// Checks whether any route of the local server accepts this method on this path.
async fn is_routed(app: &App, method: &str, path: &str) -> bool {
    let request = http::Request::builder().method(method).uri(fill_path(path));
    let response = cli::all_routes(app, 1024 * 1024, Connectors::default(), None, false);
    let response = response
        .oneshot(request.body(Body::Empty).unwrap())
        .await
        .unwrap();
    let status = response.status().as_u16();
    // Without a key, a route answers 401, and a missing route 404 or 405.
    assert!(
        [200, 401, 404, 405].contains(&status),
        "{method} {path} is answered with {status}"
    );

    matches!(status, 200 | 401)
}

#[tokio::test]
async fn its_methods_are_those_that_the_routers_take() {
    let test = TestApp::new().await;
    let ctx = test.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let app = App::new(ctx, authenticator);
    let routes = template_routes(&load_document());

    for (_, path) in &routes {
        for method in METHODS {
            let wanted = routes.contains(&(method.to_owned(), path.clone()));
            assert_eq!(
                is_routed(&app, method, path).await,
                wanted,
                "{method} {path}"
            );
        }
    }
}

#[test]
fn every_operation_has_a_name_a_group_and_every_kind_of_answer_that_any_route_has() {
    let document = load_document();
    let groups: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|group| group["name"].as_str())
        .collect();
    let (mut names, mut used) = (BTreeSet::new(), BTreeSet::new());
    for (method, path, operation) in list_operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        assert!(
            names.insert(name) && name.contains('_'),
            "{method} {path} has no name of its own: {name:?}"
        );
        assert!(
            operation["summary"]
                .as_str()
                .is_some_and(|text| text.ends_with('.')),
            "{name}"
        );
        let is_open = operation["security"].as_array().is_some_and(Vec::is_empty);
        assert_eq!(is_open, OPEN_PATHS.contains(&path), "{name} asks for a key");
        let responses: BTreeSet<&str> = object_entries(&operation["responses"])
            .map(|(status, _)| status.as_str())
            .collect();
        for status in ["401", "500", "503"] {
            assert_eq!(
                responses.contains(status),
                !is_open,
                "{name} answers {status}"
            );
        }
        assert_eq!(
            operation["requestBody"].is_object(),
            responses.contains("413"),
            "{name} has a body"
        );
        let group = operation["tags"][0].as_str();
        assert!(
            is_open || group.is_some_and(|group| groups.contains(group)),
            "{name} is in {group:?}"
        );
        used.extend(group);
    }

    assert_eq!(used, groups);
}

#[test]
fn aliases_are_what_they_stand_for() {
    let document = load_document();
    let mut aliases = 0;
    for (method, path, alias) in list_operations(&document) {
        let Some(rest) = path.strip_prefix("/v3/memories") else {
            continue;
        };
        let original = &document["paths"][format!("/v3/documents{rest}")][method.to_lowercase()];
        for part in ["parameters", "requestBody", "responses", "tags"] {
            assert_eq!(alias[part], original[part], "{part} of {method} {path}");
        }
        let name = original["operationId"].as_str().expect("a name");
        assert_eq!(alias["operationId"], format!("{name}_alias"));
        assert_eq!(alias["deprecated"], true, "{method} {path}");
        aliases += 1;
    }

    assert_eq!(aliases, 8);
}

/// Creates the objects that the examples refer to.
async fn create_example_objects(
    test: &TestApp,
    drive: &FakeDrive,
    key: &str,
    document: &Value,
) -> BTreeMap<&'static str, String> {
    let folder = drive
        .add_folder(drive.get_or_create_account(DRIVE_ACCOUNT).root(), "Plans")
        .expect("a folder");
    let note = &document["components"]["requestBodies"]["AddDocument"]["content"][JSON]["example"];
    test.upload_file(
        key,
        "notes.txt",
        b"The mill stands still.",
        &[("customId", "file-1")],
    )
    .await;
    test.upload_file(
        key,
        "notes.pdf",
        b"%PDF-1.7 and no more",
        &[("customId", "broken-1")],
    )
    .await;
    let turns = json!([
        {"role": "user", "content": "My sister is Anna."},
        {"role": "user", "content": "Anna lives in Bonn."},
    ]);
    let talk = json!({"conversationId": "talk-1", "containerTags": ["user_42"], "messages": turns});
    test.post("/v4/conversations", key, &talk).await;
    for tag in ["user_42_old", "merged", "lost"] {
        let body = json!({"content": format!("About {tag}."), "containerTag": tag});
        test.post("/v3/documents", key, &body).await;
    }

    test.add_document(key, note).await;
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let inferred = test
        .get("/v3/container-tags/user_42/inferred", key)
        .await
        .body;
    let merge = json!({"containerTags": ["merged", "user_42"], "targetContainerTag": "user_42"});
    let merge = test
        .post("/v3/container-tags/merge", key, &merge)
        .await
        .body;
    let deletion = test.delete("/v3/container-tags/lost", key).await.body;
    test.run_until_settled().await.expect("work that ends");
    let prompt = json!({"shouldLLMFilter": true, "filterPrompt": "Only what concerns customers."});
    test.call_json("PATCH", "/v3/settings", key, &prompt).await;
    let drive = json!({"containerTag": "user_42"});
    let (connection, ..) = test.connect_drive(key, &drive).await.expect("permission");
    test.select_items(key, &connection, &[&folder]).await;
    let other = test
        .post(
            "/v3/auth/scoped-key",
            key,
            &json!({"containerTag": "user_42"}),
        )
        .await
        .body;

    BTreeMap::from([
        ("{memoryId}", text(&inferred["memories"][0]["id"])),
        ("{mergeId}", text(&merge["mergeId"])),
        ("{deletionId}", text(&deletion["deletionId"])),
        ("{keyId}", text(&other["id"])),
        ("{tag}", "user_42".to_owned()),
        ("{namespace}", "user_42".to_owned()),
        ("{connection}", connection),
        (FOLDER, folder),
    ])
}

/// Sends the example of an operation, with the ids of existing objects.
async fn send_example(
    test: &TestApp,
    key: &str,
    known: &BTreeMap<&'static str, String>,
    document: &Value,
    (method, path, operation): (&str, &str, &Value),
) -> TestAnswer {
    let id = match path.rsplit('/').next() {
        _ if path.starts_with("/v3/auth/") => &known["{keyId}"],
        // These operations take a provider instead of an id.
        Some("connection" | "documents" | "import") if path.starts_with("/v3/connections/") => {
            "cloud-drive"
        }
        Some("{id}") if path.starts_with("/v3/connections/") && method == "POST" => "cloud-drive",
        _ if path.starts_with("/v3/connections/") || path.contains("/connectors/") => {
            &known["{connection}"]
        }
        _ if path.starts_with("/ns/{namespace}/memories/") => &known["{memoryId}"],
        Some("file-url") => "file-1",
        Some("retry") => "broken-1",
        _ => "note-17",
    };

    let path = known
        .iter()
        .fold(path.replace("{id}", id), |path, (name, value)| {
            path.replace(name, value)
        });

    let body = operation["requestBody"]["$ref"].as_str().unwrap_or("#");
    let content = &document.pointer(&body[1..]).expect("a request body")["content"];
    if content["multipart/form-data"].is_object() {
        let (kind, body) = multipart_form(
            "notes.txt",
            b"The mill stands still.",
            &[("customId", "file-1")],
        );
        let request = http::Request::builder()
            .method(method)
            .uri(&path)
            .header("content-type", kind);
        let request = request
            .header("x-api-key", key)
            .body(body.into())
            .expect("a request");
        return test.send(request).await;
    }

    let session = test.post("/v3/session", key, &Value::Null).await.body;
    // Only a session key can end a session.
    let ends_session = method == "DELETE" && path == "/v3/session";
    let key = session["token"]
        .as_str()
        .filter(|_| ends_session)
        .unwrap_or(key);
    // This is the folder that the examples select.
    let example = content[JSON]["example"]
        .to_string()
        .replace(FOLDER, &known[FOLDER]);
    let example = serde_json::from_str(&example).expect("an example");

    test.call_json(method, &path, key, &example).await
}

#[tokio::test]
async fn every_operation_takes_its_example_and_answers_as_it_says() {
    let (world, drive) = TestEnvironment::with_drive()
        .await
        .expect("a world with a drive");
    let test = TestApp::start(&world, 0).await.expect("an app");
    let key = test.create_key("acme").await;
    let document = load_document();
    let mut known = create_example_objects(&test, &drive, &key, &document).await;

    for (method, path, operation) in list_operations(&document) {
        let answer = send_example(&test, &key, &known, &document, (&method, path, operation)).await;
        // A running merge would refuse the next requests.
        test.run_until_settled().await.expect("work that ends");
        // These operations delete or move objects, so everything is created again.
        if ["DELETE", "PATCH"].contains(&method.as_str())
            || ["reset", "merge"].iter().any(|end| path.ends_with(end))
        {
            known = create_example_objects(&test, &drive, &key, &document).await;
        }
        // The crate `testkit` has validated the rest of the answer.
        assert!(
            answer.status.is_success(),
            "{method} {path}: {} {}",
            answer.status,
            answer.body
        );
    }
}
