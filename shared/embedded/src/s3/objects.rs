//! Storing, reading, copying and deleting of objects.

use std::collections::BTreeMap;
use std::ops::Range;
use std::{fs, io};

use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource, DeleteObjectInput,
    DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag,
    GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, Metadata,
    MetadataDirective, PutObjectInput, PutObjectOutput, StreamingBlob, Timestamp,
};
use s3s::{Body, S3Result, s3_error};

use super::check::{
    self, VerifiedBody, check_write_conditions, checksums_from_map, checksums_to_map, matches_etag,
};
use super::index::{ObjectAttributes, StoredObject, find_object, require_bucket, s3_timestamp};
use super::notify::{CreationKind, notify_queues};
use super::store::ObjectStore;

/// The type of an object without a type.
const DEFAULT_TYPE: &str = "binary/octet-stream";

pub(super) fn put_object(
    store: &ObjectStore,
    mut input: PutObjectInput,
    body: VerifiedBody,
    creation: CreationKind,
) -> S3Result<PutObjectOutput> {
    require_bucket(&store.lock_index(), &input.bucket)?;
    let stored = StoredObject {
        file: store.create_file_with(&body.bytes)?,
        size: body.bytes.len() as u64,
        etag: hex::encode(body.md5),
        modified_ms: store.now(),
        attributes: attributes_of_put(&mut input, &body),
    };

    let result = store.write_index(|transaction| {
        require_bucket(transaction.tx, &input.bucket)?;
        let current = find_object(transaction.tx, &input.bucket, &input.key)?;
        check_write_conditions(
            current.as_ref(),
            input.if_match.as_ref(),
            input.if_none_match.as_ref(),
        )?;
        transaction.put_object(&input.bucket, &input.key, &stored)
    });

    result.inspect_err(|_| discard_file(store, &stored.file))?;
    notify_queues(store, &input.bucket, &input.key, &stored, creation)?;
    let checksum = body.checksum;

    Ok(PutObjectOutput {
        e_tag: Some(ETag::Strong(stored.etag)),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..PutObjectOutput::default()
    })
}

fn attributes_of_put(input: &mut PutObjectInput, body: &VerifiedBody) -> ObjectAttributes {
    ObjectAttributes {
        content_type: input.content_type.take(),
        content_encoding: input.content_encoding.take(),
        content_disposition: input.content_disposition.take(),
        content_language: input.content_language.take(),
        cache_control: input.cache_control.take(),
        metadata: sort_metadata(input.metadata.take()),
        checksums: checksums_to_map(&body.checksum),
    }
}

/// Returns the metadata of a request as the index keeps them.
pub(super) fn sort_metadata(metadata: Option<Metadata>) -> BTreeMap<String, String> {
    metadata.unwrap_or_default().into_iter().collect()
}

/// Removes a file that is not needed after all. If this fails, the next sweep removes it.
pub(super) fn discard_file(store: &ObjectStore, file: &str) {
    if let Err(error) = store.write_index(|transaction| transaction.discard_file(file.to_owned())) {
        tracing::warn!(%error, "could not remove an unused file: {error}");
    }
}

pub(super) fn get_object(store: &ObjectStore, input: &GetObjectInput) -> S3Result<GetObjectOutput> {
    let conditions = ReadConditions::of_get(input);
    let (stored, bytes) = store.load_object(&input.bucket, &input.key, |stored| {
        conditions.check_conditions(stored)?;
        range_of(input.range, stored)
    })?;

    let range = range_of(input.range, &stored)?;
    let is_whole_object = range == (0..stored.size);
    let last_byte = range.end.saturating_sub(1);
    let content_range = match input.range {
        Some(_) => Some(format!("bytes {}-{last_byte}/{}", range.start, stored.size)),
        None => None,
    };

    // A checksum of the whole object says nothing about a part of it.
    let checksum = if is_whole_object {
        checksums_from_map(&stored.attributes.checksums)
    } else {
        checksums_from_map(&Default::default())
    };

    let attributes = stored.attributes;
    Ok(GetObjectOutput {
        accept_ranges: Some("bytes".to_owned()),
        content_length: i64::try_from(bytes.len()).ok(),
        body: Some(StreamingBlob::from(Body::from(bytes))),
        content_range,
        content_type: Some(
            attributes
                .content_type
                .unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
        ),
        content_encoding: attributes.content_encoding,
        content_disposition: attributes.content_disposition,
        content_language: attributes.content_language,
        cache_control: attributes.cache_control,
        metadata: Some(attributes.metadata.into_iter().collect()),
        e_tag: Some(ETag::Strong(stored.etag)),
        last_modified: Some(s3_timestamp(stored.modified_ms)),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..GetObjectOutput::default()
    })
}

