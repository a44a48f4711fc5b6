//! Tests of the services on a full disk, and on one that cannot be written.

use std::path::PathBuf;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded::{EmbeddedServices, InProcessTransport};

use super::{child_command, compile_disk, scratch_folder};
use crate::dynamodb::create_table;
use crate::support::{self, sdk_config};

/// The environment variable that tells a child process which folder to use.
const CHILD_VARIABLE: &str = "EMBEDDED_TEST_DISK";

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let scratch = scratch_folder();
    let at = scratch.path().canonicalize().unwrap();
    let folder = at.join("data");
    std::fs::create_dir(&folder).unwrap();

    let mut child = child_command(
        &compile_disk(&at),
        &folder,
        "power::full::child_fills_its_disk",
    );
    let output = child
        .env("DISK_FULL", at.join("full"))
        .env(CHILD_VARIABLE, &folder)
        .output()
        .unwrap();

    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Does nothing unless the test above runs it in a process of its own.
#[tokio::test]
async fn child_fills_its_disk() {
    let Some(folder) = std::env::var_os(CHILD_VARIABLE).map(PathBuf::from) else {
        return;
    };
    let full_marker = PathBuf::from(std::env::var_os("DISK_FULL").unwrap_or_default());
    let services = EmbeddedServices::open(&folder).unwrap();
    let (dynamodb, sqs) = (
        support::dynamodb_client(&services),
        support::sqs_client(&services),
    );
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services.clone())));
    create_table(&dynamodb).await;
    s3.create_bucket().bucket("documents").send().await.unwrap();
    let url = sqs
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    let put = |name: &str| {
        let put = dynamodb
            .put_item()
            .table_name("records")
            .item("pk", AttributeValue::S(name.into()));
        put.item("sk", AttributeValue::S("1".into())).send()
    };
    let store = |key: &str| {
        s3.put_object()
            .bucket("documents")
            .key(key)
            .body(vec![7; 5000].into())
            .send()
    };
    let send = |body: &str| sqs.send_message().queue_url(&url).message_body(body).send();
    put("before").await.unwrap();
    store("before").await.unwrap();
    send("before").await.unwrap();

    std::fs::write(&full_marker, "").unwrap();
    let error = put("never").await.unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 500);
    assert!(error.message().unwrap().contains("full"), "{error:?}");
    assert_eq!(
        store("never")
            .await
            .unwrap_err()
            .raw_response()
            .unwrap()
            .status()
            .as_u16(),
        500
    );
    assert_eq!(
        store("before")
            .await
            .unwrap_err()
            .raw_response()
            .unwrap()
            .status()
            .as_u16(),
        500
    );
    let error = send("never").await.unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 500);

    // Reading still works.
    let get = s3
        .get_object()
        .bucket("documents")
        .key("before")
        .send()
        .await
        .unwrap();
    assert_eq!(get.body.collect().await.unwrap().to_vec(), vec![7; 5000]);
    assert!(
        EmbeddedServices::open(&folder.with_extension("other")).is_ok(),
        "another disk is not full"
    );

    std::fs::remove_file(&full_marker).unwrap();
    put("after").await.unwrap();
    store("after").await.unwrap();
    send("after").await.unwrap();
    assert_eq!(
        dynamodb
            .scan()
            .table_name("records")
            .send()
            .await
            .unwrap()
            .count(),
        2
    );
    assert_eq!(
        s3.list_objects_v2()
            .bucket("documents")
            .send()
            .await
            .unwrap()
            .contents()
            .len(),
        2
    );
    let receive = sqs
        .receive_message()
        .queue_url(&url)
        .max_number_of_messages(10);
    assert_eq!(receive.send().await.unwrap().messages().len(), 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_with_the_reason() {
    let scratch = scratch_folder();
    let at = scratch.path().canonicalize().unwrap();
    let folder = at.join("data");
    drop(EmbeddedServices::open(&folder).unwrap());

    let mut child = child_command(
        &compile_disk(&at),
        &folder,
        "power::full::child_opens_what_it_cannot_write",
    );
    let output = child
        .env("DISK_READ_ONLY", "1")
        .env(CHILD_VARIABLE, &folder)
        .output()
        .unwrap();

    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Does nothing unless the test above runs it in a process of its own.
#[test]
fn child_opens_what_it_cannot_write() {
    if std::env::var_os("DISK_READ_ONLY").is_none() {
        return;
    }
    let folder = PathBuf::from(std::env::var_os(CHILD_VARIABLE).unwrap());
    let message = format!("{:#}", EmbeddedServices::open(&folder).unwrap_err());
    assert!(
        message.starts_with(&format!(
            "cannot write to {}: Read-only file system",
            folder.display()
        )),
        "{message}"
    );
}
