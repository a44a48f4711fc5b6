//! The records of the table of secrets: API keys, tickets and sealed secrets.

use bytes::Bytes;
use domain::key::{ApiKey, KeyKind, Permission};
use domain::ports::PortResult;
use domain::{ContainerTag, KeyId, OrgId, PortError, RateLimit, Tenant, Timestamp};

use super::{ExpiryRecord, Item, Json, Millis, add_record, key_item, read_record, record_item};
use crate::table_keys;

/// The time for which an expired key stays listed, in seconds.
const EXPIRED_LISTED_SECONDS: i64 = 30 * 24 * 60 * 60;

record! {
    /// An API key. A key that expires also has [`ExpiryRecord`].
    struct ApiKeyRecord, ApiKeyAttributes {
        #[serde(rename = "id")]
        id: String,
        #[serde(rename = "org")]
        organization: String,
        #[serde(rename = "name")]
        name: String,
        /// Older keys have none.
        #[serde(rename = "kind")]
        kind: Option<Json<KeyKind>>,
        #[serde(rename = "hash")]
        secret_hash: Bytes,
        #[serde(rename = "write")]
        may_write: bool,
        #[serde(rename = "enabled")]
        enabled: bool,
        #[serde(rename = "cr")]
        created_at: Millis,
        #[serde(rename = "tags")]
        tags: Option<Json<Vec<ContainerTag>>>,
        #[serde(rename = "rate")]
        rate_limit: Option<Json<RateLimit>>,
        #[serde(rename = "exp")]
        expires_at: Option<Millis>,
        #[serde(rename = "as")]
        acts_as: Option<String>,
    }
}

record! {
    /// A ticket of a browser. It also has [`ExpiryRecord`].
    struct TicketRecord, TicketAttributes {
        #[serde(rename = "for")]
        value: String,
        #[serde(rename = "until")]
        valid_until: Millis,
    }
}

record! {
    /// A secret of an organization, sealed by KMS.
    struct SealedSecretRecord, SealedSecretAttributes {
        #[serde(rename = "sealed")]
        ciphertext: Bytes,
    }
}

/// Returns the item of an API key.
pub(crate) fn api_key_item(key: &ApiKey) -> PortResult<Item> {
    let record = ApiKeyRecord {
        id: key.id.as_str().to_owned(),
        organization: key.org.as_str().to_owned(),
        name: key.name.clone(),
        kind: Some(Json::encode(&key.kind)?),
        secret_hash: Bytes::copy_from_slice(&key.secret_hash),
        may_write: key.permission == Permission::Write,
        enabled: key.enabled,
        created_at: key.created_at.into(),
        tags: Json::encode_option(key.tags.as_ref())?,
        rate_limit: Json::encode_option(key.rate_limit.as_ref())?,
        expires_at: key.expires_at.map(Millis::from),
        acts_as: key.acts_as.as_ref().map(|id| id.as_str().to_owned()),
    };

    let mut item = record_item(&table_keys::api_key_record_key(&key.id), &record)?;
    add_removal_time(&mut item, key)?;
    Ok(item)
}

/// Returns the item by which an API key is listed. All of it is in the key, except for the time
/// from which DynamoDB may delete it.
pub(crate) fn api_key_pointer_item(tenant: &Tenant, key: &ApiKey) -> PortResult<Item> {
    let mut item = key_item(&table_keys::api_key_pointer_key(tenant, &key.id));
    add_removal_time(&mut item, key)?;
    Ok(item)
}

/// Adds the time from which DynamoDB may delete an item of a key, if the key expires.
fn add_removal_time(item: &mut Item, key: &ApiKey) -> PortResult<()> {
    let Some(expires_at) = key.expires_at else {
        return Ok(());
    };

    let listed_seconds = if key.kind == KeyKind::Session {
        0
    } else {
        EXPIRED_LISTED_SECONDS
    };
    let expires_at_seconds = expires_at.as_millis() / 1000 + listed_seconds;
    add_record(item, &ExpiryRecord { expires_at_seconds })
}

/// Reads an API key from its item.
pub(crate) fn read_api_key(item: Item) -> PortResult<ApiKey> {
    let corrupt = || PortError::Corrupt("API key".into());
    let record: ApiKeyRecord = read_record(item)?;
    let tags = Json::decode_option(record.tags)?;

    // Older keys have no kind. Those that reached all containers could administer as well.
    let legacy_kind = if tags.is_some() {
        KeyKind::Agent
    } else {
        KeyKind::Full
    };

    let Some(id) = KeyId::parse(&record.id) else {
        return Err(corrupt());
    };
    let Ok(org) = OrgId::parse(&record.organization) else {
        return Err(corrupt());
    };
    let kind = Json::decode_option(record.kind)?.unwrap_or(legacy_kind);
    let Ok(secret_hash) = record.secret_hash.as_ref().try_into() else {
        return Err(corrupt());
    };

    // An id that cannot be read must not turn a session into a key of its own.
    let acts_as = match record.acts_as {
        Some(id) => Some(KeyId::parse(&id).ok_or_else(corrupt)?),
        None => None,
    };

    Ok(ApiKey {
        id,
        org,
        name: record.name,
        kind,
        secret_hash,
        permission: if record.may_write {
            Permission::Write
        } else {
            Permission::Read
        },
        tags,
        enabled: record.enabled,
        created_at: record.created_at.into(),
        expires_at: record.expires_at.map(Timestamp::from),
        rate_limit: Json::decode_option(record.rate_limit)?,
        acts_as,
    })
}

/// Returns the item of a ticket.
pub(crate) fn ticket_item(
    kind: &str,
    digest: &str,
    value: &str,
    valid_until: Timestamp,
) -> PortResult<Item> {
    let record = TicketRecord {
        value: value.to_owned(),
        valid_until: valid_until.into(),
    };
    let expiry = ExpiryRecord {
        expires_at_seconds: valid_until.as_millis().div_euclid(1000) + 1,
    };

    let mut item = record_item(&table_keys::ticket_key(kind, digest), &record)?;
    add_record(&mut item, &expiry)?;
    Ok(item)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use aws_smithy_types::Blob;

    use super::*;
    use crate::records::{number_value, string_value};

    /// Returns a key as it was stored before there were kinds and rates.
    fn old(tags: Option<&str>) -> Item {
        let mut item = key_item(&("K#Rk3v9PqLm2".to_owned(), "A".to_owned()));
        let values = [
            ("v", number_value(1)),
            ("id", string_value("Rk3v9PqLm2")),
            ("org", string_value("acme")),
            ("name", string_value("laptop")),
            ("hash", AttributeValue::B(Blob::new([7; 32]))),
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
        let full = read_api_key(old(None)).unwrap();
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
            acts_as: None,
        };
        assert_eq!(full, expected);

        let confined = read_api_key(old(Some(r#"["home","work"]"#))).unwrap();
        assert_eq!(
            (confined.kind, confined.tags.map(|tags| tags.len())),
            (KeyKind::Agent, Some(2))
        );

        let mut broken = old(None);
        broken.insert("kind".into(), string_value(r#""root""#));
        assert!(
            matches!(read_api_key(broken), Err(PortError::Corrupt(_))),
            "never more than it was made for"
        );
    }
}
