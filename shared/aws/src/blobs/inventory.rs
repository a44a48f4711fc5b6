//! The inventory of all blobs, page by page.

use domain::ports::{InventoryPage, PortResult, StoredBlob};
use domain::{BlobRef, Timestamp};

use super::{AwsBlobs, object_page_size};
use crate::error::port_error;
use crate::records::blobs::BlobRecord;
use crate::records::{
    KeyRecord, key_item, read_partition_key, read_record, read_sort_key, string_value,
};
use crate::table::page_size;
use crate::table_keys;

impl AwsBlobs {
    /// Scans the whole table, one page a call. Only operators have the right to scan it; functions
    /// do not.
    pub(super) async fn list_inline_blobs(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<InventoryPage> {
        let partition = KeyRecord::ATTRIBUTES.partition;
        let scan = self.table.client.scan().table_name(&self.table.name);
        let scan = scan.filter_expression(format!("begins_with({partition}, :blobs)"));
        let scan =
            scan.expression_attribute_values(":blobs", string_value(table_keys::BLOB_PREFIX));
        let scan = scan
            .projection_expression(format!("{partition}, #at"))
            .expression_attribute_names("#at", BlobRecord::ATTRIBUTES.stored_at);
        // A cursor is a partition key, a space and a sort key. The last space separates the two.
        let start_key = after.unwrap_or_default().rsplit_once(' ');
        let start_key = start_key.map(|(pk, sk)| key_item(&(pk.to_owned(), sk.to_owned())));
        let scan = scan
            .set_exclusive_start_key(start_key)
            .limit(page_size(limit));
        let response = scan.send().await.map_err(port_error)?;

        let mut page = InventoryPage::default();
        for item in response.items.unwrap_or_default() {
            let Some((org, path)) = table_keys::parse_blob(read_partition_key(&item)?) else {
                continue;
            };
            let record: BlobRecord = read_record(item)?;
            let stored_at = record.stored_at.map(Timestamp::from);
            page.blobs.push(StoredBlob {
                org,
                blob: BlobRef::Inline(path),
                stored_at,
            });
        }

        if let Some(last) = response.last_evaluated_key {
            let (pk, sk) = (read_partition_key(&last)?, read_sort_key(&last)?);
            page.next = Some(format!("{pk} {sk}"));
        }

        Ok(page)
    }

    /// Lists the bucket in the order of its keys, one page a call.
    pub(super) async fn list_all_objects(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<InventoryPage> {
        let list = self
            .s3
            .list_objects_v2()
            .bucket(&self.bucket)
            .set_start_after(after.map(str::to_owned));
        let list = list.max_keys(object_page_size(limit));
        let response = list.send().await.map_err(port_error)?;

        let mut page = InventoryPage::default();
        for object in response.contents() {
            let Some(key) = object.key() else { continue };
            if response.is_truncated() == Some(true) {
                page.next = Some(key.to_owned());
            }
            // Objects with other keys are not ours and are left alone.
            let Some((org, path)) = table_keys::parse_object(key) else {
                continue;
            };
            let stored_at = object.last_modified().and_then(|at| at.to_millis().ok());
            let stored_at = stored_at.map(Timestamp::from_millis);
            page.blobs.push(StoredBlob {
                org,
                blob: BlobRef::Object(path),
                stored_at,
            });
        }

        Ok(page)
    }
}
