//! The stored shapes of connections, grants and claims.

use domain::connection::{ConnectionStatus, DocumentClaim, Grant};
use domain::{Connection, DocumentId, Tenant, Timestamp};
use sha2::{Digest, Sha256};

use crate::item::{Item, json_value, key_item, number_value, string_value};
use crate::keys::{self, Key};

/// Returns the item of a connection.
pub(super) fn connection_item(tenant: &Tenant, connection: &Connection) -> Item {
    let mut item = key_item(&keys::connection_key(tenant, &connection.id));
    item.insert("v".into(), number_value(1));
    item.insert("rev".into(), number_value(connection.rev));
    item.insert("conn".into(), json_value(connection));
    if let Some(at) = next_due_at(connection) {
        item.insert(
            "qs".into(),
            string_value(keys::due_connection_partition(&connection.id)),
        );
        item.insert("qd".into(), string_value(keys::due_sort_key(at)));
    }
    item
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

/// Returns the item of a grant.
pub(super) fn grant_item(tenant: &Tenant, grant: &Grant) -> Item {
    let mut item = key_item(&keys::grant_key(tenant, &grant.id));
    item.insert("v".into(), number_value(1));
    item.insert("rev".into(), number_value(grant.rev));
    item.insert("grant".into(), json_value(grant));
    item
}

/// Returns the key of a claim. The item is hashed, because providers choose the names of items and
/// their length.
pub(super) fn claim_key(tenant: &Tenant, document: &DocumentId, claim: &DocumentClaim) -> Key {
    let digest = hex::encode(Sha256::digest(&claim.item));
    (
        keys::claims_partition(tenant, document),
        format!("{}{digest}", claim.connection),
    )
}

/// Returns the item of a claim.
pub(super) fn claim_item(tenant: &Tenant, document: &DocumentId, claim: &DocumentClaim) -> Item {
    let mut item = key_item(&claim_key(tenant, document, claim));
    item.insert("v".into(), number_value(1));
    item.insert("claim".into(), json_value(claim));
    item
}
