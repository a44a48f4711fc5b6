//! Repeated requests on DynamoDB, in the table of what expires. Readers compare the time themselves: DynamoDB deletes
//! expired items only within days.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::ports::{PortResult, Repeat, Repeats};
use domain::{DocumentId, PortError, Tenant, Timestamp};

use crate::error::port_error;
use crate::item::{Item, Read, Table, key_item, n, s};
use crate::keys;

pub(crate) struct DynamoRepeats(pub(crate) Table);

#[async_trait]
impl Repeats for DynamoRepeats {
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        repeat: Repeat,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<Repeat> {
        let mut item = key_item(&keys::repeat(tenant, key));
        item.insert("v".into(), n(1));
        item.insert("doc".into(), s(repeat.document.as_str()));
        item.insert("digest".into(), s(&repeat.digest));
        item.insert("until".into(), n(until.as_millis()));
        item.insert("ttl".into(), n(until.as_millis() / 1000 + 1));
        let put = self.0.client.put_item().table_name(&self.0.name).set_item(Some(item));
        let put = put.condition_expression("attribute_not_exists(pk) OR #until <= :now");
        let put = put.expression_attribute_names("#until", "until");
        let put = put.expression_attribute_values(":now", n(now.as_millis()));
        let put = put.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
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
    let document = DocumentId::parse(item.text("doc")?).ok_or_else(|| PortError::Corrupt("repeat".into()))?;
    Ok(Repeat { document, digest: item.text("digest")?.to_owned() })
}
