//! Tests of one folder that is opened again, and by two processes at a time.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use aws_sdk_dynamodb::types::AttributeValue;
use embedded::{EmbeddedServices, InProcessTransport};

use crate::dynamodb::create_table;
use crate::support::{self, Fixture, sdk_config};

#[tokio::test]
async fn everything_answered_is_there_after_the_folder_is_opened_again() {
    let fixture = Fixture::new();
    create_table(&fixture.dynamodb()).await;
    let put = fixture.dynamodb().put_item().table_name("records");
    let put = put
        .item("pk", AttributeValue::S("a".into()))
        .item("sk", AttributeValue::S("1".into()));
    put.send().await.unwrap();
    let s3 = fixture.s3();
    s3.create_bucket().bucket("documents").send().await.unwrap();
    s3.put_object()
        .bucket("documents")
        .key("a/b")
        .body(b"bytes".to_vec().into())
        .send()
        .await
        .unwrap();
    let url = fixture
        .sqs()
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    fixture
        .sqs()
        .send_message()
        .queue_url(&url)
        .message_body("job")
        .send()
        .await
        .unwrap();

    let services = fixture.reopen();

    let items = support::dynamodb_client(&services)
        .scan()
        .table_name("records")
        .send()
        .await
        .unwrap();
    assert_eq!(items.count(), 1);
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services.clone())));
    let object = s3
        .get_object()
        .bucket("documents")
        .key("a/b")
        .send()
        .await
        .unwrap();
    assert_eq!(object.body.collect().await.unwrap().to_vec(), b"bytes");
    let received = support::sqs_client(&services)
        .receive_message()
        .queue_url(&url)
        .send()
        .await
        .unwrap();
    assert_eq!(received.messages()[0].body(), Some("job"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_openers_share_one_folder_and_take_each_message_once() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.services.clone(), fixture.reopen());
    let url = support::sqs_client(&first)
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    let senders: Vec<_> = [first.clone(), second.clone()]
        .into_iter()
        .map(|services| {
            let (client, url) = (support::sqs_client(&services), url.clone());
            tokio::spawn(async move {
                for _ in 0..20 {
                    client
                        .send_message()
                        .queue_url(&url)
                        .message_body("job")
                        .send()
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }

    let takers: Vec<_> = [first, second]
        .into_iter()
        .map(|services| {
            let (client, url) = (support::sqs_client(&services), url.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                loop {
                    let receive = client
                        .receive_message()
                        .queue_url(&url)
                        .max_number_of_messages(3);
                    let messages = receive.send().await.unwrap().messages.unwrap_or_default();
                    if messages.is_empty() {
                        return ids;
                    }
                    ids.extend(
                        messages
                            .into_iter()
                            .filter_map(|message| message.message_id),
                    );
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for taker in takers {
        all.extend(taker.await.unwrap());
    }

    let received = all.len();
    all.sort();
    all.dedup();
    assert_eq!((received, all.len()), (40, 40));
}

#[tokio::test]
async fn a_receiver_sees_what_another_process_sends() {
    let fixture = Fixture::new();
    let (ours, theirs) = (fixture.sqs(), support::sqs_client(&fixture.reopen()));
    let url = ours
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();

    let waiting = ours
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let sending = theirs
        .send_message()
        .queue_url(&url)
        .message_body("job")
        .send();

    let (received, sent) = tokio::join!(waiting, sending);
    sent.unwrap();
    assert_eq!(received.unwrap().messages().len(), 1);
}

/// The environment variable that tells the child process of the next test where to write.
const CHILD_FOLDER: &str = "EMBEDDED_TEST_CHILD_FOLDER";
/// The text that a child prints before the number of each round whose writes were answered.
const ANSWERED: &str = "answered ";

#[test]
fn a_killed_process_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "folder::child_writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(CHILD_FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();

    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut rounds = lines
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix(ANSWERED)?.parse().ok());

    let last: usize = rounds.find(|round| *round == 40).unwrap();
    child.kill().unwrap();
    // Rounds that the child still printed before it died were answered too.
    let last = rounds.last().unwrap_or(last);
    child.wait().unwrap();

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(all_rounds_are_there(folder.path().to_owned(), last));
}

async fn all_rounds_are_there(folder: PathBuf, last: usize) {
    let services = EmbeddedServices::open(&folder).unwrap();
    let (dynamodb, sqs) = (
        support::dynamodb_client(&services),
        support::sqs_client(&services),
    );
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services)));
    for round in 0..=last {
        let get = dynamodb
            .get_item()
            .table_name("records")
            .key("pk", AttributeValue::S(format!("{round}")));
        let item = get
            .key("sk", AttributeValue::S("1".into()))
            .send()
            .await
            .unwrap();
        assert!(item.item().is_some(), "item {round} of {last}");
        let object = s3
            .get_object()
            .bucket("documents")
            .key("same")
            .send()
            .await
            .unwrap();
        let body = object.body.collect().await.unwrap().to_vec();
        assert!(
            body.len() == 5000 && body.iter().all(|byte| *byte == body[0]),
            "half an object"
        );
    }

    let url = sqs
        .get_queue_url()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    let mut messages = 0;
    loop {
        let receive = sqs
            .receive_message()
            .queue_url(&url)
            .max_number_of_messages(10)
            .send()
            .await
            .unwrap();
        if receive.messages().is_empty() {
            break;
        }
        messages += receive.messages().len();
    }

    assert!(
        messages > last,
        "{messages} messages of {} rounds",
        last + 1
    );
}

/// Does nothing unless the test above runs it in a process of its own.
#[tokio::test]
async fn child_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else {
        return;
    };

    let services = EmbeddedServices::open(&PathBuf::from(folder)).unwrap();
    let (dynamodb, sqs) = (
        support::dynamodb_client(&services),
        support::sqs_client(&services),
    );
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services)));
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

    for round in 0_usize.. {
        let put = dynamodb
            .put_item()
            .table_name("records")
            .item("pk", AttributeValue::S(format!("{round}")));
        put.item("sk", AttributeValue::S("1".into()))
            .send()
            .await
            .unwrap();
        sqs.send_message()
            .queue_url(&url)
            .message_body(round.to_string())
            .send()
            .await
            .unwrap();
        let body = vec![u8::try_from(round % 251).unwrap(); 5000];
        s3.put_object()
            .bucket("documents")
            .key("same")
            .body(body.into())
            .send()
            .await
            .unwrap();
        println!("{ANSWERED}{round}");
    }
}
