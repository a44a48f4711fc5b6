//! Subcommands, their help and their errors, and keys.

use std::path::Path;
use std::process::Output;

use crate::http;
use crate::server::{RecollectServer, recollect_command};

fn run(arguments: &[&str]) -> Output {
    recollect_command()
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_help_names_its_options() {
    let helps: [(&[&str], &[&str]); 11] = [
        (
            &[],
            &[
                "serve",
                "demo",
                "keys",
                "aws-endpoints",
                "work",
                "--port",
                "--data",
                "--bind",
                "--version",
            ],
        ),
        (
            &["serve"],
            &[
                "--port",
                "--data",
                "--bind",
                "--cache-mb",
                "--log",
                "8787",
                "./.recollect",
                "127.0.0.1",
            ],
        ),
        (
            &["serve"],
            &[
                "RECOLLECT_PORT",
                "RECOLLECT_DATA",
                "RECOLLECT_BIND",
                "RECOLLECT_LOG",
            ],
        ),
        (&["demo"], &["--data"]),
        (&["keys"], &["create", "list", "disable", "enable"]),
        (
            &["keys", "create"],
            &[
                "--data", "--aws", "--org", "--name", "--access", "--tag", "read", "write",
            ],
        ),
        (&["keys", "list"], &["--data", "--aws", "--org"]),
        (&["keys", "disable"], &["--data", "--aws", "--org", "<ID>"]),
        (&["keys", "enable"], &["--data", "--aws", "--org", "<ID>"]),
        (&["aws-endpoints"], &["--data", "--port", "--bind"]),
        (&["work"], &["--data", "--until-idle", "--log"]),
    ];
    for (subcommand, words) in helps {
        let output = run(&[subcommand, &["--help"]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{subcommand:?}: {}",
            stderr(&output)
        );
        let help = stdout(&output);
        for word in words {
            assert!(
                help.contains(word),
                "{subcommand:?} does not mention {word}:\n{help}"
            );
        }
    }

    let version = run(&["--version"]);
    assert!(
        stdout(&version).starts_with("recollect "),
        "{}",
        stdout(&version)
    );
}

#[test]
fn the_demo_prints_an_answer_to_each_of_its_questions() {
    let output = run(&["demo"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = stdout(&output);
    let questions: Vec<&str> = printed.split("\n? ").skip(1).collect();
    let answers = ["300 euro", "storm", "hazelnuts"];
    assert_eq!(questions.len(), answers.len(), "{printed}");

    for (question, answer) in questions.iter().zip(answers) {
        let mut lines = question
            .lines()
            .skip(1)
            .filter(|line| line.starts_with("  | "));
        assert!(
            lines.any(|line| line.contains(answer)),
            "no answer with `{answer}` to: {question}"
        );
    }
}

#[test]
fn values_that_cannot_be_read_are_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").display().to_string();
    let cases: [(&[&str], &str); 9] = [
        (&["serve", "--bind", "nowhere"], "--bind"),
        (&["serve", "--port", "65536"], "--port"),
        (&["serve", "--cache-mb", "much"], "--cache-mb"),
        (&["serve", "--port", "0", "--log", "info,[["], "log"),
        (
            &["serve", "--port", "0", "--bind", "203.0.113.7"],
            "203.0.113.7",
        ),
        (&["keys", "create", "--org", "Not An Org!"], "org"),
        (&["keys", "create", "--tag", "no spaces"], "--tag"),
        (&["keys", "disable", "not an id"], "not an id"),
        (&["fly"], "fly"),
    ];

    for (arguments, word) in cases {
        let mut command = recollect_command();
        command.args(arguments).env("RECOLLECT_DATA", &data);
        let output = command.output().unwrap();
        let error = stderr(&output);
        assert!(
            matches!(output.status.code(), Some(1 | 2)),
            "{arguments:?}: {output:?}"
        );
        assert!(
            error.contains(word),
            "{arguments:?} does not mention {word}: {error}"
        );
        assert!(!error.contains("panicked"), "{arguments:?}: {error}");
    }
}

fn keys(data: &Path, arguments: &[&str]) -> String {
    let output = recollect_command()
        .arg("keys")
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        stderr(&output)
    );

    stdout(&output)
}

/// Returns the status of a listing with this key, sent as by a client on another host.
fn list_status(server: &RecollectServer, key: &str, host: &str) -> u16 {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str()), ("host", host)];
    http::send(
        server.address(),
        "POST",
        "/v3/documents/list",
        &headers,
        b"{}",
    )
    .unwrap()
    .status
}

#[test]
fn the_key_local_works_for_names_of_this_machine_only() {
    let folder = tempfile::tempdir().unwrap();
    let server = RecollectServer::start(&folder.path().join("data"));
    for host in ["localhost", "127.0.0.1:8787", "[::1]"] {
        assert_eq!(list_status(&server, "local", host), 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:8787", "10.0.0.1"] {
        assert_eq!(list_status(&server, "local", host), 401, "{host}");
    }
}

#[test]
fn keys_are_managed_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = RecollectServer::start(&data);
    assert_eq!(
        list_status(&server, "rk_1111111111_2222", "example.org"),
        401
    );
    let created = keys(&data, &["create", "--name", "laptop of Ada"]);
    let key = created.lines().last().unwrap().to_owned();
    let id = key.split('_').nth(1).unwrap().to_owned();
    assert_eq!(list_status(&server, &key, "example.org"), 200);

    let reader = keys(&data, &["create", "--access", "read", "--tag", "notes"]);
    let reader = reader.lines().last().unwrap().to_owned();
    let bearer = format!("Bearer {reader}");
    let headers = [("authorization", bearer.as_str())];
    let body = br#"{"content": "x", "containerTag": "notes"}"#;
    let refused = http::send(server.address(), "POST", "/v3/documents", &headers, body).unwrap();
    assert_eq!(refused.status, 403, "{}", refused.body);

    let listed = keys(&data, &["list"]);
    let line = listed.lines().find(|line| line.contains(&id)).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert!(
        cells.contains(&"enabled") && cells.ends_with(&["all", "laptop", "of", "Ada"]),
        "{listed}"
    );
    assert!(
        listed.lines().any(|line| line.contains(" notes ")),
        "{listed}"
    );
    let secret = key.rsplit('_').next().unwrap();
    assert!(!listed.contains(secret), "a listing shows no secret");

    assert!(keys(&data, &["disable", &id]).contains("disabled"));
    let listed = keys(&data, &["list"]);
    let line = listed.lines().find(|line| line.contains(&id)).unwrap();
    assert!(line.contains("disabled"), "{listed}");
    // A server that has not seen the key yet refuses it at once.
    let other = RecollectServer::start(&data);
    assert_eq!(list_status(&other, &key, "example.org"), 401);
    keys(&data, &["enable", &id]);
    let third = RecollectServer::start(&data);
    assert_eq!(list_status(&third, &key, "example.org"), 200);
}

#[test]
fn a_key_of_another_organization_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let created = keys(&data, &["create", "--org", "acme"]);
    let id = created
        .lines()
        .last()
        .unwrap()
        .split('_')
        .nth(1)
        .unwrap()
        .to_owned();

    let output = recollect_command()
        .args(["keys", "disable", &id, "--org", "umbrella", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let refused = format!("there is no key {id} in the organization umbrella");
    assert!(stderr(&output).contains(&refused), "{}", stderr(&output));
    assert!(keys(&data, &["list", "--org", "acme"]).contains("enabled"));
}
