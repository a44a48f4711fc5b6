//! Tests of the messages of standard queues of SQS.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message,
    MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};

use crate::support::Fixture;

async fn create_queue(client: &Client) -> String {
    client
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap()
}

async fn send_message(client: &Client, url: &str, body: &str) {
    client
        .send_message()
        .queue_url(url)
        .message_body(body)
        .send()
        .await
        .unwrap();
}

async fn receive_messages(client: &Client, url: &str) -> Vec<Message> {
    let receive = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(10);
    let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
    receive.send().await.unwrap().messages.unwrap_or_default()
}

fn system_attribute(message: &Message, name: MessageSystemAttributeName) -> &str {
    &message.attributes().unwrap()[&name]
}

#[tokio::test]
async fn a_received_message_is_hidden_then_comes_back_with_a_higher_count() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    send_message(&client, &url, "job").await;
    let first = receive_messages(&client, &url).await;
    assert_eq!(first[0].body(), Some("job"));
    assert_eq!(
        system_attribute(
            &first[0],
            MessageSystemAttributeName::ApproximateReceiveCount
        ),
        "1"
    );
    assert_eq!(
        system_attribute(&first[0], MessageSystemAttributeName::SentTimestamp),
        "1800000000000"
    );

    fixture.advance_ms(29_999);
    assert!(receive_messages(&client, &url).await.is_empty());
    fixture.advance_ms(1);
    let second = receive_messages(&client, &url).await;
    assert_eq!(
        system_attribute(
            &second[0],
            MessageSystemAttributeName::ApproximateReceiveCount
        ),
        "2"
    );
    assert_eq!(
        system_attribute(
            &second[0],
            MessageSystemAttributeName::ApproximateFirstReceiveTimestamp
        ),
        "1800000000000"
    );
    assert_eq!(second[0].message_id(), first[0].message_id());
    assert_ne!(second[0].receipt_handle(), first[0].receipt_handle());
}

#[tokio::test]
async fn only_the_latest_receipt_deletes() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    send_message(&client, &url, "job").await;
    let first = receive_messages(&client, &url).await;
    fixture.advance_ms(30_000);
    let second = receive_messages(&client, &url).await;

    let delete = |message: &Message| {
        client
            .delete_message()
            .queue_url(&url)
            .receipt_handle(message.receipt_handle().unwrap())
            .send()
    };

    delete(&first[0]).await.unwrap();
    fixture.advance_ms(30_000);
    let third = receive_messages(&client, &url).await;
    assert_eq!(third.len(), 1, "the stale receipt must not delete");

    delete(&second[0]).await.unwrap();
    fixture.advance_ms(30_000);
    // The latest receipt deletes even after its visibility time-out, and again without an error.
    delete(&third[0]).await.unwrap();
    delete(&third[0]).await.unwrap();
    assert!(receive_messages(&client, &url).await.is_empty());
    let error = client
        .delete_message()
        .queue_url(&url)
        .receipt_handle("nonsense")
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_receipt_handle_is_invalid());
}

#[tokio::test]
async fn visibility_can_be_extended_and_given_up() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    send_message(&client, &url, "job").await;
    let message = receive_messages(&client, &url).await.remove(0);
    let change = |seconds| {
        let change = client
            .change_message_visibility()
            .queue_url(&url)
            .visibility_timeout(seconds);
        change
            .receipt_handle(message.receipt_handle().unwrap())
            .send()
    };

    change(100).await.unwrap();
    fixture.advance_ms(99_999);
    assert!(receive_messages(&client, &url).await.is_empty());
    change(0).await.unwrap();
    let again = receive_messages(&client, &url).await;
    assert_eq!(again.len(), 1);
    assert!(
        change(5)
            .await
            .unwrap_err()
            .into_service_error()
            .is_message_not_inflight()
    );
}

#[tokio::test]
async fn a_delayed_message_appears_in_time() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;

    client
        .send_message()
        .queue_url(&url)
        .message_body("later")
        .delay_seconds(60)
        .send()
        .await
        .unwrap();

    assert!(receive_messages(&client, &url).await.is_empty());
    fixture.advance_ms(60_000);
    assert_eq!(receive_messages(&client, &url).await.len(), 1);

    let long = client
        .send_message()
        .queue_url(&url)
        .message_body("x")
        .delay_seconds(901)
        .send()
        .await;
    assert_eq!(
        long.unwrap_err().into_service_error().code(),
        Some("InvalidParameterValue")
    );
}

