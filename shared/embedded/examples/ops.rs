//! Prints the duration of calls through the SDK and the in-process transport (median and 99th
//! percentile): `cargo run --release -p embedded --example ops`.

use std::io::Write;
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType,
};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use embedded::{ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY};

/// The number of calls for each figure.
const CALLS_PER_FIGURE: usize = 1000;

/// The sorted durations of some calls, for their median and 99th percentile.
struct CallDurations(Vec<Duration>);

impl CallDurations {
    async fn measure_calls<F: Future>(mut call: impl FnMut(usize) -> F) -> Self {
        let mut times = Vec::with_capacity(CALLS_PER_FIGURE);
        for index in 0..CALLS_PER_FIGURE {
            let start = Instant::now();
            call(index).await;
            times.push(start.elapsed());
        }
        times.sort();
        Self(times)
    }

    fn print_percentiles(&self, name: &str) -> anyhow::Result<()> {
        let (p50, p99) = (
            self.0[CALLS_PER_FIGURE / 2],
            self.0[CALLS_PER_FIGURE * 99 / 100],
        );
        writeln!(
            std::io::stdout(),
            "{name:<34} p50 {:>7} us   p99 {:>7} us",
            p50.as_micros(),
            p99.as_micros()
        )?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let services = EmbeddedServices::open(folder.path())?;
    let keys = Credentials::new(ACCESS_KEY_ID, SECRET_ACCESS_KEY, None, None, "embedded");
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(SharedCredentialsProvider::new(keys))
        .http_client(InProcessTransport::new(services))
        .build();

    // The calls run on a worker thread, as the service's handlers do.
    tokio::spawn(async move {
        measure_dynamodb(&config).await?;
        measure_sqs(&config).await?;
        measure_s3(&config).await
    })
    .await?
}

async fn measure_dynamodb(config: &SdkConfig) -> anyhow::Result<()> {
    let client = aws_sdk_dynamodb::Client::new(config);
    let attribute = AttributeDefinition::builder()
        .attribute_name("pk")
        .attribute_type(ScalarAttributeType::S);
    client
        .create_table()
        .table_name("records")
        .attribute_definitions(attribute.build()?)
        .key_schema(
            KeySchemaElement::builder()
                .attribute_name("pk")
                .key_type(KeyType::Hash)
                .build()?,
        )
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await?;
    let key = |index: usize| AttributeValue::S(format!("item-{index}"));
    let text = || AttributeValue::S("x".repeat(800));
    let put = |index| {
        client
            .put_item()
            .table_name("records")
            .item("pk", key(index))
            .item("text", text())
            .send()
    };

    CallDurations::measure_calls(|index| async move { put(index).await.map(drop) })
        .await
        .print_percentiles("DynamoDB PutItem 800 bytes")?;
    let get = |index| {
        client
            .get_item()
            .table_name("records")
            .key("pk", key(index))
            .send()
    };

    CallDurations::measure_calls(|index| async move { get(index).await.map(drop) })
        .await
        .print_percentiles("DynamoDB GetItem 800 bytes")?;
    let update = |index| {
        let update = client
            .update_item()
            .table_name("records")
            .key("pk", key(index))
            .update_expression("ADD n :n");
        update
            .expression_attribute_values(":n", AttributeValue::N("1".to_owned()))
            .send()
    };

    CallDurations::measure_calls(|index| async move { update(index).await.map(drop) })
        .await
        .print_percentiles("DynamoDB UpdateItem")
}

async fn measure_sqs(config: &SdkConfig) -> anyhow::Result<()> {
    let client = &aws_sdk_sqs::Client::new(config);
    let url = client
        .create_queue()
        .queue_name("work")
        .send()
        .await?
        .queue_url
        .unwrap_or_default();
    let url = &url;
    let empty = || client.receive_message().queue_url(url).send();
    CallDurations::measure_calls(|_| async move { empty().await.map(drop) })
        .await
        .print_percentiles("SQS ReceiveMessage, nothing there")?;
    let send = |index: usize| {
        let send = client
            .send_message()
            .queue_url(url)
            .message_body("{\"document\": \"a\"}");
        send.message_group_id(format!("tenant-{}", index % 7))
            .send()
    };

    CallDurations::measure_calls(|index| async move { send(index).await.map(drop) })
        .await
        .print_percentiles("SQS SendMessage")?;
    let mut receive_durations = Vec::with_capacity(CALLS_PER_FIGURE);
    let mut deleted = Vec::with_capacity(CALLS_PER_FIGURE);
    for _ in 0..CALLS_PER_FIGURE {
        let start = Instant::now();
        let message = client
            .receive_message()
            .queue_url(url)
            .send()
            .await?
            .messages
            .unwrap_or_default()
            .remove(0);
        receive_durations.push(start.elapsed());
        let start = Instant::now();
        let handle = message.receipt_handle.unwrap_or_default();
        client
            .delete_message()
            .queue_url(url)
            .receipt_handle(handle)
            .send()
            .await?;
        deleted.push(start.elapsed());
    }

    receive_durations.sort();
    deleted.sort();
    CallDurations(receive_durations).print_percentiles("SQS ReceiveMessage, one of many")?;

    CallDurations(deleted).print_percentiles("SQS DeleteMessage")
}

async fn measure_s3(config: &SdkConfig) -> anyhow::Result<()> {
    let config = aws_sdk_s3::config::Builder::from(config)
        .force_path_style(true)
        .build();
    let client = &aws_sdk_s3::Client::from_conf(config);
    client.create_bucket().bucket("documents").send().await?;
    let put = |index: usize| {
        let put = client
            .put_object()
            .bucket("documents")
            .key(format!("object-{index}"));
        put.body(vec![7; 4096].into()).send()
    };

    CallDurations::measure_calls(|index| async move { put(index).await.map(drop) })
        .await
        .print_percentiles("S3 PutObject 4 KiB")?;
    let get = |index: usize| {
        client
            .get_object()
            .bucket("documents")
            .key(format!("object-{index}"))
            .send()
    };

    let read = |index| async move { get(index).await.ok()?.body.collect().await.ok().map(drop) };
    CallDurations::measure_calls(read)
        .await
        .print_percentiles("S3 GetObject 4 KiB")?;
    let list = || {
        client
            .list_objects_v2()
            .bucket("documents")
            .max_keys(100)
            .send()
    };

    CallDurations::measure_calls(|_| async move { list().await.map(drop) })
        .await
        .print_percentiles("S3 ListObjectsV2, 100 of 1000")
}
