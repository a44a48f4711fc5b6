//! The stored shapes of requests and of the counts of an hour.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::activity::{Hour, RequestRecord, RequestTally};
use domain::ports::PortResult;
use domain::{ContainerId, PortError, Tenant};

use super::hours;
use crate::item::{Item, ReadItem, bytes_value, json_value, key_item, number_value, string_value};

/// The most containers of a request that is kept with its contents. A request that touched more
/// keeps none, so that the deletion of a container does not have to find it.
const MAX_CONTAINERS: usize = 1000;
/// The most bytes of the counts of an hour after decompression. One compressed item has at most 400
/// KB.
const MAX_TALLY: usize = 64 << 20;

/// Returns the item of a request. Input, output and containers are attributes of their own, so that
/// they can be removed and searched without reading the rest.
pub(super) fn write_record(tenant: &Tenant, record: &RequestRecord) -> Item {
    let hour = Hour::containing(record.at);
    let sort_key = format!("{:013}#{}", record.at.as_millis().max(0), record.id);
    let mut item = key_item(&(hours::records_partition(tenant, hour), sort_key));
    let outline = RequestRecord {
        containers: Vec::new(),
        input: None,
        output: None,
        ..record.clone()
    };

    item.insert("v".into(), number_value(1));
    item.insert("rec".into(), json_value(&outline));
    item.insert("ttl".into(), number_value(hours::expiry_seconds(record.at)));
    let containers: BTreeSet<&str> = record.containers.iter().map(ContainerId::as_str).collect();
    if containers.len() > MAX_CONTAINERS {
        return item;
    }

    if !containers.is_empty() {
        let ids = containers.into_iter().map(str::to_owned).collect();
        item.insert("cs".into(), AttributeValue::Ss(ids));
    }

    for (name, value) in [("in", &record.input), ("out", &record.output)] {
        if let Some(value) = value {
            item.insert(name.into(), json_value(value));
        }
    }

    item
}

/// Reads a request from its item. Its containers are sorted.
pub(super) fn read_record(item: &Item) -> PortResult<RequestRecord> {
    let mut record: RequestRecord = item.get_json("rec")?;
    let ids = item.get("cs").and_then(|value| value.as_ss().ok());
    record.containers = ids
        .into_iter()
        .flatten()
        .filter_map(|id| ContainerId::parse(id))
        .collect();
    record.containers.sort();
    record.input = item.get_optional_json("in")?;
    record.output = item.get_optional_json("out")?;
    Ok(record)
}

/// Returns the item of the counts of an hour. `token` identifies this write among all others.
pub(super) fn write_tally(
    tenant: &Tenant,
    hour: Hour,
    token: &str,
    tally: &RequestTally,
) -> PortResult<Item> {
    let mut item = key_item(&(hours::hours_partition(tenant), hours::counts_sort(hour)));
    let text = serde_json::to_vec(tally).map_err(|error| PortError::Internal(error.into()))?;
    let compressed =
        zstd::bulk::compress(&text, 3).map_err(|error| PortError::Internal(error.into()))?;
    item.insert("v".into(), number_value(1));
    item.insert("tally".into(), bytes_value(compressed));
    item.insert("token".into(), string_value(token));
    item.insert(
        "ttl".into(),
        number_value(hours::expiry_seconds(hour.end_time())),
    );

    Ok(item)
}

/// Reads the counts of an hour from their item.
pub(super) fn read_tally(item: &Item) -> PortResult<RequestTally> {
    let corrupt = || PortError::Corrupt("counts of an hour".into());
    let compressed = item
        .get("tally")
        .and_then(|value| value.as_b().ok())
        .ok_or_else(corrupt)?;
    let text = zstd::bulk::decompress(compressed.as_ref(), MAX_TALLY).map_err(|_| corrupt())?;
    serde_json::from_slice(&text).map_err(|_| corrupt())
}
