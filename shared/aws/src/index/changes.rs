//! Builds the log entries of a commit's changes, and the writes to the records of documents. Nothing
//! is written here: [`super::DynamoIndex`] sends all writes of a commit in one transaction.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, Delete, Put, TransactWriteItem, Update,
};
use domain::container::LogEntry;
use domain::document::IndexedRevision;
use domain::ports::{CommitOutcome, PortResult};
use domain::{
    Document, DocumentChange, DocumentId, DocumentStatus, IndexedDocument, PortError, Tenant,
    Timestamp,
};

use crate::documents::{
    check_alternative, content_assignments, content_values, description_unchanged,
    description_update, description_values, not_superseded, put_reference,
};
use crate::records::documents::{
    DocumentAttributes, DocumentRecord, ListingRecord, PendingRecord, listing_record,
    new_document_item,
};
use crate::records::{DueAttributes, DueRecord, Json, key_item, number_value, string_value};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::{delete_write, put_write, update_write};

/// Returns the log entry of a change.
pub(super) fn log_entry(change: &DocumentChange, now: Timestamp) -> PortResult<LogEntry> {
    let (pack, statements, mut indexed_document) = match change {
        DocumentChange::Remove(document)
        | DocumentChange::Move { from: document, .. }
        | DocumentChange::Supersede(document) => {
            return Ok(LogEntry::Remove {
                id: document.id.clone(),
            });
        }
        DocumentChange::Edit(edit) => {
            return Ok(LogEntry::Edit { edit: edit.clone() });
        }
        DocumentChange::Publish(document) => {
            let Some(extracted) = &document.extracted else {
                return Err(missing_content());
            };
            let indexed_document = IndexedDocument::for_revision(document, &document.revision);
            (&extracted.pack, extracted.statements(), indexed_document)
        }
        DocumentChange::Create { document, .. } | DocumentChange::Describe(document) => {
            let Some(indexed) = &document.indexed else {
                return Err(missing_content());
            };
            let (kind, title) = match &document.origin {
                Some(origin) => (
                    origin.kind.unwrap_or(indexed.kind),
                    Some(origin.title.clone()),
                ),
                None => (indexed.kind, indexed.title.clone()),
            };
            let indexed_document = IndexedDocument {
                kind,
                title,
                ..IndexedDocument::for_revision(document, &indexed.revision)
            };
            (&indexed.pack, indexed.statements_blob(), indexed_document)
        }
    };

    let changed_at = match change {
        DocumentChange::Create { document, .. } => document.updated_at,
        _ => now,
    };
    indexed_document.updated_at = now.as_millis();
    indexed_document.changed_at = Some(changed_at.as_millis());
    let (pack, statements) = (pack.clone(), statements.cloned());

    Ok(LogEntry::Put {
        pack,
        statements,
        document: Box::new(indexed_document),
    })
}

fn missing_content() -> PortError {
    PortError::Corrupt("a commit without content".into())
}

/// Returns the writes to the records of documents, each on condition that its document is unchanged
/// since it was read.
pub(super) fn build_change_writes(
    table: &Table,
    tenant: &Tenant,
    change: &DocumentChange,
    now: Timestamp,
) -> PortResult<Vec<TransactWriteItem>> {
    match change {
        DocumentChange::Publish(document) => {
            Ok(vec![build_publish_update(table, tenant, document, now)?])
        }
        DocumentChange::Describe(document) => {
            Ok(vec![build_describe_update(table, tenant, document, now)?])
        }
        DocumentChange::Remove(document) => Ok(vec![build_delete(table, tenant, document)?]),
        DocumentChange::Create {
            document,
            reference,
        } => {
            let mut writes = vec![build_create_put(table, tenant, document)?];
            if let Some(reference) = reference {
                writes.push(put_reference(table, tenant, reference, &document.id)?);
            }
            Ok(writes)
        }
        DocumentChange::Move {
            from,
            to,
            reference,
            alternatives,
        } => {
            let mut writes = vec![build_replace_put(table, tenant, from, to)?];
            if let Some(reference) = reference {
                writes.push(put_reference(table, tenant, reference, &to.id)?);
            }
            for alternative in alternatives {
                writes.push(check_alternative(table, tenant, alternative)?);
            }
            Ok(writes)
        }
        DocumentChange::Supersede(document) => {
            Ok(vec![build_supersede_update(table, tenant, document)?])
        }
        DocumentChange::Edit(_) => Ok(Vec::new()),
    }
}

