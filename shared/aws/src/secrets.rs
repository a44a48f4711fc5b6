//! API keys on DynamoDB: one item by key id for authentication, one in the organization's partition for listing. Both
//! are written in one transaction.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use domain::key::{ApiKey, Permission};
use domain::ports::{Keys, PortResult};
use domain::{ContainerTag, KeyId, OrgId, PortError, Tenant, Timestamp};

use crate::error::{build_error, port_error};
use crate::item::{Item, Read, Table, b, json, key_item, n, s};
use crate::keys;

pub(crate) struct DynamoKeys(pub(crate) Table);

#[async_trait]
impl Keys for DynamoKeys {
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>> {
        self.0.get(&keys::api_key(id)).await?.as_ref().map(read).transpose()
    }

    async fn create(&self, key: &ApiKey) -> PortResult<()> {
        let tenant = Tenant::of_operator(key.org.clone());
        let pointer = key_item(&keys::api_key_of(&tenant, &key.id));
        let mut transaction = self.0.client.transact_write_items();
        for item in [write(key), pointer] {
            let put =
                Put::builder().table_name(&self.0.name).set_item(Some(item)).build().map_err(build_error)?;
            transaction = transaction.transact_items(TransactWriteItem::builder().put(put).build());
        }
        transaction.send().await.map(|_| ()).map_err(port_error)
    }

    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<ApiKey>> {
        let end = format!("{}~", keys::KEY_PREFIX);
        let pointers = self.0.range(&keys::organization(tenant), keys::KEY_PREFIX, &end).await?;
        let ids = pointers.iter().filter_map(|item| item.optional_text("sk")?.strip_prefix(keys::KEY_PREFIX));
        let wanted: Vec<_> = ids.filter_map(KeyId::parse).map(|id| keys::api_key(&id)).collect();
        let items = self.0.get_many(&wanted).await?;
        let mut found = items.iter().flatten().map(read).collect::<PortResult<Vec<_>>>()?;
        found.sort_by(|a, b| a.created_at.cmp(&b.created_at).then_with(|| a.id.cmp(&b.id)));
        Ok(found)
    }

    async fn set_enabled(&self, tenant: &Tenant, id: &KeyId, enabled: bool) -> PortResult<bool> {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&keys::api_key(id))));
        let update = update.update_expression("SET enabled = :enabled").condition_expression("org = :org");
        let value = aws_sdk_dynamodb::types::AttributeValue::Bool(enabled);
        let update = update.expression_attribute_values(":enabled", value);
        match update.expression_attribute_values(":org", s(tenant.org().as_str())).send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(error) if error.is_conditional_check_failed_exception() => Ok(false),
                _ => Err(port_error(error)),
            },
        }
    }
}

fn write(key: &ApiKey) -> Item {
    let mut item = key_item(&keys::api_key(&key.id));
    let mut set = |name: &str, value| item.insert(name.to_owned(), value);
    set("v", n(1));
    set("id", s(key.id.as_str()));
    set("org", s(key.org.as_str()));
    set("name", s(&key.name));
    set("hash", b(key.hash.to_vec()));
    set("write", aws_sdk_dynamodb::types::AttributeValue::Bool(key.permission == Permission::Write));
    set("enabled", aws_sdk_dynamodb::types::AttributeValue::Bool(key.enabled));
    set("cr", n(key.created_at.as_millis()));
    if let Some(tags) = &key.tags {
        set("tags", json(tags));
    }
    if let Some(end) = key.expires_at {
        set("exp", n(end.as_millis()));
    }
    item
}

fn read(item: &Item) -> PortResult<ApiKey> {
    let corrupt = || PortError::Corrupt("API key".into());
    let flag =
        |name: &str| item.get(name).and_then(|value| value.as_bool().ok()).copied().ok_or_else(corrupt);
    let hash = item.get("hash").and_then(|value| value.as_b().ok()).ok_or_else(corrupt)?;
    let tags: Option<Vec<String>> = item.optional_parsed("tags")?;
    let tags =
        tags.map(|tags| tags.iter().map(|tag| ContainerTag::parse(tag)).collect::<Result<Vec<_>, _>>());
    let exp = if item.contains_key("exp") { Some(Timestamp::from_millis(item.number("exp")?)) } else { None };
    Ok(ApiKey {
        id: KeyId::parse(item.text("id")?).ok_or_else(corrupt)?,
        org: OrgId::parse(item.text("org")?).map_err(|_| corrupt())?,
        name: item.text("name")?.to_owned(),
        hash: hash.as_ref().try_into().map_err(|_| corrupt())?,
        permission: if flag("write")? { Permission::Write } else { Permission::Read },
        tags: tags.transpose().map_err(|_| corrupt())?,
        enabled: flag("enabled")?,
        created_at: Timestamp::from_millis(item.number("cr")?),
        expires_at: exp,
    })
}
