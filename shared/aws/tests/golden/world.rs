//! The ports over embedded services at a fixed time, and their tables as JSON.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws::layout::{ACTIVITY_TABLE, RECORDS_TABLE, SECRETS_TABLE};
use aws::{Clients, ResourceNames, build_context, config_through, create_missing_resources};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::{Blob, base64};
use domain::Timestamp;
use domain::ports::Clock;
use embedded::{ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY};
use serde_json::{Map, Value, json};
use service::Ctx;
use tempfile::TempDir;

use crate::values::NOW;

type Item = HashMap<String, AttributeValue>;

/// The names of the tables.
pub(crate) const TABLES: [&str; 3] = [RECORDS_TABLE.name, SECRETS_TABLE.name, ACTIVITY_TABLE.name];
/// The value that stands for every random token. It is a valid token itself.
const RANDOM_TOKEN: &str = "RRRRRRRRRRRRRRRRRRRRRR";
/// The attributes that hold a random token, if they hold text.
const TOKEN_ATTRIBUTES: [&str; 4] = ["w", "token", "ver", "inc"];
/// The attribute that holds the ciphertext of a secret, which differs with each encryption.
const CIPHERTEXT_ATTRIBUTE: &str = "sealed";

struct FixedClock;

#[async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        NOW
    }

    async fn sleep(&self, _: Duration) {}
}

/// Empty tables, and the ports over them.
pub(crate) struct World {
    pub(crate) ctx: Ctx,
    clients: Clients,
    names: ResourceNames,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let now = NOW.as_millis().unsigned_abs();
        let services = EmbeddedServices::open_with_clock(folder.path(), Arc::new(move || now))
            .expect("services");
        let transport = InProcessTransport::new(services);
        let config = config_through(transport, ACCESS_KEY_ID, SECRET_ACCESS_KEY, REGION);

        let clients = Clients::new(&config);
        let names = create_missing_resources(&clients, ResourceNames::for_embedded())
            .await
            .expect("tables");

        Self {
            ctx: build_context(&clients, &names, Arc::new(FixedClock)),
            clients,
            names,
            _folder: folder,
        }
    }

    /// Returns all items of all tables in the order of their keys, with fixed values in place of
    /// random ones.
    pub(crate) async fn dump(&self) -> Value {
        let mut tables = Map::new();
        for table in TABLES {
            let scan = self.clients.dynamodb.scan().table_name(table);
            let mut items: Vec<Value> = scan
                .into_paginator()
                .items()
                .send()
                .collect::<Result<Vec<Item>, _>>()
                .await
                .expect("items")
                .into_iter()
                .map(|item| item_to_json(without_random_values(item)))
                .collect();

            items.sort_by_key(|item| item["pk"].to_string() + &item["sk"].to_string());
            if !items.is_empty() {
                tables.insert(table.to_owned(), Value::Array(items));
            }
        }

        Value::Object(tables)
    }

    /// Puts the items of a golden file into the tables.
    pub(crate) async fn load(&self, golden: &Value) {
        for table in TABLES {
            for item in golden[table].as_array().into_iter().flatten() {
                let put = self.clients.dynamodb.put_item().table_name(table);
                put.set_item(Some(item_from_json(item)))
                    .send()
                    .await
                    .expect("a stored item");
            }
        }
    }

    /// Encrypts `plaintext` as the vault does, and stores it as the ciphertext of the item.
    pub(crate) async fn seal_again(&self, pk: &str, sk: &str, name: &str, plaintext: &str) {
        let org = pk.trim_start_matches("O#");
        let sealed = self
            .clients
            .kms
            .encrypt()
            .key_id(&self.names.kms_key)
            .plaintext(Blob::new(plaintext))
            .encryption_context("org", org)
            .encryption_context("name", name)
            .send()
            .await
            .expect("a ciphertext")
            .ciphertext_blob
            .expect("a ciphertext");

        let update = self.clients.dynamodb.update_item();
        update
            .table_name(&self.names.secrets)
            .key("pk", AttributeValue::S(pk.to_owned()))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .update_expression("SET sealed = :sealed")
            .expression_attribute_values(":sealed", AttributeValue::B(sealed))
            .send()
            .await
            .expect("a sealed secret");
    }
}

fn without_random_values(mut item: Item) -> Item {
    for name in TOKEN_ATTRIBUTES {
        if let Some(AttributeValue::S(token)) = item.get_mut(name) {
            *token = RANDOM_TOKEN.to_owned();
        }
    }

    if let Some(AttributeValue::B(sealed)) = item.get_mut(CIPHERTEXT_ATTRIBUTE) {
        *sealed = Blob::new("ciphertext");
    }

    // A purge record has a name of its own, or its revision, which is fixed here.
    let is_random_purge = matches!(&item["sk"], AttributeValue::S(sk)
        if sk.starts_with("P#") && !sk.ends_with("00"));
    if is_random_purge {
        item.insert("qs".to_owned(), AttributeValue::S("Q#0".to_owned()));
        if let Some(AttributeValue::S(sk)) = item.get_mut("sk") {
            sk.truncate(sk.len() - RANDOM_TOKEN.len());
            sk.push_str(RANDOM_TOKEN);
        }
    }

    item
}

fn item_to_json(item: Item) -> Value {
    let mut attributes: Vec<_> = item.into_iter().collect();
    // The keys come first.
    attributes.sort_by_key(|(name, _)| (name != "pk", name != "sk", name.clone()));

    let attributes = attributes.into_iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::S(text) => json!({"S": text}),
            AttributeValue::N(number) => json!({"N": number}),
            AttributeValue::B(bytes) => json!({"B": base64::encode(bytes)}),
            AttributeValue::Bool(flag) => json!({"BOOL": flag}),
            AttributeValue::Ss(mut texts) => {
                texts.sort();
                json!({"SS": texts})
            }
            other => panic!("no item has an attribute of this type: {other:?}"),
        };
        (name, value)
    });

    attributes.collect::<Map<_, _>>().into()
}

fn item_from_json(item: &Value) -> Item {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let attributes = item.as_object().expect("an item").iter();

    let attributes = attributes.map(|(name, typed)| {
        let (kind, value) = typed
            .as_object()
            .and_then(|typed| typed.iter().next())
            .expect("a typed value");
        let value = match kind.as_str() {
            "S" => AttributeValue::S(text(value)),
            "N" => AttributeValue::N(text(value)),
            "B" => AttributeValue::B(Blob::new(base64::decode(text(value)).expect("base64"))),
            "BOOL" => AttributeValue::Bool(value.as_bool().expect("a flag")),
            "SS" => AttributeValue::Ss(value.as_array().expect("a set").iter().map(text).collect()),
            other => panic!("no item has an attribute of this type: {other}"),
        };
        (name.clone(), value)
    });

    attributes.collect()
}
