//! Repeated requests on DynamoDB, in the table of items that expire. Readers compare the time
//! themselves, because DynamoDB deletes expired items only within days.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, Update};
use domain::ports::{PortResult, RecentRequests, RememberedRequest};
use domain::{DocumentId, PortError, Tenant, Timestamp};

use crate::error::{build_error, port_error};
use crate::item::{Item, ReadItem, Table, key_item, number_value, string_value};
use crate::keys;

pub(crate) struct DynamoRepeats(pub(crate) Table);

/// The attribute with the id of the document that the request made.
const CREATED_ATTRIBUTE: &str = "made";

/// Returns the update that records that the request under `key` has made `document`. It fails if
/// that is already recorded.
pub(crate) fn record_made_document(
    activity: &Table,
    tenant: &Tenant,
    key: &str,
    document: &DocumentId,
) -> PortResult<Update> {
    let update = Update::builder().table_name(&activity.name);
    let update = update.set_key(Some(key_item(&keys::repeat_key(tenant, key))));
    let update = update
        .update_expression(format!("SET {CREATED_ATTRIBUTE} = :id"))
        .condition_expression(format!(
            "attribute_exists(pk) AND (attribute_not_exists({CREATED_ATTRIBUTE}) OR {CREATED_ATTRIBUTE} <> :id)"
        ))
        .expression_attribute_values(":id", string_value(document.as_str()));

    update.build().map_err(build_error)
}

#[async_trait]
impl RecentRequests for DynamoRepeats {
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        request: RememberedRequest,
        stale: Option<&DocumentId>,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<RememberedRequest> {
        let mut item = key_item(&keys::repeat_key(tenant, key));
        item.insert("v".into(), number_value(1));
        item.insert("doc".into(), string_value(request.document.as_str()));
        item.insert("digest".into(), string_value(&request.request_digest));
        item.insert("until".into(), number_value(until.as_millis()));
        item.insert("ttl".into(), number_value(until.as_millis() / 1000 + 1));
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        let free_condition = "attribute_not_exists(pk) OR #until <= :now";
        let put = match stale {
            None => put.condition_expression(free_condition),
            Some(stale) => put
                .condition_expression(format!("{free_condition} OR doc = :stale"))
                .expression_attribute_values(":stale", string_value(stale.as_str())),
        };

        let put = put.expression_attribute_names("#until", "until");
        let put = put.expression_attribute_values(":now", number_value(now.as_millis()));
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(request);
        };

        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(old)) => {
                old.item().ok_or(PortError::Conflict).and_then(read_repeat)
            }
            _ => Err(port_error(error)),
        }
    }
}

fn read_repeat(item: &Item) -> PortResult<RememberedRequest> {
    let id =
        |text: &str| DocumentId::parse(text).ok_or_else(|| PortError::Corrupt("repeat".into()));
    let created_document = item
        .get_optional_text(CREATED_ATTRIBUTE)
        .map(id)
        .transpose()?;
    Ok(RememberedRequest {
        document: id(item.get_text("doc")?)?,
        request_digest: item.get_text("digest")?.to_owned(),
        created_document,
    })
}
