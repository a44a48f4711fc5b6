//! Purge records: blobs that nothing refers to any more. The transaction that leaves them behind
//! writes the record.

use aws_sdk_dynamodb::types::Put;
use domain::ports::PortResult;
use domain::{BlobRef, ContainerId, Tenant, Timestamp};

use crate::error::build_error;
use crate::records::index::purge_item;
use crate::table::Table;

/// Returns the write of a purge record. The sweep finds it from `overdue_at` on.
pub(crate) fn purge_put(
    table: &Table,
    tenant: &Tenant,
    container: &ContainerId,
    purge: &str,
    blobs: &[BlobRef],
    overdue_at: Timestamp,
) -> PortResult<Put> {
    let item = purge_item(tenant, container, purge, blobs, overdue_at)?;
    Put::builder()
        .table_name(&table.name)
        .set_item(Some(item))
        .build()
        .map_err(build_error)
}
