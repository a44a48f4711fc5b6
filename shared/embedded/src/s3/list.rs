//! Listing of objects. Each page is one range scan of the index, which skips the keys that a
//! delimiter groups into a common prefix.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, Row, params};
use s3s::dto::{
    CommonPrefix, ETag, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input,
    ListObjectsV2Output, Object, ObjectStorageClass,
};
use s3s::{S3Error, S3Result, s3_error};

use super::index::{require_bucket, s3_timestamp};
use super::store::ObjectStore;

/// The most entries of a page.
const MAX_KEYS: i32 = 1000;

/// One page of a listing.
struct ListingPage {
    objects: Vec<Object>,
    prefixes: Vec<CommonPrefix>,
    /// The last key or common prefix of the page, if more follow.
    next: Option<String>,
}

/// The selection of a listing: the keys that begin with `prefix` and follow `after`, grouped at
/// `delimiter`.
struct ListingQuery<'a> {
    bucket: &'a str,
    prefix: &'a str,
    delimiter: &'a str,
    after: Option<&'a str>,
    limit: usize,
}

pub(super) fn list_v2(
    store: &ObjectStore,
    input: ListObjectsV2Input,
) -> S3Result<ListObjectsV2Output> {
    let max_keys = input.max_keys.unwrap_or(MAX_KEYS).clamp(0, MAX_KEYS);
    let resume_key = match &input.continuation_token {
        Some(token) => Some(decode_token(token)?),
        None => None,
    };
    let page = list_page(
        &store.lock_index(),
        &ListingQuery {
            bucket: &input.bucket,
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref().unwrap_or_default(),
            after: resume_key.as_deref().or(input.start_after.as_deref()),
            limit: usize::try_from(max_keys).unwrap_or(0),
        },
    )?;

    Ok(ListObjectsV2Output {
        key_count: i32::try_from(page.objects.len() + page.prefixes.len()).ok(),
        is_truncated: Some(page.next.is_some()),
        next_continuation_token: page.next.map(|key| URL_SAFE_NO_PAD.encode(key)),
        contents: Some(page.objects),
        common_prefixes: Some(page.prefixes),
        name: Some(input.bucket),
        prefix: input.prefix,
        delimiter: input.delimiter,
        max_keys: Some(max_keys),
        continuation_token: input.continuation_token,
        start_after: input.start_after,
        ..ListObjectsV2Output::default()
    })
}

pub(super) fn list_v1(store: &ObjectStore, input: ListObjectsInput) -> S3Result<ListObjectsOutput> {
    let max_keys = input.max_keys.unwrap_or(MAX_KEYS).clamp(0, MAX_KEYS);
    let page = list_page(
        &store.lock_index(),
        &ListingQuery {
            bucket: &input.bucket,
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref().unwrap_or_default(),
            after: input.marker.as_deref(),
            limit: usize::try_from(max_keys).unwrap_or(0),
        },
    )?;

    Ok(ListObjectsOutput {
        is_truncated: Some(page.next.is_some()),
        next_marker: page.next,
        contents: Some(page.objects),
        common_prefixes: Some(page.prefixes),
        name: Some(input.bucket),
        prefix: input.prefix,
        delimiter: input.delimiter,
        max_keys: Some(max_keys),
        marker: input.marker,
        ..ListObjectsOutput::default()
    })
}

fn decode_token(token: &str) -> S3Result<String> {
    if let Ok(bytes) = URL_SAFE_NO_PAD.decode(token)
        && let Ok(key) = String::from_utf8(bytes)
    {
        return Ok(key);
    }
    Err(s3_error!(
        InvalidArgument,
        "The continuation token provided is incorrect"
    ))
}

fn list_page(index: &Connection, query: &ListingQuery<'_>) -> S3Result<ListingPage> {
    require_bucket(index, query.bucket)?;
    let mut page = ListingPage {
        objects: Vec::new(),
        prefixes: Vec::new(),
        next: None,
    };
    let mut start_key = Some(first_key(query));
    while let Some(key) = start_key {
        start_key = fill_page(index, query, &key, &mut page).map_err(S3Error::internal_error)?;
    }
    Ok(page)
}

/// Adds objects to the page, from the key `start_key` on. Returns the key from which to continue
/// after a common prefix, or `None` at the end of the page.
fn fill_page(
    index: &Connection,
    query: &ListingQuery<'_>,
    start_key: &[u8],
    page: &mut ListingPage,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT key, size, etag, modified_ms FROM objects WHERE bucket = ?1 AND key >= ?2 ORDER BY key";
    let mut statement = index.prepare_cached(sql)?;
    let mut rows = statement.query(params![query.bucket, start_key])?;
    while let Some(row) = rows.next()? {
        let key = String::from_utf8_lossy(&row.get::<_, Vec<u8>>(0)?).into_owned();
        if !key.starts_with(query.prefix) {
            break;
        }
        if page.objects.len() + page.prefixes.len() == query.limit {
            page.next = page.last_entry();
            break;
        }
        if let Some(prefix) = common_prefix(query, &key) {
            page.prefixes.push(CommonPrefix {
                prefix: Some(prefix.to_owned()),
            });
            return Ok(Some(next_key_after_prefix(prefix)));
        }
        page.objects.push(listed_object(key, row)?);
    }

    Ok(None)
}

fn listed_object(key: String, row: &Row<'_>) -> rusqlite::Result<Object> {
    Ok(Object {
        key: Some(key),
        size: row.get(1)?,
        e_tag: Some(ETag::Strong(row.get(2)?)),
        last_modified: Some(s3_timestamp(row.get(3)?)),
        storage_class: Some(ObjectStorageClass::from_static(
            ObjectStorageClass::STANDARD,
        )),
        ..Object::default()
    })
}

impl ListingPage {
    /// Returns the greatest key or common prefix so far. Entries come in order.
    fn last_entry(&self) -> Option<String> {
        let key = self.objects.last().and_then(|object| object.key.clone());
        let prefix = self
            .prefixes
            .last()
            .and_then(|prefix| prefix.prefix.clone());
        key.max(prefix)
    }
}

/// Returns the first key that may be on the page.
fn first_key(query: &ListingQuery<'_>) -> Vec<u8> {
    let start_key = match query.after {
        // The previous page ended with a common prefix, so the page starts after all keys with it.
        Some(after) if common_prefix(query, after) == Some(after) => next_key_after_prefix(after),
        Some(key) => next_key(key),
        None => Vec::new(),
    };
    start_key.max(query.prefix.as_bytes().to_vec())
}

/// Returns the common prefix of a key, which ends with the first delimiter after the listed prefix.
fn common_prefix<'k>(query: &ListingQuery<'_>, key: &'k str) -> Option<&'k str> {
    if query.delimiter.is_empty() {
        return None;
    }
    let rest = key.strip_prefix(query.prefix)?;
    let end = rest.find(query.delimiter)? + query.delimiter.len();
    Some(&key[..query.prefix.len() + end])
}

/// Returns the smallest bytes greater than `key`.
fn next_key(key: &str) -> Vec<u8> {
    let mut bytes = key.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// Returns the smallest bytes greater than all keys that begin with `prefix`. UTF-8 never has the
/// byte 255, so the last byte can be incremented.
fn next_key_after_prefix(prefix: &str) -> Vec<u8> {
    let mut bytes = prefix.as_bytes().to_vec();
    if let Some(last) = bytes.last_mut() {
        *last += 1;
    }
    bytes
}
