//! Blobs: small ones in DynamoDB, large ones in S3.
//!
//! A blob of at most 8 KiB after compression is an item beside the records. A larger one is an
//! object. The limit is where the price turns: an S3 PUT costs as much as eight write units.
//! Compression saves about one unit of a text of 2 KB.

mod inventory;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use bytes::Bytes;
use domain::BlobRef;
use domain::ports::{
    BlobContent, BlobStore, Blobs, Clock, InventoryPage, PortResult, UploadArrival, UploadForm,
};
use domain::{PortError, Tenant, Timestamp};
use futures::future::try_join_all;

use crate::arrivals;
use crate::clients::Clients;
use crate::error::{build_error, port_error};
use crate::item::{Item, ReadItem, Table, bytes_value, key_item, number_value};
use crate::keys;
use crate::presign::Presigner;

/// The most bytes of an inline blob as it is stored.
const INLINE_BYTES: usize = 8 * 1024;
/// The most bytes of a blob that is worth a try to compress. Text compresses to about a third, so
/// larger blobs go to S3 at once.
const COMPRESSIBLE_BYTES: usize = 6 * INLINE_BYTES;
/// The number of objects that are read at the same time.
const PARALLEL_READS: usize = 16;
/// The error code of the embedded S3 for an object whose bytes differ from those that were stored.
/// AWS repairs its own objects.
const DAMAGED_CODE: &str = "ObjectDamaged";
/// The attribute of an inline blob with the CRC-32 of its bytes. Blobs from before this attribute
/// have none.
const CHECKSUM_ATTRIBUTE: &str = "c";
/// The attribute of an inline blob with the time at which it was stored.
const STORED_AT_ATTRIBUTE: &str = "at";
/// The most objects of one listing or deletion.
const MAX_OBJECTS_PER_CALL: usize = 1000;

pub(crate) struct AwsBlobs {
    table: Table,
    s3: aws_sdk_s3::Client,
    presigner: Presigner,
    bucket: String,
    clock: Arc<dyn Clock>,
}

impl AwsBlobs {
    pub(crate) fn new(
        table: Table,
        clients: &Clients,
        bucket: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            table,
            s3: clients.s3.clone(),
            presigner: clients.presigner.clone(),
            bucket,
            clock,
        }
    }

    async fn get_object(&self, tenant: &Tenant, path: &str) -> PortResult<BlobContent> {
        let request = self
            .s3
            .get_object()
            .bucket(&self.bucket)
            .key(keys::object_key(tenant, path));
        let object = match request.send().await {
            Ok(object) => object,
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(GetObjectError::is_no_such_key) =>
            {
                return Ok(BlobContent::Missing);
            }
            Err(error) if error.code() == Some(DAMAGED_CODE) => return Ok(BlobContent::Damaged),
            Err(error) => return Err(port_error(error)),
        };

        // The SDK checks the received bytes against the checksum of the object. A difference means
        // that bytes were lost on the way.
        let bytes = object
            .body
            .collect()
            .await
            .map_err(|error| PortError::Unavailable(Box::new(error)))?;
        Ok(BlobContent::Intact(bytes.into_bytes()))
    }

    /// Deletes at most [`MAX_OBJECTS_PER_CALL`] objects by their keys.
    async fn delete_objects(&self, keys: &[String]) -> PortResult<()> {
        if let [key] = keys {
            let delete = self.s3.delete_object().bucket(&self.bucket).key(key);
            return delete.send().await.map(|_| ()).map_err(port_error);
        }

        let identifiers = keys
            .iter()
            .map(|key| ObjectIdentifier::builder().key(key).build());
        let identifiers = identifiers.collect::<Result<_, _>>().map_err(build_error)?;
        let delete = Delete::builder()
            .set_objects(Some(identifiers))
            .quiet(true)
            .build()
            .map_err(build_error)?;
        let request = self.s3.delete_objects().bucket(&self.bucket).delete(delete);
        let response = request.send().await.map_err(port_error)?;

        if response.errors().is_empty() {
            Ok(())
        } else {
            Err(PortError::Unavailable(
                "the service refused to delete some objects".into(),
            ))
        }
    }
}

/// Returns the attribute and the value of an inline blob: compressed (`z`) if that is smaller,
/// otherwise as it is (`b`). Returns `None` if the blob is too large even when it is compressed.
fn encode_inline(bytes: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    if bytes.len() > COMPRESSIBLE_BYTES {
        return None;
    }

    let compressed = zstd::bulk::compress(bytes, 3)
        .ok()
        .filter(|compressed| compressed.len() < bytes.len());
    let (name, stored) =
        compressed.map_or_else(|| ("b", bytes.to_vec()), |compressed| ("z", compressed));

    (stored.len() <= INLINE_BYTES).then_some((name, stored))
}

