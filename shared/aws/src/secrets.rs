//! API keys on DynamoDB.
//!
//! A key has two items: one by key id for authentication, and one in the partition of the
//! organization for listing. Both are written, and deleted, in one transaction. Sessions have only
//! the first. DynamoDB deletes what has expired: sessions at once, other keys 30 days later.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};
use domain::key::{ApiKey, KeyKind, Permission};
use domain::ports::{Keys, PortResult};
use domain::{ContainerTag, KeyId, OrgId, PortError, Tenant, Timestamp};

use crate::error::{build_error, port_error};
use crate::item::{
    Item, ReadItem, Table, bytes_value, json_value, key_item, number_value, string_value,
};
use crate::keys;
use crate::transaction::transaction_error;

/// The time for which an expired key stays listed, in seconds.
const EXPIRED_LISTED_SECONDS: i64 = 30 * 24 * 60 * 60;

pub(crate) struct DynamoKeys(pub(crate) Table);

#[async_trait]
impl Keys for DynamoKeys {
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>> {
        self.0
            .get(&keys::api_key(id))
            .await?
            .as_ref()
            .map(key_from_item)
            .transpose()
    }

    async fn create(&self, key: &ApiKey) -> PortResult<()> {
        let tenant = Tenant::for_operator(key.org.clone());
        let pointer = (key.kind != KeyKind::Session).then(|| pointer_item(&tenant, key));
        let mut transaction = self.0.client.transact_write_items();
        for item in [Some(key_to_item(key)), pointer].into_iter().flatten() {
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
                &keys::organization_partition(tenant),
                keys::KEY_PREFIX,
                &pointers_end(),
            )
            .await
    }

    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<ApiKey>> {
        let pointers = self
            .0
            .get_range(
                &keys::organization_partition(tenant),
                keys::KEY_PREFIX,
                &pointers_end(),
            )
            .await?;
        let ids = pointers
            .iter()
            .filter_map(|item| item.get_optional_text("sk")?.strip_prefix(keys::KEY_PREFIX));
        let record_keys: Vec<_> = ids
            .filter_map(KeyId::parse)
            .map(|id| keys::api_key(&id))
            .collect();
        let items = self.0.get_many(&record_keys).await?;
        let mut found = items
            .iter()
            .flatten()
            .map(key_from_item)
            .collect::<PortResult<Vec<_>>>()?;
        found.sort_by(|a, b| {
            a.created_at
                .cmp(&b.created_at)
                .then_with(|| a.id.cmp(&b.id))
        });

        Ok(found)
    }

    async fn delete(&self, tenant: &Tenant, id: &KeyId) -> PortResult<bool> {
        let key = keys::api_key(id);
        let record = self.0.get(&key).await?;
        if record
            .is_none_or(|record| record.get_optional_text("org") != Some(tenant.org().as_str()))
        {
            return Ok(false);
        }

        // A key never changes its organization, and its id is never used again. Deleting it once
        // more after a lost answer is therefore harmless.
        let mut transaction = self.0.client.transact_write_items();
        for key in [key, keys::api_key_pointer_key(tenant, id)] {
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
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&keys::api_key(id))));
        let update = update
            .update_expression("SET enabled = :enabled")
            .condition_expression("org = :org");

        let value = AttributeValue::Bool(enabled);
        let update = update.expression_attribute_values(":enabled", value);
        match update
            .expression_attribute_values(":org", string_value(tenant.org().as_str()))
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
    format!("{}~", keys::KEY_PREFIX)
}

/// Returns the item by which a key is listed.
fn pointer_item(tenant: &Tenant, key: &ApiKey) -> Item {
    let mut item = key_item(&keys::api_key_pointer_key(tenant, &key.id));
    item.extend(removal_seconds(key).map(|time| ("ttl".to_owned(), number_value(time))));
    item
}

/// Returns the time from which DynamoDB may remove the items of a key, in seconds since 1970.
fn removal_seconds(key: &ApiKey) -> Option<i64> {
    let retained_seconds = if key.kind == KeyKind::Session {
        0
    } else {
        EXPIRED_LISTED_SECONDS
    };
    key.expires_at
        .map(|end| end.as_millis() / 1000 + retained_seconds)
}

