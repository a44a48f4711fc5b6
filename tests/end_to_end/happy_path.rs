//! The main use: a text and a file are added, found and deleted.

use serde_json::{Value, json};

use crate::documents::{multipart_form, read_pdf, search_container};
use crate::http;
use crate::server::RecollectServer;

#[test]
fn a_text_and_a_file_are_found_until_they_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let server = RecollectServer::start(&folder.path().join("data"));

    let note = json!({"content": "Ada wrote the first program in 1843.", "containerTag": "demo"});
    let accepted = server.call("POST", "/v3/documents", &note);
    assert_eq!(accepted.status, 200, "{}", accepted.body);
    let note = accepted.body["id"].as_str().unwrap().to_owned();

    let (kind, body) = multipart_form("tern.pdf", &read_pdf(), &[("containerTag", "demo")]);
    let headers = [("content-type", kind.as_str())];
    let accepted = http::send(
        server.address(),
        "POST",
        "/v3/documents/file",
        &headers,
        &body,
    )
    .unwrap();
    assert_eq!(accepted.status, 200, "{}", accepted.body);
    let file = accepted.body["id"].as_str().unwrap().to_owned();

    server.wait_done(&note);
    server.wait_done(&file);
    assert_eq!(
        search_container(&server, "who wrote the first program?", "demo")[0],
        note
    );
    assert_eq!(search_container(&server, "TP-4471-X", "demo")[0], file);
    let read = server.call("GET", &format!("/v3/documents/{file}"), &Value::Null);
    assert_eq!(read.body["type"], "pdf");
    assert!(
        read.body["content"]
            .as_str()
            .unwrap()
            .contains("lighthouse at Tern Point")
    );

    let deleted = server.call("DELETE", &format!("/v3/documents/{note}"), &Value::Null);
    assert_eq!(deleted.status, 204);
    assert_eq!(server.document_status(&note), None);
    assert!(!search_container(&server, "who wrote the first program?", "demo").contains(&note));
    assert_eq!(search_container(&server, "TP-4471-X", "demo")[0], file);
}

#[test]
fn a_file_that_cannot_be_read_fails_and_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = RecollectServer::start(&folder.path().join("data"));
    let (kind, body) = multipart_form("broken.pdf", b"%PDF-1.7 and then nothing of the kind", &[]);
    let headers = [("content-type", kind.as_str())];
    let accepted = http::send(
        server.address(),
        "POST",
        "/v3/documents/file",
        &headers,
        &body,
    )
    .unwrap();

    let broken = accepted.body["id"].as_str().unwrap().to_owned();
    let good = server.call(
        "POST",
        "/v3/documents",
        &json!({"content": "The lamp burned whale oil."}),
    );
    let good = good.body["id"].as_str().unwrap().to_owned();
    server.wait_until_idle();
    let failed = server
        .call("GET", &format!("/v3/documents/{broken}"), &Value::Null)
        .body;

    assert_eq!(failed["status"], "failed", "{failed}");
    assert_eq!(failed["errorCode"], "corrupt", "{failed}");
    assert!(
        failed["errorMessage"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    assert_eq!(server.document_status(&good).as_deref(), Some("done"));
}
