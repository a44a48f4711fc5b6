//! Repeated requests on DynamoDB, in the table of items that expire. Readers compare the time
//! themselves, because DynamoDB deletes expired items only within days.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use domain::ports::{IdempotencyStore, PortResult, RememberedRequest};
use domain::{DocumentId, PortError, Tenant, Timestamp};

use crate::error::port_error;
use crate::records::limits::{
    RecentRequestAttributes, RecentRequestRecord, read_recent_request, recent_request_item,
};
use crate::records::{item_absent, item_present, key_item, number_value, string_value};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::update_write;

pub(crate) struct DynamoIdempotencyStore(pub(crate) Table);

/// Returns the update that records that the request under `key` has made `document`. It fails if
/// that is already recorded.
pub(crate) fn record_made_document(
    activity: &Table,
    tenant: &Tenant,
    key: &str,
    document: &DocumentId,
) -> PortResult<TransactWriteItem> {
    let created = RecentRequestRecord::ATTRIBUTES.created_document;
    let update = Update::builder().table_name(&activity.name);
    let update = update.set_key(Some(key_item(&table_keys::repeat_key(tenant, key))));
    let update = update
        .update_expression(format!("SET {created} = :id"))
        .condition_expression(format!(
            "{} AND (attribute_not_exists({created}) OR {created} <> :id)",
            item_present()
        ))
        .expression_attribute_values(":id", string_value(document.as_str()));

    update_write(update)
}

#[async_trait]
impl IdempotencyStore for DynamoIdempotencyStore {
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        request: RememberedRequest,
        stale: Option<&DocumentId>,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<RememberedRequest> {
        let RecentRequestAttributes {
            document,
            remembered_until,
            ..
        } = RecentRequestRecord::ATTRIBUTES;

        let item = recent_request_item(tenant, key, &request, until)?;
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        let free_condition = format!("{} OR #until <= :now", item_absent());
        let put = match stale {
            None => put.condition_expression(free_condition),
            Some(stale) => put
                .condition_expression(format!("{free_condition} OR {document} = :stale"))
                .expression_attribute_values(":stale", string_value(stale.as_str())),
        };

        let put = put.expression_attribute_names("#until", remembered_until);
        let put = put.expression_attribute_values(":now", number_value(now.as_millis()));
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(request);
        };

        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(old)) => {
                let Some(stored) = old.item() else {
                    return Err(PortError::Conflict);
                };
                read_recent_request(stored.clone())
            }
            _ => Err(port_error(error)),
        }
    }
}
