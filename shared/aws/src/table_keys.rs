//! The keys of all tables.
//!
//! No two records can share a key: an organization id has no `#`, and what follows it is the last
//! part of the key or has a fixed alphabet without `#`.

pub(crate) mod connection_items;
pub(crate) mod hours;

use domain::connection::DocumentClaim;
use domain::{
    AnswerId, ConnectionId, ContainerId, ContainerTag, DocumentId, GrantId, KeyId, OrgId, TaskId,
    Tenant, Timestamp,
};
use sha2::{Digest, Sha256};

/// A partition key and a sort key.
pub(crate) type Key = (String, String);

/// The prefix of the keys of answers that clients fetch, and of what functions hand to each other. No
/// organization has it.
const ANSWERS_PREFIX: &str = "_answers/";
/// The sort key of items that are alone in their partition.
pub(crate) const SINGLE_ITEM_SORT_KEY: &str = "A";
/// The number of partitions of the sparse index of unfinished work. Several partitions spread its
/// writes.
pub(crate) const DUE_SHARDS: u32 = 8;

pub(crate) fn document_key(tenant: &Tenant, id: &DocumentId) -> Key {
    (
        format!("D#{}#{id}", tenant.org()),
        SINGLE_ITEM_SORT_KEY.into(),
    )
}

/// Returns the prefix of the partition keys of an organization's documents.
pub(crate) fn documents_prefix(tenant: &Tenant) -> String {
    format!("D#{}#", tenant.org())
}

/// Parses the partition key of a document into its organization and id.
pub(crate) fn parse_document(pk: &str) -> Option<(OrgId, DocumentId)> {
    let (org, id) = pk.strip_prefix("D#")?.split_once('#')?;
    Some((OrgId::parse(org).ok()?, DocumentId::parse(id)?))
}

pub(crate) fn organization_partition(tenant: &Tenant) -> String {
    format!("O#{}", tenant.org())
}

pub(crate) const TAG_PREFIX: &str = "T#";

pub(crate) fn tag_key(tenant: &Tenant, tag: &ContainerTag) -> Key {
    (organization_partition(tenant), format!("{TAG_PREFIX}{tag}"))
}

/// Returns the key of the number of tags of an organization.
pub(crate) fn tag_count_key(tenant: &Tenant) -> Key {
    (organization_partition(tenant), "TAGS".into())
}

pub(crate) fn settings_key(tenant: &Tenant) -> Key {
    (organization_partition(tenant), "SET".into())
}

pub(crate) fn container_partition(tenant: &Tenant, id: &ContainerId) -> String {
    format!("C#{}#{id}", tenant.org())
}

pub(crate) fn head_key(tenant: &Tenant, id: &ContainerId) -> Key {
    (container_partition(tenant, id), HEAD.into())
}

/// The sort key of the head, which comes right before the log records.
pub(crate) const HEAD: &str = "HEAD";

/// The sort key of the owner record, which says which tag a physical container belongs to now. A
/// container that belongs to the tag it was made for has none.
pub(crate) const OWNER: &str = "OWN";

pub(crate) fn owner_key(tenant: &Tenant, id: &ContainerId) -> Key {
    (container_partition(tenant, id), OWNER.into())
}

/// The prefix of the sort keys of log records.
const LOG_PREFIX: &str = "L#";
/// The upper bound of the sort keys of log records.
pub(crate) const LOG_END: &str = "L#~";

pub(crate) fn log_sort_key(seq: u64) -> String {
    format!("{LOG_PREFIX}{seq:016}")
}

/// Parses the sort key of a log record into its number.
pub(crate) fn parse_log_sort_key(sk: &str) -> Option<u64> {
    sk.strip_prefix(LOG_PREFIX)?.parse().ok()
}

pub(crate) fn log_key(tenant: &Tenant, id: &ContainerId, seq: u64) -> Key {
    (container_partition(tenant, id), log_sort_key(seq))
}

