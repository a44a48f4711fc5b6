//! The effects of a commit's changes on the log and on the records of documents.

use aws_sdk_dynamodb::types::{CancellationReason, Delete, Put, TransactWriteItem, Update};
use domain::container::LogEntry;
use domain::document::Indexed;
use domain::ports::{Committed, PortResult};
use domain::{Change, Document, PortError, SearchDocument, Status, Tenant, Timestamp};

use crate::documents::{
    EDIT, EDITED_AS_OFTEN, NOT_SUPERSEDED, check_free, edit_values, new_record,
};
use crate::error::build_error;
use crate::item::{Table, json, key_item, n, s};
use crate::keys;

/// Returns the log entry of a change.
pub(super) fn log_entry(change: &Change, now: Timestamp) -> PortResult<LogEntry> {
    let (pack, statements, mut shown) = match change {
        Change::Remove(document)
        | Change::Move { from: document, .. }
        | Change::Supersede(document) => {
            return Ok(LogEntry::Remove {
                id: document.id.clone(),
            });
        }
        Change::Act(action) => {
            return Ok(LogEntry::Act {
                action: action.clone(),
            });
        }
        Change::Publish(document) => {
            let extracted = document.extracted.as_ref().ok_or_else(missing)?;
            let shown = SearchDocument::of(document, &document.revision);
            (&extracted.pack, extracted.statements(), shown)
        }
        Change::Create(document) | Change::Describe(document) => {
            let served = document.indexed.as_ref().ok_or_else(missing)?;
            let origin = document.origin.as_ref();
            let kind = origin.and_then(|origin| origin.kind).unwrap_or(served.kind);
            let title = origin
                .map(|origin| origin.title.clone())
                .or_else(|| served.title.clone());
            let shown = SearchDocument {
                kind,
                title,
                ..SearchDocument::of(document, &served.revision)
            };
            (&served.pack, served.statements(), shown)
        }
    };

    shown.updated_at = now.as_millis();
    let (pack, statements) = (pack.clone(), statements.cloned());

    Ok(LogEntry::Put {
        pack,
        statements,
        document: Box::new(shown),
    })
}

fn missing() -> PortError {
    PortError::Corrupt("a commit without content".into())
}

/// Returns the writes to the records of documents, each on condition that its document is unchanged
/// since it was read.
pub(super) fn change_records(
    table: &Table,
    tenant: &Tenant,
    change: &Change,
    now: Timestamp,
) -> PortResult<Vec<TransactWriteItem>> {
    let update = |update: Update| TransactWriteItem::builder().update(update).build();
    match change {
        Change::Publish(document) => Ok(vec![update(publish(table, tenant, document, now)?)]),
        Change::Describe(document) => Ok(vec![update(describe(table, tenant, document, now)?)]),
        Change::Remove(document) => Ok(vec![delete(table, tenant, document)?]),
        Change::Create(document) => Ok(vec![create(table, tenant, document)?]),
        Change::Move { from, to, rivals } => {
            let moved = [delete(table, tenant, from), create(table, tenant, to)];
            let free = rivals.iter().map(|rival| check_free(table, tenant, rival));
            moved.into_iter().chain(free).collect()
        }
        Change::Supersede(document) => Ok(vec![update(supersede(table, tenant, document)?)]),
        Change::Act(_) => Ok(Vec::new()),
    }
}

fn create(table: &Table, tenant: &Tenant, document: &Document) -> PortResult<TransactWriteItem> {
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(new_record(tenant, document)));
    let put = put
        .condition_expression("attribute_not_exists(pk)")
        .build()
        .map_err(build_error)?;
    Ok(TransactWriteItem::builder().put(put).build())
}

fn delete(table: &Table, tenant: &Tenant, document: &Document) -> PortResult<TransactWriteItem> {
    // The condition includes whether the document is superseded, which is part of what was read.
    let superseded = if document.superseded_by.is_some() {
        "attribute_exists(sup)"
    } else {
        NOT_SUPERSEDED
    };

    let delete = Delete::builder().table_name(&table.name);
    let delete = delete.set_key(Some(key_item(&keys::document(tenant, &document.id))));
    let delete = delete
        .condition_expression(format!("rev = :rev AND {EDITED_AS_OFTEN} AND {superseded}"))
        .expression_attribute_values(":rev", s(document.revision.as_str()))
        .expression_attribute_values(":ed", n(document.edits));

    Ok(TransactWriteItem::builder()
        .delete(delete.build().map_err(build_error)?)
        .build())
}

