//! The stored shapes of connections, grants and claims.

use domain::connection::{Claim, ConnectionStatus, Grant};
use domain::{Connection, DocumentId, Tenant, Timestamp};
use sha2::{Digest, Sha256};

use crate::item::{Item, json, key_item, n, s};
use crate::keys::{self, Key};

/// Returns the item of a connection.
pub(super) fn connection(tenant: &Tenant, connection: &Connection) -> Item {
    let mut item = key_item(&keys::connection(tenant, &connection.id));
    item.insert("v".into(), n(1));
    item.insert("rev".into(), n(connection.rev));
    item.insert("conn".into(), json(connection));
    if let Some(at) = due_at(connection) {
        item.insert("qs".into(), s(keys::due_connection(&connection.id)));
        item.insert("qd".into(), s(keys::due_sort(at)));
    }
    item
}

/// Returns the time from which a connection has work to do.
///
/// A connection that is being deleted has work until it is gone. One that is expired or suspended
/// tries again at its next run. One that waits for its user has none, whatever its next run says.
fn due_at(connection: &Connection) -> Option<Timestamp> {
    match connection.status {
        ConnectionStatus::PendingOauth | ConnectionStatus::AwaitingSelection => None,
        ConnectionStatus::Active | ConnectionStatus::Expired | ConnectionStatus::Suspended => {
            connection.next_run_at
        }
        ConnectionStatus::Deleting => Some(connection.next_run_at.unwrap_or(connection.updated_at)),
    }
}

/// Returns the item of a grant.
pub(super) fn grant(tenant: &Tenant, grant: &Grant) -> Item {
    let mut item = key_item(&keys::grant(tenant, &grant.id));
    item.insert("v".into(), n(1));
    item.insert("rev".into(), n(grant.rev));
    item.insert("grant".into(), json(grant));
    item
}

/// Returns the key of a claim. The item is hashed, because providers choose the names of items and
/// their length.
pub(super) fn claim_key(tenant: &Tenant, document: &DocumentId, claim: &Claim) -> Key {
    let digest = hex(&Sha256::digest(&claim.item));
    (
        keys::claims(tenant, document),
        format!("{}{digest}", claim.connection),
    )
}

/// Returns the item of a claim.
pub(super) fn claim(tenant: &Tenant, document: &DocumentId, claim: &Claim) -> Item {
    let mut item = key_item(&claim_key(tenant, document, claim));
    item.insert("v".into(), n(1));
    item.insert("claim".into(), json(claim));
    item
}

/// Encodes bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
