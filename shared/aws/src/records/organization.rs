//! The records of an organization's settings and tasks.

use domain::ports::PortResult;
use domain::{Settings, Task, TaskState, Tenant};

use super::{DueRecord, Item, Json, add_record, read_record, record_item};
use crate::table_keys;

record! {
    /// The settings of an organization.
    struct SettingsRecord, SettingsAttributes {
        /// The number of changes.
        #[serde(rename = "ver")]
        version: u64,
        #[serde(rename = "set")]
        settings: Json<Settings>,
    }
}

record! {
    /// A task. A running task also has [`DueRecord`].
    struct TaskRecord, TaskAttributes {
        #[serde(rename = "step")]
        step: u64,
        #[serde(rename = "task")]
        task: Json<Task>,
    }
}

/// Returns the item of an organization's settings.
pub(crate) fn settings_item(tenant: &Tenant, settings: &Settings) -> PortResult<Item> {
    let record = SettingsRecord {
        version: settings.version,
        settings: Json::encode(settings)?,
    };
    record_item(&table_keys::settings_key(tenant), &record)
}

/// Reads settings from their item.
pub(crate) fn read_settings(item: Item) -> PortResult<Settings> {
    let record: SettingsRecord = read_record(item)?;
    Ok(Settings {
        version: record.version,
        ..record.settings.decode()?
    })
}

/// Returns the item of a task.
pub(crate) fn task_item(tenant: &Tenant, task: &Task) -> PortResult<Item> {
    let record = TaskRecord {
        step: task.step,
        task: Json::encode(task)?,
    };

    let mut item = record_item(&table_keys::task_key(tenant, &task.id), &record)?;
    if task.state == TaskState::Running {
        let shard = table_keys::due_partition(task.id.as_str());
        add_record(&mut item, &DueRecord::new(shard, task.due_at))?;
    }
    Ok(item)
}

/// Reads a task from its item.
pub(crate) fn read_task(item: Item) -> PortResult<Task> {
    let record: TaskRecord = read_record(item)?;
    record.task.decode()
}