fn supersede(table: &Table, tenant: &Tenant, document: &Document) -> PortResult<Update> {
    let by = document.superseded_by.as_ref().ok_or_else(missing)?;
    let update = Update::builder().table_name(&table.name);
    let update = update.set_key(Some(key_item(&keys::document(tenant, &document.id))));
    let update = update
        .update_expression("SET sup = :by, gl = :listing")
        .condition_expression(format!(
            "rev = :rev AND st = :st AND {EDITED_AS_OFTEN} AND {NOT_SUPERSEDED}"
        ))
        .expression_attribute_values(":by", s(by.as_str()))
        .expression_attribute_values(
            ":listing",
            s(keys::superseded_listing(tenant, &document.container)),
        )
        .expression_attribute_values(":rev", s(document.revision.as_str()))
        .expression_attribute_values(":st", s(document.status.as_str()))
        .expression_attribute_values(":ed", n(document.edits));

    update.build().map_err(build_error)
}

fn describe(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
    now: Timestamp,
) -> PortResult<Update> {
    let update = Update::builder().table_name(&table.name);
    let update = update.set_key(Some(key_item(&keys::document(tenant, &document.id))));
    let update = update
        .update_expression(EDIT)
        // The log names the pack that was read. A commit since then serves another pack, and this
        // one is about to be purged.
        .condition_expression(format!(
            "rev = :rev AND idx = :idx AND {EDITED_AS_OFTEN} AND {NOT_SUPERSEDED}"
        ))
        .set_expression_attribute_values(Some(edit_values(document, now)))
        .expression_attribute_values(":idx", json(&document.indexed));

    update.build().map_err(build_error)
}

fn publish(
    table: &Table,
    tenant: &Tenant,
    document: &Document,
    now: Timestamp,
) -> PortResult<Update> {
    let extracted = document
        .extracted
        .as_ref()
        .filter(|new| document.is_current(&new.revision));
    let extracted = extracted.ok_or_else(missing)?;

    let indexed = Indexed {
        revision: document.revision.clone(),
        pack: extracted.pack.clone(),
        body: document.body.blob.clone(),
        chunks: extracted.chunks,
        learned: extracted.learned.clone(),
        authorship: extracted.authorship.clone(),
        kind: document.kind,
        title: document.title.clone(),
    };

    let update = Update::builder().table_name(&table.name);
    let update = update.set_key(Some(key_item(&keys::document(tenant, &document.id))));
    let update = update
        .update_expression(
            "SET st = :done, idx = :idx, up = :now, lease = :zero REMOVE qs, qd, ext, err",
        )
        .condition_expression(format!(
            "rev = :rev AND st = :indexing AND {EDITED_AS_OFTEN} AND {NOT_SUPERSEDED}"
        ))
        .expression_attribute_values(":ed", n(document.edits))
        .expression_attribute_values(":done", s(Status::Done.as_str()))
        .expression_attribute_values(":indexing", s(Status::Indexing.as_str()))
        .expression_attribute_values(":idx", json(&indexed))
        .expression_attribute_values(":now", n(now.as_millis()))
        .expression_attribute_values(":zero", n(0))
        .expression_attribute_values(":rev", s(document.revision.as_str()));

    update.build().map_err(build_error)
}

/// Returns the meaning of the cancellation reasons of a commit, or `None` if they include another
/// reason than a condition or a conflict.
///
/// The head and the log record are the first two items of the transaction. The items of the
/// documents follow; `owners` has the index of the change to which each belongs. Purge records come
/// last and have no condition.
pub(super) fn cancelled(
    reasons: &[CancellationReason],
    changes: &[Change],
    owners: &[usize],
) -> Option<Committed> {
    let code = |i: usize| {
        reasons
            .get(i)
            .and_then(CancellationReason::code)
            .unwrap_or("None")
    };

    let known = ["None", "ConditionalCheckFailed", "TransactionConflict"];
    if (0..reasons.len()).any(|i| !known.contains(&code(i))) {
        return None;
    }

    if (0..reasons.len()).any(|i| code(i) == "TransactionConflict")
        || code(0) != "None"
        || code(1) != "None"
    {
        return Some(Committed::Moved);
    }

    let failed = owners
        .iter()
        .enumerate()
        .filter(|(i, _)| code(i + 2) != "None");
    let documents = failed.filter_map(|(_, owner)| changes[*owner].document());
    let mut stale: Vec<_> = documents.map(|document| document.id.clone()).collect();
    stale.dedup();

    Some(Committed::Stale(stale))
}