/// Reads an inline blob and checks its bytes against the checksum.
fn read_inline(item: Option<Item>) -> BlobContent {
    let Some(mut item) = item else {
        return BlobContent::Missing;
    };

    let checksum = item
        .contains_key(CHECKSUM_ATTRIBUTE)
        .then(|| item.get_number::<u32>(CHECKSUM_ATTRIBUTE));
    let mut value = |name: &str| {
        item.remove(name).and_then(|value| match value {
            AttributeValue::B(blob) => Some(blob.into_inner()),
            _ => None,
        })
    };

    let uncompressed = value("b");
    let compressed = value("z");
    let unpack = |compressed: Vec<u8>| zstd::bulk::decompress(&compressed, COMPRESSIBLE_BYTES).ok();
    let bytes = uncompressed.or_else(|| compressed.and_then(unpack));
    let is_intact = |bytes: &Vec<u8>| match &checksum {
        None => true,
        Some(expected) => expected
            .as_ref()
            .is_ok_and(|expected| *expected == crc32fast::hash(bytes)),
    };

    bytes
        .filter(is_intact)
        .map_or(BlobContent::Damaged, |bytes| {
            BlobContent::Intact(bytes.into())
        })
}

#[async_trait]
impl Blobs for AwsBlobs {
    async fn put(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef> {
        if let Some((name, stored)) = encode_inline(&bytes) {
            let mut item = key_item(&keys::blob_key(tenant, path));
            item.insert("v".into(), number_value(1));
            item.insert(name.into(), bytes_value(stored));
            item.insert(
                CHECKSUM_ATTRIBUTE.into(),
                number_value(crc32fast::hash(&bytes)),
            );
            item.insert(
                STORED_AT_ATTRIBUTE.into(),
                number_value(self.clock.now().as_millis()),
            );
            let put = self
                .table
                .client
                .put_item()
                .table_name(&self.table.name)
                .set_item(Some(item));
            put.send().await.map_err(port_error)?;
            return Ok(BlobRef::Inline(path.to_owned()));
        }

        self.put_object(tenant, path, bytes).await
    }

    async fn put_object(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef> {
        let put = self
            .s3
            .put_object()
            .bucket(&self.bucket)
            .key(keys::object_key(tenant, path));
        put.body(bytes.into()).send().await.map_err(port_error)?;
        Ok(BlobRef::Object(path.to_owned()))
    }

    async fn put_if_absent(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<Bytes> {
        let put = self
            .s3
            .put_object()
            .bucket(&self.bucket)
            .key(keys::object_key(tenant, path))
            .if_none_match("*");
        let Err(error) = put.body(bytes.clone().into()).send().await else {
            return Ok(bytes);
        };

        let status = error
            .raw_response()
            .map(|response| response.status().as_u16());
        match status {
            // The object is from our own first attempt, whose answer was lost, or from another
            // writer.
            Some(412) => match self.get_object(tenant, path).await? {
                BlobContent::Intact(bytes) => Ok(bytes),
                BlobContent::Missing => Err(PortError::Unavailable(Box::new(error))),
                BlobContent::Damaged => Err(PortError::Corrupt(format!("the blob {path}"))),
            },
            // Another writer is storing the object at this moment.
            Some(409) => Err(PortError::Unavailable(Box::new(error))),
            _ => Err(port_error(error)),
        }
    }

    async fn read(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<BlobContent>> {
        let mut found = vec![BlobContent::Missing; blobs.len()];
        let (mut inline, mut objects) = (Vec::new(), Vec::new());
        for (i, blob) in blobs.iter().enumerate() {
            match blob {
                BlobRef::Inline(path) => inline.push((i, keys::blob_key(tenant, path))),
                BlobRef::Object(path) => objects.push((i, path)),
            }
        }

        let inline_keys: Vec<_> = inline.iter().map(|(_, key)| key.clone()).collect();
        let items = match inline_keys.as_slice() {
            [] => Vec::new(),
            [key] => vec![self.table.get(key).await?],
            keys => self.table.get_many(keys).await?,
        };

        for ((i, _), item) in inline.into_iter().zip(items) {
            found[i] = read_inline(item);
        }

        for batch in objects.chunks(PARALLEL_READS) {
            let reads = batch.iter().map(|(_, path)| self.get_object(tenant, path));
            for ((i, _), stored) in batch.iter().zip(try_join_all(reads).await?) {
                found[*i] = stored;
            }
        }

        Ok(found)
    }

    async fn list_objects(
        &self,
        tenant: &Tenant,
        prefix: &str,
        limit: usize,
    ) -> PortResult<Vec<(String, u64)>> {
        let list = self
            .s3
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(keys::object_key(tenant, prefix));
        let list =
            list.max_keys(i32::try_from(limit.min(MAX_OBJECTS_PER_CALL)).unwrap_or(i32::MAX));
        let tenant_prefix = keys::object_key(tenant, "");
        let mut found = Vec::new();
        let mut pages = list.into_paginator().send();
        while found.len() < limit
            && let Some(page) = pages.next().await
        {
            for object in page.map_err(port_error)?.contents() {
                let path = object
                    .key()
                    .and_then(|key| key.strip_prefix(&tenant_prefix));
                let path = path.ok_or_else(|| PortError::Corrupt("listed object".into()))?;
                found.push((
                    path.to_owned(),
                    u64::try_from(object.size().unwrap_or(0)).unwrap_or(0),
                ));
            }
        }

        found.truncate(limit);
        Ok(found)
    }

    async fn list_inventory(
        &self,
        store: BlobStore,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<InventoryPage> {
        match store {
            BlobStore::Inline => self.list_inline_blobs(after, limit).await,
            BlobStore::Objects => self.list_all_objects(after, limit).await,
        }
    }

    async fn delete(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<()> {
        let (mut inline, mut objects) = (Vec::new(), BTreeSet::new());
        for blob in blobs {
            match blob {
                BlobRef::Inline(path) => inline.push(keys::blob_key(tenant, path)),
                BlobRef::Object(path) => _ = objects.insert(keys::object_key(tenant, path)),
            }
        }

        self.table.delete_many(&inline).await?;
        let objects: Vec<String> = objects.into_iter().collect();
        for batch in objects.chunks(MAX_OBJECTS_PER_CALL) {
            self.delete_objects(batch).await?;
        }

        Ok(())
    }

    async fn sign_upload_form(
        &self,
        tenant: &Tenant,
        path: &str,
        max_bytes: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<UploadForm> {
        let key = keys::object_key(tenant, path);
        self.presigner
            .upload_form(&self.bucket, &key, max_bytes, now, until)
            .await
    }

    async fn sign_download_url(
        &self,
        tenant: &Tenant,
        blob: &BlobRef,
        name: Option<&str>,
        now: Timestamp,
        seconds: u32,
    ) -> PortResult<Option<String>> {
        let BlobRef::Object(path) = blob else {
            return Ok(None);
        };

        let key = keys::object_key(tenant, path);
        self.presigner
            .download_address(&self.bucket, &key, name, now, seconds)
            .await
            .map(Some)
    }

    fn parse_arrivals(&self, message: &str) -> Option<Vec<UploadArrival>> {
        arrivals::parse_arrivals(&self.bucket, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: &[u8]) -> Option<Bytes> {
        let (name, value) = encode_inline(bytes)?;
        read_inline(Some(Item::from([(name.to_owned(), bytes_value(value))]))).into_intact_bytes()
    }

    /// Returns bytes that do not compress, from a xorshift generator.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn what_is_stored_inline_comes_back() {
        let noise = noise(3000);
        let text = "the same words again ".repeat(1000);
        for bytes in [&b""[..], b"x", &noise, text.as_bytes()] {
            assert_eq!(stored(bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn other_bytes_than_those_of_the_checksum_are_damaged() {
        let item = |bytes: &[u8]| {
            let (name, value) = encode_inline(bytes).unwrap();
            let checksum = number_value(crc32fast::hash(b"what was stored"));
            Some(Item::from([
                (name.to_owned(), bytes_value(value)),
                (CHECKSUM_ATTRIBUTE.to_owned(), checksum),
            ]))
        };

        assert_eq!(
            read_inline(item(b"what was stored")),
            BlobContent::Intact("what was stored".into())
        );
        assert_eq!(read_inline(item(b"what was st0red")), BlobContent::Damaged);
        assert_eq!(read_inline(Some(Item::new())), BlobContent::Damaged);
        assert_eq!(read_inline(None), BlobContent::Missing);
    }

    #[test]
    fn what_does_not_fit_goes_to_the_bucket() {
        assert!(stored(&noise(INLINE_BYTES + 1)).is_none());
        assert!(stored(&vec![b'a'; COMPRESSIBLE_BYTES + 1]).is_none());
    }
}
