//! Purge records: blobs that nothing refers to any more. The transaction that leaves them behind
//! writes the record.

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use domain::ports::PortResult;
use domain::{BlobRef, ContainerId, Tenant, Timestamp};

use crate::records::index::purge_item;
use crate::table::Table;
use crate::transaction::put_write;

/// Returns the write of a purge record. The sweep finds it from `overdue_at` on.
pub(crate) fn purge_put(
    table: &Table,
    tenant: &Tenant,
    container: &ContainerId,
    purge: &str,
    blobs: &[BlobRef],
    overdue_at: Timestamp,
) -> PortResult<TransactWriteItem> {
    let item = purge_item(tenant, container, purge, blobs, overdue_at)?;
    put_write(Put::builder().table_name(&table.name).set_item(Some(item)))
}