#[tokio::test]
async fn attributes_of_all_types_make_the_round_trip() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    let text = MessageAttributeValue::builder()
        .data_type("String")
        .string_value("trace-1")
        .build()
        .unwrap();
    let number = MessageAttributeValue::builder()
        .data_type("Number.int")
        .string_value("7")
        .build()
        .unwrap();
    let bytes = MessageAttributeValue::builder()
        .data_type("Binary")
        .binary_value(Blob::new([0, 255]))
        .build();
    let send = client
        .send_message()
        .queue_url(&url)
        .message_body("job")
        .message_attributes("trace.id", text);
    let send = send
        .message_attributes("count", number)
        .message_attributes("raw", bytes.unwrap());
    let sent = send.send().await.unwrap();
    assert_eq!(
        sent.md5_of_message_body(),
        Some("9dddd5ce1b1375bc497feeb871842d4b")
    );
    // The digest was computed by another implementation of the documented algorithm.
    assert_eq!(
        sent.md5_of_message_attributes(),
        Some("c5e76f21d3924461cb05dda17fb19e6d")
    );

    let receive = client
        .receive_message()
        .queue_url(&url)
        .visibility_timeout(0)
        .message_attribute_names("All");
    let all = receive.send().await.unwrap().messages.unwrap().remove(0);
    let attributes = all.message_attributes().unwrap();
    assert_eq!(attributes["trace.id"].string_value(), Some("trace-1"));
    assert_eq!(attributes["count"].data_type(), "Number.int");
    assert_eq!(attributes["raw"].binary_value().unwrap().as_ref(), [0, 255]);
    assert_eq!(
        all.md5_of_message_attributes(),
        sent.md5_of_message_attributes()
    );

    let receive = client
        .receive_message()
        .queue_url(&url)
        .message_attribute_names("trace.*");
    let some = receive.send().await.unwrap().messages.unwrap().remove(0);
    assert_eq!(some.message_attributes().unwrap().len(), 1);
}

#[tokio::test]
async fn a_message_received_too_often_goes_to_the_dead_letter_queue() {
    let fixture = Fixture::new();
    let client = fixture.sqs();

    let dead_letter_queue = client
        .create_queue()
        .queue_name("dead")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();

    let policy =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":2}"#;
    let create = client
        .create_queue()
        .queue_name("work")
        .attributes(QueueAttributeName::RedrivePolicy, policy);
    let url = create.send().await.unwrap().queue_url.unwrap();

    send_message(&client, &url, "poison").await;
    send_message(&client, &url, "fine").await;
    for _ in 0..2 {
        let messages = receive_messages(&client, &url).await;
        assert_eq!(messages.len(), 2);
        fixture.advance_ms(30_000);
    }

    assert!(
        receive_messages(&client, &dead_letter_queue)
            .await
            .is_empty()
    );
    assert!(receive_messages(&client, &url).await.is_empty());
    let dead_letters = receive_messages(&client, &dead_letter_queue).await;
    assert_eq!(dead_letters.len(), 2);
    assert_eq!(
        system_attribute(
            &dead_letters[0],
            MessageSystemAttributeName::DeadLetterQueueSourceArn
        ),
        "arn:aws:sqs:us-east-1:000000000000:work"
    );

    fixture.advance_ms(30_000);
    assert!(receive_messages(&client, &url).await.is_empty());
}

#[tokio::test]
async fn retention_forgets_old_messages() {
    let fixture = Fixture::new();
    let client = fixture.sqs();

    let create = client.create_queue().queue_name("work");
    let create = create.attributes(QueueAttributeName::MessageRetentionPeriod, "60");
    let url = create.send().await.unwrap().queue_url.unwrap();

    send_message(&client, &url, "old").await;
    fixture.advance_ms(59_000);
    send_message(&client, &url, "new").await;
    fixture.advance_ms(1_000);
    fixture.services.sweep_expired().unwrap();

    let get = client
        .get_queue_attributes()
        .queue_url(&url)
        .attribute_names(QueueAttributeName::All);
    let attributes = get.send().await.unwrap().attributes.unwrap();
    assert_eq!(
        attributes[&QueueAttributeName::ApproximateNumberOfMessages],
        "1"
    );

    fixture.advance_ms(59_000);
    assert!(
        receive_messages(&client, &url).await.is_empty(),
        "expired without a sweep"
    );
}

#[tokio::test]
async fn messages_are_checked() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;

    let send_error = async |body: String| {
        let sent = client
            .send_message()
            .queue_url(&url)
            .message_body(body)
            .send()
            .await;
        sent.unwrap_err().into_service_error()
    };

    client
        .send_message()
        .queue_url(&url)
        .message_body("x".repeat(1 << 20))
        .send()
        .await
        .unwrap();

    assert_eq!(
        send_error("x".repeat((1 << 20) + 1)).await.code(),
        Some("InvalidParameterValue")
    );
    assert!(
        send_error("\u{0}".to_owned())
            .await
            .is_invalid_message_contents()
    );
    assert_eq!(
        send_error(String::new()).await.code(),
        Some("MissingParameter")
    );

    let error = client
        .receive_message()
        .queue_url(&url)
        .max_number_of_messages(11)
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        error.into_service_error().code(),
        Some("InvalidParameterValue")
    );
}