pub(crate) fn purge_key(tenant: &Tenant, id: &ContainerId, purge: &str) -> Key {
    (container_partition(tenant, id), format!("P#{purge}"))
}

pub(crate) fn task_key(tenant: &Tenant, id: &TaskId) -> Key {
    (
        format!("J#{}#{id}", tenant.org()),
        SINGLE_ITEM_SORT_KEY.into(),
    )
}

/// Parses the partition key of a task into its organization and id.
pub(crate) fn parse_task(pk: &str) -> Option<(OrgId, TaskId)> {
    let (org, id) = pk.strip_prefix("J#")?.split_once('#')?;
    Some((OrgId::parse(org).ok()?, TaskId::parse(id)?))
}

/// Parses the key of a purge record into its organization, container and name.
pub(crate) fn parse_purge(pk: &str, sk: &str) -> Option<(OrgId, ContainerId, String)> {
    let (org, id) = pk.strip_prefix("C#")?.split_once('#')?;
    Some((
        OrgId::parse(org).ok()?,
        ContainerId::parse(id)?,
        sk.strip_prefix("P#")?.to_owned(),
    ))
}

pub(crate) fn blob_key(tenant: &Tenant, path: &str) -> Key {
    (
        format!("{BLOB_PREFIX}{}#{path}", tenant.org()),
        SINGLE_ITEM_SORT_KEY.into(),
    )
}

pub(crate) const BLOB_PREFIX: &str = "B#";

/// Parses the partition key of an inline blob into its organization and path.
pub(crate) fn parse_blob(pk: &str) -> Option<(OrgId, String)> {
    let (org, path) = pk.strip_prefix(BLOB_PREFIX)?.split_once('#')?;
    Some((OrgId::parse(org).ok()?, path.to_owned()))
}

pub(crate) fn object_key(tenant: &Tenant, path: &str) -> String {
    format!("{}/{path}", tenant.org())
}

/// Returns the key of an answer that a client fetches.
pub(crate) fn answer_key(id: &AnswerId) -> String {
    format!("{ANSWERS_PREFIX}{id}")
}

/// Parses the key of an object into its organization and path.
pub(crate) fn parse_object(key: &str) -> Option<(OrgId, String)> {
    let (org, path) = key.split_once('/')?;
    if path.is_empty() {
        return None;
    }
    Some((OrgId::parse(org).ok()?, path.to_owned()))
}

pub(crate) fn listing_partition(tenant: &Tenant, id: &ContainerId) -> String {
    format!("L#{}#{id}", tenant.org())
}

/// Returns the listing of a container's documents that a merge has superseded by others with the
/// same customId.
pub(crate) fn superseded_listing_partition(tenant: &Tenant, id: &ContainerId) -> String {
    format!("S#{}#{id}", tenant.org())
}

/// Returns the partition of the index of a container's documents that are unfinished or failed.
pub(crate) fn pending_partition(tenant: &Tenant, id: &ContainerId) -> String {
    format!("P#{}#{id}", tenant.org())
}

pub(crate) fn listing_sort_key(created_at: Timestamp, id: &DocumentId) -> String {
    format!("{}#{id}", due_sort_key(created_at))
}

/// Returns the shard of the index of unfinished work to which an id belongs.
pub(crate) fn due_partition(id: &str) -> String {
    due_work_partition(shard_of(id))
}

/// Returns a shard of the index of unfinished work.
pub(crate) fn due_work_partition(shard: u32) -> String {
    format!("Q#{shard}")
}

fn shard_of(id: &str) -> u32 {
    let sum: u32 = id.bytes().map(u32::from).sum();
    sum % DUE_SHARDS
}

/// Returns a shard of due connections. They have shards of their own, because a next run is not
/// unfinished work and neither query should find the other's items.
pub(crate) fn due_connections_partition(shard: u32) -> String {
    format!("S#{shard}")
}

/// Returns the shard of [`due_connections_partition`] to which a connection belongs.
pub(crate) fn due_connection_partition(id: &ConnectionId) -> String {
    due_connections_partition(shard_of(id.as_str()))
}

