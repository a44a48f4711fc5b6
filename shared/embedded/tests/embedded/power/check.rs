//! Opens the folder that a power cut left, and compares it with what was answered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use embedded::{Durability, EmbeddedServices, InProcessTransport};
use rusqlite::Connection;

use super::history::History;
use super::workload::{BUCKET, QUEUE, SECRET, version_content};
use crate::dynamodb::create_table;
use crate::support::{self, sdk_config};

/// The time after the cut at which the services start again. By then, received messages are visible
/// and unfinished files are abandoned.
const RESTART_DELAY: Duration = Duration::from_secs(2 * 60 * 60);

/// Returns the faults of the folder after a cut. `cut` and `lag` are in nanoseconds. In DynamoDB
/// and SQS, everything that was answered before `cut` less `lag` must exist. In the other services,
/// everything that was answered before `cut` must exist.
#[expect(
    clippy::disallowed_methods,
    reason = "the process before the cut had the system's clock"
)]
pub(super) async fn check_image(
    image: &Path,
    history: &History,
    cut: u64,
    lag: u64,
) -> Vec<String> {
    let now = u64::try_from(
        (SystemTime::now() + RESTART_DELAY)
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    );
    let now = now.unwrap();
    let opened = EmbeddedServices::open_with(image, Durability::Full, Arc::new(move || now));
    let services = match opened {
        Ok(services) => services,
        Err(error) => return vec![format!("cannot be opened: {error:#}")],
    };

    let mut faults = Vec::new();
    for database in ["dynamodb.sqlite", "sqs.sqlite", "s3/index.sqlite"] {
        let connection = Connection::open(image.join(database)).unwrap();
        let integrity: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        if integrity != "ok" {
            faults.push(format!("{database}: {integrity}"));
        }
    }

    let mut found_state = FoundState::default();
    found_state.find_objects(&services).await;
    found_state.find_items(&services).await;
    found_state.find_messages(&services).await;
    found_state.find_secrets(&services, history).await;
    faults.append(&mut found_state.faults);
    let certain_until = cut.saturating_sub(lag);
    for kind in ["bucket", "o-", "m-", "k-"] {
        faults.extend(history.find_differences(kind, &found_state.versions, cut));
    }

    for kind in ["table", "queue", "d-", "t", "n-", "q-"] {
        faults.extend(history.find_differences(kind, &found_state.versions, certain_until));
    }

    faults.extend(unknown_files(image));
    check_new_writes(&services, &found_state).await;

    faults
}

/// The things that exist, by name.
#[derive(Default)]
struct FoundState {
    versions: BTreeMap<String, u64>,
    objects: BTreeMap<String, String>,
    faults: Vec<String>,
}