fn build_create_put(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
) -> PortResult<TransactWriteItem> {
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(new_document_item(tenant, document)?));
    // An outdated reference may have the id of a document that is imported.
    let sent = DocumentRecord::ATTRIBUTES.sent;
    put_write(put.condition_expression(format!("attribute_not_exists({sent})")))
}

/// Returns the condition that a record is as it was read, with the values that it names.
///
/// It includes the container, to the log of which the change is written, and the revision that search
/// serves, by which the head counts documents and erases content. That revision is looked for in the stored
/// JSON, which an earlier version may have written with other fields.
fn unchanged_condition(
    tenant: &Tenant,
    document: &Document,
) -> (String, HashMap<String, AttributeValue>) {
    let DocumentAttributes {
        revision, indexed, ..
    } = DocumentRecord::ATTRIBUTES;
    let ListingRecord { listing, .. } = listing_record(tenant, document);
    let mut values = HashMap::from([
        (
            ":revision".to_owned(),
            string_value(document.revision.as_str()),
        ),
        (
            ":changes".to_owned(),
            number_value(document.description_changes),
        ),
        (":listing".to_owned(), string_value(&listing)),
    ]);
    let served = match &document.indexed {
        None => format!("attribute_not_exists({indexed})"),
        Some(served) => {
            // The paths of blobs may name other revisions.
            let field = format!("\"revision\":\"{}\"", served.revision.as_str());
            values.insert(":served".to_owned(), string_value(&field));
            format!("contains({indexed}, :served)")
        }
    };

    let listing = ListingRecord::ATTRIBUTES.listing;
    let condition = format!(
        "{revision} = :revision AND {listing} = :listing AND {served} AND {}",
        description_unchanged()
    );
    (condition, values)
}

fn build_replace_put(
    table: &Table,
    tenant: &Tenant,
    from: &Document,
    to: &Document,
) -> PortResult<TransactWriteItem> {
    let (condition, values) = unchanged_condition(tenant, from);
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(new_document_item(tenant, to)?))
        .condition_expression(condition)
        .set_expression_attribute_values(Some(values));
    put_write(put)
}

fn build_delete(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
) -> PortResult<TransactWriteItem> {
    let delete = Delete::builder().table_name(&table.name);
    let delete = delete.set_key(Some(key_item(&table_keys::document_key(
        tenant,
        &document.id,
    ))));
    let (condition, values) = unchanged_condition(tenant, document);
    let delete = delete
        .condition_expression(condition)
        .set_expression_attribute_values(Some(values));

    delete_write(delete)
}

fn build_supersede_update(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
) -> PortResult<TransactWriteItem> {
    let Some(winner_id) = &document.superseded_by else {
        return Err(missing_content());
    };
    let DocumentAttributes {
        revision,
        status,
        superseded_by,
        ..
    } = DocumentRecord::ATTRIBUTES;
    let listing = ListingRecord::ATTRIBUTES.listing;
    let pending = PendingRecord::ATTRIBUTES.pending;

    let update = Update::builder().table_name(&table.name);
    let update = update.set_key(Some(key_item(&table_keys::document_key(
        tenant,
        &document.id,
    ))));
    let update = update
        .update_expression(format!(
            "SET {superseded_by} = :by, {listing} = :listing REMOVE {pending}"
        ))
        .condition_expression(format!(
            "{revision} = :revision AND {status} = :status AND {} AND {}",
            description_unchanged(),
            not_superseded()
        ))
        .expression_attribute_values(":by", string_value(winner_id.as_str()))
        .expression_attribute_values(
            ":listing",
            string_value(table_keys::superseded_listing_partition(
                tenant,
                &document.container,
            )),
        )
        .expression_attribute_values(":revision", string_value(document.revision.as_str()))
        .expression_attribute_values(":status", string_value(document.status.as_str()))
        .expression_attribute_values(":changes", number_value(document.description_changes));

    update_write(update)
}

fn build_describe_update(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
    now: Timestamp,
) -> PortResult<TransactWriteItem> {
    let DocumentAttributes {
        revision, indexed, ..
    } = DocumentRecord::ATTRIBUTES;
    let Some(served) = &document.indexed else {
        return Err(missing_content());
    };
    let served: Json<IndexedRevision> = Json::encode(served)?;

    let update = Update::builder().table_name(&table.name);
    let update = update.set_key(Some(key_item(&table_keys::document_key(
        tenant,
        &document.id,
    ))));
    let update = update
        .update_expression(description_update())
        // The log names the pack that was read. A commit since then serves another pack, and this
        // one is about to be purged.
        .condition_expression(format!(
            "{revision} = :revision AND {indexed} = :indexed AND {} AND {}",
            description_unchanged(),
            not_superseded()
        ))
        .set_expression_attribute_values(Some(description_values(document, now)?))
        .expression_attribute_values(":indexed", served.into());

    update_write(update)
}

