//! API keys on DynamoDB.
//!
//! A key has two items: one by key id for authentication, and one in the partition of the
//! organization for listing. Both are written, and deleted, in one transaction. Sessions have only
//! the first. DynamoDB deletes what has expired: sessions at once, other keys 30 days later.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};
use domain::key::{ApiKey, KeyKind};
use domain::ports::{Keys, PortResult};
use domain::{KeyId, Tenant};

use crate::error::{build_error, port_error};
use crate::records::secrets::{
    ApiKeyAttributes, ApiKeyRecord, api_key_item, api_key_pointer_item, read_api_key,
};
use crate::records::{key_item, optional_text, read_sort_key, string_value};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::transaction_error;

pub(crate) struct DynamoKeys(pub(crate) Table);

#[async_trait]
impl Keys for DynamoKeys {
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>> {
        let item = self.0.get(&table_keys::api_key(id)).await?;
        item.map(read_api_key).transpose()
    }

    async fn create(&self, key: &ApiKey) -> PortResult<()> {
        let tenant = Tenant::for_operator(key.org.clone());
        let mut items = vec![api_key_item(key)?];
        if key.kind != KeyKind::Session {
            items.push(api_key_pointer_item(&tenant, key)?);
        }

        let mut transaction = self.0.client.transact_write_items();
        for item in items {
            let put = Put::builder()
                .table_name(&self.0.name)
                .set_item(Some(item))
                .build()
                .map_err(build_error)?;
            transaction = transaction.transact_items(TransactWriteItem::builder().put(put).build());
        }

        transaction
            .send()
            .await
            .map(|_| ())
            .map_err(transaction_error)
    }

    async fn count(&self, tenant: &Tenant) -> PortResult<usize> {
        self.0
            .count_range(
                &table_keys::organization_partition(tenant),
                table_keys::KEY_PREFIX,
                &pointers_end(),
            )
            .await
    }

    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<ApiKey>> {
        let pointers = self
            .0
            .get_range(
                &table_keys::organization_partition(tenant),
                table_keys::KEY_PREFIX,
                &pointers_end(),
            )
            .await?;
        let mut record_keys = Vec::new();
        for pointer in &pointers {
            let id = read_sort_key(pointer)?.strip_prefix(table_keys::KEY_PREFIX);
            record_keys.extend(id.and_then(KeyId::parse).map(|id| table_keys::api_key(&id)));
        }

        let items = self.0.get_many(&record_keys).await?;
        let keys = items.into_iter().flatten().map(read_api_key);
        let mut found = keys.collect::<PortResult<Vec<_>>>()?;
        found.sort_by(|a, b| {
            a.created_at
                .cmp(&b.created_at)
                .then_with(|| a.id.cmp(&b.id))
        });

        Ok(found)
    }

    async fn delete(&self, tenant: &Tenant, id: &KeyId) -> PortResult<bool> {
        let key = table_keys::api_key(id);
        let Some(item) = self.0.get(&key).await? else {
            return Ok(false);
        };
        let organization = optional_text(&item, ApiKeyRecord::ATTRIBUTES.organization);
        if organization != Some(tenant.org().as_str()) {
            return Ok(false);
        }

        // A key never changes its organization, and its id is never used again. Deleting it once
        // more after a lost answer is therefore harmless.
        let mut transaction = self.0.client.transact_write_items();
        for key in [key, table_keys::api_key_pointer_key(tenant, id)] {
            let delete = Delete::builder()
                .table_name(&self.0.name)
                .set_key(Some(key_item(&key)));
            let delete = delete.build().map_err(build_error)?;
            transaction =
                transaction.transact_items(TransactWriteItem::builder().delete(delete).build());
        }

        transaction
            .send()
            .await
            .map(|_| true)
            .map_err(transaction_error)
    }

    async fn set_enabled(&self, tenant: &Tenant, id: &KeyId, enabled: bool) -> PortResult<bool> {
        let ApiKeyAttributes {
            enabled: enabled_attribute,
            organization,
            ..
        } = ApiKeyRecord::ATTRIBUTES;

        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&table_keys::api_key(id))));
        let update = update
            .update_expression(format!("SET {enabled_attribute} = :enabled"))
            .condition_expression(format!("{organization} = :organization"));

        let value = AttributeValue::Bool(enabled);
        let update = update.expression_attribute_values(":enabled", value);
        match update
            .expression_attribute_values(":organization", string_value(tenant.org().as_str()))
            .send()
            .await
        {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(error) if error.is_conditional_check_failed_exception() => Ok(false),
                _ => Err(port_error(error)),
            },
        }
    }
}

/// Returns the upper bound of the sort keys of pointers.
fn pointers_end() -> String {
    format!("{}~", table_keys::KEY_PREFIX)
}
