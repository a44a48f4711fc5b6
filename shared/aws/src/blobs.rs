//! Blobs: up to 8 KiB as an item beside the records, above in S3. An S3 PUT costs as much as eight write units, so that
//! is where the price turns.

use async_trait::async_trait;
use aws_sdk_s3::operation::get_object::GetObjectError;
use bytes::Bytes;
use domain::ports::{BlobRef, Blobs, PortResult};
use domain::{PortError, Tenant};
use futures::future::try_join_all;

use crate::error::port_error;
use crate::item::{Table, b, key_item, n};
use crate::keys;

/// The most bytes of an inline blob.
const INLINE_BYTES: usize = 8 * 1024;
/// How many objects are read or deleted at the same time.
const PARALLEL: usize = 16;

pub(crate) struct AwsBlobs {
    table: Table,
    s3: aws_sdk_s3::Client,
    bucket: String,
}

impl AwsBlobs {
    pub(crate) fn new(table: Table, s3: aws_sdk_s3::Client, bucket: String) -> Self {
        Self { table, s3, bucket }
    }

    async fn get_object(&self, tenant: &Tenant, path: &str) -> PortResult<Option<Bytes>> {
        let request = self.s3.get_object().bucket(&self.bucket).key(keys::object(tenant, path));
        let object = match request.send().await {
            Ok(object) => object,
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => {
                return Ok(None);
            }
            Err(error) => return Err(port_error(error)),
        };
        let bytes = object.body.collect().await.map_err(|error| PortError::Unavailable(Box::new(error)))?;
        Ok(Some(bytes.into_bytes()))
    }
}

#[async_trait]
impl Blobs for AwsBlobs {
    async fn put(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef> {
        if bytes.len() <= INLINE_BYTES {
            let mut item = key_item(&keys::blob(tenant, path));
            item.insert("v".into(), n(1));
            item.insert("b".into(), b(bytes.to_vec()));
            let put = self.table.client.put_item().table_name(&self.table.name).set_item(Some(item));
            put.send().await.map_err(port_error)?;
            return Ok(BlobRef::Inline(path.to_owned()));
        }
        let put = self.s3.put_object().bucket(&self.bucket).key(keys::object(tenant, path));
        put.body(bytes.into()).send().await.map_err(port_error)?;
        Ok(BlobRef::Object(path.to_owned()))
    }

    async fn get(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<Option<Bytes>>> {
        let mut found = vec![None; blobs.len()];
        let (mut inline, mut objects) = (Vec::new(), Vec::new());
        for (i, blob) in blobs.iter().enumerate() {
            match blob {
                BlobRef::Inline(path) => inline.push((i, keys::blob(tenant, path))),
                BlobRef::Object(path) => objects.push((i, path)),
            }
        }
        let wanted: Vec<_> = inline.iter().map(|(_, key)| key.clone()).collect();
        let items = match wanted.as_slice() {
            [] => Vec::new(),
            [key] => vec![self.table.get(key).await?],
            keys => self.table.get_many(keys).await?,
        };
        for ((i, _), item) in inline.into_iter().zip(items) {
            let bytes = item.and_then(|mut item| item.remove("b")).and_then(|value| match value {
                aws_sdk_dynamodb::types::AttributeValue::B(blob) => Some(Bytes::from(blob.into_inner())),
                _ => None,
            });
            found[i] = bytes;
        }
        for batch in objects.chunks(PARALLEL) {
            let reads = batch.iter().map(|(_, path)| self.get_object(tenant, path));
            for ((i, _), bytes) in batch.iter().zip(try_join_all(reads).await?) {
                found[*i] = bytes;
            }
        }
        Ok(found)
    }

    async fn delete(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<()> {
        for blob in blobs {
            match blob {
                BlobRef::Inline(path) => {
                    let key = key_item(&keys::blob(tenant, path));
                    let delete =
                        self.table.client.delete_item().table_name(&self.table.name).set_key(Some(key));
                    delete.send().await.map_err(port_error)?;
                }
                BlobRef::Object(path) => {
                    let delete = self.s3.delete_object().bucket(&self.bucket).key(keys::object(tenant, path));
                    delete.send().await.map_err(port_error)?;
                }
            }
        }
        Ok(())
    }
}
