//! Blobs: small ones in DynamoDB, large ones in S3.
//!
//! A blob of at most 8 KiB after compression is an item beside the records. A larger one is an
//! object. The limit is where the price turns: an S3 PUT costs as much as eight write units.
//! Compression saves about one unit of a text of 2 KB.

mod inventory;

use std::collections::BTreeSet;
use std::iter::zip;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use bytes::Bytes;
use domain::BlobRef;
use domain::ports::{
    BlobContent, BlobPart, BlobStore, Blobs, Clock, InventoryPage, LocalBlob, PortResult,
    UploadArrival, UploadForm,
};
use domain::{PortError, Tenant, Timestamp};
use futures::future::{try_join, try_join_all};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::arrivals;
use crate::clients::{Clients, LocalObjects};
use crate::error::{build_error, port_error};
use crate::presign::Presigner;
use crate::records::blobs::{BlobRecord, read_blob};
use crate::records::{Item, record_item};
use crate::table::Table;
use crate::table_keys::{self, Key};

/// The number of objects that are read at the same time.
const PARALLEL_READS: usize = 16;
/// The number of parts that are read at the same time: enough for what a search lacks of two segments.
/// Parts are small, so they take the time of an answer and not that of their bytes.
const PARALLEL_PART_READS: usize = 128;
/// The error code of the embedded S3 for an object whose bytes differ from those that were stored.
/// AWS repairs its own objects.
const DAMAGED_CODE: &str = "ObjectDamaged";
/// The error code of S3 for a part behind the end of an object.
const SHORT_CODE: &str = "InvalidRange";
/// The most objects of one listing or deletion.
const MAX_OBJECTS_PER_CALL: usize = 1000;

