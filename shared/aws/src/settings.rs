//! Settings on DynamoDB: one item an organization, in its partition.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::ports::{PortResult, SettingsStore};
use domain::{PortError, Settings, Tenant};

use crate::error::port_error;
use crate::records::organization::{SettingsRecord, read_settings, settings_item};
use crate::records::{item_absent, number_value};
use crate::table::Table;
use crate::table_keys;

pub(crate) struct DynamoSettings(pub(crate) Table);

#[async_trait]
impl SettingsStore for DynamoSettings {
    async fn get(&self, tenant: &Tenant) -> PortResult<Settings> {
        let key = table_keys::settings_key(tenant);
        let settings = self.0.get_record(&key, read_settings).await?;
        Ok(settings.unwrap_or_default())
    }

    async fn put(&self, tenant: &Tenant, settings: &Settings) -> PortResult<()> {
        let item = settings_item(tenant, settings)?;
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item.clone()));
        let put = match settings.version {
            0 | 1 => put.condition_expression(item_absent()),
            next => put
                .condition_expression(format!("{} = :old", SettingsRecord::ATTRIBUTES.version))
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
