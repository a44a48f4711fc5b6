//! How requests and counts look as items.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::activity::{Hour, RequestRecord, Tally};
use domain::ports::PortResult;
use domain::{ContainerId, PortError, Tenant};

use super::hours;
use crate::item::{Item, Read, b, json, key_item, n, s};

/// A request that came to more containers keeps no contents, so none of them has to find it when it is deleted.
const MAX_CONTAINERS: usize = 1000;
/// The most bytes of an hour's counts, decompressed: what one item of 400 KB may hold.
const MAX_TALLY: usize = 64 << 20;

/// A request's item. What was sent and answered, and the containers, are attributes of their own: they are taken out,
/// and searched for, without reading the rest.
pub(super) fn write_record(tenant: &Tenant, record: &RequestRecord) -> Item {
    let hour = Hour::of(record.at);
    let sort = format!("{:013}#{}", record.at.as_millis().max(0), record.id);
    let mut item = key_item(&(hours::records(tenant, hour), sort));
    let frame = RequestRecord {
        containers: Vec::new(),
        input: None,
        output: None,
        ..record.clone()
    };

    item.insert("v".into(), n(1));
    item.insert("rec".into(), json(&frame));
    item.insert("ttl".into(), n(hours::expiry(record.at)));
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
            item.insert(name.into(), json(value));
        }
    }

    item
}

/// A request as it was written; its containers are sorted.
pub(super) fn read_record(item: &Item) -> PortResult<RequestRecord> {
    let mut record: RequestRecord = item.parsed("rec")?;
    let ids = item.get("cs").and_then(|value| value.as_ss().ok());
    record.containers = ids
        .into_iter()
        .flatten()
        .filter_map(|id| ContainerId::parse(id))
        .collect();
    record.containers.sort();
    record.input = item.optional_parsed("in")?;
    record.output = item.optional_parsed("out")?;
    Ok(record)
}

/// The item of an hour's counts. `token` tells our own write from that of another.
pub(super) fn write_tally(
    tenant: &Tenant,
    hour: Hour,
    token: &str,
    tally: &Tally,
) -> PortResult<Item> {
    let mut item = key_item(&(hours::partition(tenant), hours::closed(hour)));
    let text = serde_json::to_vec(tally).map_err(|error| PortError::Internal(error.into()))?;
    let packed =
        zstd::bulk::compress(&text, 3).map_err(|error| PortError::Internal(error.into()))?;
    item.insert("v".into(), n(1));
    item.insert("tally".into(), b(packed));
    item.insert("token".into(), s(token));
    item.insert("ttl".into(), n(hours::expiry(hour.end())));

    Ok(item)
}

pub(super) fn read_tally(item: &Item) -> PortResult<Tally> {
    let corrupt = || PortError::Corrupt("counts of an hour".into());
    let packed = item
        .get("tally")
        .and_then(|value| value.as_b().ok())
        .ok_or_else(corrupt)?;
    let text = zstd::bulk::decompress(packed.as_ref(), MAX_TALLY).map_err(|_| corrupt())?;
    serde_json::from_slice(&text).map_err(|_| corrupt())
}
