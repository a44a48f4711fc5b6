//! Connections and their parts in the shape of the API.

use domain::connection::{
    Connection, ConnectionErrorKind, ConnectionStatus, ItemRecord, ItemState, Provider, Run,
    RunState, RunTrigger, SyncState,
};
use domain::ports::{ItemKind, ProviderItem};
use domain::{
    ConnectionId, ContainerTag, Document, DocumentId, DocumentStatus, Error, Metadata, Result,
    Timestamp,
};
use edge::{ProviderName, ProviderNames, TypeName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};
use service::item_state_name;

/// Parses the provider in a path or a field.
///
/// # Errors
/// [`Error::Unsupported`] that names the available providers.
pub(crate) fn parse_provider(name: &str, names: ProviderNames) -> Result<Provider> {
    let names = Provider::ALL.map(|provider| names.of_provider(provider).as_str());
    let names = names.join(" and ");
    Provider::parse(name).ok_or_else(|| {
        let excerpt: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        Error::Unsupported(format!(
            "connections to \"{excerpt}\" are not supported; there are {names}"
        ))
    })
}

/// A connection of a container to an account of a provider.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Connection")]
pub(crate) struct ConnectionShape {
    /// Its id.
    id: ConnectionId,
    /// The provider of the items.
    provider: ProviderName,
    /// Its status.
    #[schemars(extend("enum" = [
        "pending_oauth", "awaiting_selection", "active", "expired", "suspended",
    ]))]
    status: &'static str,
    /// The address of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The most documents.
    #[schemars(range(min = 1, max = 10_000))]
    document_limit: u32,
    /// The current number of documents.
    document_count: u64,
    /// The number of items that the limit leaves out, counted up to 5,000. Present only for a single
    /// connection, because the items have to be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_by_limit: Option<u64>,
    /// The time at which the permission ends, or was found to have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// The caller's own keys, with any JSON as values.
    #[schemars(with = "Option<Map<String, Value>>")]
    metadata: Option<Metadata>,
    /// The container tag of its documents.
    container_tags: [ContainerTag; 1],
    /// The newest run.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync_run: Option<LastRun>,
    /// The time at which the next run begins by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_sync_at: Option<Timestamp>,
    /// The kind of its problem. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ConnectionErrorKind>")]
    error_kind: Option<&'static str>,
    /// A sentence about the problem that says what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ConnectionShape {
    pub(crate) fn new(
        names: ProviderNames,
        connection: Connection,
        state: &SyncState,
        skipped_by_limit: Option<u64>,
    ) -> Self {
        let last_run = newest_run(&connection, state).cloned();
        let problem = connection.problem;

        Self {
            id: connection.id,
            provider: names.of_provider(connection.provider),
            status: connection.status.as_str(),
            email: connection.account.and_then(|account| account.email),
            created_at: connection.created_at,
            updated_at: connection.updated_at,
            document_limit: connection.document_limit,
            document_count: state.documents,
            skipped_by_limit,
            expires_at: connection.expires_at,
            metadata: Some(connection.metadata).filter(|metadata| !metadata.is_empty()),
            container_tags: [connection.tag],
            last_sync_run: last_run.map(LastRun::from),
            next_sync_at: connection.next_run_at,
            error_kind: problem.as_ref().map(|problem| problem.kind.as_str()),
            error: problem.map(|problem| problem.message),
        }
    }
}

/// Returns the run of a connection that is not completed, if there is one.
pub(crate) fn running_run(state: &SyncState) -> Option<&Run> {
    state
        .run
        .as_ref()
        .filter(|run| run.state == RunState::Running)
}

/// Returns the newest run of a connection, if there is one.
pub(crate) fn newest_run<'a>(connection: &'a Connection, state: &'a SyncState) -> Option<&'a Run> {
    running_run(state).or(connection.last_run.as_ref())
}

/// A summary of the newest run of a connection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LastRun {
    /// Its outcome, or `running`.
    #[schemars(extend("enum" = RUN_STATUSES))]
    status: &'static str,
    /// The reason why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = RUN_ERROR_CODES))]
    error_code: Option<&'static str>,
    /// A sentence about the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The time at which it began.
    started_at: Timestamp,
    /// The time at which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
}

/// The statuses of a run.
pub(crate) const RUN_STATUSES: [&str; 3] = ["running", "completed", "failed"];
/// The reasons why a run failed. Part of the API.
const RUN_ERROR_CODES: [&str; 5] = [
    "auth_expired",
    "rate_limited",
    "plan_required",
    "provider_unavailable",
    "internal",
];

impl From<Run> for LastRun {
    fn from(run: Run) -> Self {
        let (kind, error) = run.error.unzip();
        Self {
            status: run_status(run.state),
            error_code: kind.map(|kind| kind.error_code()),
            error,
            started_at: run.started_at,
            completed_at: run.completed_at,
        }
    }
}

/// Returns the name of the state of a run.
pub(crate) const fn run_status(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Completed => "completed",
        RunState::Failed => "failed",
    }
}

/// A run of a connection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SyncRun")]
pub(crate) struct RunShape {
    /// Its id.
    id: String,
    /// The id of the connection.
    connection_id: ConnectionId,
    /// Its outcome, or `running`.
    #[schemars(extend("enum" = RUN_STATUSES))]
    status: &'static str,
    /// What began it: a notification, the schedule, or a request.
    #[schemars(extend("enum" = ["event", "cron", "manual"]))]
    trigger_type: &'static str,
    /// The time at which it began.
    started_at: Timestamp,
    /// The time at which it ended.
    completed_at: Option<Timestamp>,
    /// The number of items that were filed, renamed, moved or removed.
    items_processed: u64,
    /// The number of items that failed.
    items_failed: u64,
    /// The number of items that were left out.
    items_skipped: u64,
    /// The number of items that were removed.
    items_removed: u64,
    /// The reason why it failed.
    #[schemars(schema_with = "error_code_schema")]
    error_code: Option<&'static str>,
    /// A sentence about the reason.
    error: Option<String>,
}

