//! Settings on DynamoDB: one item an organization, in its partition.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::ports::{PortResult, SettingsStore};
use domain::{PortError, Settings, Tenant};

use crate::error::port_error;
use crate::item::{ReadItem, Table, json_value, key_item, number_value};
use crate::keys;

pub(crate) struct DynamoSettings(pub(crate) Table);

#[async_trait]
impl SettingsStore for DynamoSettings {
    async fn get(&self, tenant: &Tenant) -> PortResult<Settings> {
        let Some(item) = self.0.get(&keys::settings_key(tenant)).await? else {
            return Ok(Settings::default());
        };
        let settings: Settings = item.get_json("set")?;
        Ok(Settings {
            version: item.get_number("ver")?,
            ..settings
        })
    }

    async fn put(&self, tenant: &Tenant, settings: &Settings) -> PortResult<()> {
        let mut item = key_item(&keys::settings_key(tenant));
        item.insert("v".into(), number_value(1));
        item.insert("ver".into(), number_value(settings.version));
        item.insert("set".into(), json_value(settings));

        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item.clone()));
        let put = match settings.version {
            0 | 1 => put.condition_expression("attribute_not_exists(pk)"),
            next => put
                .condition_expression("ver = :old")
                .expression_attribute_values(":old", number_value(next - 1)),
        };

        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(());
        };

        match error.as_service_error() {
            // Our own first attempt, whose answer was lost.
            Some(PutItemError::ConditionalCheckFailedException(old))
                if old.item() == Some(&item) =>
            {
                Ok(())
            }
            Some(PutItemError::ConditionalCheckFailedException(_)) => Err(PortError::Conflict),
            _ => Err(port_error(error)),
        }
    }
}
