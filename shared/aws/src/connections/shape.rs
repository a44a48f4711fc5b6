//! The stored shapes of connections, permissions and claims.

use domain::connection::{Claim, ConnectionStatus, Grant};
use domain::{Connection, DocumentId, Tenant, Timestamp};
use sha2::{Digest, Sha256};

use crate::item::{Item, json, key_item, n, s};
use crate::keys::{self, Key};

/// A connection's item.
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

/// From when on a connection has something to do. One that is being deleted has until it is gone, and one that is expired
/// or suspended tries again when its next run says so; one that waits for its user has nothing to do, whatever it says.
fn due_at(connection: &Connection) -> Option<Timestamp> {
    match connection.status {
        ConnectionStatus::PendingOauth | ConnectionStatus::AwaitingSelection => None,
        ConnectionStatus::Active | ConnectionStatus::Expired | ConnectionStatus::Suspended => {
            connection.next_run_at
        }
        ConnectionStatus::Deleting => Some(connection.next_run_at.unwrap_or(connection.updated_at)),
    }
}

/// A permission's item.
pub(super) fn grant(tenant: &Tenant, grant: &Grant) -> Item {
    let mut item = key_item(&keys::grant(tenant, &grant.id));
    item.insert("v".into(), n(1));
    item.insert("rev".into(), n(grant.rev));
    item.insert("grant".into(), json(grant));
    item
}

/// A claim's key. The item is hashed: providers name items as they like and as long as they like.
pub(super) fn claim_key(tenant: &Tenant, document: &DocumentId, claim: &Claim) -> Key {
    let digest = hex(&Sha256::digest(&claim.item));
    (
        keys::claims(tenant, document),
        format!("{}{digest}", claim.connection),
    )
}

/// A claim's item.
pub(super) fn claim(tenant: &Tenant, document: &DocumentId, claim: &Claim) -> Item {
    let mut item = key_item(&claim_key(tenant, document, claim));
    item.insert("v".into(), n(1));
    item.insert("claim".into(), json(claim));
    item
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
