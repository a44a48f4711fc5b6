//! `recollect recall`: a task of a deployment's recall service, over the embedded AWS services.

use aws::ResourceNames;
use embedded::{ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY};
use serde_json::json;
use tempfile::tempdir;

use crate::http::{self, Reply};
use crate::server::{RecollectServer, recollect_command};

/// Asks a process for what it remembers of a container.
fn ask(server: &RecollectServer, key: &str, path: &str) -> Reply {
    let question = json!({"q": "Where does the ferry leave?", "containerTag": "harbour"});
    let authorization = format!("Bearer {key}");
    let headers = [("authorization", authorization.as_str())];
    let body = question.to_string();
    http::send(server.address(), "POST", path, &headers, body.as_bytes()).unwrap()
}

#[test]
fn a_task_answers_searches_of_a_deployment_and_nothing_else() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let server = RecollectServer::start(&data);
    let content = "The ferry leaves from quay nine.";
    let document = json!({"content": content, "containerTag": "harbour"});
    let added = server.call("POST", "/v3/documents", &document);
    server.wait_done(added.body["id"].as_str().unwrap());
    let key = server.call(
        "POST",
        "/v3/auth/scoped-key",
        &json!({"containerTag": "harbour"}),
    );
    let key = key.body["key"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", key.body))
        .to_owned();

    let data_argument = data.to_str().unwrap();
    let arguments = ["aws-endpoints", "--port", "0", "--data", data_argument];
    let endpoints = RecollectServer::start_command(recollect_command(), &arguments, &data);
    let mut command = recollect_command();
    command
        .envs(ResourceNames::for_embedded().to_environment())
        .env(
            "AWS_ENDPOINT_URL",
            format!("http://{}", endpoints.address()),
        )
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY)
        .env("AWS_REGION", REGION);
    let mut task = RecollectServer::start_command(command, &["recall", "--port", "0"], &data);

    let found = ask(&task, &key, "/v3/search");
    assert_eq!(found.status, 200, "{}", found.body);
    assert!(
        found.body.to_string().contains("quay nine"),
        "{}",
        found.body
    );
    assert_eq!(ask(&task, "local", "/v3/search").status, 401);
    assert_eq!(ask(&task, &key, "/v3/documents").status, 404);
    let health = http::send(task.address(), "GET", "/health", &[], b"").unwrap();
    assert_eq!(health.status, 200);

    task.terminate();
    assert!(task.wait_for_exit().success());
}
