//! API keys on DynamoDB.
//!
//! A key has two items: one by key id for authentication, and one in the partition of the
//! organization for listing. Both are written, and deleted, in one transaction. Sessions have only
//! the first. DynamoDB deletes what has expired: sessions at once, other keys 30 days later.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put};
use domain::key::{ApiKey, KeyKind};
use domain::ports::{Keys, PortResult};
use domain::{KeyId, Tenant};

use crate::error::condition_held;
use crate::records::secrets::{
    ApiKeyAttributes, ApiKeyRecord, api_key_item, api_key_pointer_item, read_api_key,
};
use crate::records::{key_item, optional_text, read_each, read_sort_key, string_value};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::{delete_write, put_write, transaction_error};

pub(crate) struct DynamoKeys(pub(crate) Table);

#[async_trait]
impl Keys for DynamoKeys {
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>> {
        self.0
            .get_record(&table_keys::api_key_record_key(id), read_api_key)
            .await
    }

    async fn create(&self, key: &ApiKey) -> PortResult<()> {
        let tenant = Tenant::for_operator(key.org.clone());
        let mut items = vec![api_key_item(key)?];
        if key.kind != KeyKind::Session {
            items.push(api_key_pointer_item(&tenant, key)?);
        }

        // No condition is needed: the id is random.
        let mut transaction = self.0.client.transact_write_items();
        for item in items {
            let put = Put::builder().table_name(&self.0.name).set_item(Some(item));
            transaction = transaction.transact_items(put_write(put)?);
        }

        transaction.send().await.map_err(transaction_error)?;
        Ok(())
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
            if let Some(id) = read_sort_key(pointer)?.strip_prefix(table_keys::KEY_PREFIX)
                && let Some(id) = KeyId::parse(id)
            {
                record_keys.push(table_keys::api_key_record_key(&id));
            }
        }

        let keys = read_each(self.0.get_many(&record_keys).await?, read_api_key)?;
        let mut found: Vec<ApiKey> = keys.into_iter().flatten().collect();
        found.sort_by(|a, b| {
            a.created_at
                .cmp(&b.created_at)
                .then_with(|| a.id.cmp(&b.id))
        });

        Ok(found)
    }

    async fn delete(&self, tenant: &Tenant, id: &KeyId) -> PortResult<bool> {
        let key = table_keys::api_key_record_key(id);
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
            transaction = transaction.transact_items(delete_write(delete)?);
        }

        transaction.send().await.map_err(transaction_error)?;
        Ok(true)
    }

    async fn set_enabled(&self, tenant: &Tenant, id: &KeyId, enabled: bool) -> PortResult<bool> {
        let ApiKeyAttributes {
            enabled: enabled_attribute,
            organization,
            ..
        } = ApiKeyRecord::ATTRIBUTES;

        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&table_keys::api_key_record_key(id))));
        let update = update
            .update_expression(format!("SET {enabled_attribute} = :enabled"))
            .condition_expression(format!("{organization} = :organization"));

        let value = AttributeValue::Bool(enabled);
        let update = update
            .expression_attribute_values(":enabled", value)
            .expression_attribute_values(":organization", string_value(tenant.org().as_str()));
        condition_held(update.send().await)
    }
}

/// Returns the upper bound of the sort keys of pointers.
fn pointers_end() -> String {
    format!("{}~", table_keys::KEY_PREFIX)
}
