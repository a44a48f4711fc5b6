//! The records of connections, grants and claims on documents.

use domain::connection::{ConnectionStatus, DocumentClaim, Grant};
use domain::ports::PortResult;
use domain::{Connection, DocumentId, Revision, Tenant, Timestamp};

use super::{DueRecord, Item, Json, add_record, read_record, record_item};
use crate::table_keys;

record! {
    /// The attributes of an item that is written only over the revision that was read.
    struct RevisionRecord, RevisionAttributes {
        /// The number of changes.
        #[serde(rename = "rev")]
        revision: u64,
        /// A random token that identifies a write. Of two writers with equal records, only one has
        /// its token stored.
        #[serde(rename = "w")]
        write_token: String,
    }
}

record! {
    /// A connection. It also has [`RevisionRecord`], and [`DueRecord`] if it has work to do.
    struct ConnectionRecord, ConnectionAttributes {
        #[serde(rename = "conn")]
        connection: Json<Connection>,
    }
}

record! {
    /// A grant. It also has [`RevisionRecord`].
    struct GrantRecord, GrantAttributes {
        #[serde(rename = "grant")]
        grant: Json<Grant>,
    }
}

record! {
    /// A claim of a connection on a document.
    struct ClaimRecord, ClaimAttributes {
        #[serde(rename = "claim")]
        claim: Json<DocumentClaim>,
    }
}

impl RevisionRecord {
    /// Returns the attributes of a write of `revision`, with a token of its own.
    pub(crate) fn new(revision: u64) -> Self {
        Self {
            revision,
            write_token: Revision::random().as_str().to_owned(),
        }
    }
}

/// Returns the item of a connection.
pub(crate) fn connection_item(tenant: &Tenant, connection: &Connection) -> PortResult<Item> {
    let record = ConnectionRecord {
        connection: Json::encode(connection)?,
    };

    let key = table_keys::connection_key(tenant, &connection.id);
    let mut item = record_item(&key, &record)?;
    add_record(&mut item, &RevisionRecord::new(connection.rev))?;
    if let Some(due_at) = next_due_at(connection) {
        let shard = table_keys::due_connection_partition(&connection.id);
        add_record(&mut item, &DueRecord::new(shard, due_at))?;
    }
    Ok(item)
}

/// Returns the time from which a connection has work to do.
///
/// A connection that is being deleted has work until it is gone. One that is expired or suspended
/// tries again at its next run. One that waits for its user has none, whatever its next run says.
fn next_due_at(connection: &Connection) -> Option<Timestamp> {
    match connection.status {
        ConnectionStatus::PendingOauth | ConnectionStatus::AwaitingSelection => None,
        ConnectionStatus::Active | ConnectionStatus::Expired | ConnectionStatus::Suspended => {
            connection.next_run_at
        }
        ConnectionStatus::Deleting => Some(connection.next_run_at.unwrap_or(connection.updated_at)),
    }
}

/// Reads a connection from its item.
pub(crate) fn read_connection(item: Item) -> PortResult<Connection> {
    let record: ConnectionRecord = read_record(item)?;
    record.connection.decode()
}

/// Returns the item of a grant.
pub(crate) fn grant_item(tenant: &Tenant, grant: &Grant) -> PortResult<Item> {
    let record = GrantRecord {
        grant: Json::encode(grant)?,
    };

    let mut item = record_item(&table_keys::grant_key(tenant, &grant.id), &record)?;
    add_record(&mut item, &RevisionRecord::new(grant.rev))?;
    Ok(item)
}

/// Reads a grant from its item.
pub(crate) fn read_grant(item: Item) -> PortResult<Grant> {
    let record: GrantRecord = read_record(item)?;
    record.grant.decode()
}

/// Returns the item of a claim.
pub(crate) fn claim_item(
    tenant: &Tenant,
    document: &DocumentId,
    claim: &DocumentClaim,
) -> PortResult<Item> {
    let record = ClaimRecord {
        claim: Json::encode(claim)?,
    };
    record_item(&table_keys::claim_key(tenant, document, claim), &record)
}

/// Reads a claim from its item.
pub(crate) fn read_claim(item: Item) -> PortResult<DocumentClaim> {
    let record: ClaimRecord = read_record(item)?;
    record.claim.decode()
}
