//! `recollect export` and `recollect import`, also beside a running server.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::documents::multipart_form;
use crate::http;
use crate::server::{RecollectServer, recollect_command};

fn run(data: &Path, arguments: &[&str]) -> Output {
    recollect_command()
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .expect("the binary starts")
}

fn run_to_end(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns an export without the line that states its time.
fn lines_without_header(export: &str) -> Vec<&str> {
    export.lines().skip(1).collect()
}

#[test]
fn a_container_moves_from_one_data_folder_to_another() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let file = folder.path().join("atlas.jsonl");
    let server = RecollectServer::start(&here);
    let note = json!({"content": "The atlas lies in the map room.", "containerTag": "maps", "customId": "atlas"});
    let id = server.call("POST", "/v3/documents", &note).body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.wait_done(&id);
    let memory = json!({"containerTag": "maps", "memories": [{"content": "User lives in Oslo."}]});
    assert_eq!(server.call("POST", "/v4/memories", &memory).status, 201);
    run_to_end(
        &here,
        &[
            "export",
            "--container-tag",
            "maps",
            "--output",
            file.to_str().unwrap(),
        ],
    );
    let export = std::fs::read_to_string(&file).unwrap();
    assert!(!folder.path().join("atlas.jsonl.part").exists());

    let said = run_to_end(&there, &["import", file.to_str().unwrap()]);
    assert!(
        said.contains("Imported into maps: 2 documents done, 0 to be processed"),
        "{said}"
    );
    assert_eq!(
        lines_without_header(&run_to_end(&there, &["export", "--container-tag", "maps"])),
        lines_without_header(&export)
    );
    let said = run_to_end(&there, &["import", file.to_str().unwrap()]);
    assert!(
        said.contains("2 documents were there already and stay as they are."),
        "{said}"
    );

    let other = RecollectServer::start(&there);
    let question =
        json!({"q": "Where is the atlas?", "containerTag": "maps", "searchMode": "hybrid"});
    let texts = |server: &RecollectServer| {
        let body = server.call("POST", "/v4/search", &question).body;
        let results = body["results"].as_array().cloned().unwrap_or_default();
        results
            .iter()
            .map(|result| (result["chunk"].clone(), result["memory"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&other), texts(&server));

    let note = json!("The atlas lies in the map room.");
    assert!(
        texts(&other)
            .iter()
            .any(|(chunk, memory)| *chunk == note || *memory == note)
    );
}

#[test]
fn other_services_files_come_through_standard_input_while_a_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = RecollectServer::start(&data);
    let session = json!({"session_id": "talk", "messages": [{"role": "user", "content": "The key hangs by the door."}]});
    let mut import = recollect_command();
    import
        .args([
            "import",
            "-",
            "--container-tag",
            "keys",
            "--format",
            "zep",
            "--data",
        ])
        .arg(&data);
    import.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = import.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(session.to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 to be processed"),
        "{output:?}"
    );

    server.wait_until_idle();
    let found = server.call("GET", "/v3/documents/talk", &Value::Null).body;
    assert_eq!(found["status"], "done", "{found}");
}

#[test]
fn an_export_into_a_closed_pipe_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("memories");
    std::fs::write(&file, "{\"memory\": \"Ships need ballast.\"}").unwrap();
    run_to_end(&data, &["import", file.to_str().unwrap()]);

    let mut export = recollect_command();
    export
        .args(["export", "--container-tag", "sm_project_default", "--data"])
        .arg(&data)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = export.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("The export is incomplete"), "{error}");
}

