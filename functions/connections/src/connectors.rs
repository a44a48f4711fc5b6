//! Connectors, `/connectors` and `/ns/{namespace}/connectors`: connections in the form of the API
//! that version 5 of the Python client calls.

pub(crate) mod change;
pub(crate) mod config;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod one;
pub(crate) mod shape;

use openapi::Operation;
use serde_json::{Value, json};

/// The description of the namespace in a path.
const NAMESPACE: &str = "The namespace, which is a container tag.";
/// The description of the connector in a path.
const CONNECTOR: &str = "The id of a connector, which is that of the connection.";
/// The group of these operations.
const GROUP: &str = "Namespaces";
/// The description of the answer about a missing connector.
const NO_CONNECTOR: &str = "There is no such connector in the namespace.";

/// Returns an example of a connector.
fn connector_example() -> Value {
    json!({
        "id": "c7VhPq2mZt9bXw4KsYdRu1",
        "provider": "google-drive",
        "namespace": "user_42",
        "account": "mara@example.com",
        "capabilities": {"selectable": true, "webhooks": true},
        "config": {"syncScope": "selected"},
        "selection": {"files": [], "folders": [{"id": "1aBcPlans", "name": "Plans"}]},
        "documentLimit": 2000,
        "documentCount": 118,
        "latestRun": {
            "errorCode": null,
            "error": null,
            "system": {
                "status": "completed",
                "startedAt": "2026-03-01T09:31:00.000Z",
                "completedAt": "2026-03-01T09:31:20.000Z",
            },
        },
        "system": {
            "status": "active",
            "createdAt": "2026-03-01T09:30:00.000Z",
            "lastSuccessfulSyncAt": "2026-03-01T09:31:20.000Z",
        },
    })
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    [
        list::operations(),
        create::operations(),
        one::operations(),
        change::operations(),
    ]
    .concat()
}
