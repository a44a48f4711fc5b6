//! The walk through the bucket for objects that nothing names.

use std::sync::{Mutex, PoisonError};

use domain::ports::Shelf;
use domain::usecase::collect_orphans;
use domain::{Ctx, Result, Timestamp};
use tracing::info;

/// Objects that one sweep looks at: a day of sweeps sees a quarter of a million.
const PAGE: usize = 200;
/// How long after its beginning a walk begins anew.
const PAUSE_SECONDS: i64 = 24 * 3600;

/// A walk through everything that is stored, a page with each sweep, about once a day. Where it is lies in memory: a
/// process that starts begins it anew.
#[derive(Debug, Default)]
pub struct OrphanWalk {
    state: Mutex<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    began: Option<Timestamp>,
    /// Where the next page begins; `None` at the beginning and at the end.
    after: Option<String>,
    ended: bool,
}

impl OrphanWalk {
    /// Looks at the next page, if the walk is not over for today; how many orphans were deleted.
    ///
    /// # Errors
    /// Those of the ports; the same page comes again.
    pub async fn step(&self, ctx: &Ctx) -> Result<usize> {
        let now = ctx.clock.now();
        let mut state = self.lock().clone();
        let is_over = state
            .began
            .is_none_or(|began| began.plus_seconds(PAUSE_SECONDS) <= now);
        if state.ended && !is_over {
            return Ok(0);
        }

        if state.ended || state.began.is_none() {
            state = State {
                began: Some(now),
                ..State::default()
            };
        }

        let (found, next) =
            collect_orphans(ctx, Shelf::Objects, state.after.as_deref(), PAGE).await?;
        if found > 0 {
            info!(found, "deleted {found} objects that nothing names");
        }

        (state.ended, state.after) = (next.is_none(), next);
        *self.lock() = state;

        Ok(found)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic while the lock was held cannot leave the state half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
