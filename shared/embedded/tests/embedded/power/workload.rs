//! The workload of a process until its power is cut: concurrent callers, each with things of its
//! own.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use embedded::{Durability, EmbeddedServices, InProcessTransport};

use super::history::{answer_line, request_line, stall_line};
use crate::dynamodb::create_table;
use crate::support::{self, sdk_config};

/// The environment variable with the order of a child process: the folder, the file for
/// acknowledgements, and the name of the workload.
pub(super) const CHILD_VARIABLE: &str = "EMBEDDED_TEST_POWER";
/// The name of the only test of a child process.
pub(super) const CHILD_TEST: &str = "power::workload::child_works_until_its_end";
/// The bucket and the queue. The table is `records`.
pub(super) const BUCKET: &str = "documents";
pub(super) const QUEUE: &str = "work";
/// The plaintext that the key of KMS seals.
pub(super) const SECRET: &[u8] = b"a secret";

/// Returns the content of a version of a thing. It identifies the version, and sometimes has many
/// sectors.
pub(super) fn version_content(name: &str, version: u64) -> String {
    let line = format!("{name} {version}\n");
    let lines = if name.starts_with("m-") {
        1_000_000
    } else if version % 7 == 3 {
        12_000
    } else {
        40
    };
    line.repeat(lines)
}

/// Does nothing unless a test runs it in a process of its own.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a process of a test is told what to do by its environment"
)]
fn child_works_until_its_end() {
    let Ok(order) = std::env::var(CHILD_VARIABLE) else {
        return;
    };

    let words: Vec<&str> = order.split('|').collect();
    let [folder, acks, workload] = words[..] else {
        panic!("{order}")
    };

    let acknowledgements = File::options()
        .create(true)
        .append(true)
        .open(acks)
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run_workload(
        PathBuf::from(folder),
        Arc::new(acknowledgements),
        workload.to_owned(),
    ));
}

async fn run_workload(folder: PathBuf, acknowledgements: Arc<File>, workload: String) {
    let relaxed = workload == "relaxed";
    let durability = match workload.as_str() {
        "relaxed" => Durability::Relaxed,
        "unsynced" => Durability::Process,
        _ => Durability::Full,
    };

    let caller = Caller {
        services: EmbeddedServices::open_durable(&folder, durability).unwrap(),
        acknowledgements,
        // The pause makes the run long enough to have changes that are older than a second.
        pause: Duration::from_millis(if relaxed { 25 } else { 0 }),
    };

    if relaxed {
        let acknowledgements = Arc::clone(&caller.acknowledgements);
        std::thread::spawn(move || report_stalls(&acknowledgements));
    }

    caller.set_up().await;
    let mut callers = Vec::new();
    if workload == "parts" {
        let caller = caller.clone();
        callers.push(tokio::spawn(async move { caller.upload_parts().await }));
    } else {
        for number in 0..3 {
            let caller = caller.clone();
            callers.push(tokio::spawn(
                async move { caller.change_items(number).await },
            ));
        }
        for number in 0..2 {
            let caller = caller.clone();
            callers.push(tokio::spawn(
                async move { caller.change_objects(number).await },
            ));
        }
        let [pairs, documents, messages] = [caller.clone(), caller.clone(), caller.clone()];
        callers.push(tokio::spawn(async move { pairs.change_pairs().await }));
        callers.push(tokio::spawn(
            async move { documents.change_documents().await },
        ));
        callers.push(tokio::spawn(async move {
            messages.send_and_delete_messages().await
        }));
    }

    for caller in callers {
        caller.await.unwrap();
    }
}

/// Reports by how much a thread overslept. A sync may be late by as much.
fn report_stalls(mut acknowledgements: &File) {
    const NAP: Duration = Duration::from_millis(10);
    let mut longest_stall = Duration::ZERO;
    loop {
        let started = Instant::now();
        std::thread::sleep(NAP);
        let stall = started.elapsed() - NAP;
        if stall > longest_stall {
            longest_stall = stall;
            acknowledgements
                .write_all(stall_line(stall.as_nanos()).as_bytes())
                .unwrap();
        }
    }
}

#[derive(Clone)]
struct Caller {
    services: EmbeddedServices,
    acknowledgements: Arc<File>,
    pause: Duration,
}

impl Caller {
    fn write_line(&self, line: &str) {
        // Writing the line with one call keeps the lines of callers apart.
        self.acknowledgements
            .as_ref()
            .write_all(line.as_bytes())
            .unwrap();
    }

    fn s3(&self) -> aws_sdk_s3::Client {
        support::s3_client(&sdk_config(InProcessTransport::new(self.services.clone())))
    }

