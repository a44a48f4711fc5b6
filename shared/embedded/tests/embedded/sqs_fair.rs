//! Tests of fairness in SQS: one busy group does not starve the others of a standard queue.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::Message;

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

async fn send_message(client: &Client, url: &str, group: &str, body: &str) {
    client
        .send_message()
        .queue_url(url)
        .message_group_id(group)
        .message_body(body)
        .send()
        .await
        .unwrap();
}

async fn take_messages(client: &Client, url: &str, count: i32) -> Vec<Message> {
    let receive = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(count);
    receive.send().await.unwrap().messages.unwrap_or_default()
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| message.body())
        .collect()
}

#[tokio::test]
async fn groups_take_turns() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    for index in 0..50 {
        send_message(&client, &url, "busy", &format!("busy-{index}")).await;
    }

    for index in 0..2 {
        send_message(&client, &url, "quiet", &format!("quiet-{index}")).await;
    }

    let first = take_messages(&client, &url, 6).await;
    assert_eq!(
        bodies(&first),
        ["busy-0", "quiet-0", "busy-1", "quiet-1", "busy-2", "busy-3"]
    );
}

#[tokio::test]
async fn a_late_comer_is_served_in_the_current_turn() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    for index in 0..50 {
        send_message(&client, &url, "busy", &format!("busy-{index}")).await;
    }

    for _ in 0..3 {
        take_messages(&client, &url, 10).await;
    }

    send_message(&client, &url, "late", "late").await;
    client
        .send_message()
        .queue_url(&url)
        .message_body("alone")
        .send()
        .await
        .unwrap();
    assert_eq!(
        bodies(&take_messages(&client, &url, 3).await),
        ["late", "alone", "busy-30"]
    );
}

#[tokio::test]
async fn a_group_whose_messages_all_fail_waits_its_turn() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    for index in 0..10 {
        send_message(&client, &url, "failing", &format!("failing-{index}")).await;
    }

    assert_eq!(take_messages(&client, &url, 10).await.len(), 10);
    for index in 0..3 {
        send_message(&client, &url, "good", &format!("good-{index}")).await;
    }

    fixture.advance_ms(30_000);
    let next = take_messages(&client, &url, 6).await;
    let good_count = bodies(&next)
        .iter()
        .filter(|body| body.starts_with("good"))
        .count();
    assert!(good_count >= 2, "{:?}", bodies(&next));
}

#[tokio::test]
async fn messages_without_a_group_keep_the_order_of_arrival() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = create_queue(&client).await;
    for index in 0..5 {
        client
            .send_message()
            .queue_url(&url)
            .message_body(index.to_string())
            .send()
            .await
            .unwrap();
    }

    assert_eq!(
        bodies(&take_messages(&client, &url, 10).await),
        ["0", "1", "2", "3", "4"]
    );
}