#[tokio::test]
async fn a_batch_tells_success_and_failure_of_each_entry() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    let entry = |id: &str, body: &str| {
        SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body(body)
            .build()
            .unwrap()
    };

    let batch = client
        .send_message_batch()
        .queue_url(&url)
        .entries(entry("good", "a"))
        .entries(entry("bad", "\u{1}"));
    let sent = batch.send().await.unwrap();
    assert_eq!(
        (sent.successful()[0].id(), sent.failed()[0].id()),
        ("good", "bad")
    );
    assert!(sent.failed()[0].sender_fault());
    assert_eq!(sent.failed()[0].code(), "InvalidMessageContents");

    let message = receive_messages(&client, &url).await.remove(0);
    let handle = message.receipt_handle().unwrap();
    let change = |id: &str, handle: &str| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(id)
            .receipt_handle(handle);
        entry.visibility_timeout(90).build().unwrap()
    };

    let batch = client.change_message_visibility_batch().queue_url(&url);
    let changed = batch
        .entries(change("1", handle))
        .entries(change("2", "nonsense"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (changed.successful()[0].id(), changed.failed()[0].id()),
        ("1", "2")
    );
    let delete = |id: &str, handle: &str| {
        DeleteMessageBatchRequestEntry::builder()
            .id(id)
            .receipt_handle(handle)
            .build()
            .unwrap()
    };

    let batch = client.delete_message_batch().queue_url(&url);
    let deleted = batch
        .entries(delete("1", handle))
        .entries(delete("2", "nonsense"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (deleted.successful().len(), deleted.failed()[0].code()),
        (1, "ReceiptHandleIsInvalid")
    );
}

#[tokio::test]
async fn malformed_batches_are_refused_as_a_whole() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    let entry = |id: String| {
        SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body("x")
            .build()
            .unwrap()
    };

    let send = async |entries: Vec<SendMessageBatchRequestEntry>| {
        let batch = client
            .send_message_batch()
            .queue_url(&url)
            .set_entries(Some(entries))
            .send()
            .await;
        batch.unwrap_err().into_service_error()
    };

    assert!(send(vec![]).await.is_empty_batch_request());
    let eleven_entries = (0..11).map(|index| entry(index.to_string())).collect();
    assert!(
        send(eleven_entries)
            .await
            .is_too_many_entries_in_batch_request()
    );
    assert!(
        send(vec![entry("a".into()), entry("a".into())])
            .await
            .is_batch_entry_ids_not_distinct()
    );
    assert!(
        send(vec![entry("a b".into())])
            .await
            .is_invalid_batch_entry_id()
    );
    let large = |id: &str| {
        let entry = SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body("x".repeat(600_000));
        entry.build().unwrap()
    };

    assert!(
        send(vec![large("a"), large("b")])
            .await
            .is_batch_request_too_long()
    );
    assert!(receive_messages(&client, &url).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sent_message_wakes_a_waiting_receiver() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;

    let waiting = tokio::spawn(
        client
            .receive_message()
            .queue_url(&url)
            .wait_time_seconds(20)
            .send(),
    );

    tokio::task::yield_now().await;
    send_message(&client, &url, "job").await;

    let received = tokio::time::timeout(Duration::from_secs(15), waiting)
        .await
        .expect("woken")
        .unwrap()
        .unwrap();
    assert_eq!(received.messages().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_batch_wakes_all_waiting_receivers_that_it_can_feed() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            tokio::spawn(
                client
                    .receive_message()
                    .queue_url(&url)
                    .wait_time_seconds(20)
                    .send(),
            )
        })
        .collect();
    tokio::task::yield_now().await;
    let entry = |id: i32| {
        SendMessageBatchRequestEntry::builder()
            .id(id.to_string())
            .message_body("x")
            .build()
            .unwrap()
    };

    let batch = client
        .send_message_batch()
        .queue_url(&url)
        .set_entries(Some((0..5).map(entry).collect()));
    batch.send().await.unwrap();

    for receiver in waiting {
        let received = tokio::time::timeout(Duration::from_secs(15), receiver)
            .await
            .expect("woken");
        assert_eq!(received.unwrap().unwrap().messages().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_receiver_gets_a_message_that_becomes_due() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;

    client
        .send_message()
        .queue_url(&url)
        .message_body("later")
        .delay_seconds(600)
        .send()
        .await
        .unwrap();

    let waiting = tokio::spawn(
        client
            .receive_message()
            .queue_url(&url)
            .wait_time_seconds(20)
            .send(),
    );

    tokio::task::yield_now().await;
    fixture.advance_ms(600_000);

    let received = tokio::time::timeout(Duration::from_secs(15), waiting)
        .await
        .expect("woken")
        .unwrap()
        .unwrap();
    assert_eq!(received.messages().len(), 1);
}

#[tokio::test]
async fn an_idle_poll_writes_nothing() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;

    client
        .send_message()
        .queue_url(&url)
        .message_body("later")
        .delay_seconds(600)
        .send()
        .await
        .unwrap();

    let size = || {
        std::fs::metadata(fixture.folder.path().join("sqs.sqlite-wal"))
            .unwrap()
            .len()
    };

    let size_before = size();
    for _ in 0..20 {
        assert!(receive_messages(&client, &url).await.is_empty());
    }

    client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(1)
        .send()
        .await
        .unwrap();

    assert_eq!(size(), size_before);
}
