//! Multipart uploads.

use std::fs::File;
use std::io;

use md5::{Digest, Md5};
use rusqlite::params;
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CompletedPart, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, ETag, ListMultipartUploadsInput, ListMultipartUploadsOutput,
    ListPartsInput, ListPartsOutput, MultipartUpload, Part, UploadPartInput, UploadPartOutput,
};
use s3s::{S3Error, S3Result, s3_error};

use super::check::{VerifiedBody, check_write_conditions};
use super::index::{
    ObjectAttributes, StoredObject, StoredPart, completed_etag, find_object, query_rows,
    require_bucket, require_upload, s3_timestamp, to_json, uploaded_parts,
};
use super::notify::{CreationKind, notify_queues};
use super::objects::{discard_file, sort_metadata};
use super::store::ObjectStore;
use crate::wire::random_uuid;

/// The fewest bytes of every part but the last (S3 user guide, "multipart upload limits").
const MIN_PART_BYTES: u64 = 5 * 1024 * 1024;

pub(super) fn create_upload(
    store: &ObjectStore,
    input: CreateMultipartUploadInput,
) -> S3Result<CreateMultipartUploadOutput> {
    let attributes = ObjectAttributes {
        content_type: input.content_type,
        content_encoding: input.content_encoding,
        content_disposition: input.content_disposition,
        content_language: input.content_language,
        cache_control: input.cache_control,
        metadata: sort_metadata(input.metadata),
        ..ObjectAttributes::default()
    };

    let attributes = to_json(&attributes)?;
    let id = random_uuid();
    store.write_index(|transaction| {
        require_bucket(transaction.tx, &input.bucket)?;
        let sql = "INSERT INTO uploads (id, bucket, key, attributes, started_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
        transaction.run_statement(sql, params![id, input.bucket, input.key.as_bytes(), attributes, store.now()])
    })?;

    Ok(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id),
        checksum_algorithm: input.checksum_algorithm,
        checksum_type: input.checksum_type,
        ..CreateMultipartUploadOutput::default()
    })
}

pub(super) fn upload_part(
    store: &ObjectStore,
    input: &UploadPartInput,
    body: VerifiedBody,
) -> S3Result<UploadPartOutput> {
    let (id, number) = (&input.upload_id, input.part_number);
    if !(1..=10_000).contains(&number) {
        let message = "Part number must be an integer between 1 and 10000, inclusive";
        return Err(s3_error!(InvalidArgument, "{message}"));
    }

    require_upload(&store.lock_index(), &input.bucket, &input.key, id)?;
    let file = store.create_file_with(&body.bytes)?;
    let etag = hex::encode(body.md5);
    let result = store.write_index(|transaction| {
        require_upload(transaction.tx, &input.bucket, &input.key, id)?;
        for part in uploaded_parts(transaction.tx, id)? {
            if part.number == number {
                transaction.discard_file(part.file)?;
            }
        }

        transaction.adopt_file(&file)?;
        let size = i64::try_from(body.bytes.len()).map_err(S3Error::internal_error)?;
        let sql = "INSERT OR REPLACE INTO parts VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        transaction.run_statement(sql, params![id, number, file, size, etag, store.now()])
    });

    result.inspect_err(|_| discard_file(store, &file))?;
    let checksum = body.checksum;

    Ok(UploadPartOutput {
        e_tag: Some(ETag::Strong(etag)),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..UploadPartOutput::default()
    })
}

/// Joins the parts to the object. A repeated call after a lost answer gets the same answer.
pub(super) fn complete_upload(
    store: &ObjectStore,
    input: CompleteMultipartUploadInput,
) -> S3Result<CompleteMultipartUploadOutput> {
    let (bucket, key, id) = (&input.bucket, &input.key, &input.upload_id);
    let requested_parts = match input.multipart_upload {
        Some(upload) => upload.parts.unwrap_or_default(),
        None => Vec::new(),
    };
    if let Some(etag) = completed_etag(&store.lock_index(), bucket, key, id)? {
        return Ok(completion_answer(input.bucket, input.key, etag));
    }

    let attributes = require_upload(&store.lock_index(), bucket, key, id)?;
    let parts = choose_parts(&requested_parts, uploaded_parts(&store.lock_index(), id)?)?;
    let stored = join_parts(store, &parts, attributes)?;
    let result = store.write_index(|transaction| {
        require_upload(transaction.tx, bucket, key, id)?;
        let current = find_object(transaction.tx, bucket, key)?;
        check_write_conditions(
            current.as_ref(),
            input.if_match.as_ref(),
            input.if_none_match.as_ref(),
        )?;
        transaction.put_object(bucket, key, &stored)?;
        transaction.discard_parts(id)?;
        let sql = "UPDATE uploads SET completed_etag = ?2 WHERE id = ?1";
        transaction.run_statement(sql, params![id, stored.etag])
    });

    result.inspect_err(|_| discard_file(store, &stored.file))?;
    notify_queues(
        store,
        bucket,
        key,
        &stored,
        CreationKind::CompleteMultipartUpload,
    )?;

    Ok(completion_answer(input.bucket, input.key, stored.etag))
}

