//! Tests of FIFO queues of SQS.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};

use crate::support::Fixture;

async fn create_queue(client: &Client, attributes: &[(QueueAttributeName, &str)]) -> String {
    let mut create = client
        .create_queue()
        .queue_name("commit.fifo")
        .attributes(QueueAttributeName::FifoQueue, "true");
    for (name, value) in attributes {
        create = create.attributes(name.clone(), *value);
    }
    create.send().await.unwrap().queue_url.unwrap()
}

async fn send_message(
    client: &Client,
    url: &str,
    group: &str,
    body: &str,
) -> aws_sdk_sqs::operation::send_message::SendMessageOutput {
    let send = client
        .send_message()
        .queue_url(url)
        .message_group_id(group)
        .message_body(body);
    send.message_deduplication_id(format!("{group}-{body}"))
        .send()
        .await
        .unwrap()
}

async fn receive_messages(client: &Client, url: &str, count: i32) -> Vec<Message> {
    let receive = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(count);
    let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
    receive.send().await.unwrap().messages.unwrap_or_default()
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| message.body())
        .collect()
}

async fn delete(client: &Client, url: &str, message: &Message) {
    let delete = client
        .delete_message()
        .queue_url(url)
        .receipt_handle(message.receipt_handle().unwrap());
    delete.send().await.unwrap();
}

#[tokio::test]
async fn a_group_is_blocked_while_one_of_its_messages_is_in_flight() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[]).await;
    for (group, body) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")] {
        send_message(&client, &url, group, body).await;
    }
    let first = receive_messages(&client, &url, 1).await;
    assert_eq!(bodies(&first), ["a1"]);
    let second = receive_messages(&client, &url, 10).await;
    assert_eq!(bodies(&second), ["b1"], "only the other group is free");
    assert!(receive_messages(&client, &url, 10).await.is_empty());

    delete(&client, &url, &first[0]).await;
    let third = receive_messages(&client, &url, 10).await;
    assert_eq!(
        bodies(&third),
        ["a2", "a3"],
        "one receive may take several of a group, in order"
    );
    delete(&client, &url, &third[1]).await;
    assert!(
        receive_messages(&client, &url, 10).await.is_empty(),
        "a2 is still in flight"
    );
    send_message(&client, &url, "a", "a4").await;
    assert!(receive_messages(&client, &url, 10).await.is_empty());
    delete(&client, &url, &third[0]).await;
    assert_eq!(bodies(&receive_messages(&client, &url, 10).await), ["a4"]);
}

#[tokio::test]
async fn order_is_kept_when_a_message_comes_back() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[]).await;
    for body in ["1", "2", "3"] {
        send_message(&client, &url, "a", body).await;
    }

    assert_eq!(
        bodies(&receive_messages(&client, &url, 2).await),
        ["1", "2"]
    );
    fixture.advance_ms(30_000);
    assert_eq!(bodies(&receive_messages(&client, &url, 1).await), ["1"]);
    assert!(receive_messages(&client, &url, 1).await.is_empty());
    fixture.advance_ms(30_000);
    let all = receive_messages(&client, &url, 10).await;
    assert_eq!(bodies(&all), ["1", "2", "3"]);
    let numbers: Vec<_> = all
        .iter()
        .map(|message| {
            message.attributes().unwrap()[&MessageSystemAttributeName::SequenceNumber].clone()
        })
        .collect();
    assert!(numbers.is_sorted());
    let receipt = all[0].receipt_handle().unwrap();
    let change = client
        .change_message_visibility()
        .queue_url(&url)
        .visibility_timeout(0)
        .receipt_handle(receipt);
    change.send().await.unwrap();
    assert!(
        receive_messages(&client, &url, 10).await.is_empty(),
        "2 and 3 are still in flight"
    );
}

#[tokio::test]
async fn an_extended_message_keeps_its_group_blocked() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[]).await;
    for body in ["1", "2"] {
        send_message(&client, &url, "a", body).await;
    }

    let both = receive_messages(&client, &url, 2).await;
    let receipt = both[1].receipt_handle().unwrap();
    let change = client
        .change_message_visibility()
        .queue_url(&url)
        .visibility_timeout(100)
        .receipt_handle(receipt);
    change.send().await.unwrap();
    fixture.advance_ms(50_000);
    assert!(receive_messages(&client, &url, 10).await.is_empty());
    fixture.advance_ms(50_000);
    assert_eq!(
        bodies(&receive_messages(&client, &url, 10).await),
        ["1", "2"]
    );
}

