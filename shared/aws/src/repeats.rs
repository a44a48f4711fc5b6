//! Repeated requests on DynamoDB, in the table of items that expire. Readers compare the time
//! themselves, because DynamoDB deletes expired items only within days.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, Update};
use domain::ports::{PortResult, Repeat, Repeats};
use domain::{DocumentId, PortError, Tenant, Timestamp};

use crate::error::{build_error, port_error};
use crate::item::{Item, Read, Table, key_item, n, s};
use crate::keys;

pub(crate) struct DynamoRepeats(pub(crate) Table);

/// The attribute with the id of the document that the request made.
const MADE: &str = "made";

/// Returns the update that records that the request under `key` has made `document`. It fails if
/// that is already recorded.
pub(crate) fn made_by(
    activity: &Table,
    tenant: &Tenant,
    key: &str,
    document: &DocumentId,
) -> PortResult<Update> {
    let update = Update::builder().table_name(&activity.name);
    let update = update.set_key(Some(key_item(&keys::repeat(tenant, key))));
    let update = update
        .update_expression(format!("SET {MADE} = :id"))
        .condition_expression(format!(
            "attribute_exists(pk) AND (attribute_not_exists({MADE}) OR {MADE} <> :id)"
        ))
        .expression_attribute_values(":id", s(document.as_str()));

    update.build().map_err(build_error)
}

#[async_trait]
impl Repeats for DynamoRepeats {
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        repeat: Repeat,
        stale: Option<&DocumentId>,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<Repeat> {
        let mut item = key_item(&keys::repeat(tenant, key));
        item.insert("v".into(), n(1));
        item.insert("doc".into(), s(repeat.document.as_str()));
        item.insert("digest".into(), s(&repeat.digest));
        item.insert("until".into(), n(until.as_millis()));
        item.insert("ttl".into(), n(until.as_millis() / 1000 + 1));
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        let free = "attribute_not_exists(pk) OR #until <= :now";
        let put = match stale {
            None => put.condition_expression(free),
            Some(stale) => put
                .condition_expression(format!("{free} OR doc = :stale"))
                .expression_attribute_values(":stale", s(stale.as_str())),
        };

        let put = put.expression_attribute_names("#until", "until");
        let put = put.expression_attribute_values(":now", n(now.as_millis()));
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(repeat);
        };

        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(old)) => {
                old.item().ok_or(PortError::Conflict).and_then(read)
            }
            _ => Err(port_error(error)),
        }
    }
}

fn read(item: &Item) -> PortResult<Repeat> {
    let id =
        |text: &str| DocumentId::parse(text).ok_or_else(|| PortError::Corrupt("repeat".into()));
    let made = item.optional_text(MADE).map(id).transpose()?;
    Ok(Repeat {
        document: id(item.text("doc")?)?,
        digest: item.text("digest")?.to_owned(),
        made,
    })
}
