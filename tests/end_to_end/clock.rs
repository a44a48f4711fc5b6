//! A machine whose clock is set back while the server is off.

use std::fs::File;
use std::time::{Duration, SystemTime};

use domain::Timestamp;
use serde_json::{Value, json};

use crate::server::RecollectServer;

const HOUR: Duration = Duration::from_secs(3600);

/// Sends a document and returns its creation time by the server's clock.
fn time_of(server: &RecollectServer, number: u32) -> SystemTime {
    let note = json!({"content": format!("Ferry {number} leaves at noon.")});
    let id = server.call("POST", "/v3/documents", &note).body["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    // The time is no earlier than the delivery of the document's message.
    server.wait_done(&id);
    let document = server
        .call("GET", &format!("/v3/documents/{id}"), &Value::Null)
        .body;
    let created = Timestamp::parse("createdAt", document["createdAt"].as_str().expect("a time"))
        .expect("a time");
    let millis = u64::try_from(created.as_millis()).expect("after 1970");

    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

#[test]
fn the_time_of_a_data_folder_goes_on_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = RecollectServer::start(&data);
    let mut last = time_of(&server, 0);
    drop(server);

    // The last time is so far ahead that it must be wrong, so the server ignores it.
    for (number, ahead, is_followed) in
        [(1, HOUR, true), (2, 12 * HOUR, true), (3, 72 * HOUR, false)]
    {
        let now = File::create(folder.path().join("now"))
            .unwrap()
            .metadata()
            .unwrap()
            .modified()
            .unwrap();
        let written = now + ahead;
        let database = File::options()
            .append(true)
            .open(data.join("dynamodb.sqlite"))
            .unwrap();
        database.set_modified(written).unwrap();
        let server = RecollectServer::start(&data);
        let now = time_of(&server, number);
        assert_eq!(now >= written, is_followed, "{ahead:?}");
        assert_eq!(now >= last, is_followed, "{ahead:?}");

        last = now;
        drop(server);
    }
}