impl FoundState {
    async fn find_objects(&mut self, services: &EmbeddedServices) {
        let client = support::s3_client(&sdk_config(InProcessTransport::new(services.clone())));
        let Ok(list) = client.list_objects_v2().bucket(BUCKET).send().await else {
            return;
        };

        self.versions.insert("bucket".to_owned(), 1);
        for object in list.contents() {
            let key = object.key().unwrap();
            let read = client.get_object().bucket(BUCKET).key(key).send().await;
            let bytes = match read {
                Ok(read) => read.body.collect().await.unwrap().to_vec(),
                Err(_) => {
                    self.faults.push(format!("object {key} cannot be read"));
                    continue;
                }
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let version = text
                .split([' ', '\n'])
                .nth(1)
                .and_then(|version| version.parse().ok())
                .unwrap_or(0);
            if text != version_content(key, version) {
                self.faults
                    .push(format!("object {key} has other bytes, version {version}"));
            }
            self.objects.insert(key.to_owned(), text);
            if !key.starts_with("n-") {
                self.versions.insert(key.to_owned(), version);
            }
        }
    }

    async fn find_items(&mut self, services: &EmbeddedServices) {
        let client = support::dynamodb_client(services);
        if client
            .describe_table()
            .table_name("records")
            .send()
            .await
            .is_err()
        {
            return;
        }

        self.versions.insert("table".to_owned(), 1);
        let mut pages = client
            .scan()
            .table_name("records")
            .into_paginator()
            .items()
            .send();
        while let Some(item) = pages.next().await {
            let item = item.unwrap();
            let name = item["pk"].as_s().unwrap().clone();
            let version: u64 = item["v"].as_n().unwrap().parse().unwrap();
            if *item["body"].as_s().unwrap() != version_content(&name, version) {
                self.faults
                    .push(format!("item {name} has another body, version {version}"));
            }
            let object = item.get("object").map(|object| object.as_s().unwrap());
            if let Some(object) = object.filter(|object| !self.objects.contains_key(*object)) {
                self.faults.push(format!(
                    "item {name} names the object {object}, which is gone"
                ));
            }
            self.versions.insert(name, version);
        }

        let pair = [self.versions.remove("t-a"), self.versions.remove("t-b")];
        match pair {
            [Some(one), Some(other)] if one == other => {
                self.versions.insert("t".to_owned(), one);
            }
            [None, None] => {}
            _ => self.faults.push(format!("half a transaction: {pair:?}")),
        }
    }

    async fn find_messages(&mut self, services: &EmbeddedServices) {
        let client = support::sqs_client(services);
        let Ok(queue) = client.get_queue_url().queue_name(QUEUE).send().await else {
            return;
        };

        self.versions.insert("queue".to_owned(), 1);
        let url = queue.queue_url.unwrap();

        loop {
            let receive = client
                .receive_message()
                .queue_url(&url)
                .max_number_of_messages(10);
            let messages = receive.send().await.unwrap().messages.unwrap_or_default();
            if messages.is_empty() {
                return;
            }
            for message in messages {
                self.versions.insert(message.body.unwrap(), 1);
            }
        }
    }

    async fn find_secrets(&mut self, services: &EmbeddedServices, history: &History) {
        let client =
            aws_sdk_kms::Client::new(&sdk_config(InProcessTransport::new(services.clone())));
        for name in history.names_of_kind("k-") {
            let sealed = BASE64.decode(name.trim_start_matches("k-")).unwrap();
            let opened = client.decrypt().ciphertext_blob(sealed.into()).send().await;
            if opened.is_ok_and(|opened| {
                opened
                    .plaintext()
                    .is_some_and(|text| text.as_ref() == SECRET)
            }) {
                self.versions.insert(name.to_owned(), 1);
            }
        }
    }
}

/// Lists the files that the index does not know, and that would therefore stay forever.
fn unknown_files(image: &Path) -> Vec<String> {
    let index = Connection::open(image.join("s3/index.sqlite")).unwrap();
    let sql =
        "SELECT file FROM objects UNION SELECT file FROM parts UNION SELECT file FROM garbage";
    let mut statement = index.prepare(sql).unwrap();
    let known_files: BTreeSet<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut unknown = Vec::new();
    for subfolder in std::fs::read_dir(image.join("s3/blobs")).unwrap() {
        for file in std::fs::read_dir(subfolder.unwrap().path()).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if !known_files.contains(&name) {
                unknown.push(format!("nothing knows the file {name}"));
            }
        }
    }

    unknown
}

/// Checks that the services accept new writes.
async fn check_new_writes(services: &EmbeddedServices, found_state: &FoundState) {
    let (dynamodb, sqs) = (
        support::dynamodb_client(services),
        support::sqs_client(services),
    );
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services.clone())));
    if !found_state.versions.contains_key("table") {
        create_table(&dynamodb).await;
    }

    if !found_state.versions.contains_key("bucket") {
        s3.create_bucket().bucket(BUCKET).send().await.unwrap();
    }

    let put = dynamodb
        .put_item()
        .table_name("records")
        .item("pk", AttributeValue::S("new".into()));
    put.item("sk", AttributeValue::S("1".into()))
        .send()
        .await
        .unwrap();
    s3.put_object()
        .bucket(BUCKET)
        .key("new")
        .body(b"new".to_vec().into())
        .send()
        .await
        .unwrap();
    let url = sqs
        .create_queue()
        .queue_name(QUEUE)
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    sqs.send_message()
        .queue_url(&url)
        .message_body("new")
        .send()
        .await
        .unwrap();
}