fn build_publish_update(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
    now: Timestamp,
) -> PortResult<TransactWriteItem> {
    let Some(extracted) = &document.extracted else {
        return Err(missing_content());
    };
    if !document.is_newest_revision(&extracted.revision) {
        return Err(missing_content());
    }
    if document.status.is_final() {
        let message = "a commit of a document that is done or failed";
        return Err(PortError::Corrupt(message.into()));
    }

    let served = IndexedRevision {
        revision: document.revision.clone(),
        pack: extracted.pack.clone(),
        body: document.body.blob.clone(),
        chunks: extracted.chunks,
        statements_ref: extracted.statements_ref.clone(),
        authorship: extracted.authorship.clone(),
        kind: document.kind,
        title: document.title.clone(),
        summary: extracted.summary.clone(),
    };

    let served: Json<IndexedRevision> = Json::encode(&served)?;
    let DocumentAttributes {
        revision,
        status,
        indexed,
        updated_at,
        lease_until,
        extracted,
        failure,
        title,
        ..
    } = DocumentRecord::ATTRIBUTES;
    let DueAttributes { shard, due_at } = DueRecord::ATTRIBUTES;
    let pending = PendingRecord::ATTRIBUTES.pending;

    // The record of a document that is `indexing` has its kind, title and properties. Here, the document
    // may have those that its connection gives.
    let (mut set, mut remove, mut values) = (String::new(), String::new(), HashMap::new());
    if document.status != DocumentStatus::Indexing {
        set = format!(", {}", content_assignments(document));
        values = content_values(document)?;
        if document.title.is_none() {
            remove = format!(", {title}");
        }
    }

    let update = Update::builder().table_name(&table.name);
    let update = update.set_key(Some(key_item(&table_keys::document_key(
        tenant,
        &document.id,
    ))));
    let update = update
        .update_expression(format!(
            "SET {status} = :done, {indexed} = :indexed, {updated_at} = :now, \
             {lease_until} = :zero{set} \
             REMOVE {shard}, {due_at}, {pending}, {extracted}, {failure}{remove}"
        ))
        // A claim changes the status, so a worker without a lease leaves the document to the one that
        // has it.
        .condition_expression(format!(
            "{revision} = :revision AND {status} = :status AND {} AND {}",
            description_unchanged(),
            not_superseded()
        ))
        .set_expression_attribute_values(Some(values))
        .expression_attribute_values(":changes", number_value(document.description_changes))
        .expression_attribute_values(":done", string_value(DocumentStatus::Done.as_str()))
        .expression_attribute_values(":status", string_value(document.status.as_str()))
        .expression_attribute_values(":indexed", served.into())
        .expression_attribute_values(":now", number_value(now.as_millis()))
        .expression_attribute_values(":zero", number_value(0))
        .expression_attribute_values(":revision", string_value(document.revision.as_str()));

    update_write(update)
}

/// Returns the meaning of the cancellation reasons of a commit, or `None` if they include another
/// reason than a condition or a conflict.
///
/// The head and the log record are the first two items of the transaction. The items of the
/// documents follow; `change_indexes` has the index of the change to which each belongs. Purge
/// records come last and have no condition.
pub(super) fn commit_outcome(
    reasons: &[CancellationReason],
    changes: &[DocumentChange],
    change_indexes: &[usize],
) -> Option<CommitOutcome> {
    let code = |i: usize| match reasons.get(i) {
        Some(reason) => reason.code().unwrap_or("None"),
        None => "None",
    };

    let known_codes = ["None", "ConditionalCheckFailed", "TransactionConflict"];
    if (0..reasons.len()).any(|i| !known_codes.contains(&code(i))) {
        return None;
    }

    if (0..reasons.len()).any(|i| code(i) == "TransactionConflict")
        || code(0) != "None"
        || code(1) != "None"
    {
        return Some(CommitOutcome::Moved);
    }

    let mut stale: Vec<DocumentId> = Vec::new();
    for (i, owner) in change_indexes.iter().enumerate() {
        if code(i + 2) != "None"
            && let Some(document) = changes[*owner].document()
        {
            stale.push(document.id.clone());
        }
    }
    stale.dedup();

    Some(CommitOutcome::Stale(stale))
}