    async fn set_up(&self) {
        self.write_line(&request_line("table", 1));
        create_table(&support::dynamodb_client(&self.services)).await;
        self.write_line(&answer_line("table"));

        self.write_line(&request_line("bucket", 1));
        self.s3()
            .create_bucket()
            .bucket(BUCKET)
            .send()
            .await
            .unwrap();
        self.write_line(&answer_line("bucket"));

        self.write_line(&request_line("queue", 1));
        support::sqs_client(&self.services)
            .create_queue()
            .queue_name(QUEUE)
            .send()
            .await
            .unwrap();
        self.write_line(&answer_line("queue"));

        let kms =
            aws_sdk_kms::Client::new(&sdk_config(InProcessTransport::new(self.services.clone())));
        let sealed = kms
            .encrypt()
            .key_id("local")
            .plaintext(SECRET.to_vec().into())
            .send()
            .await
            .unwrap();

        let name = format!(
            "k-{}",
            BASE64.encode(sealed.ciphertext_blob().unwrap().as_ref())
        );
        self.write_line(&request_line(&name, 1));
        self.write_line(&answer_line(&name));
    }

    /// Creates, conditionally updates, replaces and deletes items.
    async fn change_items(&self, number: u64) {
        let client = support::dynamodb_client(&self.services);
        for version in 1..=60_u64 {
            let name = format!("d-{number}-{}", version / 4 % 3);
            let key = || AttributeValue::S(name.clone());
            tokio::time::sleep(self.pause).await;

            if version % 4 == 3 {
                self.write_line(&request_line(&name, 0));
                let delete = client.delete_item().table_name("records").key("pk", key());
                delete
                    .key("sk", AttributeValue::S("1".into()))
                    .send()
                    .await
                    .unwrap();
            } else if version % 4 == 1 && version > 1 {
                self.write_line(&request_line(&name, version));
                let update = client.update_item().table_name("records").key("pk", key());
                let update = update.key("sk", AttributeValue::S("1".into()));
                let update = update
                    .update_expression("SET v = :v, body = :body")
                    .condition_expression("v = :old");
                let update = update
                    .expression_attribute_values(":v", AttributeValue::N(version.to_string()));
                let update = update.expression_attribute_values(
                    ":old",
                    AttributeValue::N((version - 1).to_string()),
                );
                let body = AttributeValue::S(version_content(&name, version));
                update
                    .expression_attribute_values(":body", body)
                    .send()
                    .await
                    .unwrap();
            } else {
                self.write_line(&request_line(&name, version));
                let put = client
                    .put_item()
                    .table_name("records")
                    .set_item(Some(item(&name, version)));
                put.send().await.unwrap();
            }

            self.write_line(&answer_line(&name));
        }
    }

    /// Writes two items that are the same at any moment.
    async fn change_pairs(&self) {
        let client = support::dynamodb_client(&self.services);
        for version in 1..=40_u64 {
            tokio::time::sleep(self.pause).await;
            let is_deleted = version % 5 == 0;
            self.write_line(&request_line("t", if is_deleted { 0 } else { version }));

            let writes = ["t-a", "t-b"].map(|name| {
                if is_deleted {
                    let key = AttributeValue::S(name.to_owned());
                    let delete = Delete::builder().table_name("records").key("pk", key);
                    let delete = delete
                        .key("sk", AttributeValue::S("1".into()))
                        .build()
                        .unwrap();
                    return TransactWriteItem::builder().delete(delete).build();
                }
                let put = Put::builder()
                    .table_name("records")
                    .set_item(Some(item(name, version)));
                TransactWriteItem::builder()
                    .put(put.build().unwrap())
                    .build()
            });

            client
                .transact_write_items()
                .set_transact_items(Some(writes.to_vec()))
                .send()
                .await
                .unwrap();
            self.write_line(&answer_line("t"));
        }
    }

    /// Stores, replaces and deletes objects, small and large ones.
    async fn change_objects(&self, number: u64) {
        let client = self.s3();
        for version in 1..=50_u64 {
            let name = format!("o-{number}-{}", version % 3);
            tokio::time::sleep(self.pause).await;

            if version % 8 == 0 {
                self.write_line(&request_line(&name, 0));
                client
                    .delete_object()
                    .bucket(BUCKET)
                    .key(&name)
                    .send()
                    .await
                    .unwrap();
            } else {
                self.write_line(&request_line(&name, version));
                let body = version_content(&name, version).into_bytes();
                client
                    .put_object()
                    .bucket(BUCKET)
                    .key(&name)
                    .body(body.into())
                    .send()
                    .await
                    .unwrap();
            }

            self.write_line(&answer_line(&name));
        }
    }

