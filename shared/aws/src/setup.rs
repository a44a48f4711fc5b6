//! Creates what [`crate::layout`] describes, where it is missing: embedded mode's counterpart of `template.yaml`.

use anyhow::{Context, Result};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use aws_sdk_s3::types::{
    Event, FilterRule, FilterRuleName, NotificationConfiguration, NotificationConfigurationFilter,
    QueueConfiguration, S3KeyFilter,
};
use aws_sdk_sqs::types::QueueAttributeName;

use crate::clients::Clients;
use crate::layout::{
    IndexLayout, MAX_RECEIVE_COUNT, QUEUES, QueueLayout, TABLES, TableLayout, UPLOAD_SUFFIX,
};
use crate::names::Names;

/// Creates the tables, the bucket and the queues that do not exist yet, has the bucket tell of uploads, and returns the
/// names with the queues' addresses.
///
/// # Errors
/// When a service refuses.
pub async fn create_missing(clients: &Clients, mut names: Names) -> Result<Names> {
    let existing = clients.dynamodb.list_tables().send().await.context("list the tables")?;
    for (layout, name) in TABLES.iter().zip([&names.records, &names.secrets, &names.activity]) {
        if !existing.table_names().contains(name) {
            create_table(&clients.dynamodb, layout, name)
                .await
                .with_context(|| format!("create the table {name}"))?;
        }
    }
    let buckets = clients.s3.list_buckets().send().await.context("list the buckets")?;
    if !buckets.buckets().iter().any(|bucket| bucket.name() == Some(names.bucket.as_str())) {
        clients.s3.create_bucket().bucket(&names.bucket).send().await.context("create the bucket")?;
    }
    let mut urls = Vec::new();
    for layout in &QUEUES {
        urls.push(
            create_queue(&clients.sqs, layout)
                .await
                .with_context(|| format!("create the queue {}", layout.name))?,
        );
    }
    if let [process, commit, keeper] = urls.as_slice() {
        names.process_queue.clone_from(process);
        names.commit_queue.clone_from(commit);
        names.keeper_queue.clone_from(keeper);
        tell_of_uploads(clients, &names.bucket, keeper).await.context("have the bucket tell of uploads")?;
    }
    Ok(names)
}

/// The addresses of the dead-letter queues, in the order of [`QUEUES`].
///
/// # Errors
/// When a queue does not exist.
pub async fn queue_urls(clients: &Clients) -> Result<Vec<String>> {
    let mut urls = Vec::new();
    for layout in &QUEUES {
        let answer = clients.sqs.get_queue_url().queue_name(layout.dead).send().await?;
        urls.push(answer.queue_url.context("a queue without an address")?);
    }
    Ok(urls)
}

fn string_attribute(name: &str) -> Result<AttributeDefinition> {
    let definition =
        AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
    Ok(definition.build()?)
}

fn schema(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>> {
    let element = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    Ok(vec![element(hash, KeyType::Hash)?, element(range, KeyType::Range)?])
}

fn index(layout: &IndexLayout) -> Result<GlobalSecondaryIndex> {
    let kind = if layout.project_all { ProjectionType::All } else { ProjectionType::KeysOnly };
    let index = GlobalSecondaryIndex::builder().index_name(layout.name);
    let index = index.set_key_schema(Some(schema(layout.hash, layout.range)?));
    Ok(index.projection(Projection::builder().projection_type(kind).build()).build()?)
}

async fn create_table(client: &aws_sdk_dynamodb::Client, layout: &TableLayout, name: &str) -> Result<()> {
    let mut attributes = vec![string_attribute("pk")?, string_attribute("sk")?];
    let mut request = client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
    for found in layout.indexes {
        attributes.push(string_attribute(found.hash)?);
        attributes.push(string_attribute(found.range)?);
        request = request.global_secondary_indexes(index(found)?);
    }
    let request =
        request.set_key_schema(Some(schema("pk", "sk")?)).set_attribute_definitions(Some(attributes));
    request.send().await?;
    if let Some(attribute) = layout.ttl {
        let ttl = TimeToLiveSpecification::builder().attribute_name(attribute).enabled(true).build()?;
        client.update_time_to_live().table_name(name).time_to_live_specification(ttl).send().await?;
    }
    Ok(())
}

async fn queue_arn(client: &aws_sdk_sqs::Client, url: &str) -> Result<String> {
    let wanted = QueueAttributeName::QueueArn;
    let answer = client.get_queue_attributes().queue_url(url).attribute_names(wanted.clone()).send().await?;
    let arn = answer.attributes().and_then(|all| all.get(&wanted));
    arn.cloned().context("a queue without an ARN")
}

/// Has the bucket send a message to the queue for every object that a client has stored.
async fn tell_of_uploads(clients: &Clients, bucket: &str, queue: &str) -> Result<()> {
    let suffix = FilterRule::builder().name(FilterRuleName::Suffix).value(UPLOAD_SUFFIX).build();
    let key = S3KeyFilter::builder().filter_rules(suffix).build();
    let queue = QueueConfiguration::builder()
        .id("uploads")
        .queue_arn(queue_arn(&clients.sqs, queue).await?)
        .events(Event::from("s3:ObjectCreated:*"))
        .filter(NotificationConfigurationFilter::builder().key(key).build());
    let wanted = NotificationConfiguration::builder().queue_configurations(queue.build()?).build();
    let put = clients.s3.put_bucket_notification_configuration().bucket(bucket);
    put.notification_configuration(wanted).send().await?;
    Ok(())
}

async fn create_queue(client: &aws_sdk_sqs::Client, layout: &QueueLayout) -> Result<String> {
    let create = |name: &str| {
        let request = client.create_queue().queue_name(name);
        if layout.is_fifo() { request.attributes(QueueAttributeName::FifoQueue, "true") } else { request }
    };
    let dead = create(layout.dead).attributes(QueueAttributeName::MessageRetentionPeriod, "1209600");
    let dead =
        dead.attributes(QueueAttributeName::VisibilityTimeout, layout.visibility_seconds().to_string());
    let dead = dead.send().await?.queue_url.context("a queue without an address")?;
    let arn = queue_arn(client, &dead).await?;
    let redrive = serde_json::json!({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVE_COUNT});
    let queue = create(layout.name)
        .attributes(QueueAttributeName::RedrivePolicy, redrive.to_string())
        .attributes(QueueAttributeName::VisibilityTimeout, layout.visibility_seconds().to_string());
    queue.send().await?.queue_url.context("a queue without an address")
}
