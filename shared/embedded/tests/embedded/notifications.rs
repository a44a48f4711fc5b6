//! Tests of the notification of queues about new objects.

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    CompletedMultipartUpload, CompletedPart, Event, FilterRule, FilterRuleName,
    NotificationConfiguration, NotificationConfigurationFilter, QueueConfiguration, S3KeyFilter,
};
use aws_sdk_sqs::types::QueueAttributeName;
use embedded::{EmbeddedServices, InProcessTransport};
use serde_json::Value;

use crate::support::{self, Fixture, sdk_config};

const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:";

fn notification_config(
    queue: &str,
    event: Event,
    rules: &[(FilterRuleName, &str)],
) -> NotificationConfiguration {
    let rules = rules.iter().map(|(name, value)| {
        FilterRule::builder()
            .name(name.clone())
            .value(*value)
            .build()
    });

    let key = S3KeyFilter::builder()
        .set_filter_rules(Some(rules.collect()))
        .build();
    let queue = QueueConfiguration::builder()
        .queue_arn(format!("{ARN}{queue}"))
        .events(event)
        .filter(NotificationConfigurationFilter::builder().key(key).build())
        .build()
        .unwrap();

    NotificationConfiguration::builder()
        .queue_configurations(queue)
        .build()
}

async fn put_configuration(
    fixture: &Fixture,
    configuration: NotificationConfiguration,
) -> Result<(), String> {
    let put = fixture
        .s3()
        .put_bucket_notification_configuration()
        .bucket("content");
    let put = put.notification_configuration(configuration).send().await;

    put.map(|_| ()).map_err(|error| {
        error
            .into_service_error()
            .code()
            .unwrap_or_default()
            .to_owned()
    })
}

/// Creates the queue `keeper` and has it notified of new objects of `bucket` whose keys end with
/// `/upload`.
pub(crate) async fn watch_uploads(fixture: &Fixture, bucket: &str) -> String {
    let url = fixture
        .sqs()
        .create_queue()
        .queue_name("keeper")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();

    let configuration = notification_config(
        "keeper",
        Event::from("s3:ObjectCreated:*"),
        &[(FilterRuleName::Suffix, "/upload")],
    );

    let put = fixture
        .s3()
        .put_bucket_notification_configuration()
        .bucket(bucket);
    put.notification_configuration(configuration)
        .send()
        .await
        .unwrap();
    url
}

async fn watched_bucket() -> (Fixture, String) {
    let fixture = Fixture::new();
    fixture
        .s3()
        .create_bucket()
        .bucket("content")
        .send()
        .await
        .unwrap();
    let url = watch_uploads(&fixture, "content").await;
    (fixture, url)
}

async fn put_object(services: &EmbeddedServices, key: &str) {
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services.clone())));
    let body = ByteStream::from_static(b"text");
    s3.put_object()
        .bucket("content")
        .key(key)
        .body(body)
        .send()
        .await
        .unwrap();
}

/// Returns the records of all available messages.
async fn receive_records(services: &EmbeddedServices, url: &str) -> Vec<Value> {
    let sqs = support::sqs_client(services);
    let mut records = Vec::new();

    loop {
        let got = sqs
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(10)
            .send()
            .await
            .unwrap();
        if got.messages().is_empty() {
            return records;
        }
        for message in got.messages() {
            let event: Value = serde_json::from_str(message.body().unwrap()).unwrap();
            records.extend(event["Records"].as_array().unwrap().iter().cloned());
        }
    }
}

#[tokio::test]
async fn a_queue_is_told_once_of_each_object_that_its_filter_lets_through() {
    let (fixture, url) = watched_bucket().await;
    let keys = [
        "acme/d/one two/upload",
        "acme/d/\u{fc}+&=/upload",
        "acme/d/upload/x",
        "acme/dupload",
        "upload",
    ];
    for key in keys {
        put_object(&fixture.services, key).await;
    }

    let records = receive_records(&fixture.services, &url).await;
    let keys: Vec<_> = records
        .iter()
        .map(|record| record["s3"]["object"]["key"].as_str().unwrap())
        .collect();
    assert_eq!(
        keys,
        ["acme/d/one+two/upload", "acme/d/%C3%BC%2B%26%3D/upload"]
    );
    let record = &records[0];
    assert_eq!(
        (
            record["eventVersion"].as_str(),
            record["eventSource"].as_str()
        ),
        (Some("2.1"), Some("aws:s3"))
    );
    assert_eq!(record["eventTime"], "2027-01-15T08:00:00.000Z");
    assert_eq!(record["s3"]["bucket"]["name"], "content");
    assert_eq!(record["s3"]["bucket"]["arn"], "arn:aws:s3:::content");
    assert_eq!(
        (
            record["s3"]["object"]["size"].as_u64(),
            &record["awsRegion"]
        ),
        (Some(4), &Value::from("us-east-1"))
    );
    assert_eq!(
        record["s3"]["object"]["eTag"],
        "1cb251ec0d568de6a929b520c4aed8d1"
    );
}

