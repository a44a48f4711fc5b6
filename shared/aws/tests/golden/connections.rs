//! Connections, the grants that they use, and their claims on documents.

use domain::Connection;
use domain::connection::{ConnectionStatus, DocumentClaim, Grant, Provider};
use serde_json::json;

use crate::values::{LAST_TIME, NOW, connection_id, document_id, from_json, tag, tenant};
use crate::world::World;

fn smallest_connection(name: &str) -> Connection {
    Connection {
        id: connection_id(name),
        ..Connection::new(Provider::WebCrawler, tag("notes"), NOW)
    }
}

/// Returns a connection that is being deleted, with everything that a connection may have.
fn largest_connection() -> Connection {
    from_json(json!({
        "id": connection_id("largest"),
        "provider": "cloud-drive",
        "tag": "notes",
        "status": "deleting",
        "problem": {
            "kind": "rate_limited",
            "message": "wait \"a\" while",
            "since": LAST_TIME,
            "attempts": u32::MAX,
        },
        "scope": "full",
        "document_limit": u32::MAX,
        "metadata": {"a": ["ü", "b"]},
        "redirect_url": "https://example.org/?q=ü",
        "grant": "grant00000000000000000",
        "account": {"subject": "7", "email": "ann@example.org"},
        "expires_at": LAST_TIME,
        "selection": u64::MAX,
        "next_run_at": LAST_TIME,
        "requested": "manual",
        "last_run": {
            "number": u64::MAX,
            "trigger": "cron",
            "state": "failed",
            "started_at": LAST_TIME,
            "completed_at": LAST_TIME,
            "processed": u64::MAX,
            "failed": u64::MAX,
            "skipped": u64::MAX,
            "removed": u64::MAX,
            "requests": u64::MAX,
            "error": ["internal", "a reason"],
        },
        "delete_documents": true,
        "rev": 0,
        "created_at": LAST_TIME,
        "updated_at": LAST_TIME,
    }))
}

/// Returns a connection with a next run, after its first change.
fn changed_connection() -> Connection {
    Connection {
        status: ConnectionStatus::Active,
        next_run_at: Some(NOW),
        rev: 1,
        ..smallest_connection("changed")
    }
}

fn smallest_grant() -> Grant {
    from_json(json!({
        "id": "smallest00000000000000",
        "provider": "cloud-drive",
        "account": {"subject": ""},
        "app": {"app": "operator", "client_id": ""},
        "connections": [],
        "secret": "",
        "rev": 0,
    }))
}

fn largest_grant() -> Grant {
    from_json(json!({
        "id": "largest000000000000000",
        "provider": "cloud-drive",
        "account": {"subject": "7", "email": "ann@example.org"},
        "app": {"app": "organization", "client_id": "client", "secret": "app/secret"},
        "connections": [connection_id("changed"), connection_id("largest")],
        "secret": "grant/tokens",
        "refreshing_until": LAST_TIME,
        "throttled_until": LAST_TIME,
        "rev": 0,
    }))
}

fn claims() -> [DocumentClaim; 2] {
    ["", "an item / ü#"].map(|item| DocumentClaim {
        connection: connection_id("largest"),
        item: item.to_owned(),
    })
}

pub(crate) async fn write(world: &World) {
    let connections = &world.ctx.connections;
    let tenant = tenant();
    let before = Connection {
        status: ConnectionStatus::PendingOauth,
        next_run_at: None,
        rev: 0,
        ..changed_connection()
    };

    for connection in [
        smallest_connection("smallest"),
        largest_connection(),
        before,
        changed_connection(),
    ] {
        let is_saved = connections.save(&tenant, &connection).await;
        assert!(is_saved.expect("a connection"));
    }
    for grant in [smallest_grant(), largest_grant()] {
        let is_saved = connections.save_grant(&tenant, &grant).await;
        assert!(is_saved.expect("a grant"));
    }
    for claim in claims() {
        connections
            .claim_document(&tenant, &document_id("claimed"), &claim)
            .await
            .expect("a claim");
    }
}

pub(crate) async fn check(world: &World) {
    let connections = &world.ctx.connections;
    let tenant = tenant();
    let wanted = [
        changed_connection(),
        smallest_connection("smallest"),
        largest_connection(),
    ];
    assert_eq!(connections.list(&tenant).await.expect("a list"), wanted);
    for connection in wanted {
        let found = connections.get(&tenant, &connection.id).await;
        assert_eq!(found.expect("a connection"), Some(connection));
    }

    let due = connections.list_due(LAST_TIME.plus_seconds(1), 10).await;
    let due = due.expect("due connections");
    let due: Vec<_> = due.into_iter().map(|(_, id)| id).collect();
    assert_eq!(due, ["changed", "largest"].map(connection_id));

    for grant in [smallest_grant(), largest_grant()] {
        let found = connections.get_grant(&tenant, &grant.id).await;
        assert_eq!(found.expect("a grant"), Some(grant));
    }

    let document = document_id("claimed");
    let found = connections.list_claims(&tenant, &document).await;
    let mut found = found.expect("claims");
    found.sort();
    assert_eq!(found, claims());
}