    /// Writes items that name objects: the bytes first. The old bytes are deleted once nothing
    /// names them.
    async fn change_documents(&self) {
        let (s3, dynamodb) = (self.s3(), support::dynamodb_client(&self.services));
        let object = |name: &str, version: u64| format!("{name}-{version}");

        for version in 1..=40_u64 {
            let name = format!("n-{}", version % 2);
            tokio::time::sleep(self.pause).await;
            let old = object(&name, version.saturating_sub(2));
            if version % 10 < 2 {
                self.write_line(&request_line(&name, 0));
                let delete = dynamodb.delete_item().table_name("records");
                let delete = delete.key("pk", AttributeValue::S(name.clone()));
                delete
                    .key("sk", AttributeValue::S("1".into()))
                    .send()
                    .await
                    .unwrap();
            } else {
                let new_object = object(&name, version);
                let body = version_content(&new_object, version).into_bytes();
                s3.put_object()
                    .bucket(BUCKET)
                    .key(&new_object)
                    .body(body.into())
                    .send()
                    .await
                    .unwrap();
                self.write_line(&request_line(&name, version));
                let put = dynamodb
                    .put_item()
                    .table_name("records")
                    .set_item(Some(item(&name, version)));
                put.item("object", AttributeValue::S(new_object))
                    .send()
                    .await
                    .unwrap();
            }
            self.write_line(&answer_line(&name));
            s3.delete_object()
                .bucket(BUCKET)
                .key(&old)
                .send()
                .await
                .unwrap();
        }
    }

    /// Sends messages and deletes received ones.
    async fn send_and_delete_messages(&self) {
        let client = support::sqs_client(&self.services);
        let url = client
            .get_queue_url()
            .queue_name(QUEUE)
            .send()
            .await
            .unwrap()
            .queue_url
            .unwrap();

        for version in 1..=50_u64 {
            let name = format!("q-{version}");
            tokio::time::sleep(self.pause).await;
            self.write_line(&request_line(&name, 1));
            client
                .send_message()
                .queue_url(&url)
                .message_body(&name)
                .send()
                .await
                .unwrap();
            self.write_line(&answer_line(&name));
            if version % 2 == 0 {
                let received = client
                    .receive_message()
                    .queue_url(&url)
                    .send()
                    .await
                    .unwrap();
                let message = &received.messages()[0];
                let name = message.body().unwrap();
                self.write_line(&request_line(name, 0));
                let delete = client.delete_message().queue_url(&url);
                delete
                    .receipt_handle(message.receipt_handle().unwrap())
                    .send()
                    .await
                    .unwrap();
                self.write_line(&answer_line(name));
            }
        }
    }

    /// Stores an object of two parts and replaces it once.
    async fn upload_parts(&self) {
        const PART: usize = 5 * 1024 * 1024;
        let client = self.s3();
        for version in 1..=2_u64 {
            let content = version_content("m-1", version).into_bytes();
            let upload = client
                .create_multipart_upload()
                .bucket(BUCKET)
                .key("m-1")
                .send()
                .await
                .unwrap();
            let id = upload.upload_id().unwrap();
            let mut parts = Vec::new();
            for (number, bytes) in (1..).zip([&content[..PART], &content[PART..]]) {
                let part = client
                    .upload_part()
                    .bucket(BUCKET)
                    .key("m-1")
                    .upload_id(id)
                    .part_number(number);
                let uploaded = part.body(bytes.to_vec().into()).send().await.unwrap();
                parts.push(
                    CompletedPart::builder()
                        .part_number(number)
                        .set_e_tag(uploaded.e_tag)
                        .build(),
                );
            }
            self.write_line(&request_line("m-1", version));
            let parts = CompletedMultipartUpload::builder()
                .set_parts(Some(parts))
                .build();
            let complete = client
                .complete_multipart_upload()
                .bucket(BUCKET)
                .key("m-1")
                .upload_id(id);
            complete.multipart_upload(parts).send().await.unwrap();
            self.write_line(&answer_line("m-1"));
        }

        self.write_line(&request_line("m-1", 0));
        client
            .delete_object()
            .bucket(BUCKET)
            .key("m-1")
            .send()
            .await
            .unwrap();
        self.write_line(&answer_line("m-1"));
    }
}

fn item(name: &str, version: u64) -> std::collections::HashMap<String, AttributeValue> {
    let entry = |name: &str, value| (name.to_owned(), value);
    std::collections::HashMap::from([
        entry("pk", AttributeValue::S(name.to_owned())),
        entry("sk", AttributeValue::S("1".to_owned())),
        entry("v", AttributeValue::N(version.to_string())),
        entry("body", AttributeValue::S(version_content(name, version))),
    ])
}