/// Returns the schema of the reason why a run failed, or null.
pub(crate) fn error_code_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{"type": "string", "enum": RUN_ERROR_CODES}, {"type": "null"}],
    })
}

impl RunShape {
    pub(crate) fn new(connection_id: &ConnectionId, run: Run) -> Self {
        let (kind, error) = run.error.unzip();
        Self {
            id: format!("{connection_id}:{}", run.number),
            connection_id: connection_id.clone(),
            status: run_status(run.state),
            trigger_type: RunTrigger::as_str(run.trigger),
            started_at: run.started_at,
            completed_at: run.completed_at,
            items_processed: run.processed,
            items_failed: run.failed,
            items_skipped: run.skipped,
            items_removed: run.removed,
            error_code: kind.map(|kind| kind.error_code()),
            error,
        }
    }
}

/// An item of a connection, and its state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Item")]
pub(crate) struct ItemShape {
    /// Its id at the provider.
    id: String,
    /// Its name.
    name: String,
    /// Its path.
    path: String,
    /// Its state.
    #[schemars(extend("enum" = ["skipped", "failed", "pending", "filed", "folder"]))]
    state: &'static str,
    /// The reason why it was skipped or failed.
    reason: Option<String>,
    /// The id of its document.
    document_id: Option<DocumentId>,
    /// Its MIME type.
    mime_type: String,
    /// Its size in bytes.
    size: Option<u64>,
    /// The time of its last change at the provider.
    modified_at: Option<Timestamp>,
    /// The address at which a person sees it.
    url: Option<String>,
}

impl From<ItemRecord> for ItemShape {
    fn from(record: ItemRecord) -> Self {
        let reason = match &record.state {
            ItemState::Skipped { reason } => Some(reason.as_str().to_owned()),
            ItemState::Failed { reason } => Some(reason.clone()),
            ItemState::Folder | ItemState::Pending | ItemState::Filed => None,
        };

        Self {
            state: item_state_name(&record.state),
            reason,
            document_id: record.filed.map(|filed| filed.document),
            id: record.id,
            name: record.name,
            path: record.path,
            mime_type: record.media_type,
            size: record.size,
            modified_at: reported_time(record.modified_at),
            url: record.url,
        }
    }
}

/// Returns a time if the provider has reported it.
fn reported_time(at: Timestamp) -> Option<Timestamp> {
    (at.as_millis() > 0).then_some(at)
}

/// An item that may be selected, in the terms of the picker.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChoiceShape {
    /// Its id at the provider.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Its kind.
    #[schemars(extend("enum" = ["folder", "file", "shortcut"]))]
    pub(crate) r#type: &'static str,
    /// Its MIME type.
    pub(crate) mime_type: String,
    /// The id of the folder that it is in.
    pub(crate) parent_id: Option<String>,
    /// The id of the shared drive that it is in.
    pub(crate) drive_id: Option<String>,
    /// Its size in bytes.
    pub(crate) size: Option<u64>,
    /// The time of its last change at the provider.
    pub(crate) modified_at: Option<Timestamp>,
    /// The address at which a person sees it.
    pub(crate) url: Option<String>,
    /// The name of its owner.
    pub(crate) owner: Option<String>,
    /// True if it can be selected.
    pub(crate) selectable: bool,
    /// The reason why it cannot be selected.
    pub(crate) reason: Option<&'static str>,
}

impl From<ProviderItem> for ChoiceShape {
    fn from(item: ProviderItem) -> Self {
        let (kind, reason) = match &item.kind {
            ItemKind::Folder => ("folder", None),
            ItemKind::File { .. } => ("file", None),
            ItemKind::Shortcut { .. } => ("shortcut", None),
            ItemKind::Unreadable(reason) => ("file", Some(reason.as_str())),
        };
        Self {
            id: item.id,
            name: item.name,
            r#type: kind,
            mime_type: item.media_type,
            parent_id: item.parent,
            drive_id: item.drive,
            size: item.size,
            modified_at: reported_time(item.modified_at),
            url: item.url,
            owner: item.owner,
            selectable: reason.is_none(),
            reason,
        }
    }
}

/// A document of a connection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConnectedDocument")]
pub(crate) struct SyncedDocument {
    /// Its id.
    id: DocumentId,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The status of its processing.
    status: DocumentStatus,
    /// Its title.
    title: Option<String>,
    /// Two or three sentences that say what its content is about. Null if there are none.
    summary: Option<String>,
    /// The type of its content.
    r#type: TypeName,
}

impl SyncedDocument {
    pub(crate) fn new(names: ProviderNames, document: Document) -> Self {
        let summary = document.summary().map(str::to_owned);
        Self {
            id: document.id,
            created_at: document.created_at,
            updated_at: document.updated_at,
            status: document.status,
            title: document.title,
            summary,
            r#type: names.of_type(document.kind),
        }
    }
}

/// Checks whether a connection waits for a selection.
pub(crate) fn waits_for_selection(connection: &Connection) -> bool {
    connection.status == ConnectionStatus::AwaitingSelection
}
