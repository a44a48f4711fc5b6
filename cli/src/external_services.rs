//! The services that a process reaches outside of itself and its data folder.

use std::sync::Arc;

use domain::ports::Connectors;
use processor::ContentReaders;
use service::Ctx;
use sync::{ModelJudge, SyncEngine};

/// Pages, models, providers of items, and the public address of this process.
#[derive(Clone)]
pub struct ExternalServices {
    /// The readers of content.
    pub readers: ContentReaders,
    /// The connectors to providers of items.
    pub connectors: Connectors,
    /// The address at which users' browsers and providers reach this process, without a trailing
    /// slash.
    pub public_url: Option<String>,
}

impl ExternalServices {
    /// Returns the engine that synchronizes connections.
    pub fn sync_engine(&self, ctx: &Ctx) -> SyncEngine {
        SyncEngine {
            ctx: ctx.clone(),
            connectors: self.connectors.clone(),
            judge: Arc::new(ModelJudge(self.readers.models.clone())),
            notifications: self.public_url.clone(),
        }
    }
}
