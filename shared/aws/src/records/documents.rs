//! The record of a document, version 1.

use std::collections::BTreeMap;

use domain::connection::DocumentOrigin;
use domain::document::{IndexedRevision, ProcessingResult};
use domain::ports::{DocumentEntry, OVERDUE_AFTER_SECONDS, PortResult};
use domain::{
    ContainerId, ContainerTag, CustomId, Document, DocumentBody, DocumentId, DocumentStatus,
    DocumentType, Dreaming, Metadata, PortError, ProcessingFailure, Provenance, Revision, TaskType,
    Tenant, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{DueRecord, Item, Json, Millis, add_record, read_record, record_item};
use crate::table_keys;

record! {
    /// A document. It also has [`ListingRecord`], [`PendingRecord`] while it is unfinished or failed,
    /// and [`DueRecord`] while it is unfinished.
    struct DocumentRecord, DocumentAttributes {
        /// The fields that processing does not change.
        #[serde(rename = "sent")]
        sent: Json<SentFields>,
        #[serde(rename = "rev")]
        revision: String,
        #[serde(rename = "num")]
        revision_number: u64,
        #[serde(rename = "st")]
        status: String,
        #[serde(rename = "err")]
        failure: Option<Json<ProcessingFailure>>,
        #[serde(rename = "att")]
        attempts: u32,
        #[serde(rename = "lease")]
        lease_until: Millis,
        #[serde(rename = "body")]
        body: Json<DocumentBody>,
        /// The results of processing, until they are committed.
        #[serde(rename = "ext")]
        extracted: Option<Json<ProcessingResult>>,
        /// The content that search serves.
        #[serde(rename = "idx")]
        indexed: Option<Json<IndexedRevision>>,
        #[serde(rename = "kind")]
        kind: Json<DocumentType>,
        #[serde(rename = "title")]
        title: Option<String>,
        #[serde(rename = "props")]
        properties: Option<Json<BTreeMap<String, String>>>,
        /// The number of changes of the description. `None` if it never changed.
        #[serde(rename = "ed")]
        description_changes: Option<u64>,
        #[serde(rename = "sup")]
        superseded_by: Option<String>,
        #[serde(rename = "cr")]
        created_at: Millis,
        #[serde(rename = "up")]
        updated_at: Millis,
    }
}

record! {
    /// A reference under the id that a document with its `customId` would have. It has no other
    /// attribute of a document.
    struct ReferenceRecord, ReferenceAttributes {
        #[serde(rename = "sup")]
        document: String,
    }
}

record! {
    /// The place of a document in the listing of its container.
    struct ListingRecord, ListingAttributes {
        #[serde(rename = "gl")]
        listing: String,
        #[serde(rename = "gs")]
        position: String,
    }
}

record! {
    /// The place of a document in the index `pending`, where its position is that of
    /// [`ListingRecord`]. Documents that are done or superseded have none. Documents that were
    /// accepted before the index existed have none until their container is compacted.
    struct PendingRecord, PendingAttributes {
        #[serde(rename = "gp")]
        pending: String,
    }
}

/// The fields of a document that processing does not change.
#[derive(Serialize, Deserialize)]
pub(crate) struct SentFields {
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

/// Returns the JSON of the fields that processing does not change.
pub(crate) fn encode_sent_fields(document: &Document) -> PortResult<Json<SentFields>> {
    Json::encode(&SentFields {
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
pub(crate) fn overdue_at(document: &Document) -> Timestamp {
    let started_at = document.body.awaited_until.unwrap_or(document.updated_at);
    started_at.plus_seconds(OVERDUE_AFTER_SECONDS)
}

/// Returns the complete item of a new document.
pub(crate) fn new_document_item(tenant: &Tenant, document: &Document) -> PortResult<Item> {
    let properties = (!document.properties.is_empty()).then_some(&document.properties);
    let superseded_by = document.superseded_by.as_ref();
    let record = DocumentRecord {
        sent: encode_sent_fields(document)?,
        revision: document.revision.as_str().to_owned(),
        revision_number: document.revision_number,
        status: document.status.as_str().to_owned(),
        // A new record has not failed yet, whatever became of the one before.
        failure: None,
        attempts: document.attempts,
        lease_until: document.lease_until.into(),
        body: Json::encode(&document.body)?,
        extracted: Json::encode_option(document.extracted.as_ref())?,
        indexed: Json::encode_option(document.indexed.as_ref())?,
        kind: Json::encode(&document.kind)?,
        title: document.title.clone(),
        properties: Json::encode_option(properties)?,
        description_changes: (document.description_changes > 0)
            .then_some(document.description_changes),
        superseded_by: superseded_by.map(|id| id.as_str().to_owned()),
        created_at: document.created_at.into(),
        updated_at: document.updated_at.into(),
    };

    let mut item = record_item(&table_keys::document_key(tenant, &document.id), &record)?;
    add_record(&mut item, &listing_record(tenant, document))?;
    if document.status != DocumentStatus::Done && document.superseded_by.is_none() {
        let pending = table_keys::pending_partition(tenant, &document.container);
        add_record(&mut item, &PendingRecord { pending })?;
    }
    if !document.status.is_final() {
        let shard = table_keys::due_partition(document.id.as_str());
        add_record(&mut item, &DueRecord::new(shard, overdue_at(document)))?;
    }
    Ok(item)
}

/// Returns the place of a document in the listing of its container, or in that of the superseded
/// documents.
pub(crate) fn listing_record(tenant: &Tenant, document: &Document) -> ListingRecord {
    let listing = if document.superseded_by.is_some() {
        table_keys::superseded_listing_partition(tenant, &document.container)
    } else {
        table_keys::listing_partition(tenant, &document.container)
    };

    ListingRecord {
        listing,
        position: table_keys::listing_sort_key(document.created_at, &document.id),
    }
}

/// Returns the item of a reference to `document` under the id `id`.
pub(crate) fn reference_item(
    tenant: &Tenant,
    id: &DocumentId,
    document: &DocumentId,
) -> PortResult<Item> {
    let record = ReferenceRecord {
        document: document.as_str().to_owned(),
    };
    record_item(&table_keys::document_key(tenant, id), &record)
}

/// Reads what is stored under the id of a document.
pub(crate) fn read_entry(item: Item) -> PortResult<DocumentEntry> {
    if item.contains_key(DocumentRecord::ATTRIBUTES.sent) {
        return Ok(DocumentEntry::Document(Box::new(read_document(item)?)));
    }
    let record: ReferenceRecord = read_record(item)?;
    match DocumentId::parse(&record.document) {
        Some(document) => Ok(DocumentEntry::Reference(document)),
        None => Err(PortError::Corrupt("a reference to a document".into())),
    }
}

/// Reads a document from an item of any version.
pub(crate) fn read_document(item: Item) -> PortResult<Document> {
    let corrupt = |part: &str| PortError::Corrupt(format!("document {part}"));
    let record: DocumentRecord = read_record(item)?;
    let sent = record.sent.decode()?;
    let origin = sent.origin;

    // What the provider states has precedence over what the content says.
    let (stated_kind, title) = match &origin {
        Some(origin) => (origin.kind, Some(origin.title.clone())),
        None => (None, record.title),
    };
    let kind = match stated_kind {
        Some(kind) => kind,
        None => record.kind.decode()?,
    };

    let superseded_by = match &record.superseded_by {
        Some(id) => match DocumentId::parse(id) {
            Some(id) => Some(id),
            None => return Err(corrupt("superseded by")),
        },
        None => None,
    };
    let Ok(tag) = ContainerTag::parse(&sent.tag) else {
        return Err(corrupt("tag"));
    };
    let Some(revision) = Revision::parse(&record.revision) else {
        return Err(corrupt("revision"));
    };
    let Some(status) = DocumentStatus::parse(&record.status) else {
        return Err(corrupt("status"));
    };

    Ok(Document {
        id: sent.id,
        container: sent.container,
        tag,
        further_tags: Vec::new(),
        custom_id: sent.custom_id,
        revision,
        revision_number: record.revision_number,
        status,
        failure: Json::decode_option(record.failure)?,
        attempts: record.attempts,
        lease_until: record.lease_until.into(),
        body: record.body.decode()?,
        extracted: Json::decode_option(record.extracted)?,
        indexed: Json::decode_option(record.indexed)?,
        kind,
        title,
        properties: Json::decode_option(record.properties)?.unwrap_or_default(),
        url: sent.url,
        metadata: Metadata::from_stored(sent.metadata),
        filepath: sent.filepath,
        description_changes: record.description_changes.unwrap_or(0),
        filter_by_metadata: sent.filter_by_metadata.map(Metadata::from_stored),
        task_type: sent.task_type,
        dreaming: sent.dreaming,
        document_date: sent.document_date.map(Timestamp::from_millis),
        provenance: sent.provenance,
        origin,
        superseded_by,
        created_at: record.created_at.into(),
        updated_at: record.updated_at.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::AttributeValue;
    use aws_smithy_types::Blob;

    use crate::records::{key_item, number_value, string_value};

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
        let document = read_document(golden()).unwrap();
        assert_eq!(document.status, DocumentStatus::Failed);
        assert_eq!(document.failure.unwrap().code.as_str(), "corrupt");
        assert_eq!(document.revision_number, 2);
    }

    #[test]
    fn a_damaged_record_is_an_error_not_a_panic() {
        for name in ["sent", "rev", "num", "st", "body", "cr"] {
            let mut item = golden();
            item.insert(name.to_owned(), AttributeValue::B(Blob::new([0])));
            assert!(
                matches!(read_document(item), Err(PortError::Corrupt(_))),
                "{name}"
            );
        }
    }
}
