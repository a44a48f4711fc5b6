//! Storing, reading, copying and deleting of objects.

use std::fs;
use std::ops::Range;

use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource, DeleteObjectInput,
    DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag,
    GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, MetadataDirective,
    PutObjectInput, PutObjectOutput, StreamingBlob, Timestamp,
};
use s3s::{Body, S3Result, s3_error};

use super::check::{self, Verified, from_map, matches, to_map, write_allowed};
use super::index::{Attributes, Stored, find, require_bucket, timestamp};
use super::notify::{Creation, announce};
use super::store::Store;
use crate::wire::hex;

/// The type of an object without a type.
const DEFAULT_TYPE: &str = "binary/octet-stream";

pub(super) fn put(
    store: &Store,
    mut input: PutObjectInput,
    body: Verified,
    creation: Creation,
) -> S3Result<PutObjectOutput> {
    require_bucket(&store.read(), &input.bucket)?;
    let stored = Stored {
        file: store.create_with(&body.bytes)?,
        size: body.bytes.len() as u64,
        etag: hex(&body.md5),
        modified_ms: store.now(),
        attributes: attributes_of_put(&mut input, &body),
    };

    let replacing = store.write(|change| {
        require_bucket(change.tx, &input.bucket)?;
        let current = find(change.tx, &input.bucket, &input.key)?;
        write_allowed(
            current.as_ref(),
            input.if_match.as_ref(),
            input.if_none_match.as_ref(),
        )?;
        change.put(&input.bucket, &input.key, &stored)
    });

    replacing.inspect_err(|_| discard(store, &stored.file))?;
    announce(store, &input.bucket, &input.key, &stored, creation)?;
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

fn attributes_of_put(input: &mut PutObjectInput, body: &Verified) -> Attributes {
    Attributes {
        content_type: input.content_type.take(),
        content_encoding: input.content_encoding.take(),
        content_disposition: input.content_disposition.take(),
        content_language: input.content_language.take(),
        cache_control: input.cache_control.take(),
        metadata: input
            .metadata
            .take()
            .unwrap_or_default()
            .into_iter()
            .collect(),
        checksums: to_map(&body.checksum),
    }
}

/// Removes a file that is not needed after all. If this fails, the next sweep removes it.
pub(super) fn discard(store: &Store, file: &str) {
    if let Err(error) = store.write(|change| change.discard(file.to_owned())) {
        tracing::warn!(%error, "could not remove an unused file: {error}");
    }
}

pub(super) fn get(store: &Store, input: &GetObjectInput) -> S3Result<GetObjectOutput> {
    let conditions = Conditions::of_get(input);
    let (stored, bytes) = store.load(&input.bucket, &input.key, |stored| {
        conditions.check(stored)?;
        range_of(input.range, stored)
    })?;

    let range = range_of(input.range, &stored)?;
    let whole = range == (0..stored.size);
    let content_range = input.range.map(|_| {
        format!(
            "bytes {}-{}/{}",
            range.start,
            range.end.saturating_sub(1),
            stored.size
        )
    });

    // A checksum of the whole object says nothing about a part of it.
    let checksum = if whole {
        from_map(&stored.attributes.checksums)
    } else {
        from_map(&Default::default())
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
        last_modified: Some(timestamp(stored.modified_ms)),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..GetObjectOutput::default()
    })
}

pub(super) fn head(store: &Store, input: &HeadObjectInput) -> S3Result<HeadObjectOutput> {
    let stored = store.object(&input.bucket, &input.key)?;
    Conditions::of_head(input).check(&stored)?;
    let checksum = from_map(&stored.attributes.checksums);
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
        last_modified: Some(timestamp(stored.modified_ms)),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..HeadObjectOutput::default()
    })
}

/// Returns the range of bytes that a `Range` header requests.
fn range_of(range: Option<s3s::dto::Range>, stored: &Stored) -> S3Result<Range<u64>> {
    range.map_or(Ok(0..stored.size), |range| Ok(range.check(stored.size)?))
}

/// The conditions of a read.
struct Conditions<'a> {
    if_match: Option<&'a s3s::dto::ETagCondition>,
    if_none_match: Option<&'a s3s::dto::ETagCondition>,
    if_modified_since: Option<&'a Timestamp>,
    if_unmodified_since: Option<&'a Timestamp>,
}

