//! Connections and their parts in the shape of the API.

use domain::connection::{
    Connection, ConnectionStatus, ItemRecord, ItemState, Provider, Run, RunState, RunTrigger,
    SyncState,
};
use domain::ports::{ItemKind, ProviderItem};
use domain::{
    ConnectionId, ContainerTag, Document, DocumentStatus, DocumentType, Error, Metadata, Result,
    Timestamp,
};
use serde::Serialize;
use service::item_state_name;

/// Parses the provider in a path or a field.
///
/// # Errors
/// [`Error::Unsupported`] that names the available providers.
pub(crate) fn parse_provider(name: &str) -> Result<Provider> {
    let names = Provider::ALL.map(Provider::as_str).join(" and ");
    Provider::parse(name).ok_or_else(|| {
        let excerpt: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        Error::Unsupported(format!(
            "connections to \"{excerpt}\" are not supported; there are {names}"
        ))
    })
}

/// A connection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectionShape {
    id: ConnectionId,
    provider: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    document_limit: u32,
    /// The current number of documents.
    document_count: u64,
    /// The number of items that the limit leaves out. Present only for a single connection, because
    /// the items have to be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_by_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    metadata: Option<Metadata>,
    container_tags: [ContainerTag; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync_run: Option<LastRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_sync_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ConnectionShape {
    pub(crate) fn new(
        connection: Connection,
        state: &SyncState,
        skipped_by_limit: Option<u64>,
    ) -> Self {
        let running = state
            .run
            .clone()
            .filter(|run| run.state == RunState::Running);
        let problem = connection.problem;

        Self {
            id: connection.id,
            provider: connection.provider.as_str(),
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
            last_sync_run: running.or(connection.last_run).map(LastRun::from),
            next_sync_at: connection.next_run_at,
            error_kind: problem.as_ref().map(|problem| problem.kind.as_str()),
            error: problem.map(|problem| problem.message),
        }
    }
}

/// A summary of the newest run of a connection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LastRun {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
}

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

const fn run_status(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Completed => "completed",
        RunState::Failed => "failed",
    }
}

/// A run of a connection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunShape {
    id: String,
    connection_id: ConnectionId,
    status: &'static str,
    trigger_type: &'static str,
    started_at: Timestamp,
    completed_at: Option<Timestamp>,
    items_processed: u64,
    items_failed: u64,
    items_skipped: u64,
    items_removed: u64,
    error_code: Option<&'static str>,
    error: Option<String>,
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
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemShape {
    id: String,
    name: String,
    path: String,
    state: &'static str,
    reason: Option<String>,
    document_id: Option<String>,
    mime_type: String,
    size: Option<u64>,
    modified_at: Option<Timestamp>,
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
            document_id: record.filed.map(|filed| filed.document.to_string()),
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
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChoiceShape {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) r#type: &'static str,
    pub(crate) mime_type: String,
    pub(crate) parent_id: Option<String>,
    pub(crate) drive_id: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) modified_at: Option<Timestamp>,
    pub(crate) url: Option<String>,
    pub(crate) owner: Option<String>,
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
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncedDocument {
    id: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    status: DocumentStatus,
    title: Option<String>,
    /// Always `null`.
    summary: Option<String>,
    r#type: DocumentType,
}

impl From<Document> for SyncedDocument {
    fn from(document: Document) -> Self {
        Self {
            id: document.id.to_string(),
            created_at: document.created_at,
            updated_at: document.updated_at,
            status: document.status,
            title: document.title,
            summary: None,
            r#type: document.kind,
        }
    }
}

/// Checks whether a connection waits for a selection.
pub(crate) fn waits_for_selection(connection: &Connection) -> bool {
    connection.status == ConnectionStatus::AwaitingSelection
}
