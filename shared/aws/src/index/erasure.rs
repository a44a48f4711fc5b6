//! Due erasures: heads of containers whose index still has removed content, in the sparse index
//! `due`.

use domain::ports::PortResult;
use domain::{ContainerId, OrgId, Tenant, Timestamp};
use tracing::error;

use super::DynamoIndex;
use crate::error::port_error;
use crate::records::index::HeadRecord;
use crate::records::{
    DueAttributes, DueRecord, number_value, read_partition_key, read_sort_key, string_value,
};
use crate::table::page_size;
use crate::table_keys;
use crate::transaction::send_update;

impl DynamoIndex {
    pub(super) async fn list_due_erasures(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ContainerId)>> {
        let mut found = Vec::new();
        for shard in 0..table_keys::DUE_SHARDS {
            let shard = table_keys::due_erasures_partition(shard);
            let query = self.0.query_due(&shard, before).limit(page_size(limit));
            let page = query.send().await.map_err(port_error)?;
            for item in page.items.unwrap_or_default() {
                let (pk, sk) = (read_partition_key(&item)?, read_sort_key(&item)?);
                match table_keys::parse_head(pk, sk) {
                    Some(head) => found.push(head),
                    // One record that cannot be read must not stop all others.
                    None => error!("the index of due erasures has a key that is none of ours"),
                }
            }
        }

        found.truncate(limit);
        Ok(found)
    }

    pub(super) async fn postpone_due_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        due_at: Timestamp,
    ) -> PortResult<()> {
        let last_removal = HeadRecord::ATTRIBUTES.last_removal;
        let due_attribute = DueRecord::ATTRIBUTES.due_at;
        let update = self
            .update_head(tenant, container)
            .update_expression(format!("SET {due_attribute} = :due_at"))
            .condition_expression(format!("attribute_exists({last_removal})"))
            .expression_attribute_values(":due_at", string_value(table_keys::due_sort_key(due_at)));
        send_update(update).await.map(drop)
    }

    pub(super) async fn end_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()> {
        let last_removal = HeadRecord::ATTRIBUTES.last_removal;
        let DueAttributes { shard, due_at } = DueRecord::ATTRIBUTES;
        let update = self
            .update_head(tenant, container)
            .update_expression(format!("REMOVE {last_removal}, {shard}, {due_at}"))
            .condition_expression(format!("{last_removal} <= :through"))
            .expression_attribute_values(":through", number_value(through));
        send_update(update).await.map(drop)
    }
}
