//! The settings and the tasks of an organization.

use domain::{Settings, Task, TaskState};
use serde_json::json;

use crate::values::{
    LAST_TIME, container_id, document_id, from_json, longest_tenant, task_id, tenant,
    tenant_with_picker,
};
use crate::world::World;

fn smallest_settings() -> Settings {
    Settings {
        version: 1,
        ..Settings::default()
    }
}

/// Returns settings with every value, after their first change.
fn largest_settings() -> Settings {
    let settings: Settings = from_json(json!({
        "chunk_size": u32::MAX,
        "profile_buckets": [{"key": "food", "description": "What \"the\" user eats"}],
        "should_llm_filter": true,
        "filter_prompt": "",
        "include_items": {"patterns": ["*.md"], "folders": ["/ü"]},
        "exclude_items": {"patterns": [], "folders": []},
        "workspace_prompt": "日本",
        "trusted_sources": {
            "providers": ["cloud-drive"],
            "connections": ["a connection"],
            "senders": ["ann@example.org"],
            "hosts": ["example.org"],
        },
        "log_content": "full",
        "allowed_redirect_urls": ["https://example.org"],
        "apps": {
            "cloud-drive": {"client_id": "client", "secret": "name", "enabled": true},
            "notion": {"client_id": null, "secret": null, "enabled": null},
        },
    }));

    Settings {
        version: 2,
        ..settings
    }
}

/// Returns settings of the picker, after their first change.
fn picker_settings() -> Settings {
    let settings: Settings = from_json(json!({
        "picker": {
            "origins": ["https://app.example.org", "http://localhost:3000"],
            "name": "ü",
            "color": "#1f5fc4",
            "logo": "data:image/png;base64,iVBORw0KGgo=",
        },
    }));

    Settings {
        version: 1,
        ..settings
    }
}

fn running_task() -> Task {
    from_json(json!({
        "id": task_id("running"),
        "work": {
            "task": "merge",
            "sources": [],
            "target": "notes",
            "target_ids": [],
            "phase": "queued",
            "source": 0,
            "container": 0,
            "looked_at": 0,
            "in_flight": 0,
            "superseded": 0,
        },
        "state": "running",
        "step": 0,
        "attempts": 0,
        "created_at": LAST_TIME,
        "updated_at": LAST_TIME,
        "due_at": LAST_TIME,
    }))
}

/// Returns a task that is done, with everything that a task may have.
fn completed_task() -> Task {
    let report = json!({
        "documents": u64::MAX,
        "chunks": u64::MAX,
        "statements": u64::MAX,
        "inlineBlobs": u64::MAX,
        "objects": u64::MAX,
        "objectBytes": u64::MAX,
        "indexRecords": u64::MAX,
        "segments": u64::MAX,
        "logContents": u64::MAX,
    });

    from_json(json!({
        "id": task_id("completed"),
        "work": {
            "task": "purge",
            "tag": "notes",
            "containers": [container_id("box")],
            "tag_created_at": LAST_TIME,
            "deleted_at": LAST_TIME,
            "container": 1,
            "phase": {"request-log": {"hour": 7}},
            "cursor": "a \"cursor\"",
            "pending": {
                "documents": [document_id("pending")],
                "items": ["L#7"],
                "objects": ["ü"],
                "report": report,
            },
            "report": report,
            "verifying": true,
        },
        "state": "completed",
        "step": 1,
        "attempts": u32::MAX,
        "error": "a reason",
        "created_at": LAST_TIME,
        "updated_at": LAST_TIME,
        "due_at": LAST_TIME,
    }))
}

pub(crate) async fn write(world: &World) {
    let settings = &world.ctx.settings;
    for (tenant, values) in [
        (tenant(), smallest_settings()),
        (longest_tenant(), smallest_settings()),
        (longest_tenant(), largest_settings()),
        (tenant_with_picker(), picker_settings()),
    ] {
        settings.put(&tenant, &values).await.expect("settings");
    }

    let before = Task {
        state: TaskState::Running,
        step: 0,
        ..completed_task()
    };
    for task in [running_task(), before, completed_task()] {
        let is_saved = world.ctx.tasks.save(&tenant(), &task).await;
        assert!(is_saved.expect("a task"));
    }
}

pub(crate) async fn check(world: &World) {
    let settings = &world.ctx.settings;
    for (tenant, wanted) in [
        (tenant(), smallest_settings()),
        (longest_tenant(), largest_settings()),
        (tenant_with_picker(), picker_settings()),
    ] {
        assert_eq!(settings.get(&tenant).await.expect("settings"), wanted);
    }

    for task in [running_task(), completed_task()] {
        let found = world.ctx.tasks.get(&tenant(), &task.id).await;
        assert_eq!(found.expect("a task"), Some(task));
    }
}