pub(super) fn head_object(
    store: &ObjectStore,
    input: &HeadObjectInput,
) -> S3Result<HeadObjectOutput> {
    let stored = store.require_object(&input.bucket, &input.key)?;
    ReadConditions::of_head(input).check_conditions(&stored)?;
    let checksum = checksums_from_map(&stored.attributes.checksums);
    let attributes = stored.attributes;

    Ok(HeadObjectOutput {
        accept_ranges: Some("bytes".to_owned()),
        content_length: i64::try_from(stored.size).ok(),
        content_type: Some(
            attributes
                .content_type
                .unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
        ),
        content_encoding: attributes.content_encoding,
        content_disposition: attributes.content_disposition,
        content_language: attributes.content_language,
        cache_control: attributes.cache_control,
        metadata: Some(attributes.metadata.into_iter().collect()),
        e_tag: Some(ETag::Strong(stored.etag)),
        last_modified: Some(s3_timestamp(stored.modified_ms)),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..HeadObjectOutput::default()
    })
}

/// Returns the range of bytes that a `Range` header requests.
fn range_of(range: Option<s3s::dto::Range>, stored: &StoredObject) -> S3Result<Range<u64>> {
    match range {
        Some(range) => Ok(range.check(stored.size)?),
        None => Ok(0..stored.size),
    }
}

/// The conditions of a read.
struct ReadConditions<'a> {
    if_match: Option<&'a s3s::dto::ETagCondition>,
    if_none_match: Option<&'a s3s::dto::ETagCondition>,
    if_modified_since: Option<&'a Timestamp>,
    if_unmodified_since: Option<&'a Timestamp>,
}

impl<'a> ReadConditions<'a> {
    fn of_get(input: &'a GetObjectInput) -> Self {
        Self {
            if_match: input.if_match.as_ref(),
            if_none_match: input.if_none_match.as_ref(),
            if_modified_since: input.if_modified_since.as_ref(),
            if_unmodified_since: input.if_unmodified_since.as_ref(),
        }
    }

    fn of_head(input: &'a HeadObjectInput) -> Self {
        Self {
            if_match: input.if_match.as_ref(),
            if_none_match: input.if_none_match.as_ref(),
            if_modified_since: input.if_modified_since.as_ref(),
            if_unmodified_since: input.if_unmodified_since.as_ref(),
        }
    }

    /// Checks the conditions. Entity tags take precedence over times, which count in whole seconds
    /// (RFC 9110, section 13.2.2).
    fn check_conditions(&self, stored: &StoredObject) -> S3Result<()> {
        let modified_at = s3_timestamp(stored.modified_ms / 1000 * 1000);
        let is_unchanged = match (self.if_match, self.if_unmodified_since) {
            (Some(condition), _) => matches_etag(condition, stored),
            (None, Some(since)) => modified_at <= *since,
            (None, None) => true,
        };

        if !is_unchanged {
            return Err(check::precondition_failed());
        }

        let is_cached = match (self.if_none_match, self.if_modified_since) {
            (Some(condition), _) => matches_etag(condition, stored),
            (None, Some(since)) => modified_at <= *since,
            (None, None) => false,
        };

        if is_cached {
            Err(s3_error!(NotModified))
        } else {
            Ok(())
        }
    }
}