#[tokio::test]
async fn repeats_within_five_minutes_are_sent_once() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[]).await;

    let first = send_message(&client, &url, "a", "1").await;
    let repeat = send_message(&client, &url, "a", "1").await;
    assert_eq!(repeat.message_id(), first.message_id());
    assert_eq!(repeat.sequence_number(), first.sequence_number());

    let received = receive_messages(&client, &url, 10).await;
    assert_eq!(received.len(), 1);
    delete(&client, &url, &received[0]).await;

    fixture.advance_ms(299_999);
    send_message(&client, &url, "a", "1").await;
    assert!(
        receive_messages(&client, &url, 10).await.is_empty(),
        "also after it was deleted"
    );

    fixture.advance_ms(1);
    send_message(&client, &url, "a", "1").await;
    assert_eq!(receive_messages(&client, &url, 10).await.len(), 1);
}

#[tokio::test]
async fn content_can_stand_for_the_deduplication_id() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(
        &client,
        &[(QueueAttributeName::ContentBasedDeduplication, "true")],
    )
    .await;

    for body in ["same", "same", "other"] {
        let send = client
            .send_message()
            .queue_url(&url)
            .message_group_id("a")
            .message_body(body);
        send.send().await.unwrap();
    }

    assert_eq!(
        bodies(&receive_messages(&client, &url, 10).await),
        ["same", "other"]
    );
}

#[tokio::test]
async fn deduplication_can_be_per_group() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(
        &client,
        &[(QueueAttributeName::DeduplicationScope, "messageGroup")],
    )
    .await;
    for group in ["a", "b", "a"] {
        let send = client
            .send_message()
            .queue_url(&url)
            .message_group_id(group)
            .message_body(group);
        send.message_deduplication_id("same").send().await.unwrap();
    }

    assert_eq!(
        bodies(&receive_messages(&client, &url, 10).await),
        ["a", "b"]
    );
}

#[tokio::test]
async fn what_a_fifo_queue_needs_is_demanded() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[]).await;

    let code =
        async |send: aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder| {
            let error = send
                .queue_url(&url)
                .message_body("x")
                .send()
                .await
                .unwrap_err()
                .into_service_error();
            error.code().unwrap().to_owned()
        };

    assert_eq!(
        code(client.send_message().message_deduplication_id("1")).await,
        "MissingParameter"
    );
    assert_eq!(
        code(client.send_message().message_group_id("a")).await,
        "InvalidParameterValue"
    );

    let delayed = client
        .send_message()
        .message_group_id("a")
        .message_deduplication_id("1")
        .delay_seconds(5);
    assert_eq!(code(delayed).await, "InvalidParameterValue");

    let misnamed_queue = client
        .create_queue()
        .queue_name("plain")
        .attributes(QueueAttributeName::FifoQueue, "true");
    assert!(misnamed_queue.send().await.is_err());
}

#[tokio::test]
async fn an_expired_receipt_does_not_delete() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[]).await;

    send_message(&client, &url, "a", "1").await;
    let received = receive_messages(&client, &url, 1).await;
    fixture.advance_ms(30_000);

    let delete = client
        .delete_message()
        .queue_url(&url)
        .receipt_handle(received[0].receipt_handle().unwrap());

    assert_eq!(
        delete.send().await.unwrap_err().into_service_error().code(),
        Some("InvalidParameterValue")
    );
    assert_eq!(receive_messages(&client, &url, 1).await.len(), 1);
}

#[tokio::test]
async fn a_poison_message_frees_its_group_by_going_to_the_dead_letter_queue() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let dead_letter_queue = client
        .create_queue()
        .queue_name("dead.fifo")
        .attributes(QueueAttributeName::FifoQueue, "true");
    let dead_letter_queue = dead_letter_queue.send().await.unwrap().queue_url.unwrap();

    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}"#;
    let url = create_queue(&client, &[(QueueAttributeName::RedrivePolicy, policy)]).await;
    for body in ["poison", "next"] {
        send_message(&client, &url, "a", body).await;
    }

    assert_eq!(
        bodies(&receive_messages(&client, &url, 1).await),
        ["poison"]
    );
    fixture.advance_ms(30_000);
    assert_eq!(bodies(&receive_messages(&client, &url, 1).await), ["next"]);
    assert_eq!(
        bodies(&receive_messages(&client, &dead_letter_queue, 10).await),
        ["poison"]
    );
}

#[tokio::test]
async fn a_delay_of_the_queue_keeps_order() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client, &[(QueueAttributeName::DelaySeconds, "10")]).await;
    send_message(&client, &url, "a", "1").await;
    fixture.advance_ms(5_000);
    send_message(&client, &url, "a", "2").await;
    fixture.advance_ms(5_000);
    assert_eq!(bodies(&receive_messages(&client, &url, 10).await), ["1"]);
    fixture.advance_ms(30_000);
    assert_eq!(
        bodies(&receive_messages(&client, &url, 10).await),
        ["1", "2"]
    );
}
