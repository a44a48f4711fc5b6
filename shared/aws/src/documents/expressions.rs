//! Conditions and updates of documents, with the values that they name.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ports::PortResult;
use domain::{Document, DocumentType, Timestamp};

use crate::records::documents::{
    DocumentAttributes, DocumentRecord, ListingRecord, PendingRecord, encode_sent_fields,
};
use crate::records::{DueAttributes, DueRecord, Json, number_value, string_value};

const ATTRIBUTES: DocumentAttributes = DocumentRecord::ATTRIBUTES;

/// Returns the condition that nobody has changed the description since it was read, when it had
/// been changed `:changes` times. A record whose description never changed has no count.
pub(crate) fn description_unchanged() -> String {
    let description_changes = ATTRIBUTES.description_changes;
    format!("(attribute_not_exists({description_changes}) OR {description_changes} = :changes)")
}

/// Returns the condition that no merge has superseded the document. A superseded document is no
/// longer served, and stays unchanged.
pub(crate) fn not_superseded() -> String {
    format!("attribute_not_exists({})", ATTRIBUTES.superseded_by)
}

/// Returns the condition that a merge has superseded the document.
pub(crate) fn superseded() -> String {
    format!("attribute_exists({})", ATTRIBUTES.superseded_by)
}

/// Returns the condition that `:revision` is the newest and has neither the status `:done` nor
/// `:failed`.
pub(super) fn unfinished() -> String {
    let DocumentAttributes {
        revision, status, ..
    } = ATTRIBUTES;
    format!("{revision} = :revision AND NOT {status} IN (:done, :failed)")
}

/// Returns the condition of [`unfinished`], and that no worker has a lease at `:now`.
pub(super) fn unfinished_without_lease() -> String {
    format!("{} AND {} < :now", unfinished(), ATTRIBUTES.lease_until)
}

/// Returns the condition of [`unfinished`], and that nobody has a lease but the one that ends at `:lease`.
pub(super) fn unfinished_without_other_lease() -> String {
    let lease_until = ATTRIBUTES.lease_until;
    format!("{} AND {lease_until} IN (:lease, :zero)", unfinished())
}

/// Returns the condition of [`unfinished`], that the worker still has the lease `:lease`, and that no
/// other worker has moved the revision to `:indexing`, which workers without a lease may do.
pub(super) fn unfinished_with_lease() -> String {
    let DocumentAttributes {
        status,
        lease_until,
        ..
    } = ATTRIBUTES;
    format!(
        "{} AND {lease_until} = :lease AND NOT {status} = :indexing",
        unfinished()
    )
}

/// Returns the update by which a worker claims a revision. The document is overdue at `:due` then.
pub(super) fn claim_update() -> String {
    let DocumentAttributes {
        status,
        lease_until,
        attempts,
        updated_at,
        ..
    } = ATTRIBUTES;
    let due_at = DueRecord::ATTRIBUTES.due_at;
    format!(
        "SET {status} = :status, {lease_until} = :until, {due_at} = :due, \
         {attempts} = {attempts} + :one, {updated_at} = :now"
    )
}

/// Returns the update by which a worker gives a revision back to the queue.
pub(super) fn requeue_update() -> String {
    let DocumentAttributes {
        status,
        lease_until,
        attempts,
        ..
    } = ATTRIBUTES;
    let due_at = DueRecord::ATTRIBUTES.due_at;
    format!(
        "SET {status} = :queued, {lease_until} = :zero, {due_at} = :due, {attempts} = :attempts"
    )
}

/// Returns the update that ends the lease and postpones the time at which a document is overdue.
pub(super) fn postpone_update() -> String {
    let lease_until = ATTRIBUTES.lease_until;
    let due_at = DueRecord::ATTRIBUTES.due_at;
    format!("SET {lease_until} = :zero, {due_at} = :due")
}

/// Returns the update that stores where the bytes of a document are.
pub(super) fn body_update() -> String {
    let DocumentAttributes { body, attempts, .. } = ATTRIBUTES;
    format!("SET {body} = :body, {attempts} = :one")
}

/// Returns the update of the status.
pub(super) fn status_update() -> String {
    let DocumentAttributes {
        status, updated_at, ..
    } = ATTRIBUTES;
    format!("SET {status} = :status, {updated_at} = :now")
}

