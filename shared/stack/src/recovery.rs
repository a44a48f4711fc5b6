//! Brings the stores of a stack back to an earlier time.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_sdk_dynamodb::types::{
    PointInTimeRecoverySpecification, TableDescription, TableStatus, TimeToLiveSpecification,
    TimeToLiveStatus,
};
use aws_sdk_s3::types::{BucketVersioningStatus, Delete, DeleteMarkerEntry, ObjectIdentifier};
use aws_smithy_types::DateTime;
use domain::Timestamp;

use crate::account::Account;

/// The pause before a table that is being restored is looked at again.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A recovery of stores to a time.
#[derive(Debug)]
pub struct Recovery<'a> {
    account: &'a Account,
    dynamodb: aws_sdk_dynamodb::Client,
    time: Timestamp,
}

impl<'a> Recovery<'a> {
    /// Creates a recovery to `time`.
    pub fn new(account: &'a Account, time: Timestamp) -> Self {
        Self {
            account,
            dynamodb: account.clients().dynamodb,
            time,
        }
    }

    /// Returns the name for a copy of a table as it was at the time.
    pub fn copy_name(&self, stack: &str, table: &str) -> String {
        let time = self.time.to_string();
        let seconds = time.split('.').next().unwrap_or_default();
        let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
        format!("{stack}-{table}-{digits}")
    }

    /// Restores the table `source` as it was at the time into the new table `copy`, and waits until that
    /// is done, which takes from minutes to hours. A restoration that was begun before is waited for.
    /// The copy gets the settings that DynamoDB does not restore: point-in-time recovery, expiry and
    /// protection from deletion.
    ///
    /// # Errors
    /// Fails if DynamoDB refuses, as for a time that is too long ago.
    pub async fn restore_table(&self, source: &str, copy: &str) -> Result<()> {
        let restore = self
            .dynamodb
            .restore_table_to_point_in_time()
            .source_table_name(source)
            .target_table_name(copy)
            .restore_date_time(DateTime::from_millis(self.time.as_millis()));
        match restore.send().await {
            Ok(_) => {}
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_table_already_exists_exception()) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot restore {source} as of {}", self.time));
            }
        }

        while self.describe_table(copy).await?.table_status() != Some(&TableStatus::Active) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.copy_settings(source, copy)
            .await
            .with_context(|| format!("cannot set up {copy} like {source}"))
    }

    async fn describe_table(&self, name: &str) -> Result<TableDescription> {
        let describe = self.dynamodb.describe_table().table_name(name);
        let described = describe.send().await;
        let described = described.with_context(|| format!("cannot describe the table {name}"))?;
        described
            .table
            .with_context(|| format!("DynamoDB does not describe {name}"))
    }

    async fn copy_settings(&self, source: &str, copy: &str) -> Result<()> {
        let recovery = PointInTimeRecoverySpecification::builder();
        self.dynamodb
            .update_continuous_backups()
            .table_name(copy)
            .point_in_time_recovery_specification(
                recovery.point_in_time_recovery_enabled(true).build()?,
            )
            .send()
            .await?;

        if let Some(attribute) = self.expiry_attribute(source).await?
            && self.expiry_attribute(copy).await?.is_none()
        {
            let expiry = TimeToLiveSpecification::builder();
            self.dynamodb
                .update_time_to_live()
                .table_name(copy)
                .time_to_live_specification(expiry.attribute_name(attribute).enabled(true).build()?)
                .send()
                .await?;
        }

        if self
            .describe_table(source)
            .await?
            .deletion_protection_enabled()
            == Some(true)
        {
            let update = self.dynamodb.update_table().table_name(copy);
            update.deletion_protection_enabled(true).send().await?;
        }
        Ok(())
    }

    /// Returns the attribute by which the items of a table expire, or `None` if they do not.
    async fn expiry_attribute(&self, table: &str) -> Result<Option<String>> {
        let describe = self.dynamodb.describe_time_to_live().table_name(table);
        let described = describe.send().await?;
        let expiry = described.time_to_live_description();
        let enabled = expiry.filter(|expiry| {
            matches!(
                expiry.time_to_live_status(),
                Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
            )
        });
        Ok(enabled.and_then(|expiry| expiry.attribute_name().map(ToOwned::to_owned)))
    }

    /// Checks whether a bucket keeps the bytes of deleted objects.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn keeps_versions(&self, bucket: &str) -> Result<bool> {
        let get = self.account.s3.get_bucket_versioning().bucket(bucket);
        let versioning = get.expected_bucket_owner(&self.account.id).send().await;
        let versioning =
            versioning.with_context(|| format!("cannot read the settings of {bucket}"))?;
        Ok(versioning.status() == Some(&BucketVersioningStatus::Enabled))
    }

    /// Brings the objects of a bucket back that were deleted after the time, and returns their number.
    /// Objects are written once and never replaced, so no other object has to change. Objects that are
    /// newer than the time stay. `report` is told the number of objects so far.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn undelete_objects(&self, bucket: &str, mut report: impl FnMut(u64)) -> Result<u64> {
        let mut count = 0;
        let (mut key, mut version) = (None, None);
        loop {
            let list = self.account.s3.list_object_versions().bucket(bucket);
            let page = list
                .expected_bucket_owner(&self.account.id)
                .set_key_marker(key)
                .set_version_id_marker(version)
                .send()
                .await
                .with_context(|| format!("cannot list the versions in {bucket}"))?;

            let deletions = page.delete_markers().iter();
            let markers: Vec<ObjectIdentifier> = deletions
                .filter(|deletion| self.is_later(deletion))
                .map(identify_marker)
                .collect::<Result<_>>()?;
            if !markers.is_empty() {
                count += markers.len() as u64;
                self.delete_markers(bucket, markers).await?;
                report(count);
            }

            if page.is_truncated() != Some(true) {
                return Ok(count);
            }
            key = page.next_key_marker().map(ToOwned::to_owned);
            version = page.next_version_id_marker().map(ToOwned::to_owned);
        }
    }

    /// Checks whether an object was deleted after the time, and is still deleted.
    fn is_later(&self, deletion: &DeleteMarkerEntry) -> bool {
        let deleted_at = deletion.last_modified().and_then(|at| at.to_millis().ok());
        deletion.is_latest() == Some(true)
            && deleted_at.is_some_and(|at| at > self.time.as_millis())
    }

    async fn delete_markers(&self, bucket: &str, markers: Vec<ObjectIdentifier>) -> Result<()> {
        let delete = Delete::builder().set_objects(Some(markers)).quiet(true);
        let request = self.account.s3.delete_objects().bucket(bucket);
        let deleted = request
            .expected_bucket_owner(&self.account.id)
            .delete(delete.build()?)
            .send()
            .await
            .with_context(|| format!("cannot bring back objects of {bucket}"))?;
        if let Some(error) = deleted.errors().first() {
            bail!(
                "cannot bring back {} of {bucket}: {}",
                error.key().unwrap_or("an object"),
                error.message().unwrap_or("no reason is given")
            );
        }
        Ok(())
    }
}

fn identify_marker(marker: &DeleteMarkerEntry) -> Result<ObjectIdentifier> {
    let identifier = ObjectIdentifier::builder();
    let identifier = identifier.key(marker.key().unwrap_or_default());
    Ok(identifier
        .set_version_id(marker.version_id().map(ToOwned::to_owned))
        .build()?)
}
