//! What a process reaches outside itself and its data folder.

use std::sync::Arc;

use domain::Ctx;
use domain::ports::Connectors;
use processor::Readers;
use sync::{Engine, ModelJudge};

/// Pages, models, providers of items, and the address at which all of them reach us.
#[derive(Clone)]
pub struct Outside {
    /// What reads content.
    pub readers: Readers,
    /// Who items come from.
    pub connectors: Connectors,
    /// The address at which users' browsers and providers reach this process, without a slash at its end.
    pub public_url: Option<String>,
}

impl Outside {
    /// What keeps connections in step.
    pub fn engine(&self, ctx: &Ctx) -> Engine {
        Engine {
            ctx: ctx.clone(),
            connectors: self.connectors.clone(),
            judge: Arc::new(ModelJudge(self.readers.models.clone())),
            notifications: self.public_url.clone(),
        }
    }
}
