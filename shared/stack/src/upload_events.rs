//! The events of files that clients have stored, in a bucket that the stack did not make.

use anyhow::{Context, Result};
use aws_sdk_s3::types::{
    Event, FilterRule, FilterRuleName, NotificationConfiguration, NotificationConfigurationFilter,
    QueueConfiguration, S3KeyFilter,
};
use domain::document::UPLOAD_NAME;

use crate::account::Account;
use crate::deployed::DeployedStack;

/// The parameter that names a bucket to use in place of the stack's own.
const BUCKET_PARAMETER: &str = "BucketName";

/// Has S3 send the event of each uploaded file to the stack's queue, if the bucket is one that a
/// parameter names. The template does so for the stack's own bucket. Other events of the bucket end.
///
/// # Errors
/// Fails if S3 refuses.
pub async fn send_upload_events(account: &Account, stack: &DeployedStack) -> Result<()> {
    if stack.parameter(BUCKET_PARAMETER).is_none_or(str::is_empty) {
        return Ok(());
    }

    let suffix = FilterRule::builder()
        .name(FilterRuleName::Suffix)
        .value(format!("/{UPLOAD_NAME}"));
    let keys = S3KeyFilter::builder().filter_rules(suffix.build());
    let filter = NotificationConfigurationFilter::builder().key(keys.build());
    let queue = QueueConfiguration::builder()
        .queue_arn(queue_arn(account, stack.output("KeeperQueueUrl")?))
        .events(Event::from("s3:ObjectCreated:*"))
        .filter(filter.build())
        .build()?;

    let bucket = stack.output("Bucket")?;
    let events = NotificationConfiguration::builder().queue_configurations(queue);
    let put = account.s3.put_bucket_notification_configuration();
    put.bucket(bucket)
        .expected_bucket_owner(&account.id)
        .notification_configuration(events.build())
        .send()
        .await
        .with_context(|| format!("cannot set the events of the bucket {bucket}"))?;
    Ok(())
}

/// Returns the ARN of a queue of the account, from its address.
fn queue_arn(account: &Account, url: &str) -> String {
    let Account {
        partition,
        region,
        id,
        ..
    } = account;
    let name = url.rsplit('/').next().unwrap_or_default();
    format!("arn:{partition}:sqs:{region}:{id}:{name}")
}
