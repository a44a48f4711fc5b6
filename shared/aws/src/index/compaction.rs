//! The compaction lease: one compaction at a time works on a container.

use domain::ports::{CompactionLease, PortResult};
use domain::{ContainerId, Tenant, Timestamp};

use super::DynamoIndex;
use crate::records::index::{HeadAttributes, HeadRecord};
use crate::records::{number_value, string_value};
use crate::transaction::send_update;

impl DynamoIndex {
    pub(super) async fn take_lease(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        lease: &CompactionLease,
        now: Timestamp,
    ) -> PortResult<bool> {
        let HeadAttributes {
            last_sequence,
            lease_token,
            lease_until,
            ..
        } = HeadRecord::ATTRIBUTES;
        let update = self
            .update_head(tenant, container)
            .update_expression(format!(
                "SET {lease_token} = :token, {lease_until} = :until"
            ))
            .condition_expression(format!(
                "attribute_exists({last_sequence}) AND (attribute_not_exists({lease_until}) \
                 OR {lease_until} <= :now OR {lease_token} = :token)"
            ))
            .expression_attribute_values(":token", string_value(lease.token.as_str()))
            .expression_attribute_values(":until", number_value(lease.until.as_millis()))
            .expression_attribute_values(":now", number_value(now.as_millis()));
        send_update(update).await
    }

    pub(super) async fn end_lease(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        lease: &CompactionLease,
    ) -> PortResult<()> {
        let HeadAttributes {
            lease_token,
            lease_until,
            ..
        } = HeadRecord::ATTRIBUTES;
        let update = self
            .update_head(tenant, container)
            .update_expression(format!("REMOVE {lease_token}, {lease_until}"))
            .condition_expression(format!("{lease_token} = :token"))
            .expression_attribute_values(":token", string_value(lease.token.as_str()));
        send_update(update).await.map(drop)
    }
}
