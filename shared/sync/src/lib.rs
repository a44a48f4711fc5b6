//! Keeps the documents of a connection up to date with the items of its provider.
//!
//! A run goes through the phases of [`domain::connection::RunPhase`]: it lists the change feeds,
//! examines the selected items, scans everything if necessary, reads the changes, examines the
//! items that the scan has not seen, and then makes and removes documents. A run is divided into
//! steps of less than a minute, and a step into ticks. A tick reads records, sends requests to the
//! provider, and commits all resulting writes together with the state that says where to continue.
//! The commit is conditional on the state that the step read, so it fails if another worker has
//! continued in the meantime. A crash loses at most one tick, which is then repeated.
//!
//! The following rules keep the result correct even if the provider reports something late, twice
//! or never:
//! - A cursor is taken before the scan that it follows. It advances in the commit that stores the
//!   effects of its page.
//! - An item is not removed because a listing lacks it. It is removed only if a later request for
//!   the item itself, or for a folder above it, shows that this is gone, in the bin or out of scope.
//!   Scope is decided by the current folders at the provider, not by the stored records.
//! - When a folder is removed, the items that were recorded below it are removed with it, without
//!   requests of their own. This comes before anything else is examined.
//! - A change may invalidate any earlier lookup of an item. Therefore no lookup is older than the
//!   page of changes for which it is used.
//!
//! Each module uses only modules above it:
//!
//! | module | content |
//! |---|---|
//! | `limits`, `item_paths`, `item_filter` | the limits with their reasons; paths; the rules of the organization |
//! | `queue` | the entries of the queues of folders, files and documents to remove |
//! | `decide` | the decisions, without I/O: what is stored and observed goes in, what is to be written comes out |
//! | `judge`, `sync_service`, `context` | the model; the service; the dependencies of a step |
//! | `tick_writes`, `step_state` | the writes of a tick; what a step knows, has read and is going to write |
//! | `lookups`, `item_records` | items at the provider and their scope; records of items and what follows from them |
//! | `phases` | one module for each phase: load, ask the provider, decide, write |
//! | `run`, `recovery` | the beginning and the end of a run; its reactions to errors |
//! | `step` | the lease, and tick after tick |

mod context;
mod decide;
mod item_filter;
mod item_paths;
mod item_records;
mod judge;
mod limits;
mod lookups;
mod phases;
mod queue;
mod recovery;
mod run;
mod step;
mod step_state;
mod sync_service;
mod tick_writes;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use domain::ports::Connectors;
use domain::{ConnectionId, Result, Tenant};
use service::Ctx;

pub use context::NextStep;
pub use judge::{ItemJudge, JudgeError, JudgedItem, ModelJudge, ModelVerdict};

use context::StepContext;
use limits::StepLimits;
use sync_service::PortService;

/// The dependencies of the synchronization. Cheap to clone.
#[derive(Clone)]
pub struct SyncEngine {
    /// The ports.
    pub ctx: Ctx,
    /// The connectors of the providers.
    pub connectors: Connectors,
    /// The judge that applies the organization's filter prompt.
    pub judge: Arc<dyn ItemJudge>,
    /// The public base address to which providers send notifications. Without an address, or with
    /// one that is not https, no notifications are requested.
    pub notifications: Option<String>,
}

/// Continues the synchronization of a connection for at most a minute, and returns when to continue
/// it again. Any number of messages may request this concurrently: only one of them takes the lease
/// and works.
///
/// # Errors
/// Returns the errors of the ports. Errors of the provider are recorded in the connection.
pub async fn synchronize_step(
    engine: &SyncEngine,
    tenant: &Tenant,
    id: &ConnectionId,
) -> Result<NextStep> {
    let service = PortService(&engine.ctx);
    let context = StepContext {
        service: &service,
        connectors: &engine.connectors,
        judge: engine.judge.as_ref(),
        notifications: engine.notifications.as_deref(),
        limits: StepLimits::default(),
    };
    step::execute_step(&context, tenant, id).await
}
