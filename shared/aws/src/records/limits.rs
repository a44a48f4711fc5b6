//! The records of repeated requests and of the windows of rate limits. Both expire.

use domain::ports::{PortResult, RememberedRequest};
use domain::{DocumentId, PortError, RateWindow, Tenant, Timestamp};

use super::{ExpiryRecord, Item, Json, Millis, add_record, read_record, record_item};
use crate::table_keys;

record! {
    /// A request that may be repeated. It also has [`ExpiryRecord`].
    struct RecentRequestRecord, RecentRequestAttributes {
        /// The id of the document that the request is to make.
        #[serde(rename = "doc")]
        document: String,
        #[serde(rename = "digest")]
        request_digest: String,
        #[serde(rename = "until")]
        remembered_until: Millis,
        /// The id of the document that the request has made.
        #[serde(rename = "made")]
        created_document: Option<String>,
    }
}

record! {
    /// The window of a rate limit. It also has [`ExpiryRecord`].
    struct RateWindowRecord, RateWindowAttributes {
        /// The random version, which changes with every write.
        #[serde(rename = "ver")]
        version: String,
        #[serde(rename = "win")]
        window: Json<RateWindow>,
        /// The ids of the latest requests.
        #[serde(rename = "ids")]
        recent_requests: Json<Vec<String>>,
    }
}

/// Returns the item of a request under `key`.
pub(crate) fn recent_request_item(
    tenant: &Tenant,
    key: &str,
    request: &RememberedRequest,
    remembered_until: Timestamp,
) -> PortResult<Item> {
    let record = RecentRequestRecord {
        document: request.document.as_str().to_owned(),
        request_digest: request.request_digest.clone(),
        remembered_until: remembered_until.into(),
        created_document: None,
    };
    let expires_at_seconds = remembered_until.as_millis() / 1000 + 1;

    let mut item = record_item(&table_keys::repeat_key(tenant, key), &record)?;
    add_record(&mut item, &ExpiryRecord { expires_at_seconds })?;
    Ok(item)
}

/// Reads a request from its item.
pub(crate) fn read_recent_request(item: Item) -> PortResult<RememberedRequest> {
    let record: RecentRequestRecord = read_record(item)?;
    let created_document = match &record.created_document {
        Some(id) => Some(parse_id(id)?),
        None => None,
    };

    Ok(RememberedRequest {
        document: parse_id(&record.document)?,
        request_digest: record.request_digest,
        created_document,
    })
}

fn parse_id(text: &str) -> PortResult<DocumentId> {
    match DocumentId::parse(text) {
        Some(id) => Ok(id),
        None => Err(PortError::Corrupt("repeated request".into())),
    }
}
