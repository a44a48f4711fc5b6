//! Connectors and their runs in the shape of the API.

use domain::connection::{
    Connection, ConnectionStatus, Provider, Run, RunState, SelectedItem, SyncScope, SyncState,
};
use domain::{ConnectionId, ContainerTag, Result, Tenant, Timestamp};
use edge::{NoItem, ProviderName, ProviderNames};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};
use service::Ctx;

use super::config::config_of;
use crate::ConnectionsState;
use crate::wire::{RUN_STATUSES, error_code_schema, newest_run, run_status};

/// The number of runs that are kept. The last successful one is looked for among them.
const KEPT_RUNS: usize = 100;
/// The names of providers in this form of the API.
pub(super) const NAMES: ProviderNames = ProviderNames::Google;

/// A connection of a namespace to an account of a provider, or to a website.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Connector")]
pub(crate) struct ConnectorShape {
    /// Its id.
    id: ConnectionId,
    /// The provider of the items.
    #[schemars(schema_with = "provider_schema")]
    provider: ProviderName,
    /// The link with which the user gives permission, for a single connector that waits for that
    /// and a key that may write. Each answer has a new link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authorization: Option<LinkShape>,
    /// The namespace of its documents.
    namespace: ContainerTag,
    /// The address of the account.
    account: Option<String>,
    /// What it supports.
    capabilities: Capabilities,
    /// Its configuration, by the names of settings.
    config: Map<String, Value>,
    /// What is included. Null if everything is.
    selection: Option<SelectionShape>,
    /// The most documents.
    #[schemars(range(min = 1, max = 10_000))]
    document_limit: u32,
    /// The current number of documents.
    document_count: u64,
    /// The newest run. Null if there was none.
    latest_run: Option<RunShape>,
    /// Its status and times.
    system: ConnectorSystem,
    /// The 10 newest runs, if the request includes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) syncs: Option<Vec<SyncShape>>,
    /// A link to the picker, if the request includes it and there is anything to select.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) picker: Option<LinkShape>,
}

/// Returns the schema of the name of a provider.
fn provider_schema(_: &mut SchemaGenerator) -> Schema {
    let names = Provider::ALL.map(|provider| NAMES.of_provider(provider).as_str());
    json_schema!({"type": "string", "enum": names})
}

/// A link that a user opens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConnectorLink")]
pub(crate) struct LinkShape {
    /// The link.
    pub(super) url: String,
    /// The time at which it ends.
    pub(super) expires_at: Timestamp,
}

/// What a connector supports.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Capabilities {
    /// True if a user selects in the picker what is included.
    selectable: bool,
    /// True if the provider notifies this service of changes. Without that, changes are polled.
    webhooks: bool,
}

/// The items that are included. A folder includes everything below it.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(inline)]
struct SelectionShape {
    /// The files.
    files: Vec<SelectedShape>,
    /// The folders.
    folders: Vec<SelectedShape>,
}

/// An item that is included.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct SelectedShape {
    /// Its id at the provider.
    id: String,
    /// The name that it had when it was selected.
    name: String,
}

impl From<Vec<SelectedItem>> for SelectionShape {
    fn from(items: Vec<SelectedItem>) -> Self {
        let mut selection = Self::default();
        for item in items {
            let shape = SelectedShape {
                id: item.id,
                name: item.name,
            };
            if item.folder {
                selection.folders.push(shape);
            } else {
                selection.files.push(shape);
            }
        }
        selection
    }
}

/// The status and the times of a connector.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct ConnectorSystem {
    /// `pending_authorization` until the user has given permission.
    #[schemars(extend("enum" = ["pending_authorization", "active"]))]
    status: &'static str,
    /// The time of creation.
    created_at: Timestamp,
    /// The time at which the last run that did not fail ended. Null if there was none.
    last_successful_sync_at: Option<Timestamp>,
}

/// The outcome of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct RunShape {
    /// The reason why it failed.
    #[schemars(schema_with = "error_code_schema")]
    error_code: Option<&'static str>,
    /// A sentence about the reason.
    error: Option<String>,
    /// Its status and times.
    system: RunSystem,
}

/// The status and the times of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct RunSystem {
    /// Its outcome, or `running`.
    #[schemars(extend("enum" = RUN_STATUSES))]
    status: &'static str,
    /// The time at which it began.
    started_at: Timestamp,
    /// The time at which it ended.
    completed_at: Option<Timestamp>,
}