impl<'a> Conditions<'a> {
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
    fn check(&self, stored: &Stored) -> S3Result<()> {
        let modified = timestamp(stored.modified_ms / 1000 * 1000);
        let unchanged = match (self.if_match, self.if_unmodified_since) {
            (Some(condition), _) => matches(condition, stored),
            (None, Some(since)) => modified <= *since,
            (None, None) => true,
        };

        if !unchanged {
            return Err(check::failed());
        }

        let known = match (self.if_none_match, self.if_modified_since) {
            (Some(condition), _) => matches(condition, stored),
            (None, Some(since)) => modified <= *since,
            (None, None) => false,
        };

        if known {
            Err(s3_error!(NotModified))
        } else {
            Ok(())
        }
    }
}

pub(super) fn delete(store: &Store, input: &DeleteObjectInput) -> S3Result<DeleteObjectOutput> {
    store.write(|change| {
        require_bucket(change.tx, &input.bucket)?;
        if let Some(condition) = &input.if_match {
            let current = find(change.tx, &input.bucket, &input.key)?;
            write_allowed(current.as_ref(), Some(condition), None)?;
        }
        change.remove(&input.bucket, &input.key)
    })?;
    Ok(DeleteObjectOutput::default())
}

pub(super) fn delete_many(
    store: &Store,
    input: DeleteObjectsInput,
) -> S3Result<DeleteObjectsOutput> {
    let mut deleted = Vec::new();
    store.write(|change| {
        require_bucket(change.tx, &input.bucket)?;
        for object in input.delete.objects {
            change.remove(&input.bucket, &object.key)?;
            deleted.push(DeletedObject {
                key: Some(object.key),
                ..DeletedObject::default()
            });
        }
        Ok(())
    })?;

    let quiet = input.delete.quiet.unwrap_or(false);
    Ok(DeleteObjectsOutput {
        deleted: (!quiet).then_some(deleted),
        ..DeleteObjectsOutput::default()
    })
}

/// Copies the bytes of an object, and its attributes unless the request replaces them.
pub(super) fn copy(store: &Store, mut input: CopyObjectInput) -> S3Result<CopyObjectOutput> {
    let CopySource::Bucket { bucket, key, .. } = &input.copy_source else {
        return Err(s3_error!(NotImplemented));
    };

    let source = store.object(bucket, key)?;
    let differs = input
        .copy_source_if_match
        .as_ref()
        .is_some_and(|condition| !matches(condition, &source));
    let known = input
        .copy_source_if_none_match
        .as_ref()
        .is_some_and(|condition| matches(condition, &source));
    if differs || known {
        return Err(check::failed());
    }

    let from = store.path(&source.file);
    let file = store.create(|file| std::io::copy(&mut fs::File::open(&from)?, file).map(drop))?;
    let mut stored = Stored {
        file,
        modified_ms: store.now(),
        ..source
    };

    let directive = input.metadata_directive.take();
    if directive.is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE) {
        stored.attributes = attributes_of_copy(&mut input, stored.attributes);
    }

    let replacing = store.write(|change| {
        require_bucket(change.tx, &input.bucket)?;
        change.put(&input.bucket, &input.key, &stored)
    });

    replacing.inspect_err(|_| discard(store, &stored.file))?;
    announce(store, &input.bucket, &input.key, &stored, Creation::Copy)?;
    let copy_object_result = Some(CopyObjectResult {
        e_tag: Some(ETag::Strong(stored.etag)),
        last_modified: Some(timestamp(stored.modified_ms)),
        ..CopyObjectResult::default()
    });

    Ok(CopyObjectOutput {
        copy_object_result,
        ..CopyObjectOutput::default()
    })
}

/// Returns the attributes of the request, which replace those of the source. The bytes are the
/// same, and hence the checksums.
fn attributes_of_copy(input: &mut CopyObjectInput, source: Attributes) -> Attributes {
    Attributes {
        content_type: input.content_type.take(),
        content_encoding: input.content_encoding.take(),
        content_disposition: input.content_disposition.take(),
        content_language: input.content_language.take(),
        cache_control: input.cache_control.take(),
        metadata: input
            .metadata
            .take()
            .unwrap_or_default()
            .into_iter()
            .collect(),
        checksums: source.checksums,
    }
}