pub(crate) struct AwsBlobs {
    table: Table,
    s3: aws_sdk_s3::Client,
    presigner: Presigner,
    local_objects: Option<Arc<dyn LocalObjects>>,
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
            local_objects: clients.local_objects.clone(),
            bucket,
            clock,
        }
    }

    /// Reads an object, or a part of it.
    async fn get_object(
        &self,
        tenant: &Tenant,
        path: &str,
        part: Option<&Range<u64>>,
    ) -> PortResult<BlobContent> {
        let request = self
            .s3
            .get_object()
            .bucket(&self.bucket)
            .key(table_keys::object_key(tenant, path))
            .set_range(part.map(|part| format!("bytes={}-{}", part.start, part.end - 1)));
        let object = match request.send().await {
            Ok(object) => object,
            Err(error) => match error.as_service_error() {
                Some(GetObjectError::NoSuchKey(_)) => return Ok(BlobContent::Missing),
                _ if matches!(error.code(), Some(DAMAGED_CODE | SHORT_CODE)) => {
                    return Ok(BlobContent::Damaged);
                }
                _ => return Err(port_error(error)),
            },
        };

        // The SDK checks the received bytes against the checksum of the object. A difference means
        // that bytes were lost on the way.
        let bytes = match object.body.collect().await {
            Ok(bytes) => bytes.into_bytes(),
            Err(error) => return Err(PortError::Unavailable(Box::new(error))),
        };
        match part {
            // S3 returns what there is of a part.
            Some(part) if bytes.len() as u64 != part.end - part.start => Ok(BlobContent::Damaged),
            _ => Ok(BlobContent::Intact(bytes)),
        }
    }

    /// Reads the items of inline blobs, in the order of `keys`.
    async fn read_items(&self, keys: &[Key]) -> PortResult<Vec<Option<Item>>> {
        match keys {
            [] => Ok(Vec::new()),
            [key] => Ok(vec![self.table.get(key).await?]),
            keys => self.table.get_many(keys).await,
        }
    }

    /// Deletes at most [`MAX_OBJECTS_PER_CALL`] objects by their keys.
    async fn delete_objects(&self, keys: &[String]) -> PortResult<()> {
        if let [key] = keys {
            let delete = self.s3.delete_object().bucket(&self.bucket).key(key);
            delete.send().await.map_err(port_error)?;
            return Ok(());
        }

        let mut delete = Delete::builder().quiet(true);
        for key in keys {
            let identifier = ObjectIdentifier::builder().key(key).build();
            delete = delete.objects(identifier.map_err(build_error)?);
        }
        let delete = delete.build().map_err(build_error)?;
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

/// Returns a part of a blob that was read.
fn slice_content(whole: BlobContent, part: &Range<u64>) -> BlobContent {
    let BlobContent::Intact(bytes) = whole else {
        return whole;
    };
    let place = |at: u64| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
    match (place(part.start), place(part.end)) {
        (Some(start), Some(end)) if start <= end => BlobContent::Intact(bytes.slice(start..end)),
        _ => BlobContent::Damaged,
    }
}

/// Converts a limit to the most objects of one listing.
fn object_page_size(limit: usize) -> i32 {
    i32::try_from(limit.min(MAX_OBJECTS_PER_CALL)).unwrap_or(i32::MAX)
}

#[async_trait]
impl Blobs for AwsBlobs {
    async fn put(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef> {
        if let Some(record) = BlobRecord::new(&bytes, self.clock.now()) {
            let item = record_item(&table_keys::blob_key(tenant, path), &record)?;
            self.table.put(item).await?;
            return Ok(BlobRef::Inline(path.to_owned()));
        }

        self.put_object(tenant, path, bytes).await
    }

    async fn put_all(
        &self,
        tenant: &Tenant,
        blobs: Vec<(String, Bytes)>,
    ) -> PortResult<Vec<BlobRef>> {
        let now = self.clock.now();
        let (mut items, mut objects, mut refs) = (Vec::new(), Vec::new(), Vec::new());
        for (path, bytes) in blobs {
            match BlobRecord::new(&bytes, now) {
                Some(record) => {
                    items.push(record_item(&table_keys::blob_key(tenant, &path), &record)?);
                    refs.push(BlobRef::Inline(path));
                }
                None => {
                    refs.push(BlobRef::Object(path.clone()));
                    objects.push(async move { self.put_object(tenant, &path, bytes).await });
                }
            }
        }
        try_join(self.table.put_many(items), try_join_all(objects)).await?;
        Ok(refs)
    }

    async fn put_object(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef> {
        let put = self
            .s3
            .put_object()
            .bucket(&self.bucket)
            .key(table_keys::object_key(tenant, path));
        put.body(bytes.into()).send().await.map_err(port_error)?;
        Ok(BlobRef::Object(path.to_owned()))
    }

    async fn put_if_absent(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<Bytes> {
        let put = self
            .s3
            .put_object()
            .bucket(&self.bucket)
            .key(table_keys::object_key(tenant, path))
            .if_none_match("*");
        let Err(error) = put.body(bytes.clone().into()).send().await else {
            return Ok(bytes);
        };

        let response = error.raw_response();
        match response.map(|response| response.status().as_u16()) {
            // The object is from our own first attempt, whose answer was lost, or from another
            // writer.
            Some(412) => match self.get_object(tenant, path, None).await? {
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
        let (mut inline_places, mut inline_keys) = (Vec::new(), Vec::new());
        let mut objects = Vec::new();
        for (i, blob) in blobs.iter().enumerate() {
            match blob {
                BlobRef::Inline(path) => {
                    inline_places.push(i);
                    inline_keys.push(table_keys::blob_key(tenant, path));
                }
                BlobRef::Object(path) => objects.push((i, path)),
            }
        }

        let mut reads = Vec::with_capacity(objects.len());
        for (i, path) in objects {
            reads.push(async move { Ok((i, self.get_object(tenant, path, None).await?)) });
        }
        let read_objects = stream::iter(reads)
            .buffer_unordered(PARALLEL_READS)
            .try_collect::<Vec<_>>();
        let (items, contents) = try_join(self.read_items(&inline_keys), read_objects).await?;
        for (i, item) in zip(inline_places, items) {
            found[i] = read_blob(item);
        }
        for (i, stored) in contents {
            found[i] = stored;
        }

        Ok(found)
    }

    async fn read_parts(
        &self,
        tenant: &Tenant,
        parts: &[BlobPart],
    ) -> PortResult<Vec<BlobContent>> {
        let mut reads = Vec::with_capacity(parts.len());
        for BlobPart { blob, bytes } in parts {
            reads.push(async move {
                match blob {
                    BlobRef::Object(path) => self.get_object(tenant, path, Some(bytes)).await,
                    BlobRef::Inline(_) => {
                        let found = self.read_one(tenant, blob).await?;
                        Ok(slice_content(found, bytes))
                    }
                }
            });
        }
        stream::iter(reads)
            .buffered(PARALLEL_PART_READS)
            .try_collect()
            .await
    }

    fn open_local(&self, tenant: &Tenant, blob: &BlobRef) -> Option<Arc<dyn LocalBlob>> {
        let BlobRef::Object(path) = blob else {
            return None;
        };
        let objects = self.local_objects.as_ref()?;
        objects.open(&self.bucket, &table_keys::object_key(tenant, path))
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
            .prefix(table_keys::object_key(tenant, prefix));
        let list = list.max_keys(object_page_size(limit));
        let tenant_prefix = table_keys::object_key(tenant, "");
        let mut found = Vec::new();
        let mut pages = list.into_paginator().send();
        while found.len() < limit
            && let Some(page) = pages.next().await
        {
            for object in page.map_err(port_error)?.contents() {
                let key = object.key().unwrap_or_default();
                let Some(path) = key.strip_prefix(&tenant_prefix) else {
                    return Err(PortError::Corrupt("listed object".into()));
                };
                let size = u64::try_from(object.size().unwrap_or(0)).unwrap_or(0);
                found.push((path.to_owned(), size));
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
                BlobRef::Inline(path) => inline.push(table_keys::blob_key(tenant, path)),
                BlobRef::Object(path) => _ = objects.insert(table_keys::object_key(tenant, path)),
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
        let key = table_keys::object_key(tenant, path);
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

        let key = table_keys::object_key(tenant, path);
        let address = self
            .presigner
            .download_address(&self.bucket, &key, name, now, seconds)
            .await?;
        Ok(Some(address))
    }

    async fn object_origin(&self, now: Timestamp) -> PortResult<String> {
        self.presigner.origin(&self.bucket, now).await
    }

    fn parse_arrivals(&self, message: &str) -> Option<Vec<UploadArrival>> {
        arrivals::parse_arrivals(&self.bucket, message)
    }
}
