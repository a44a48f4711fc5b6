//! The stored shape of a document, version 1.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::connection::DocumentOrigin;
use domain::ports::{OVERDUE_AFTER_SECONDS, PortResult};
use domain::{
    ContainerId, ContainerTag, CustomId, Document, DocumentId, Metadata, PortError, Revision,
};
use domain::{DocumentStatus, Dreaming, Provenance, TaskType, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::item::{Item, ReadItem, json_value, key_item, number_value, string_value};
use crate::keys;

/// The fields of a document that processing does not change.
#[derive(Serialize, Deserialize)]
struct SentFields {
    id: DocumentId,
    container: ContainerId,
    tag: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom_id: Option<CustomId>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filepath: Option<String>,
    task_type: TaskType,
    #[serde(default, skip_serializing_if = "is_default")]
    dreaming: Dreaming,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter_by_metadata: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document_date: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<DocumentOrigin>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns the attribute `sent`: the fields of a document that the client sets.
pub(crate) fn sent_attribute(document: &Document) -> AttributeValue {
    json_value(&SentFields {
        id: document.id.clone(),
        container: document.container.clone(),
        tag: document.tag.as_str().to_owned(),
        custom_id: document.custom_id.clone(),
        metadata: document.metadata.as_object().clone(),
        filepath: document.filepath.clone(),
        task_type: document.task_type,
        dreaming: document.dreaming,
        filter_by_metadata: document
            .filter_by_metadata
            .as_ref()
            .map(|filter| filter.as_object().clone()),
        url: document.url.clone(),
        document_date: document.document_date.map(Timestamp::as_millis),
        provenance: document.provenance,
        origin: document.origin.clone(),
    })
}

/// Returns the time at which a newly accepted document has waited too long for its message or its
/// file.
pub(super) fn overdue_at(document: &Document) -> Timestamp {
    let started_at = document.body.awaited_until.unwrap_or(document.updated_at);
    started_at.plus_seconds(OVERDUE_AFTER_SECONDS)
}

/// Returns the complete item of a new document.
pub(crate) fn new_document_item(tenant: &Tenant, document: &Document) -> Item {
    let mut item = key_item(&keys::document_key(tenant, &document.id));
    let mut set = |name: &str, value| item.insert(name.to_owned(), value);
    set("v", number_value(1));
    set("sent", sent_attribute(document));
    set("rev", string_value(document.revision.as_str()));
    set("num", number_value(document.revision_number));
    set("st", string_value(document.status.as_str()));
    set("att", number_value(document.attempts));
    set("lease", number_value(document.lease_until.as_millis()));
    set("body", json_value(&document.body));
    set("kind", json_value(&document.kind));
    set("cr", number_value(document.created_at.as_millis()));
    set("up", number_value(document.updated_at.as_millis()));

    let listing = if document.superseded_by.is_some() {
        keys::superseded_listing_partition
    } else {
        keys::listing_partition
    };
    set("gl", string_value(listing(tenant, &document.container)));
    set(
        "gs",
        string_value(keys::listing_sort_key(document.created_at, &document.id)),
    );

    if !document.status.is_final() {
        set(
            "qs",
            string_value(keys::due_partition(document.id.as_str())),
        );
        set("qd", string_value(keys::due_sort_key(overdue_at(document))));
    }
    if document.edit_count > 0 {
        set("ed", number_value(document.edit_count));
    }
    if let Some(by) = &document.superseded_by {
        set("sup", string_value(by.as_str()));
    }
    if let Some(title) = &document.title {
        set("title", string_value(title));
    }
    if !document.properties.is_empty() {
        set("props", json_value(&document.properties));
    }
    if let Some(extracted) = &document.extracted {
        set("ext", json_value(extracted));
    }
    if let Some(indexed) = &document.indexed {
        set("idx", json_value(indexed));
    }

    item
}

/// Reads an item of any version.
pub(crate) fn read_document(item: &Item) -> PortResult<Document> {
    let corrupt = |part: &str| PortError::Corrupt(format!("document {part}"));
    let sent: SentFields = item.get_json("sent")?;
    let superseded_by = item
        .get_optional_text("sup")
        .map(|id| DocumentId::parse(id).ok_or_else(|| corrupt("sup")));
    let time = |name: &str| item.get_number(name).map(Timestamp::from_millis);
    let origin = sent.origin;

    Ok(Document {
        id: sent.id,
        container: sent.container,
        tag: ContainerTag::parse(&sent.tag).map_err(|_| corrupt("tag"))?,
        custom_id: sent.custom_id,
        revision: Revision::parse(item.get_text("rev")?).ok_or_else(|| corrupt("revision"))?,
        revision_number: item.get_number("num")?,
        status: DocumentStatus::parse(item.get_text("st")?).ok_or_else(|| corrupt("status"))?,
        failure: item.get_optional_json("err")?,
        attempts: item.get_number("att")?,
        lease_until: time("lease")?,
        body: item.get_json("body")?,
        extracted: item.get_optional_json("ext")?,
        indexed: item.get_optional_json("idx")?,
        // The kind that the provider states has precedence over the kind of the extracted content.
        kind: origin
            .as_ref()
            .and_then(|origin| origin.kind)
            .map_or_else(|| item.get_json("kind"), Ok)?,
        title: origin
            .as_ref()
            .map(|origin| origin.title.as_str())
            .or(item.get_optional_text("title"))
            .map(str::to_owned),
        properties: item.get_optional_json("props")?.unwrap_or_default(),
        url: sent.url,
        metadata: Metadata::from_stored(sent.metadata),
        filepath: sent.filepath,
        edit_count: if item.contains_key("ed") {
            item.get_number("ed")?
        } else {
            0
        },
        filter_by_metadata: sent.filter_by_metadata.map(Metadata::from_stored),
        task_type: sent.task_type,
        dreaming: sent.dreaming,
        document_date: sent.document_date.map(Timestamp::from_millis),
        provenance: sent.provenance,
        origin,
        superseded_by: superseded_by.transpose()?,
        created_at: time("cr")?,
        updated_at: time("up")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{bytes_value, key_item};

    /// Returns an item as version 1 wrote it. It must stay readable forever.
    fn golden() -> Item {
        let mut item = key_item(&("D#acme#1111111111111111111111".into(), "A".into()));
        let mut set = |name: &str, value| item.insert(name.to_owned(), value);
        set("v", number_value(1));
        set(
            "sent",
            string_value(
                r#"{"id":"1111111111111111111111","container":"2222222222222222222222","tag":"t","task_type":"memory"}"#,
            ),
        );
        set("rev", string_value("3333333333333333333333"));
        set("num", number_value(2));
        set("st", string_value("failed"));
        set("att", number_value(1));
        set("lease", number_value(0));
        set(
            "body",
            string_value(r#"{"blob":"inline:x/body","form":{"form":"text"},"hash":"00","size":3}"#),
        );
        set("kind", string_value("\"text\""));
        set("err", string_value(r#"{"code":"corrupt","message":"no"}"#));
        set("cr", number_value(1));
        set("up", number_value(2));
        item
    }

    #[test]
    fn version_1_stays_readable() {
        let document = read_document(&golden()).unwrap();
        assert_eq!(document.status, DocumentStatus::Failed);
        assert_eq!(document.failure.unwrap().code.as_str(), "corrupt");
        assert_eq!(document.revision_number, 2);
    }

    #[test]
    fn a_damaged_record_is_an_error_not_a_panic() {
        for name in ["sent", "rev", "num", "st", "body", "cr"] {
            let mut item = golden();
            item.insert(name.to_owned(), bytes_value(vec![0]));
            assert!(
                matches!(read_document(&item), Err(PortError::Corrupt(_))),
                "{name}"
            );
        }
    }
}