#[tokio::test]
async fn every_way_to_create_an_object_is_told_by_its_name() {
    let (fixture, url) = watched_bucket().await;
    let s3 = fixture.s3();
    put_object(&fixture.services, "a/upload").await;
    let copy = s3
        .copy_object()
        .bucket("content")
        .key("b/upload")
        .copy_source("content/a/upload");
    copy.send().await.unwrap();
    let upload = s3
        .create_multipart_upload()
        .bucket("content")
        .key("c/upload")
        .send()
        .await
        .unwrap();
    let id = upload.upload_id().unwrap();
    let part = s3
        .upload_part()
        .bucket("content")
        .key("c/upload")
        .upload_id(id)
        .part_number(1);
    let part = part
        .body(ByteStream::from_static(b"part"))
        .send()
        .await
        .unwrap();
    let part = CompletedPart::builder()
        .part_number(1)
        .set_e_tag(part.e_tag)
        .build();
    let parts = CompletedMultipartUpload::builder().parts(part).build();
    let complete = s3
        .complete_multipart_upload()
        .bucket("content")
        .key("c/upload")
        .upload_id(id);
    let complete = complete.multipart_upload(parts);
    complete.clone().send().await.unwrap();
    // A repeat after a lost answer creates nothing.
    complete.send().await.unwrap();
    let creates = || {
        s3.put_object()
            .bucket("content")
            .key("a/upload")
            .if_none_match("*")
    };

    creates().send().await.unwrap_err();
    s3.delete_object()
        .bucket("content")
        .key("a/upload")
        .send()
        .await
        .unwrap();

    let records = receive_records(&fixture.services, &url).await;
    let names: Vec<_> = records
        .iter()
        .map(|record| record["eventName"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "ObjectCreated:Put",
            "ObjectCreated:Copy",
            "ObjectCreated:CompleteMultipartUpload"
        ]
    );
}

#[tokio::test]
async fn what_a_queue_is_told_survives_and_can_be_replaced() {
    let (fixture, url) = watched_bucket().await;
    let services = fixture.reopen();
    put_object(&services, "a/upload").await;
    assert_eq!(receive_records(&services, &url).await.len(), 1);
    let get = fixture
        .s3()
        .get_bucket_notification_configuration()
        .bucket("content")
        .send()
        .await
        .unwrap();
    let [queue] = get.queue_configurations() else {
        panic!("{get:?}")
    };
    assert_eq!(
        (queue.queue_arn(), queue.events()),
        (
            format!("{ARN}keeper").as_str(),
            [Event::from("s3:ObjectCreated:*")].as_slice()
        )
    );
    let rules = queue.filter().unwrap().key().unwrap().filter_rules();
    assert_eq!(
        (rules[0].name(), rules[0].value()),
        (Some(&FilterRuleName::Suffix), Some("/upload"))
    );

    let both = [
        (FilterRuleName::Prefix, "a/"),
        (FilterRuleName::Suffix, ".pdf"),
    ];
    put_configuration(
        &fixture,
        notification_config("keeper", Event::from("s3:ObjectCreated:Copy"), &both),
    )
    .await
    .unwrap();
    put_object(&fixture.services, "a/x.pdf").await;
    for key in ["a/y.pdf", "b/y.pdf", "a/y.txt"] {
        let copy = fixture
            .s3()
            .copy_object()
            .bucket("content")
            .key(key)
            .copy_source("content/a/x.pdf");
        copy.send().await.unwrap();
    }
    let records = receive_records(&fixture.services, &url).await;
    assert_eq!(
        (records.len(), &records[0]["s3"]["object"]["key"]),
        (1, &Value::from("a/y.pdf"))
    );

    put_configuration(&fixture, NotificationConfiguration::builder().build())
        .await
        .unwrap();
    put_object(&fixture.services, "a/upload").await;
    assert_eq!(receive_records(&fixture.services, &url).await.len(), 0);
    let get = fixture
        .s3()
        .get_bucket_notification_configuration()
        .bucket("content")
        .send()
        .await
        .unwrap();
    assert_eq!(get.queue_configurations().len(), 0);
}

#[tokio::test]
async fn what_cannot_be_told_is_refused() {
    let (fixture, _) = watched_bucket().await;
    let fifo = fixture.sqs().create_queue().queue_name("work.fifo");
    fifo.attributes(QueueAttributeName::FifoQueue, "true")
        .send()
        .await
        .unwrap();

    let created = || Event::from("s3:ObjectCreated:*");
    let refused = [
        (
            notification_config("missing", created(), &[]),
            "InvalidArgument",
        ),
        (
            notification_config("work.fifo", created(), &[]),
            "InvalidArgument",
        ),
        (
            notification_config("keeper", created(), &[(FilterRuleName::from("infix"), "x")]),
            "InvalidArgument",
        ),
        (
            notification_config("keeper", Event::from("s3:ObjectRemoved:*"), &[]),
            "NotImplemented",
        ),
    ];

    for (configuration, code) in refused {
        assert_eq!(
            put_configuration(&fixture, configuration).await,
            Err(code.to_owned())
        );
    }

    let get = fixture
        .s3()
        .get_bucket_notification_configuration()
        .bucket("none")
        .send()
        .await
        .unwrap_err();
    assert_eq!(get.into_service_error().code(), Some("NoSuchBucket"));

    let get = fixture
        .s3()
        .get_bucket_notification_configuration()
        .bucket("content")
        .send()
        .await
        .unwrap();
    assert_eq!(
        get.queue_configurations().len(),
        1,
        "a refused configuration changes nothing"
    );
}

#[tokio::test]
async fn objects_are_stored_although_their_queue_is_gone() {
    let (fixture, url) = watched_bucket().await;
    fixture
        .sqs()
        .delete_queue()
        .queue_url(&url)
        .send()
        .await
        .unwrap();

    put_object(&fixture.services, "a/upload").await;
    let object = fixture
        .s3()
        .get_object()
        .bucket("content")
        .key("a/upload")
        .send()
        .await
        .unwrap();
    assert_eq!(object.content_length(), Some(4));
}
