//! Keeps the documents of a connection in step with the items of its provider.
//!
//! A run goes through the phases of [`domain::connection::Phase`]: what lists of changes there are, where the selected
//! items stand, everything (when it has to be), what changed, what was not seen any more, and then the documents. It is
//! cut into steps of less than a minute, each cut into ticks. A tick reads, asks the provider, and commits all that
//! follows with the state that says where to go on, on condition that nobody else has: a crash loses one tick, which then
//! comes again.
//!
//! What keeps it right, whatever the provider tells late, twice or never:
//! - A cursor is taken before the scan that it follows, and moves in the commit of what its page told.
//! - Nothing is removed because a listing lacks it, only because the item itself, looked at after, is gone, in the bin or
//!   out of scope. Scope is decided by the folders as they are now, not by what is known of them.
//! - What is known below a folder goes with the folder, before anything else is looked at.
//! - What was decided by a look at an item is undone by a change that came after the look: so no look is older than the
//!   page of changes that it is used for.

mod batch;
mod desk;
mod judge;
mod keys;
mod limits;
mod phases;
mod rules;
mod run;
mod scope;
mod step;
mod trouble;
mod work;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use domain::ports::Connectors;
use domain::{ConnectionId, Ctx, Result, Tenant};

pub use judge::{Judge, JudgeError, Judged, ModelJudge, Verdict};
pub use step::Next;

use desk::Ports;
use limits::{Flags, Limits};
use step::Tools;

/// What moving connections on needs. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    /// The ports.
    pub ctx: Ctx,
    /// The providers.
    pub connectors: Connectors,
    /// Decides what the organization's prompt leaves out.
    pub judge: Arc<dyn Judge>,
    /// The public base address, for notifications of providers; without one, and with one that is not https, there are
    /// none.
    pub notifications: Option<String>,
}

/// Moves a connection on for at most a minute, and says when to come again. Any number of messages may ask for it at a
/// time: one of them works.
///
/// # Errors
/// Those of the ports. What a provider does wrong is written down in the connection.
pub async fn step(engine: &Engine, tenant: &Tenant, id: &ConnectionId) -> Result<Next> {
    let desk = Ports(&engine.ctx);
    let tools = Tools {
        desk: &desk,
        connectors: &engine.connectors,
        judge: engine.judge.as_ref(),
        notifications: engine.notifications.as_deref(),
        limits: Limits::default(),
        flags: Flags::default(),
    };
    step::step(&tools, tenant, id).await
}