/// Returns the update that stores the results of processing.
pub(super) fn results_update(document: &Document) -> String {
    let DocumentAttributes {
        extracted, title, ..
    } = ATTRIBUTES;
    let remove_title = match document.title {
        Some(_) => String::new(),
        None => format!(" REMOVE {title}"),
    };

    format!(
        "{}, {extracted} = :extracted, {}{remove_title}",
        status_update(),
        content_assignments(document)
    )
}

/// Returns the assignments of what the content says about its document: the kind, the properties, and
/// the title if there is one.
pub(crate) fn content_assignments(document: &Document) -> String {
    let DocumentAttributes {
        kind,
        properties,
        title,
        ..
    } = ATTRIBUTES;
    let assignments = format!("{kind} = :kind, {properties} = :properties");
    match document.title {
        Some(_) => format!("{assignments}, {title} = :title"),
        None => assignments,
    }
}

/// Returns the values of [`content_assignments`].
pub(crate) fn content_values(document: &Document) -> PortResult<HashMap<String, AttributeValue>> {
    let kind: Json<DocumentType> = Json::encode(&document.kind)?;
    let properties: Json<BTreeMap<String, String>> = Json::encode(&document.properties)?;
    let mut values = HashMap::from([
        (":kind".to_owned(), kind.into()),
        (":properties".to_owned(), properties.into()),
    ]);
    if let Some(title) = &document.title {
        values.insert(":title".to_owned(), string_value(title));
    }
    Ok(values)
}

/// Returns the update of a revision that failed. The document is no longer unfinished work.
pub(super) fn failure_update() -> String {
    let lease_until = ATTRIBUTES.lease_until;
    let DueAttributes { shard, due_at } = DueRecord::ATTRIBUTES;
    format!(
        "{}, {lease_until} = :zero REMOVE {shard}, {due_at}",
        damage_update()
    )
}

/// Returns the update of a listed document whose stored content can no longer be read. It was done,
/// and is in the index `pending` from now on.
pub(super) fn listed_damage_update() -> String {
    let pending = PendingRecord::ATTRIBUTES.pending;
    format!("{}, {pending} = :pending", damage_update())
}

/// Returns the update of a superseded document whose stored content can no longer be read.
pub(super) fn damage_update() -> String {
    let DocumentAttributes {
        status,
        failure,
        updated_at,
        ..
    } = ATTRIBUTES;
    format!("SET {status} = :failed, {failure} = :failure, {updated_at} = :now")
}

/// Returns the condition that `:revision` is the newest, has the status `:done`, is served as
/// `:indexed` and is in the listing `:listing`: that of superseded documents or that of all others.
pub(super) fn served_as() -> String {
    let DocumentAttributes {
        revision,
        status,
        indexed,
        ..
    } = ATTRIBUTES;
    let listing = ListingRecord::ATTRIBUTES.listing;
    format!(
        "{revision} = :revision AND {status} = :done AND {indexed} = :indexed \
         AND {listing} = :listing"
    )
}

/// Returns the condition that `:revision` is the newest and nothing is served, for a change of
/// the description.
pub(super) fn describable_without_log() -> String {
    let DocumentAttributes {
        revision, indexed, ..
    } = ATTRIBUTES;
    format!(
        "{revision} = :revision AND attribute_not_exists({indexed}) AND {} AND {}",
        description_unchanged(),
        not_superseded()
    )
}

/// Returns the update of a description, with the values of [`description_values`]. Metadata, path
/// and title change in place, and the count detects concurrent changes. The sent fields
/// include the origin, and with it a title that the provider gave.
pub(crate) fn description_update() -> String {
    let DocumentAttributes {
        sent,
        description_changes,
        updated_at,
        ..
    } = ATTRIBUTES;
    format!("SET {sent} = :sent, {description_changes} = :next, {updated_at} = :now")
}

/// Returns the values of [`description_update`]. Its condition names `:revision` and `:changes`, the
/// number of changes before it.
pub(crate) fn description_values(
    document: &Document,
    now: Timestamp,
) -> PortResult<HashMap<String, AttributeValue>> {
    let changes_before = document.description_changes.saturating_sub(1);
    let values = [
        (":sent", encode_sent_fields(document)?.into()),
        (":next", number_value(document.description_changes)),
        (":changes", number_value(changes_before)),
        (":revision", string_value(document.revision.as_str())),
        (":now", number_value(now.as_millis())),
    ];

    Ok(values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}
