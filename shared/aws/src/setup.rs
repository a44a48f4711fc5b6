//! Creates the missing resources of [`crate::layout`]. This is the counterpart of `template.yaml`
//! in embedded mode.

mod tables;

use anyhow::{Context, Result};
use aws_sdk_s3::types::{
    Event, FilterRule, FilterRuleName, NotificationConfiguration, NotificationConfigurationFilter,
    QueueConfiguration, S3KeyFilter,
};
use aws_sdk_sqs::types::QueueAttributeName;

use crate::clients::Clients;
use crate::layout::{MAX_RECEIVE_COUNT, QUEUES, QueueLayout, UPLOAD_SUFFIX, VISIBILITY_SECONDS};
use crate::names::ResourceNames;

/// Creates the tables, the bucket and the queues that do not exist yet, and returns the names with
/// the addresses of the queues. Adds missing indexes and times to live to tables of an earlier
/// version, and has the bucket notify the maintenance queue of uploads.
///
/// # Errors
/// Fails if a service refuses a request.
pub async fn create_missing_resources(
    clients: &Clients,
    mut names: ResourceNames,
) -> Result<ResourceNames> {
    tables::create_missing_tables(&clients.dynamodb, &names).await?;
    let buckets = clients
        .s3
        .list_buckets()
        .send()
        .await
        .context("list the buckets")?;
    if !buckets
        .buckets()
        .iter()
        .any(|bucket| bucket.name() == Some(names.bucket.as_str()))
    {
        clients
            .s3
            .create_bucket()
            .bucket(&names.bucket)
            .send()
            .await
            .context("create the bucket")?;
    }

    let mut urls = Vec::new();
    for layout in &QUEUES {
        urls.push(
            create_queue(&clients.sqs, layout)
                .await
                .with_context(|| format!("create the queue {}", layout.name))?,
        );
    }

    if let [process, commit, maintenance, sync] = urls.as_slice() {
        names.process_queue.clone_from(process);
        names.commit_queue.clone_from(commit);
        names.maintenance_queue.clone_from(maintenance);
        names.sync_queue.clone_from(sync);
        notify_of_uploads(clients, &names.bucket, maintenance)
            .await
            .context("have the bucket tell of uploads")?;
    }

    Ok(names)
}

/// Returns the addresses of the dead-letter queues, in the order of [`QUEUES`].
///
/// # Errors
/// Fails if a queue does not exist.
pub async fn dead_letter_queue_urls(clients: &Clients) -> Result<Vec<String>> {
    let mut urls = Vec::new();
    for layout in &QUEUES {
        let response = clients
            .sqs
            .get_queue_url()
            .queue_name(layout.dead_letter_queue)
            .send()
            .await?;
        urls.push(response.queue_url.context("a queue without an address")?);
    }
    Ok(urls)
}

async fn get_queue_arn(client: &aws_sdk_sqs::Client, url: &str) -> Result<String> {
    let attribute = QueueAttributeName::QueueArn;
    let response = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(attribute.clone())
        .send()
        .await?;
    let mut attributes = response.attributes.unwrap_or_default();
    attributes
        .remove(&attribute)
        .context("a queue without an ARN")
}

/// Has the bucket send a message to the queue with the address `queue` for every file that a client
/// uploads with a form. Other notifications of the bucket end.
///
/// # Errors
/// Fails if SQS or S3 refuses.
pub async fn notify_of_uploads(clients: &Clients, bucket: &str, queue: &str) -> Result<()> {
    let suffix = FilterRule::builder()
        .name(FilterRuleName::Suffix)
        .value(UPLOAD_SUFFIX)
        .build();
    let key = S3KeyFilter::builder().filter_rules(suffix).build();
    let queue = QueueConfiguration::builder()
        .id("uploads")
        .queue_arn(get_queue_arn(&clients.sqs, queue).await?)
        .events(Event::from("s3:ObjectCreated:*"))
        .filter(NotificationConfigurationFilter::builder().key(key).build());
    let configuration = NotificationConfiguration::builder()
        .queue_configurations(queue.build()?)
        .build();
    let put = clients
        .s3
        .put_bucket_notification_configuration()
        .bucket(bucket);
    put.notification_configuration(configuration).send().await?;

    Ok(())
}

async fn create_queue(client: &aws_sdk_sqs::Client, layout: &QueueLayout) -> Result<String> {
    let create = |name: &str| {
        let request = client.create_queue().queue_name(name);
        if layout.is_fifo() {
            request.attributes(QueueAttributeName::FifoQueue, "true")
        } else {
            request
        }
    };

    let dead_letter_queue = create(layout.dead_letter_queue)
        .attributes(QueueAttributeName::MessageRetentionPeriod, "1209600");
    let dead_letter_queue = dead_letter_queue.attributes(
        QueueAttributeName::VisibilityTimeout,
        VISIBILITY_SECONDS.to_string(),
    );
    let dead_letter_queue = dead_letter_queue
        .send()
        .await?
        .queue_url
        .context("a queue without an address")?;
    let arn = get_queue_arn(client, &dead_letter_queue).await?;
    let redrive =
        serde_json::json!({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVE_COUNT});
    let queue = create(layout.name)
        .attributes(QueueAttributeName::RedrivePolicy, redrive.to_string())
        .attributes(
            QueueAttributeName::VisibilityTimeout,
            VISIBILITY_SECONDS.to_string(),
        );

    queue
        .send()
        .await?
        .queue_url
        .context("a queue without an address")
}
