//! The items of a connection: state, selection, nodes with their hints, queues and runs.

use domain::ConnectionId;
use domain::connection::{
    ItemRecord, Run, RunTrigger, Selection, SyncQueue, SyncQueueEntry, SyncState,
};
use domain::ports::SyncWrite;
use serde_json::json;

use crate::values::{LAST_TIME, NOW, connection_id, document_id, from_json, tenant};
use crate::world::World;

fn smallest_node() -> ItemRecord {
    from_json(json!({
        "id": "",
        "name": "",
        "path": "",
        "folder": true,
        "media_type": "",
        "version": "",
        "mark": "",
        "modified_at": NOW,
        "seen": 0,
        "state": {"state": "folder"},
    }))
}

/// Returns an item in a folder that points to another item, with everything that an item may have.
/// Its name is longer than a key may be.
fn largest_node() -> ItemRecord {
    from_json(json!({
        "id": "ü#".repeat(400),
        "parent": "a folder",
        "name": "A \"file\".pdf",
        "path": "/a folder/A \"file\".pdf",
        "folder": false,
        "target": "日本".repeat(200),
        "drive": "a drive",
        "media_type": "application/pdf",
        "version": "7",
        "mark": "f".repeat(64),
        "size": u64::MAX,
        "modified_at": LAST_TIME,
        "url": "https://example.org/ü",
        "owner": "ann@example.org",
        "kind": "pdf",
        "seen": u64::MAX,
        "state": {"state": "skipped", "reason": "too_large"},
        "filed": {
            "document": document_id("filed"),
            "mark": "6",
            "name": "Before",
            "path": "/Before",
        },
        "attempts": u32::MAX,
        "verdict": "in",
    }))
}

fn selection() -> Selection {
    from_json(json!({
        "rev": 1,
        "items": [
            {"id": "", "name": "", "folder": false},
            {"id": "an item", "name": "ü", "folder": true, "drive": "a drive"},
        ],
    }))
}

fn selection_with_exclusions() -> Selection {
    from_json(json!({
        "rev": 1,
        "items": [{"id": "an item", "name": "ü", "folder": true}],
        "excluded": [
            {"id": "", "name": "", "folder": false},
            {"id": "another item", "name": "ü", "folder": true, "above": ["a folder", "an item"]},
        ],
    }))
}

fn selections() -> [(ConnectionId, Selection); 2] {
    [
        (connection_id("large"), selection()),
        (connection_id("small"), selection_with_exclusions()),
    ]
}

fn entries() -> [(SyncQueue, SyncQueueEntry); 4] {
    [
        (SyncQueue::Walk, "a folder", "{\"stamp\":1}"),
        (SyncQueue::Walk, "", ""),
        (SyncQueue::Fetch, "0#an item", ""),
        (SyncQueue::Remove, "an item", "text that is not JSON"),
    ]
    .map(|(queue, key, value)| {
        let entry = SyncQueueEntry {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        (queue, entry)
    })
}

fn largest_run() -> Run {
    from_json(json!({
        "number": 999_999_999_999_u64,
        "trigger": "manual",
        "state": "completed",
        "started_at": NOW,
        "completed_at": LAST_TIME,
        "processed": u64::MAX,
        "failed": u64::MAX,
        "skipped": u64::MAX,
        "removed": u64::MAX,
        "requests": u64::MAX,
        "error": ["provider_unavailable", "a reason"],
    }))
}

fn smallest_run() -> Run {
    Run::start(1, RunTrigger::Event, NOW)
}

fn largest_state() -> SyncState {
    from_json(json!({
        "step": 1,
        "leased_until": LAST_TIME,
        "run": largest_run(),
        "phase": {"phase": "scan", "feed": "user", "page": "2"},
        "scanning_since": u64::MAX,
        "runs": u64::MAX,
        "feeds": {
            "user": {
                "cursor": "7",
                "pending": "8",
                "channel": {"id": "c", "resource": "r", "expires_at": LAST_TIME},
            },
        },
        "roots": {"an item": {"active": true, "above": "x", "chain": ["a", "b"]}},
        "selection": u64::MAX,
        "rules": "digest",
        "documents": u64::MAX,
        "reconciled_at": LAST_TIME,
        "must_scan": true,
        "held_by_run": u64::MAX,
        "attempts": u32::MAX,
        "roots_changed": true,
        "fetching": [{"item": "a", "of": "b"}],
        "releasing": [{"item": "c", "of": "d"}],
        "judged": u64::MAX,
        "limited": "an item",
        "shortcuts": true,
    }))
}

fn smallest_state() -> SyncState {
    SyncState {
        step: 1,
        ..SyncState::default()
    }
}

pub(crate) async fn write(world: &World) {
    let sync = &world.ctx.sync;
    let tenant = tenant();
    let large = connection_id("large");

    let mut writes = vec![
        SyncWrite::PutItem(Box::new(smallest_node()), None),
        SyncWrite::PutItem(Box::new(largest_node()), None),
        SyncWrite::PutRun(Box::new(smallest_run())),
        SyncWrite::PutRun(Box::new(largest_run())),
    ];
    for (queue, entry) in entries() {
        writes.push(SyncWrite::Enqueue(queue, entry));
    }

    for (connection, writes, state) in [
        (large.clone(), writes, largest_state()),
        (connection_id("small"), Vec::new(), smallest_state()),
    ] {
        let is_committed = sync
            .commit_step(&tenant, &connection, &writes, &state)
            .await;
        assert!(is_committed.expect("a step"));
    }

    for (connection, selection) in selections() {
        let is_saved = sync.save_selection(&tenant, &connection, &selection).await;
        assert!(is_saved.expect("a selection"));
    }
}

pub(crate) async fn check(world: &World) {
    let sync = &world.ctx.sync;
    let tenant = tenant();
    let large = connection_id("large");

    for (name, state) in [
        ("large", largest_state()),
        ("small", smallest_state()),
        ("none", SyncState::default()),
    ] {
        let found = sync.get_state(&tenant, &connection_id(name)).await;
        assert_eq!(found.expect("a state"), state);
    }
    for (connection, selection) in selections() {
        let found = sync.get_selection(&tenant, &connection).await;
        assert_eq!(found.expect("a selection"), selection);
    }

    let nodes = sync.list_items(&tenant, &large, None, 10).await;
    assert_eq!(nodes.expect("nodes"), [smallest_node(), largest_node()]);
    let children = sync
        .list_children(&tenant, &large, "a folder", None, 10)
        .await;
    assert_eq!(children.expect("a folder"), (vec![largest_node()], None));
    let target = largest_node().target.expect("a target");
    let shortcuts = sync.list_shortcuts(&tenant, &large, &target, 10).await;
    assert_eq!(shortcuts.expect("shortcuts"), [largest_node()]);

    for (queue, entry) in entries() {
        let keys = [entry.key.clone()];
        let found = sync
            .get_queue_entries(&tenant, &large, queue, &keys)
            .await
            .expect("an entry");
        assert_eq!(found, [Some(entry)]);
    }
    let walks = sync.list_queue(&tenant, &large, SyncQueue::Walk, None, 10);
    assert_eq!(walks.await.expect("a queue").len(), 2);

    let runs = sync.list_runs(&tenant, &large, 10).await;
    assert_eq!(runs.expect("runs"), [largest_run(), smallest_run()]);
}
