//! The first hour of a new user: printed commands can be copied, a redirected log is plain text,
//! and a deployment's keys need one variable.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

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