impl From<Run> for RunShape {
    fn from(run: Run) -> Self {
        let (kind, error) = run.error.unzip();
        Self {
            error_code: kind.map(|kind| kind.error_code()),
            error,
            system: RunSystem {
                status: run_status(run.state),
                started_at: run.started_at,
                completed_at: run.completed_at,
            },
        }
    }
}

/// A run of a connector.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConnectorSync")]
pub(crate) struct SyncShape {
    /// Its id.
    id: String,
    /// What began it: a notification, the schedule, or a request.
    #[schemars(extend("enum" = ["event", "cron", "manual"]))]
    trigger: &'static str,
    /// The number of items that were filed, renamed, moved or removed.
    items_processed: u64,
    /// The number of items that failed.
    items_failed: u64,
    /// Always empty: `GET /v3/connections/{id}/items` lists the items that failed.
    failures: [NoItem; 0],
    #[serde(flatten)]
    run: RunShape,
}

impl SyncShape {
    pub(super) fn new(connection: &ConnectionId, run: Run) -> Self {
        Self {
            id: format!("{connection}:{}", run.number),
            trigger: run.trigger.as_str(),
            items_processed: run.processed,
            items_failed: run.failed,
            failures: [],
            run: run.into(),
        }
    }
}

/// Checks whether a user selects in the picker what a connection includes.
pub(super) fn is_selectable(state: &ConnectionsState, connection: &Connection) -> bool {
    let connector = state.connectors.for_provider(connection.provider);
    connection.scope == SyncScope::Selected
        && connector.is_some_and(|connector| connector.oauth_flow().is_some())
}

/// Checks whether a connection waits for the permission of its user.
pub(super) fn is_pending(connection: &Connection) -> bool {
    connection.status == ConnectionStatus::PendingOauth
}

/// Returns a connection as a connector, without the parts that only some answers have.
pub(super) async fn show_connector(
    state: &ConnectionsState,
    tenant: &Tenant,
    connection: Connection,
) -> Result<ConnectorShape> {
    let ctx = &state.app.ctx;
    let sync_state = ctx.sync.get_state(tenant, &connection.id).await?;
    let last_successful_sync_at = find_last_success(ctx, tenant, &connection).await?;
    let selection = match connection.scope {
        SyncScope::Full => None,
        SyncScope::Selected => {
            let selection = ctx.sync.get_selection(tenant, &connection.id).await?;
            Some(selection.items.into())
        }
    };

    Ok(ConnectorShape {
        provider: NAMES.of_provider(connection.provider),
        authorization: None,
        capabilities: Capabilities {
            selectable: is_selectable(state, &connection),
            webhooks: has_notifications(&sync_state, ctx.clock.now()),
        },
        config: config_of(&connection),
        selection,
        document_limit: connection.document_limit,
        document_count: sync_state.documents,
        latest_run: newest_run(&connection, &sync_state)
            .cloned()
            .map(RunShape::from),
        system: ConnectorSystem {
            status: if is_pending(&connection) {
                "pending_authorization"
            } else {
                "active"
            },
            created_at: connection.created_at,
            last_successful_sync_at,
        },
        syncs: None,
        picker: None,
        id: connection.id,
        namespace: connection.tag,
        account: connection.account.and_then(|account| account.email),
    })
}

/// Checks whether the provider notifies this service of changes. Channels expire by themselves.
fn has_notifications(state: &SyncState, now: Timestamp) -> bool {
    let mut channels = state
        .feeds
        .values()
        .filter_map(|feed| feed.channel.as_ref());
    channels.any(|channel| channel.expires_at > now)
}

/// Returns the time at which the last run that did not fail ended. The record of the connection has
/// the newest run, so earlier ones are only read if that one failed.
async fn find_last_success(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
) -> Result<Option<Timestamp>> {
    let has_succeeded = |run: &Run| run.state == RunState::Completed;
    match &connection.last_run {
        None => return Ok(None),
        Some(run) if has_succeeded(run) => return Ok(run.completed_at),
        Some(_) => {}
    }

    let runs = ctx
        .sync
        .list_runs(tenant, &connection.id, KEPT_RUNS)
        .await?;
    let last_success = runs.into_iter().find(has_succeeded);
    Ok(last_success.and_then(|run| run.completed_at))
}