/// Writes the bytes of the parts into one new file.
fn join_parts(
    store: &ObjectStore,
    parts: &[StoredPart],
    attributes: ObjectAttributes,
) -> S3Result<StoredObject> {
    let etag = joined_etag(parts)?;
    let file = store.create(|file| {
        for part in parts {
            io::copy(&mut File::open(store.path(&part.file))?, file)?;
        }
        Ok(())
    })?;

    let size = parts.iter().map(|part| part.size).sum();
    Ok(StoredObject {
        file,
        size,
        etag,
        modified_ms: store.now(),
        attributes,
    })
}

pub(super) fn abort_upload(
    store: &ObjectStore,
    input: &AbortMultipartUploadInput,
) -> S3Result<AbortMultipartUploadOutput> {
    store.write_index(|transaction| {
        require_upload(transaction.tx, &input.bucket, &input.key, &input.upload_id)?;
        transaction.remove_upload(&input.upload_id)
    })?;
    Ok(AbortMultipartUploadOutput::default())
}

pub(super) fn list_parts(store: &ObjectStore, input: ListPartsInput) -> S3Result<ListPartsOutput> {
    let index = store.lock_index();
    require_upload(&index, &input.bucket, &input.key, &input.upload_id)?;
    let marker = input.part_number_marker.unwrap_or(0);
    let limit = usize::try_from(input.max_parts.unwrap_or(1000).clamp(0, 1000)).unwrap_or(0);
    let mut parts = uploaded_parts(&index, &input.upload_id)?;
    parts.retain(|part| part.number > marker);
    let is_truncated = parts.len() > limit;
    parts.truncate(limit);

    Ok(ListPartsOutput {
        next_part_number_marker: parts.last().map(|part| part.number),
        parts: Some(parts.into_iter().map(listed_part).collect()),
        is_truncated: Some(is_truncated),
        max_parts: i32::try_from(limit).ok(),
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        ..ListPartsOutput::default()
    })
}

pub(super) fn list_uploads(
    store: &ObjectStore,
    input: ListMultipartUploadsInput,
) -> S3Result<ListMultipartUploadsOutput> {
    let index = store.lock_index();
    require_bucket(&index, &input.bucket)?;
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let sql = "SELECT id, key, started_ms FROM uploads WHERE bucket = ?1 AND completed_etag IS NULL ORDER BY key, id";
    let mut uploads = query_rows(&index, sql, [&input.bucket], |row| {
        Ok(MultipartUpload {
            upload_id: row.get(0)?,
            key: Some(String::from_utf8_lossy(&row.get::<_, Vec<u8>>(1)?).into_owned()),
            initiated: Some(s3_timestamp(row.get(2)?)),
            ..MultipartUpload::default()
        })
    })?;
    uploads.retain(|upload| match &upload.key {
        Some(key) => key.starts_with(prefix),
        None => false,
    });

    Ok(ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        prefix: input.prefix,
        uploads: Some(uploads),
        is_truncated: Some(false),
        ..ListMultipartUploadsOutput::default()
    })
}

fn completion_answer(bucket: String, key: String, etag: String) -> CompleteMultipartUploadOutput {
    CompleteMultipartUploadOutput {
        bucket: Some(bucket),
        key: Some(key),
        e_tag: Some(ETag::Strong(etag)),
        ..CompleteMultipartUploadOutput::default()
    }
}

fn listed_part(part: StoredPart) -> Part {
    Part {
        part_number: Some(part.number),
        size: i64::try_from(part.size).ok(),
        e_tag: Some(ETag::Strong(part.etag)),
        last_modified: Some(s3_timestamp(part.modified_ms)),
        ..Part::default()
    }
}

/// Returns the parts that the client names. Fails unless they are in ascending order, have the
/// right tags and, except the last, the minimum size.
fn choose_parts(requested: &[CompletedPart], stored: Vec<StoredPart>) -> S3Result<Vec<StoredPart>> {
    if requested.is_empty() {
        return Err(s3_error!(
            InvalidRequest,
            "You must specify at least one part"
        ));
    }

    let numbers: Vec<i32> = requested
        .iter()
        .map(|part| part.part_number.unwrap_or(0))
        .collect();
    if !numbers.is_sorted_by(|a, b| a < b) {
        return Err(s3_error!(InvalidPartOrder));
    }

    let mut chosen = stored;
    chosen.retain(|part| numbers.contains(&part.number));
    if chosen.len() != requested.len() {
        return Err(s3_error!(InvalidPart));
    }
    for (requested, part) in requested.iter().zip(&chosen) {
        if let Some(etag) = &requested.e_tag
            && etag.value() != part.etag
        {
            return Err(s3_error!(InvalidPart));
        }
    }

    if let Some((_, parts_before_last)) = chosen.split_last() {
        for part in parts_before_last {
            if part.size < MIN_PART_BYTES {
                return Err(s3_error!(EntityTooSmall));
            }
        }
    }

    Ok(chosen)
}

/// Returns the entity tag of a joined object: the digest of the digests of the parts, and their
/// number.
fn joined_etag(parts: &[StoredPart]) -> S3Result<String> {
    let mut digest = Md5::new();
    for part in parts {
        let bits = u128::from_str_radix(&part.etag, 16).map_err(S3Error::internal_error)?;
        digest.update(bits.to_be_bytes());
    }
    Ok(format!(
        "{}-{}",
        hex::encode(digest.finalize()),
        parts.len()
    ))
}
