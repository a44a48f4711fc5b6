//! Records: the stored form of every kind of item.
//!
//! Each kind of item has a struct here, declared by `record!`. Its fields have full names. Its
//! attributes have short names, because DynamoDB bills the bytes of names. The name of an attribute
//! is written once, at its field: expressions take it from the constant `ATTRIBUTES` of the struct.
//!
//! | module | items |
//! |---|---|
//! | [`common`] | the attributes that several kinds of items have |
//! | [`documents`] | documents |
//! | [`containers`] | container tags, their number, owner records |
//! | [`index`] | heads, log records, purge records |
//! | [`connections`] | connections, grants, claims |
//! | [`connection_items`] | state, selection, items, hints, queues and runs of a connection |
//! | [`organization`] | settings, tasks |
//! | [`blobs`] | inline blobs |
//! | [`secrets`] | API keys, tickets, sealed secrets |
//! | [`request_log`] | logged requests, tallies, markers of open hours |
//! | [`limits`] | repeated requests, windows of rate limits |
//!
//! Golden files in `tests/golden` hold the stored form of each.

use std::any::type_name;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::marker::PhantomData;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ports::PortResult;
use domain::{PortError, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1 as serde_items;

use crate::table_keys::Key;

/// Declares a record, and a second struct with the names of its attributes.
///
/// The names are in the constant `ATTRIBUTES` of the record. A caller destructures it to name
/// attributes in an expression.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        struct $record:ident, $attributes:ident {
            $(
                $(#[doc = $doc:literal])*
                #[serde(rename = $name:literal $(, $($option:tt)+)?)]
                $field:ident: $type:ty,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(serde::Serialize, serde::Deserialize)]
        pub(crate) struct $record {
            $(
                $(#[doc = $doc])*
                #[serde(rename = $name $(, $($option)+)?)]
                pub(crate) $field: $type,
            )+
        }

        #[doc = concat!("The names of the attributes of [`", stringify!($record), "`].")]
        #[allow(dead_code, reason = "no expression names some of the attributes")]
        pub(crate) struct $attributes {
            $(pub(crate) $field: &'static str,)+
        }

        impl $record {
            /// The names of the attributes.
            #[allow(dead_code, reason = "no expression names attributes of some records")]
            pub(crate) const ATTRIBUTES: $attributes = $attributes {
                $($field: $name,)+
            };
        }
    };
}

pub(crate) mod blobs;
pub(crate) mod common;
pub(crate) mod connection_items;
pub(crate) mod connections;
pub(crate) mod containers;
pub(crate) mod documents;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod organization;
pub(crate) mod request_log;
pub(crate) mod secrets;

pub(crate) use common::{
    DueAttributes, DueRecord, ExpiryRecord, KeyAttributes, KeyRecord, VersionRecord, item_absent,
    item_present,
};

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Returns the key attributes of an item.
pub(crate) fn key_item(key: &Key) -> Item {
    let KeyAttributes { partition, sort } = KeyRecord::ATTRIBUTES;
    HashMap::from([
        (partition.to_owned(), string_value(&key.0)),
        (sort.to_owned(), string_value(&key.1)),
    ])
}

/// Returns the item of a record: its key, the version of its form, and its attributes.
pub(crate) fn record_item(key: &Key, record: &impl Serialize) -> PortResult<Item> {
    let mut item = key_item(key);
    add_record(&mut item, &VersionRecord::CURRENT)?;
    add_record(&mut item, record)?;
    Ok(item)
}

/// Adds the attributes of a record to an item. An optional field without a value has no attribute:
/// no item stores NULL.
pub(crate) fn add_record(item: &mut Item, record: &impl Serialize) -> PortResult<()> {
    let attributes: Item = serde_items::to_item(record).map_err(internal_error)?;
    for (name, value) in attributes {
        if !value.is_null() {
            item.insert(name, value);
        }
    }

    Ok(())
}

/// Reads a record from its item. Other attributes of the item are ignored.
///
/// # Errors
/// Returns [`PortError::Corrupt`] if an attribute is missing or has another type.
pub(crate) fn read_record<R: DeserializeOwned>(item: Item) -> PortResult<R> {
    // The conversion panics at types of a newer DynamoDB, which no record has.
    if item.values().any(AttributeValue::is_unknown) {
        return Err(PortError::Corrupt(format!(
            "{}: an attribute of an unknown type",
            type_name::<R>()
        )));
    }

    match serde_items::from_item(item) {
        Ok(record) => Ok(record),
        Err(error) => Err(PortError::Corrupt(format!("{}: {error}", type_name::<R>()))),
    }
}

/// Reads the record of each item that exists.
pub(crate) fn read_each<R>(
    items: Vec<Option<Item>>,
    read: fn(Item) -> PortResult<R>,
) -> PortResult<Vec<Option<R>>> {
    let mut records = Vec::with_capacity(items.len());
    for item in items {
        records.push(match item {
            Some(item) => Some(read(item)?),
            None => None,
        });
    }

    Ok(records)
}

/// Returns the compressed JSON of a value, and the size of the JSON in bytes.
fn compress_json(value: &impl Serialize) -> PortResult<(Vec<u8>, usize)> {
    let json = serde_json::to_vec(value).map_err(internal_error)?;
    let compressed = zstd::bulk::compress(&json, 3).map_err(internal_error)?;
    Ok((compressed, json.len()))
}

/// Reads a value from compressed JSON. Returns `None` if this is not what it should be, or if the
/// JSON has more than `max_bytes`.
fn decompress_json<T: DeserializeOwned>(compressed: &[u8], max_bytes: usize) -> Option<T> {
    let json = zstd::bulk::decompress(compressed, max_bytes).ok()?;
    serde_json::from_slice(&json).ok()
}

fn internal_error(error: impl std::error::Error + Send + Sync + 'static) -> PortError {
    PortError::Internal(Box::new(error))
}

/// Returns the sort key of an item.
pub(crate) fn read_sort_key(item: &Item) -> PortResult<&str> {
    read_text(item, KeyRecord::ATTRIBUTES.sort)
}

/// Returns the partition key of an item.
pub(crate) fn read_partition_key(item: &Item) -> PortResult<&str> {
    read_text(item, KeyRecord::ATTRIBUTES.partition)
}

/// Returns the text of the attribute `name` of an item.
pub(crate) fn read_text<'a>(item: &'a Item, name: &str) -> PortResult<&'a str> {
    match optional_text(item, name) {
        Some(text) => Ok(text),
        None => Err(PortError::Corrupt(format!("attribute {name}"))),
    }
}

