//! `recollect check`, and the export of a damaged folder.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::server::{RecollectServer, recollect_command};

fn run(data: &Path, arguments: &[&str]) -> Output {
    recollect_command()
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .expect("the binary starts")
}

#[test]
fn the_exit_code_of_a_check_tells_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let missing = run(&data, &["check"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(!data.exists(), "a check makes nothing");

    let server = RecollectServer::start(&data);
    let text = json!({"content": "The canary sings. ".repeat(9000), "containerTag": "box"});
    let id = server.call("POST", "/v3/documents", &text).body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.wait_done(&id);
    let clean = run(&data, &["check"]);
    assert_eq!(
        clean.status.code(),
        Some(0),
        "beside a running server: {clean:?}"
    );

    let blobs = testkit::list_files(&data.join("s3/blobs"));
    let largest = blobs
        .iter()
        .max_by_key(|file| fs::metadata(file).unwrap().len())
        .unwrap();
    fs::write(largest, b"").unwrap();
    let found = run(&data, &["check"]);
    let said = String::from_utf8(found.stdout).unwrap();
    assert_eq!(found.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&id) && said.contains("cannot be read") && !said.contains("canary"),
        "{said}"
    );

    drop(server);
    let export = run(&data, &["export", "--container-tag", "box"]);
    let said = String::from_utf8(export.stderr).unwrap();
    assert_eq!(export.status.code(), Some(3), "{said}");
    assert!(
        said.contains(&id) && said.contains("1 document is damaged"),
        "{said}"
    );
    assert!(
        String::from_utf8(export.stdout)
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .contains("end")
    );

    fs::remove_file(data.join("sqs.sqlite")).unwrap();
    let broken = run(&data, &["check"]);
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    assert!(
        String::from_utf8(broken.stdout)
            .unwrap()
            .contains("sqs.sqlite: the file is missing")
    );
}
