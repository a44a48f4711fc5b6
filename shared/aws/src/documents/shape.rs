//! The stored shape of a document, version 1.

use domain::ports::PortResult;
use domain::{ContainerId, ContainerTag, CustomId, Document, DocumentId, Metadata, PortError, Revision};
use domain::{Status, TaskType, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::item::{Item, Read, json, key_item, n, s};
use crate::keys;

/// What does not change while a revision is processed.
#[derive(Serialize, Deserialize)]
struct Sent {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document_date: Option<i64>,
}

/// The whole item of a document that was just accepted.
pub(super) fn write_document(tenant: &Tenant, document: &Document, overdue_at: Timestamp) -> Item {
    let sent = Sent {
        id: document.id.clone(),
        container: document.container.clone(),
        tag: document.tag.as_str().to_owned(),
        custom_id: document.custom_id.clone(),
        metadata: document.metadata.as_object().clone(),
        filepath: document.filepath.clone(),
        task_type: document.task_type,
        document_date: document.document_date.map(Timestamp::as_millis),
    };
    let mut item = key_item(&keys::document(tenant, &document.id));
    let mut set = |name: &str, value| item.insert(name.to_owned(), value);
    set("v", n(1));
    set("sent", json(&sent));
    set("rev", s(document.revision.as_str()));
    set("num", n(document.revision_number));
    set("st", s(document.status.as_str()));
    set("att", n(document.attempts));
    set("lease", n(document.lease_until.as_millis()));
    set("body", json(&document.body));
    set("kind", json(&document.kind));
    set("cr", n(document.created_at.as_millis()));
    set("up", n(document.updated_at.as_millis()));
    set("gl", s(keys::listing(tenant, &document.container)));
    set("gs", s(keys::listing_sort(document.created_at, &document.id)));
    set("qs", s(keys::due_shard(document.id.as_str())));
    set("qd", s(keys::due_sort(overdue_at)));
    if let Some(title) = &document.title {
        set("title", s(title));
    }
    if let Some(indexed) = &document.indexed {
        set("idx", json(indexed));
    }
    item
}

/// Reads an item of any version.
pub(crate) fn read_document(item: &Item) -> PortResult<Document> {
    let corrupt = |what: &str| PortError::Corrupt(format!("document {what}"));
    let sent: Sent = item.parsed("sent")?;
    let time = |name: &str| item.number(name).map(Timestamp::from_millis);
    Ok(Document {
        id: sent.id,
        container: sent.container,
        tag: ContainerTag::parse(&sent.tag).map_err(|_| corrupt("tag"))?,
        custom_id: sent.custom_id,
        revision: Revision::parse(item.text("rev")?).ok_or_else(|| corrupt("revision"))?,
        revision_number: item.number("num")?,
        status: Status::parse(item.text("st")?).ok_or_else(|| corrupt("status"))?,
        failure: item.optional_parsed("err")?,
        attempts: item.number("att")?,
        lease_until: time("lease")?,
        body: item.parsed("body")?,
        extracted: item.optional_parsed("ext")?,
        indexed: item.optional_parsed("idx")?,
        kind: item.parsed("kind")?,
        title: item.optional_text("title").map(str::to_owned),
        metadata: Metadata::from_stored(sent.metadata),
        filepath: sent.filepath,
        task_type: sent.task_type,
        document_date: sent.document_date.map(Timestamp::from_millis),
        created_at: time("cr")?,
        updated_at: time("up")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{b, key_item};

    /// An item as version 1 wrote it; it must stay readable for ever.
    fn golden() -> Item {
        let mut item = key_item(&("D#acme#1111111111111111111111".into(), "A".into()));
        let mut set = |name: &str, value| item.insert(name.to_owned(), value);
        set("v", n(1));
        set(
            "sent",
            s(
                r#"{"id":"1111111111111111111111","container":"2222222222222222222222","tag":"t","task_type":"memory"}"#,
            ),
        );
        set("rev", s("3333333333333333333333"));
        set("num", n(2));
        set("st", s("failed"));
        set("att", n(1));
        set("lease", n(0));
        set("body", s(r#"{"blob":"inline:x/body","form":{"form":"text"},"hash":"00","size":3}"#));
        set("kind", s("\"text\""));
        set("err", s(r#"{"code":"corrupt","message":"no"}"#));
        set("cr", n(1));
        set("up", n(2));
        item
    }

    #[test]
    fn version_1_stays_readable() {
        let document = read_document(&golden()).unwrap();
        assert_eq!(document.status, Status::Failed);
        assert_eq!(document.failure.unwrap().code.as_str(), "corrupt");
        assert_eq!(document.revision_number, 2);
    }

    #[test]
    fn a_damaged_record_is_an_error_not_a_panic() {
        for name in ["sent", "rev", "num", "st", "body", "cr"] {
            let mut item = golden();
            item.insert(name.to_owned(), b(vec![0]));
            assert!(matches!(read_document(&item), Err(PortError::Corrupt(_))), "{name}");
        }
    }
}
