//! Tests of the queues of SQS and their attributes.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::QueueAttributeName;

use crate::support::Fixture;

async fn get_attribute(client: &Client, url: &str, name: QueueAttributeName) -> Option<String> {
    let get = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(QueueAttributeName::All);
    get.send().await.unwrap().attributes.unwrap().remove(&name)
}

#[tokio::test]
async fn creating_twice_is_the_same_queue_unless_attributes_differ() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let create = |timeout: &str| {
        let create = client.create_queue().queue_name("work");
        create
            .attributes(QueueAttributeName::VisibilityTimeout, timeout)
            .send()
    };

    let first = create("60").await.unwrap().queue_url.unwrap();
    assert_eq!(create("60").await.unwrap().queue_url.unwrap(), first);
    let plain = client
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap();
    assert_eq!(plain.queue_url.unwrap(), first);
    assert!(
        create("61")
            .await
            .unwrap_err()
            .into_service_error()
            .is_queue_name_exists()
    );
    assert_eq!(
        client
            .get_queue_url()
            .queue_name("work")
            .send()
            .await
            .unwrap()
            .queue_url
            .unwrap(),
        first
    );
}

#[tokio::test]
async fn an_unknown_queue_is_the_typed_error_everywhere() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = "https://sqs.us-east-1.amazonaws.com/000000000000/nothing";

    let error = client
        .get_queue_url()
        .queue_name("nothing")
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());

    let error = client
        .send_message()
        .queue_url(url)
        .message_body("x")
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());

    let error = client
        .receive_message()
        .queue_url(url)
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn attributes_can_be_read_changed_and_are_checked() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = client
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    let arn = get_attribute(&client, &url, QueueAttributeName::QueueArn).await;
    assert_eq!(arn.unwrap(), "arn:aws:sqs:us-east-1:000000000000:work");
    let retention = get_attribute(&client, &url, QueueAttributeName::MessageRetentionPeriod).await;
    assert_eq!(retention.unwrap(), "345600");

    let set = |value: &str| {
        let set = client.set_queue_attributes().queue_url(&url);
        set.attributes(QueueAttributeName::VisibilityTimeout, value)
            .send()
    };

    set("7").await.unwrap();
    assert_eq!(
        get_attribute(&client, &url, QueueAttributeName::VisibilityTimeout)
            .await
            .unwrap(),
        "7"
    );
    assert!(
        set("43201")
            .await
            .unwrap_err()
            .into_service_error()
            .is_invalid_attribute_value()
    );
    let set = client.set_queue_attributes().queue_url(&url);
    let unknown = set
        .attributes(QueueAttributeName::from("Nonsense"), "1")
        .send()
        .await
        .unwrap_err();
    assert!(unknown.into_service_error().is_invalid_attribute_name());
}

#[tokio::test]
async fn a_dead_letter_queue_must_exist_and_lists_its_sources() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"3"}"#;
    let create = || {
        let create = client.create_queue().queue_name("work");
        create
            .attributes(QueueAttributeName::RedrivePolicy, policy)
            .send()
    };

    assert!(
        create()
            .await
            .unwrap_err()
            .into_service_error()
            .code()
            .is_some()
    );

    let dead_letter_queue = client
        .create_queue()
        .queue_name("dead")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    let work = create().await.unwrap().queue_url.unwrap();

    let sources = client
        .list_dead_letter_source_queues()
        .queue_url(&dead_letter_queue)
        .send()
        .await
        .unwrap();
    assert_eq!(sources.queue_urls(), [work]);
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    for name in ["a-1", "a-2", "a-3", "b-1"] {
        client.create_queue().queue_name(name).send().await.unwrap();
    }

    let list = client.list_queues().queue_name_prefix("a-").max_results(2);
    let urls: Vec<String> = list
        .into_paginator()
        .items()
        .send()
        .collect::<Result<_, _>>()
        .await
        .unwrap();
    let names: Vec<_> = urls
        .iter()
        .map(|url| url.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(names, ["a-1", "a-2", "a-3"]);
}

#[tokio::test]
async fn purging_empties_and_deleting_removes_a_queue() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = client
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();

    client
        .send_message()
        .queue_url(&url)
        .message_body("x")
        .send()
        .await
        .unwrap();

    client.purge_queue().queue_url(&url).send().await.unwrap();
    assert!(
        client
            .receive_message()
            .queue_url(&url)
            .send()
            .await
            .unwrap()
            .messages()
            .is_empty()
    );

    client.delete_queue().queue_url(&url).send().await.unwrap();
    let error = client
        .send_message()
        .queue_url(&url)
        .message_body("x")
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn counts_tell_visible_hidden_and_delayed_apart() {
    let fixture = Fixture::new();
    let client = fixture.sqs();
    let url = client
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    for delay in [0, 0, 0, 5] {
        client
            .send_message()
            .queue_url(&url)
            .message_body("x")
            .delay_seconds(delay)
            .send()
            .await
            .unwrap();
    }

    client
        .receive_message()
        .queue_url(&url)
        .visibility_timeout(10)
        .send()
        .await
        .unwrap();
    let counts = async || {
        let mut all: HashMap<_, _> = HashMap::new();
        for name in [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ] {
            all.insert(
                name.clone(),
                get_attribute(&client, &url, name).await.unwrap(),
            );
        }
        all.into_iter()
            .map(|(name, count)| (name.as_str().to_owned(), count))
            .collect::<HashMap<_, _>>()
    };

    let expected = |visible: &str, hidden: &str, delayed: &str| {
        HashMap::from([
            ("ApproximateNumberOfMessages".to_owned(), visible.to_owned()),
            (
                "ApproximateNumberOfMessagesNotVisible".to_owned(),
                hidden.to_owned(),
            ),
            (
                "ApproximateNumberOfMessagesDelayed".to_owned(),
                delayed.to_owned(),
            ),
        ])
    };

    assert_eq!(counts().await, expected("2", "1", "1"));
    fixture.advance_ms(5_000);
    assert_eq!(counts().await, expected("3", "1", "0"));
    fixture.advance_ms(5_000);
    assert_eq!(counts().await, expected("4", "0", "0"));
}
