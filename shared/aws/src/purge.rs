//! Purge records: blobs that nothing refers to any more. The transaction that leaves them behind
//! writes the record.

use aws_sdk_dynamodb::types::Put;
use domain::ports::PortResult;
use domain::{BlobRef, ContainerId, Tenant, Timestamp};

use crate::error::build_error;
use crate::item::{Table, json_value, key_item, number_value, string_value};
use crate::keys;

/// Returns the write of a purge record. The sweep finds it from `overdue_at` on.
pub(crate) fn purge_put(
    table: &Table,
    tenant: &Tenant,
    container: &ContainerId,
    purge: &str,
    blobs: &[BlobRef],
    overdue_at: Timestamp,
) -> PortResult<Put> {
    let mut item = key_item(&keys::purge_key(tenant, container, purge));
    item.insert("v".into(), number_value(1));
    item.insert("blobs".into(), json_value(&blobs));
    item.insert("qs".into(), string_value(keys::due_partition(purge)));
    item.insert("qd".into(), string_value(keys::due_sort_key(overdue_at)));

    Put::builder()
        .table_name(&table.name)
        .set_item(Some(item))
        .build()
        .map_err(build_error)
}
