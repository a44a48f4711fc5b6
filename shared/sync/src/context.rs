//! The dependencies and limits of a step.

use domain::ports::Connectors;

use crate::judge::ItemJudge;
use crate::limits::StepLimits;
use crate::sync_service::SyncService;

/// The time at which a connection is to be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Immediately.
    Again,
    /// After this number of seconds.
    Later(i64),
    /// Not before an event occurs or the next run is due.
    Idle,
}

/// The dependencies and limits of a step.
pub(crate) struct StepContext<'a> {
    pub(crate) service: &'a dyn SyncService,
    pub(crate) connectors: &'a Connectors,
    pub(crate) judge: &'a dyn ItemJudge,
    pub(crate) notifications: Option<&'a str>,
    pub(crate) limits: StepLimits,
}
