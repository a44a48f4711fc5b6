//! Brings the stores of a stack back to an earlier time.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_sdk_dynamodb::types::{
    PointInTimeRecoverySpecification, TableDescription, TableStatus, TimeToLiveSpecification,
    TimeToLiveStatus,
};
use aws_sdk_s3::operation::list_object_versions::ListObjectVersionsOutput;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use aws_smithy_types::DateTime;
use domain::Timestamp;

use crate::account::Account;

/// The pause before a table that is being restored is looked at again.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The number of pauses for which DynamoDB may still be preparing the backups of a new table.
const MAX_BACKUP_POLLS: u32 = 120;

/// A recovery of stores to a time.
#[derive(Debug)]
pub struct Recovery<'a> {
    account: &'a Account,
    dynamodb: aws_sdk_dynamodb::Client,
    time: Timestamp,
}

impl<'a> Recovery<'a> {
    /// Creates a recovery to the second of `time`.
    pub fn new(account: &'a Account, time: Timestamp) -> Self {
        let millis = time.as_millis();
        Self {
            account,
            dynamodb: account.clients().dynamodb,
            time: Timestamp::from_millis(millis - millis.rem_euclid(1_000)),
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
    /// protection from deletion. It has no tags.
    ///
    /// # Errors
    /// Fails if the stack uses the copy already, or if DynamoDB refuses, for example because the time is
    /// too long ago.
    pub async fn restore_table(&self, source: &str, copy: &str) -> Result<()> {
        if source == copy {
            bail!("the stack already uses the table {copy}");
        }

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

        loop {
            match self.describe_table(copy).await?.table_status() {
                Some(TableStatus::Active) => break,
                Some(TableStatus::Creating) => tokio::time::sleep(POLL_INTERVAL).await,
                status => bail!(
                    "the table {copy} is {}",
                    status.map_or("unknown", TableStatus::as_str)
                ),
            }
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
        self.enable_recovery(copy).await?;
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

    /// Turns on the point-in-time recovery of a new table, once DynamoDB has prepared its backups.
    async fn enable_recovery(&self, table: &str) -> Result<()> {
        let enabled = PointInTimeRecoverySpecification::builder();
        let enabled = enabled.point_in_time_recovery_enabled(true).build()?;
        let update = self.dynamodb.update_continuous_backups().table_name(table);
        let update = update.point_in_time_recovery_specification(enabled);
        for _ in 0..MAX_BACKUP_POLLS {
            match update.clone().send().await {
                Err(error)
                    if error.as_service_error().is_some_and(|error| {
                        error.is_continuous_backups_unavailable_exception()
                    }) =>
                {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                updated => return Ok(updated.map(drop)?),
            }
        }
        bail!("DynamoDB does not prepare backups of the table {table}");
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

    /// Checks whether a bucket keeps, or has kept, the bytes of deleted objects.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn has_versions(&self, bucket: &str) -> Result<bool> {
        let get = self.account.s3.get_bucket_versioning().bucket(bucket);
        let versioning = get.expected_bucket_owner(&self.account.id).send().await;
        let versioning =
            versioning.with_context(|| format!("cannot read the settings of {bucket}"))?;
        Ok(versioning.status().is_some())
    }

    /// Brings the objects of a bucket back that existed at the time and were deleted since, and returns
    /// their number. An object that was written again since keeps its newest bytes: only a repeated
    /// step writes an object again, with the same content. `report` is told the number of objects so
    /// far.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn undelete_objects(&self, bucket: &str, mut report: impl FnMut(u64)) -> Result<u64> {
        let mut count = 0;
        let mut histories = ObjectHistories::default();
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

            let is_last = page.is_truncated() != Some(true);
            histories.add(&page);
            for (key, history) in histories.take_complete(is_last) {
                let deletions = history.deletions_since(self.time.as_millis());
                if !deletions.is_empty() {
                    self.undo_deletions(bucket, &key, deletions).await?;
                    count += 1;
                    report(count);
                }
            }

            if is_last {
                return Ok(count);
            }
            key = page.next_key_marker().map(ToOwned::to_owned);
            version = page.next_version_id_marker().map(ToOwned::to_owned);
        }
    }

    async fn undo_deletions(&self, bucket: &str, key: &str, markers: Vec<String>) -> Result<()> {
        let mut identifiers = Vec::with_capacity(markers.len());
        for marker in markers {
            let identifier = ObjectIdentifier::builder().key(key).version_id(marker);
            identifiers.push(identifier.build()?);
        }
        let delete = Delete::builder().set_objects(Some(identifiers)).quiet(true);
        let request = self.account.s3.delete_objects().bucket(bucket);
        let deleted = request
            .expected_bucket_owner(&self.account.id)
            .delete(delete.build()?)
            .send()
            .await
            .with_context(|| format!("cannot bring back {key} of {bucket}"))?;
        if let Some(error) = deleted.errors().first() {
            let reason = error.message().unwrap_or("no reason is given");
            bail!("cannot bring back {key} of {bucket}: {reason}");
        }
        Ok(())
    }
}

/// The versions of the objects that a listing has shown, by key. A page can end within an object.
#[derive(Debug, Default)]
struct ObjectHistories(BTreeMap<String, ObjectHistory>);

impl ObjectHistories {
    fn add(&mut self, page: &ListObjectVersionsOutput) {
        for version in page.versions() {
            self.history(version.key())
                .written_at
                .extend(version.last_modified().map(millis));
        }
        for marker in page.delete_markers() {
            let id = marker.version_id().unwrap_or("null").to_owned();
            let deleted_at = marker.last_modified().map(|at| (millis(at), id));
            self.history(marker.key()).deletions.extend(deleted_at);
        }
    }

    fn history(&mut self, key: Option<&str>) -> &mut ObjectHistory {
        self.0
            .entry(key.unwrap_or_default().to_owned())
            .or_default()
    }

    /// Takes the objects out whose versions are all known: those before the last one, or all if the
    /// listing `is_last`.
    fn take_complete(&mut self, is_last: bool) -> BTreeMap<String, ObjectHistory> {
        let incomplete = match self.0.pop_last() {
            Some(entry) if !is_last => Some(entry),
            Some((key, history)) => {
                self.0.insert(key, history);
                None
            }
            None => None,
        };
        std::mem::replace(&mut self.0, BTreeMap::from_iter(incomplete))
    }
}

/// The times, in milliseconds, at which an object was written and deleted.
#[derive(Debug, Default)]
struct ObjectHistory {
    written_at: Vec<i64>,
    /// Each with the version of the delete marker.
    deletions: Vec<(i64, String)>,
}

impl ObjectHistory {
    /// Returns the delete markers that are newer than `time`, if the object existed then.
    fn deletions_since(self, time: i64) -> Vec<String> {
        let last_write = self.written_at.into_iter().filter(|at| *at <= time).max();
        let deletions = self.deletions.iter().map(|(at, _)| *at);
        let last_deletion = deletions.filter(|at| *at <= time).max();
        // Times of objects are in whole seconds. One that was written and deleted within a second counts
        // as there: bytes too many do no harm.
        if last_write.is_none() || last_write < last_deletion {
            return Vec::new();
        }

        let mut newer = Vec::new();
        for (at, id) in self.deletions {
            if at > time {
                newer.push(id);
            }
        }
        newer
    }
}

fn millis(time: &DateTime) -> i64 {
    time.to_millis().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use aws_sdk_s3::types::{DeleteMarkerEntry, ObjectVersion};

    use super::*;

    fn history(written_at: &[i64], deleted_at: &[i64]) -> ObjectHistory {
        ObjectHistory {
            written_at: written_at.to_vec(),
            deletions: deleted_at.iter().map(|at| (*at, at.to_string())).collect(),
        }
    }

    #[test]
    fn what_existed_at_the_time_comes_back_and_nothing_else() {
        for (written_at, deleted_at, undone) in [
            (vec![1], vec![], vec![]),
            (vec![1], vec![7], vec!["7"]),
            // Deleted twice.
            (vec![1], vec![7, 9], vec!["7", "9"]),
            // Deleted before, and again.
            (vec![1], vec![3, 7], vec![]),
            // Written again after a deletion.
            (vec![1, 4], vec![3, 7], vec!["7"]),
            // Newer than the time.
            (vec![6], vec![7], vec![]),
            (vec![], vec![7], vec![]),
        ] {
            let found = history(&written_at, &deleted_at).deletions_since(5);
            assert_eq!(found, undone, "{written_at:?} {deleted_at:?}");
        }
    }

    #[test]
    fn an_object_that_a_page_cuts_is_looked_at_with_the_next_page() {
        let page = |keys: &[&str], deleted: &[&str]| {
            let version = |key: &&str| {
                let version = ObjectVersion::builder().key(*key);
                version.last_modified(DateTime::from_millis(1_000)).build()
            };
            let marker = |key: &&str| {
                let marker = DeleteMarkerEntry::builder().key(*key).version_id("m");
                marker.last_modified(DateTime::from_millis(7_000)).build()
            };
            ListObjectVersionsOutput::builder()
                .set_versions(Some(keys.iter().map(version).collect()))
                .set_delete_markers(Some(deleted.iter().map(marker).collect()))
                .build()
        };
        let undone = |complete: BTreeMap<String, ObjectHistory>| {
            let mut keys = Vec::new();
            for (key, history) in complete {
                if !history.deletions_since(5_000).is_empty() {
                    keys.push(key);
                }
            }
            keys
        };

        let mut histories = ObjectHistories::default();
        histories.add(&page(&["a"], &["a", "b"]));
        assert_eq!(undone(histories.take_complete(false)), ["a"]);
        histories.add(&page(&["b", "c"], &[]));
        assert_eq!(undone(histories.take_complete(true)), ["b"]);
        assert!(histories.take_complete(true).is_empty());
    }
}
