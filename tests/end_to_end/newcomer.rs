//! The first hour of a new user: printed commands can be copied, a redirected log is JSON without
//! colours, metrics count, and a deployment's keys need one variable.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::binary::binary_path;
use crate::server::{RecollectServer, error_file, recollect_command};

#[test]
fn the_commands_that_the_demo_ends_with_name_a_program_that_exists() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for arguments in [vec!["demo"], vec!["demo", "--data", data.to_str().unwrap()]] {
        let output = recollect_command().args(&arguments).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let last = printed.lines().last().unwrap();
        let commands = last.rsplit("  ").next().unwrap().split(" && ");
        for printed in commands {
            let program = printed.split(' ').next().unwrap();
            assert_eq!(Path::new(program), binary_path(), "{last}");
        }
    }
}

#[test]
fn a_log_that_is_no_terminal_has_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = RecollectServer::start_with(&data, &["--log", "debug"]);
    server.call("GET", "/health", &Value::Null);
    let log = std::fs::read_to_string(error_file(&data)).unwrap();
    assert!(log.contains("DEBUG") && !log.contains('\u{1b}'), "{log}");
}

#[test]
fn a_log_that_is_no_terminal_is_json_unless_asked_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more, is_json) in [
        ("json", &["--log", "debug"][..], true),
        (
            "text",
            &["--log", "debug", "--log-format", "text"][..],
            false,
        ),
    ] {
        let data = folder.path().join(name);
        let server = RecollectServer::start_with(&data, more);
        server.call("GET", "/healthz", &Value::Null);
        let log = std::fs::read_to_string(error_file(&data)).unwrap();
        let first = log.lines().next().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(first).is_ok(),
            is_json,
            "{first}"
        );
    }
}

#[test]
fn metrics_count_without_naming_anybody() {
    let folder = tempfile::tempdir().unwrap();
    let server = RecollectServer::start(&folder.path().join("data"));
    let document = json!({"content": "Ada lives in Bonn.", "containerTag": "secret-tag"});
    let added = server.call("POST", "/v3/documents", &document);
    server.wait_done(added.body["id"].as_str().unwrap());
    server.call(
        "POST",
        "/v4/search",
        &json!({"q": "Ada", "containerTag": "secret-tag"}),
    );

    let metrics = read_text(server.address(), "/metrics");
    for line in [
        "recollect_documents_total{status=\"done\"} 1",
        "recollect_queue_depth{queue=\"process\",state=\"waiting\"} 0",
        "recollect_cache_opens_total{result=\"loaded\"}",
        "route=\"/v4/search\",status=\"200\",le=\"+Inf\"} 1",
        "recollect_queue_messages_total{queue=\"process\",outcome=\"done\"}",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    for name in [
        "secret-tag",
        "Ada",
        "local",
        added.body["id"].as_str().unwrap(),
    ] {
        assert!(!metrics.contains(name), "{name} in {metrics}");
    }
}

/// Returns the body of an answer that is not JSON.
fn read_text(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A process that ends with the test.
struct Endpoints(Child);

impl Drop for Endpoints {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn keys_of_a_deployment_need_the_table_of_secrets_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut serving = Command::new(binary_path());
    serving
        .args(["aws-endpoints", "--port", "0", "--data"])
        .arg(&data)
        .stdout(Stdio::piped());
    let mut endpoints = Endpoints(serving.spawn().unwrap());
    let mut keys = recollect_command();
    keys.args([
        "keys", "create", "--aws", "--org", "acme", "--name", "first",
    ])
    .env_clear();
    let output = BufReader::new(endpoints.0.stdout.take().unwrap());
    for line in output.lines() {
        let line = line.unwrap();
        let assignments = line.strip_prefix("export ").unwrap().split(' ');
        for (name, value) in assignments.map(|assignment| assignment.split_once('=').unwrap()) {
            if name.starts_with("AWS_") || name == "RECOLLECT_SECRETS_TABLE" {
                keys.env(name, value);
            }
        }
        if line.contains("RECOLLECT_SYNC_QUEUE_URL") {
            break;
        }
    }

    let created = keys.output().unwrap();
    let error = String::from_utf8(created.stderr).unwrap();
    assert_eq!(created.status.code(), Some(0), "{error}");
    let listed = recollect_command()
        .args(["keys", "list", "--org", "acme", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(String::from_utf8(listed.stdout).unwrap().contains("first"));
}