fn key_to_item(key: &ApiKey) -> Item {
    let mut item = key_item(&keys::api_key(&key.id));
    let mut set = |name: &str, value| item.insert(name.to_owned(), value);
    set("v", number_value(1));
    set("id", string_value(key.id.as_str()));
    set("org", string_value(key.org.as_str()));
    set("name", string_value(&key.name));
    set("kind", json_value(&key.kind));
    set("hash", bytes_value(key.secret_hash.to_vec()));
    set(
        "write",
        AttributeValue::Bool(key.permission == Permission::Write),
    );
    set("enabled", AttributeValue::Bool(key.enabled));
    set("cr", number_value(key.created_at.as_millis()));

    if let Some(tags) = &key.tags {
        set("tags", json_value(tags));
    }
    if let Some(rate) = &key.rate_limit {
        set("rate", json_value(rate));
    }
    if let Some(end) = key.expires_at {
        set("exp", number_value(end.as_millis()));
    }
    if let Some(time) = removal_seconds(key) {
        set("ttl", number_value(time));
    }

    item
}

fn key_from_item(item: &Item) -> PortResult<ApiKey> {
    let corrupt = || PortError::Corrupt("API key".into());
    let flag = |name: &str| {
        item.get(name)
            .and_then(|value| value.as_bool().ok())
            .copied()
            .ok_or_else(corrupt)
    };

    let hash = item
        .get("hash")
        .and_then(|value| value.as_b().ok())
        .ok_or_else(corrupt)?;
    let tags: Option<Vec<String>> = item.get_optional_json("tags")?;
    let tags = tags.map(|tags| {
        tags.iter()
            .map(|tag| ContainerTag::parse(tag))
            .collect::<Result<Vec<_>, _>>()
    });

    // Older keys have no kind. Those that reached all containers could administer as well.
    let legacy_kind = if tags.is_some() {
        KeyKind::Agent
    } else {
        KeyKind::Full
    };

    let expires_at = if item.contains_key("exp") {
        Some(Timestamp::from_millis(item.get_number("exp")?))
    } else {
        None
    };

    Ok(ApiKey {
        id: KeyId::parse(item.get_text("id")?).ok_or_else(corrupt)?,
        org: OrgId::parse(item.get_text("org")?).map_err(|_| corrupt())?,
        name: item.get_text("name")?.to_owned(),
        kind: item.get_optional_json("kind")?.unwrap_or(legacy_kind),
        secret_hash: hash.as_ref().try_into().map_err(|_| corrupt())?,
        permission: if flag("write")? {
            Permission::Write
        } else {
            Permission::Read
        },
        tags: tags.transpose().map_err(|_| corrupt())?,
        enabled: flag("enabled")?,
        created_at: Timestamp::from_millis(item.get_number("cr")?),
        expires_at,
        rate_limit: item.get_optional_json("rate")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a key as it was stored before there were kinds and rates.
    fn old(tags: Option<&str>) -> Item {
        let mut item = key_item(&("K#Rk3v9PqLm2".to_owned(), "A".to_owned()));
        let values = [
            ("v", number_value(1)),
            ("id", string_value("Rk3v9PqLm2")),
            ("org", string_value("acme")),
            ("name", string_value("laptop")),
            ("hash", bytes_value([7; 32])),
            ("write", AttributeValue::Bool(true)),
            ("enabled", AttributeValue::Bool(true)),
            ("cr", number_value(1_744_709_400_000_i64)),
        ];
        item.extend(values.map(|(name, value)| (name.to_owned(), value)));
        item.extend(tags.map(|tags| ("tags".to_owned(), string_value(tags))));
        item
    }

    #[test]
    fn keys_of_before_there_were_kinds_reach_as_far_as_before() {
        let full = key_from_item(&old(None)).unwrap();
        let expected = ApiKey {
            id: KeyId::parse("Rk3v9PqLm2").unwrap(),
            org: OrgId::parse("acme").unwrap(),
            name: "laptop".into(),
            kind: KeyKind::Full,
            secret_hash: [7; 32],
            permission: Permission::Write,
            tags: None,
            enabled: true,
            created_at: Timestamp::from_millis(1_744_709_400_000),
            expires_at: None,
            rate_limit: None,
        };
        assert_eq!(full, expected);

        let confined = key_from_item(&old(Some(r#"["home","work"]"#))).unwrap();
        assert_eq!(
            (confined.kind, confined.tags.map(|tags| tags.len())),
            (KeyKind::Agent, Some(2))
        );

        let mut broken = old(None);
        broken.insert("kind".into(), string_value(r#""root""#));
        assert!(
            matches!(key_from_item(&broken), Err(PortError::Corrupt(_))),
            "never more than it was made for"
        );
    }
}