/// Returns the text of the attribute `name` of an item, if it has one.
pub(crate) fn optional_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    let text = item.get(name)?.as_s().ok()?;
    Some(text.as_str())
}

pub(crate) fn string_value(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn number_value(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A value that is stored as JSON in one text.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Json<T> {
    text: String,
    #[serde(skip)]
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Json<T> {
    /// Writes `value`, which may be borrowed: a slice for a vector.
    pub(crate) fn encode<B>(value: &B) -> PortResult<Self>
    where
        T: Borrow<B>,
        B: Serialize + ?Sized,
    {
        let text = serde_json::to_string(value).map_err(internal_error)?;
        Ok(Self {
            text,
            value: PhantomData,
        })
    }

    /// Writes a value, if there is one.
    pub(crate) fn encode_option<B>(value: Option<&B>) -> PortResult<Option<Self>>
    where
        T: Borrow<B>,
        B: Serialize + ?Sized,
    {
        match value {
            Some(value) => Ok(Some(Self::encode(value)?)),
            None => Ok(None),
        }
    }

    /// Reads the value. The error does not quote the text, which may be somebody's content.
    pub(crate) fn decode(&self) -> PortResult<T> {
        match serde_json::from_str(&self.text) {
            Ok(value) => Ok(value),
            Err(_) => Err(PortError::Corrupt(format!(
                "the JSON of {}",
                type_name::<T>()
            ))),
        }
    }

    /// Reads a value, if there is one.
    pub(crate) fn decode_option(json: Option<Self>) -> PortResult<Option<T>> {
        match json {
            Some(json) => Ok(Some(json.decode()?)),
            None => Ok(None),
        }
    }
}

impl<T> From<Json<T>> for AttributeValue {
    fn from(json: Json<T>) -> Self {
        Self::S(json.text)
    }
}

/// A time that is stored as the number of milliseconds since 1970.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Millis(i64);

impl From<Timestamp> for Millis {
    fn from(time: Timestamp) -> Self {
        Self(time.as_millis())
    }
}

impl From<Millis> for Timestamp {
    fn from(millis: Millis) -> Self {
        Self::from_millis(millis.0)
    }
}
