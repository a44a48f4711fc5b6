//! Failed starts, and ends on request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{RecollectServer, recollect_command};

#[test]
fn a_second_server_on_a_port_says_so_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let first = RecollectServer::start(&folder.path().join("first"));
    let port = first.address().port().to_string();
    let second = recollect_command()
        .args(["serve", "--port", &port, "--data"])
        .arg(folder.path().join("second"))
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));

    let error = String::from_utf8(second.stderr).unwrap();
    assert!(
        error.contains(&first.address().to_string()) && error.contains("--port"),
        "{error}"
    );
    assert!(second.stdout.is_empty(), "no address is announced");
    assert_eq!(first.call("GET", "/health", &Value::Null).status, 200);
}

#[test]
fn a_data_folder_that_is_a_file_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let output = recollect_command()
        .args(["serve", "--port", "0", "--data"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(&file.display().to_string()), "{error}");
    assert!(!error.contains("panicked"), "{error}");
}

#[test]
fn a_polite_request_to_end_is_followed_with_success() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = RecollectServer::start(&data);
    let accepted = server.call(
        "POST",
        "/v3/documents",
        &json!({"content": "The bridge is closed on Monday."}),
    );
    let id = accepted.body["id"].as_str().unwrap().to_owned();
    server.terminate();
    assert_eq!(server.wait_for_exit().code(), Some(0));
    let again = RecollectServer::start(&data);
    again.wait_done(&id);
}

#[test]
fn a_connection_that_is_kept_open_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = RecollectServer::start(&folder.path().join("data"));
    let mut idle = TcpStream::connect(server.address()).unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = [0; 12];
    idle.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    server.terminate();
    assert_eq!(server.wait_for_exit().code(), Some(0));
}

#[test]
fn a_client_that_never_ends_its_request_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = RecollectServer::start(&folder.path().join("data"));
    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.write_all(
        b"POST /v3/documents HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer local\r\ncontent-length: 1000\r\n\r\n{",
    )
    .unwrap();
    // The server accepts connections in order, so it has begun with the request before.
    assert_eq!(server.call("GET", "/health", &Value::Null).status, 200);
    server.terminate();
    assert_eq!(server.wait_for_exit().code(), Some(0));
}

/// A limit on the size of files simulates a full disk: writes beyond it fail.
#[test]
fn a_full_disk_loses_nothing_and_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = RecollectServer::start_with_file_limit(&data, 2);
    let mut accepted = Vec::new();
    let refused = (0..500).find_map(|number| {
        let content = format!("Line {number} of the ferry leaves at noon. ").repeat(100);
        let reply = server.call("POST", "/v3/documents", &json!({"content": content}));
        accepted.extend(reply.body["id"].as_str().map(str::to_owned));
        (reply.status >= 500).then_some(reply.status)
    });

    assert!(
        refused.is_some() && !accepted.is_empty(),
        "the disk never was full"
    );
    server.terminate();
    assert_eq!(server.wait_for_exit().code(), Some(0));
    let again = RecollectServer::start(&data);

    for id in accepted {
        again.wait_done(&id);
    }
}
