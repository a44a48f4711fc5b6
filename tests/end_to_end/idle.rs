//! A server without requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use serde_json::json;

use crate::server::RecollectServer;

/// Returns the resident memory of a process in megabytes; `None` if the system does not provide it.
fn resident_megabytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
}

/// Returns every file below a folder with its size and the time of its last change.
fn file_states(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let found = entry.metadata().unwrap();
            if found.is_dir() {
                folders.push(entry.path());
            } else {
                files.insert(entry.path(), (found.len(), found.modified().unwrap()));
            }
        }
    }

    files
}

#[test]
fn an_idle_server_writes_nothing_and_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = RecollectServer::start(&data);
    for number in 0..20 {
        let note =
            json!({"content": format!("Note {number} about the harbor."), "containerTag": "idle"});
        assert_eq!(server.call("POST", "/v3/documents", &note).status, 200);
    }

    server.wait_until_idle();
    server.call(
        "POST",
        "/v4/search",
        &json!({"q": "harbor", "searchMode": "documents"}),
    );

    // Messages are deleted after the documents are done.
    thread::sleep(Duration::from_secs(1));
    let before = file_states(&data);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(file_states(&data), before);

    if let Some(megabytes) = resident_megabytes(server.pid()) {
        println!("resident memory of the idle server: {megabytes} MB");
        assert!(megabytes <= 300, "{megabytes} MB");
    }
}