#[test]
fn what_cannot_be_exported_or_imported_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let empty = file("empty", "");

    let strange = file("strange", "{\"songs\": []}");
    let binary = folder.path().join("binary").display().to_string();
    std::fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
    let no_folder = folder.path().join("no/where.jsonl").display().to_string();
    run_to_end(
        &data,
        &[
            "import",
            &file("one", "{\"memory\": \"Ships need ballast.\"}"),
            "--container-tag",
            "ships",
        ],
    );
    let cases: [(&[&str], &str); 10] = [
        (&["export"], "--container-tag"),
        (&["export", "--container-tag", "boats"], "there are: ships"),
        (
            &["export", "--container-tag", "boats", "--org", "acme"],
            "--org",
        ),
        (&["export", "--container-tag", "a b"], "containerTag"),
        (
            &["export", "--container-tag", "ships", "--output", &no_folder],
            "where.jsonl",
        ),
        (&["import"], "<FILE>"),
        (&["import", &no_folder], "where.jsonl"),
        (&["import", &empty], "nothing in the file"),
        (&["import", &strange], "of no known shape; accepted are"),
        (&["import", &binary], "line 1"),
    ];
    for (arguments, word) in cases {
        let output = run(&data, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(1 | 2)),
            "{arguments:?}: {output:?}"
        );
        assert!(
            error.contains(word) && !error.contains("panicked"),
            "{arguments:?} does not say {word}: {error}"
        );
    }

    for (command, words) in [
        (
            "export",
            &["--container-tag", "--output", "--data", "--org"][..],
        ),
        (
            "import",
            &[
                "--container-tag",
                "--format",
                "--settings",
                "mem0",
                "zep",
                "--data",
                "--org",
            ],
        ),
    ] {
        let help = run_to_end(&data, &[command, "--help"]);
        words
            .iter()
            .for_each(|word| assert!(help.contains(word), "{command}: {word}"));
    }
}

#[test]
fn a_backup_has_everything_and_its_restoration_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let backup = folder.path().join("backup");
    let server = RecollectServer::start(&here);
    for (tag, text) in [
        ("maps", "The atlas lies in the map room."),
        ("keys", "The spare key hangs behind the door."),
    ] {
        let note = json!({"content": text, "containerTag": tag});
        let answer = server.call("POST", "/v3/documents", &note);
        server.wait_done(answer.body["id"].as_str().unwrap());
    }
    let memory = json!({"containerTag": "maps", "memories": [{"content": "User lives in Oslo."}]});
    assert_eq!(server.call("POST", "/v4/memories", &memory).status, 201);

    // A document that has failed is processed again after a restoration, which is no difference.
    let broken = b"%PDF-1.7 and then nothing of the kind";
    let (kind, body) = multipart_form("broken.pdf", broken, &[("containerTag", "keys")]);
    let headers = [("content-type", kind.as_str())];
    let path = "/v3/documents/file";
    let accepted = http::send(server.address(), "POST", path, &headers, &body).unwrap();
    assert_eq!(accepted.status, 200, "{}", accepted.body);
    server.wait_until_idle();

    // While the server runs.
    let backup = backup.to_str().unwrap();
    let said = run_to_end(&here, &["backup", backup]);
    assert!(said.contains("Saved 4 documents and"), "{said}");
    assert!(said.contains("of 2 containers"), "{said}");
    let again = run(&here, &["backup", backup]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"));

    for _ in 0..2 {
        let said = run_to_end(&there, &["restore", backup]);
        assert!(
            said.contains("Verified: every container is as it was."),
            "{said}"
        );
        assert!(
            said.contains("1 document was not done in the backup"),
            "{said}"
        );
    }
    let said = run_to_end(&there, &["check"]);
    assert!(said.contains("0 findings"), "{said}");
    let other = RecollectServer::start(&there);
    let question =
        json!({"q": "Where is the spare key?", "containerTag": "keys", "searchMode": "hybrid"});
    let found = other.call("POST", "/v4/search", &question).body["results"].to_string();
    assert!(found.contains("behind the door"), "{found}");

    // A container that differs from the backup is reported.
    let memory =
        json!({"containerTag": "maps", "memories": [{"content": "User moved to Bergen."}]});
    assert_eq!(other.call("POST", "/v4/memories", &memory).status, 201);
    let differs = run(&there, &["restore", backup]);
    assert_eq!(differs.status.code(), Some(3));
    let said = String::from_utf8_lossy(&differs.stdout);
    assert!(
        said.contains("Not as in the backup: local maps: 3 documents"),
        "{said}"
    );

    // A backup that was interrupted has no manifest.
    std::fs::remove_file(Path::new(backup).join("manifest.json")).unwrap();
    let incomplete = run(&there, &["restore", backup]);
    assert_eq!(incomplete.status.code(), Some(1));
    let said = String::from_utf8_lossy(&incomplete.stderr);
    assert!(
        said.contains("no backup, or one that was interrupted"),
        "{said}"
    );
}