/// Returns a shard of due erasures: containers whose index still has removed content.
pub(crate) fn due_erasures_partition(shard: u32) -> String {
    format!("E#{shard}")
}

/// Returns the shard of [`due_erasures_partition`] to which a container belongs.
pub(crate) fn due_erasure_partition(id: &ContainerId) -> String {
    due_erasures_partition(shard_of(id.as_str()))
}

/// Parses the key of a head into its organization and container.
pub(crate) fn parse_head(pk: &str, sk: &str) -> Option<(OrgId, ContainerId)> {
    if sk != HEAD {
        return None;
    }
    let (org, id) = pk.strip_prefix("C#")?.split_once('#')?;
    Some((OrgId::parse(org).ok()?, ContainerId::parse(id)?))
}

/// Formats a time as milliseconds with leading zeros, so that text order is time order.
pub(crate) fn due_sort_key(at: Timestamp) -> String {
    format!("{:014}", at.as_millis().max(0))
}

/// Returns the key of the item with an API key.
pub(crate) fn api_key_record_key(id: &KeyId) -> Key {
    (format!("K#{id}"), SINGLE_ITEM_SORT_KEY.into())
}

pub(crate) const KEY_PREFIX: &str = "K#";

pub(crate) fn api_key_pointer_key(tenant: &Tenant, id: &KeyId) -> Key {
    (organization_partition(tenant), format!("{KEY_PREFIX}{id}"))
}

pub(crate) fn rate_window_key(tenant: &Tenant, name: &str) -> Key {
    (
        format!("W#{}#{name}", tenant.org()),
        SINGLE_ITEM_SORT_KEY.into(),
    )
}

pub(crate) fn repeat_key(tenant: &Tenant, key: &str) -> Key {
    (
        format!("R#{}#{key}", tenant.org()),
        SINGLE_ITEM_SORT_KEY.into(),
    )
}

pub(crate) fn sealed_secret_key(tenant: &Tenant, name: &str) -> Key {
    (organization_partition(tenant), format!("V#{name}"))
}

/// Returns the key of a ticket. Kinds are words of this project, without `#`.
pub(crate) fn ticket_key(kind: &str, digest: &str) -> Key {
    (format!("E#{kind}#{digest}"), SINGLE_ITEM_SORT_KEY.into())
}

pub(crate) const CONNECTION_PREFIX: &str = "CX#";

pub(crate) fn connection_key(tenant: &Tenant, id: &ConnectionId) -> Key {
    (
        organization_partition(tenant),
        format!("{CONNECTION_PREFIX}{id}"),
    )
}

/// Parses the key of a connection into its organization and id.
pub(crate) fn parse_connection(pk: &str, sk: &str) -> Option<(OrgId, ConnectionId)> {
    let org = OrgId::parse(pk.strip_prefix("O#")?).ok()?;
    Some((
        org,
        ConnectionId::parse(sk.strip_prefix(CONNECTION_PREFIX)?)?,
    ))
}

pub(crate) fn grant_key(tenant: &Tenant, id: &GrantId) -> Key {
    (organization_partition(tenant), format!("GR#{id}"))
}

/// Returns the partition of the claims on a document.
pub(crate) fn claims_partition(tenant: &Tenant, id: &DocumentId) -> String {
    format!("Y#{}#{id}", tenant.org())
}

/// Returns the key of a claim. The item is hashed, because providers choose the names of items and
/// their length.
pub(crate) fn claim_key(tenant: &Tenant, document: &DocumentId, claim: &DocumentClaim) -> Key {
    let digest = hex::encode(Sha256::digest(&claim.item));
    (
        claims_partition(tenant, document),
        format!("{}{digest}", claim.connection),
    )
}

/// Returns the partition of everything that is stored about a connection's items.
pub(crate) fn connection_items_partition(tenant: &Tenant, id: &ConnectionId) -> String {
    format!("X#{}#{id}", tenant.org())
}