pub(super) fn delete_object(
    store: &ObjectStore,
    input: &DeleteObjectInput,
) -> S3Result<DeleteObjectOutput> {
    store.write_index(|transaction| {
        require_bucket(transaction.tx, &input.bucket)?;
        if let Some(condition) = &input.if_match {
            let current = find_object(transaction.tx, &input.bucket, &input.key)?;
            check_write_conditions(current.as_ref(), Some(condition), None)?;
        }
        transaction.remove_object(&input.bucket, &input.key)
    })?;
    Ok(DeleteObjectOutput::default())
}

pub(super) fn delete_objects(
    store: &ObjectStore,
    input: DeleteObjectsInput,
) -> S3Result<DeleteObjectsOutput> {
    let mut deleted = Vec::new();
    store.write_index(|transaction| {
        require_bucket(transaction.tx, &input.bucket)?;
        for object in input.delete.objects {
            transaction.remove_object(&input.bucket, &object.key)?;
            deleted.push(DeletedObject {
                key: Some(object.key),
                ..DeletedObject::default()
            });
        }
        Ok(())
    })?;

    let is_quiet = input.delete.quiet.unwrap_or(false);
    Ok(DeleteObjectsOutput {
        deleted: (!is_quiet).then_some(deleted),
        ..DeleteObjectsOutput::default()
    })
}

/// Copies the bytes of an object, and its attributes unless the request replaces them.
pub(super) fn copy_object(
    store: &ObjectStore,
    mut input: CopyObjectInput,
) -> S3Result<CopyObjectOutput> {
    let CopySource::Bucket { bucket, key, .. } = &input.copy_source else {
        return Err(s3_error!(NotImplemented));
    };

    let source = store.require_object(bucket, key)?;
    if let Some(condition) = &input.copy_source_if_match
        && !matches_etag(condition, &source)
    {
        return Err(check::precondition_failed());
    }
    if let Some(condition) = &input.copy_source_if_none_match
        && matches_etag(condition, &source)
    {
        return Err(check::precondition_failed());
    }

    let source_path = store.path(&source.file);
    let file = store.create(|file| {
        io::copy(&mut fs::File::open(&source_path)?, file)?;
        Ok(())
    })?;
    let mut stored = StoredObject {
        file,
        modified_ms: store.now(),
        ..source
    };

    if let Some(directive) = input.metadata_directive.take()
        && directive.as_str() == MetadataDirective::REPLACE
    {
        stored.attributes = attributes_of_copy(&mut input, stored.attributes);
    }

    let result = store.write_index(|transaction| {
        require_bucket(transaction.tx, &input.bucket)?;
        transaction.put_object(&input.bucket, &input.key, &stored)
    });

    result.inspect_err(|_| discard_file(store, &stored.file))?;
    notify_queues(
        store,
        &input.bucket,
        &input.key,
        &stored,
        CreationKind::Copy,
    )?;
    let copy_object_result = Some(CopyObjectResult {
        e_tag: Some(ETag::Strong(stored.etag)),
        last_modified: Some(s3_timestamp(stored.modified_ms)),
        ..CopyObjectResult::default()
    });

    Ok(CopyObjectOutput {
        copy_object_result,
        ..CopyObjectOutput::default()
    })
}

/// Returns the attributes of the request, which replace those of the source. The bytes are the
/// same, and hence the checksums.
fn attributes_of_copy(input: &mut CopyObjectInput, source: ObjectAttributes) -> ObjectAttributes {
    ObjectAttributes {
        content_type: input.content_type.take(),
        content_encoding: input.content_encoding.take(),
        content_disposition: input.content_disposition.take(),
        content_language: input.content_language.take(),
        cache_control: input.cache_control.take(),
        metadata: sort_metadata(input.metadata.take()),
        checksums: source.checksums,
    }
}
