//! The records of the request log: requests, tallies, slices and markers of open hours. All of them expire.

use std::collections::BTreeSet;

use bytes::Bytes;
use domain::activity::{Hour, RequestRecord, RequestTally, TallySlices};
use domain::ports::PortResult;
use domain::{ContainerId, PortError, Revision, Tenant};
use serde_json::Value;

use super::{
    DueRecord, ExpiryRecord, Item, Json, add_record, compress_json, decompress_json, read_record,
    record_item,
};
use crate::table_keys::hours;

/// The most containers of a request that is kept with its contents. A request that touched more
/// keeps none, so that the deletion of a container does not have to find it.
const MAX_CONTAINERS: usize = 1000;
/// The most bytes of the counts of an hour, or of its slices, after decompression. One compressed item has at
/// most 400 KB.
const MAX_TALLY: usize = 64 << 20;

record! {
    /// A request. Input, output and containers are attributes of their own, so that they can be
    /// removed and searched without reading the rest. It also has [`ExpiryRecord`].
    struct LoggedRequestRecord, LoggedRequestAttributes {
        /// The request without containers, input and output.
        #[serde(rename = "rec")]
        outline: Json<RequestRecord>,
        /// The sorted ids of the containers, as a set.
        #[serde(
            rename = "cs",
            default,
            skip_serializing_if = "BTreeSet::is_empty",
            with = "serde_dynamo::string_set"
        )]
        containers: BTreeSet<String>,
        #[serde(rename = "in")]
        input: Option<Json<Value>>,
        #[serde(rename = "out")]
        output: Option<Json<Value>>,
    }
}

record! {
    /// The marker of an hour that is not counted yet. It also has [`DueRecord`] and
    /// [`ExpiryRecord`].
    struct OpenHourRecord, OpenHourAttributes {
        /// The random token, which changes when another record arrives late.
        #[serde(rename = "token")]
        token: String,
    }
}

record! {
    /// The tally of an hour. It also has [`ExpiryRecord`].
    struct TallyRecord, TallyAttributes {
        /// The compressed JSON of the tally.
        #[serde(rename = "tally")]
        compressed_tally: Bytes,
        /// The token of the marker that the tally took the place of.
        #[serde(rename = "token")]
        token: String,
    }
}

record! {
    /// The slices of an hour. It also has [`ExpiryRecord`].
    struct SlicesRecord, SlicesAttributes {
        /// The compressed JSON of the slices.
        #[serde(rename = "slices")]
        compressed_slices: Bytes,
        /// The token of the hour whose records were counted.
        #[serde(rename = "token")]
        token: String,
    }
}

/// Returns the item of a request.
pub(crate) fn logged_request_item(tenant: &Tenant, request: &RequestRecord) -> PortResult<Item> {
    let outline = RequestRecord {
        containers: Vec::new(),
        input: None,
        output: None,
        ..request.clone()
    };
    let mut containers: BTreeSet<String> = BTreeSet::new();
    for id in &request.containers {
        containers.insert(id.as_str().to_owned());
    }

    let record = if containers.len() > MAX_CONTAINERS {
        LoggedRequestRecord {
            outline: Json::encode(&outline)?,
            containers: BTreeSet::new(),
            input: None,
            output: None,
        }
    } else {
        LoggedRequestRecord {
            outline: Json::encode(&outline)?,
            containers,
            input: Json::encode_option(request.input.as_ref())?,
            output: Json::encode_option(request.output.as_ref())?,
        }
    };

    let sort_key = format!("{}#{}", hours::record_sort_prefix(request.at), request.id);
    let partition = hours::records_partition(tenant, Hour::containing(request.at));
    let mut item = record_item(&(partition, sort_key), &record)?;
    let expires_at_seconds = hours::expiry_seconds(request.at);
    add_record(&mut item, &ExpiryRecord { expires_at_seconds })?;
    Ok(item)
}

/// Reads a request from its item. Its containers are sorted.
pub(crate) fn read_logged_request(item: Item) -> PortResult<RequestRecord> {
    let record: LoggedRequestRecord = read_record(item)?;
    let mut containers = Vec::new();
    for id in &record.containers {
        containers.extend(ContainerId::parse(id));
    }

    Ok(RequestRecord {
        containers,
        input: Json::decode_option(record.input)?,
        output: Json::decode_option(record.output)?,
        ..record.outline.decode()?
    })
}

/// Returns the item that marks an hour as open, with a token of its own.
pub(crate) fn open_hour_item(tenant: &Tenant, hour: Hour) -> PortResult<Item> {
    let record = OpenHourRecord {
        token: Revision::random().as_str().to_owned(),
    };
    let expires_at_seconds = hours::expiry_seconds(hour.end_time());

    let mut item = record_item(&hours::open_key(tenant, hour), &record)?;
    add_record(
        &mut item,
        &DueRecord::new(hours::OPEN_SHARD.to_owned(), hour.end_time()),
    )?;
    add_record(&mut item, &ExpiryRecord { expires_at_seconds })?;
    Ok(item)
}

/// Returns the item of the tally of an hour. `token` identifies this write among all others.
pub(crate) fn tally_item(
    tenant: &Tenant,
    hour: Hour,
    token: &str,
    tally: &RequestTally,
) -> PortResult<Item> {
    let (compressed, _) = compress_json(tally)?;
    let record = TallyRecord {
        compressed_tally: Bytes::from(compressed),
        token: token.to_owned(),
    };
    let expires_at_seconds = hours::expiry_seconds(hour.end_time());

    let mut item = record_item(&hours::counts_key(tenant, hour), &record)?;
    add_record(&mut item, &ExpiryRecord { expires_at_seconds })?;
    Ok(item)
}

/// Reads the tally of an hour from its item, and the token with which it was stored.
pub(crate) fn read_tally(item: Item) -> PortResult<(String, RequestTally)> {
    let record: TallyRecord = read_record(item)?;
    match decompress_json(&record.compressed_tally, MAX_TALLY) {
        Some(tally) => Ok((record.token, tally)),
        None => Err(PortError::Corrupt("counts of an hour".into())),
    }
}

/// Returns the item of the slices of an hour.
pub(crate) fn slices_item(
    tenant: &Tenant,
    hour: Hour,
    token: &str,
    slices: &TallySlices,
) -> PortResult<Item> {
    let (compressed, _) = compress_json(slices)?;
    let record = SlicesRecord {
        compressed_slices: Bytes::from(compressed),
        token: token.to_owned(),
    };
    let expires_at_seconds = hours::expiry_seconds(hour.end_time());

    let mut item = record_item(&hours::slices_key(tenant, hour), &record)?;
    add_record(&mut item, &ExpiryRecord { expires_at_seconds })?;
    Ok(item)
}

/// Reads the slices of an hour from their item, and the token with which they were stored.
pub(crate) fn read_slices(item: Item) -> PortResult<(String, TallySlices)> {
    let record: SlicesRecord = read_record(item)?;
    match decompress_json(&record.compressed_slices, MAX_TALLY) {
        Some(slices) => Ok((record.token, slices)),
        None => Err(PortError::Corrupt("slices of an hour".into())),
    }
}
