//! Due erasures: heads of containers whose index still has removed content, in the sparse index
//! `due`.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use domain::ports::PortResult;
use domain::{ContainerId, OrgId, Tenant, Timestamp};
use tracing::error;

use super::DynamoIndex;
use crate::error::port_error;
use crate::item::{ReadItem, key_item, number_value, string_value};
use crate::keys;
use crate::layout::DUE_INDEX;

impl DynamoIndex {
    pub(super) async fn list_due_erasures(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ContainerId)>> {
        let mut found = Vec::new();
        for shard in 0..keys::DUE_SHARDS {
            let query = self
                .0
                .client
                .query()
                .table_name(&self.0.name)
                .index_name(DUE_INDEX.name);
            let query = query.key_condition_expression("qs = :qs AND qd < :before");
            let query = query.expression_attribute_values(
                ":qs",
                string_value(keys::due_erasures_partition(shard)),
            );
            let query = query
                .expression_attribute_values(":before", string_value(keys::due_sort_key(before)));
            let query = query.limit(i32::try_from(limit).unwrap_or(i32::MAX).max(1));
            for item in query
                .send()
                .await
                .map_err(port_error)?
                .items
                .unwrap_or_default()
            {
                match keys::parse_head(item.get_text("pk")?, item.get_text("sk")?) {
                    Some(head) => found.push(head),
                    // One record that cannot be read must not stop all others.
                    None => error!("the index of due erasures has a key that is none of ours"),
                }
            }
        }

        found.truncate(limit);
        Ok(found)
    }

    fn update_head(&self, tenant: &Tenant, container: &ContainerId) -> UpdateItemFluentBuilder {
        let update = self.0.client.update_item().table_name(&self.0.name);
        update.set_key(Some(key_item(&keys::head_key(tenant, container))))
    }

    pub(super) async fn postpone_due_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        due_at: Timestamp,
    ) -> PortResult<()> {
        let update = self
            .update_head(tenant, container)
            .update_expression("SET qd = :qd");
        let update = update.condition_expression("attribute_exists(rms)");
        send_optional_update(
            update.expression_attribute_values(":qd", string_value(keys::due_sort_key(due_at))),
        )
        .await
    }

    pub(super) async fn end_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()> {
        let update = self
            .update_head(tenant, container)
            .update_expression("REMOVE rms, qs, qd");
        let update = update.condition_expression("rms <= :through");
        send_optional_update(update.expression_attribute_values(":through", number_value(through)))
            .await
    }
}

/// Sends an update. An update whose condition does not hold counts as success.
async fn send_optional_update(update: UpdateItemFluentBuilder) -> PortResult<()> {
    match update.send().await {
        Ok(_) => Ok(()),
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(()),
            _ => Err(port_error(error)),
        },
    }
}
