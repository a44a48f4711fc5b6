//! A walk through the bucket that deletes objects to which nothing refers.

use std::sync::{Mutex, PoisonError};

use domain::ports::BlobStore;
use domain::{Result, Timestamp};
use service::Ctx;
use service::collect_orphans;
use tracing::info;

/// The number of objects that one sweep examines. The sweeps of a day examine a quarter of a
/// million.
const PAGE_OBJECTS: usize = 200;
/// The time in seconds from the start of one walk to the start of the next.
const WALK_INTERVAL_SECONDS: i64 = 24 * 3600;

/// A walk through all stored objects, one page with each sweep, about once a day. Its position is
/// kept in memory, so a new process starts the walk again.
#[derive(Debug, Default)]
pub struct OrphanWalk {
    state: Mutex<WalkState>,
}

#[derive(Debug, Clone, Default)]
struct WalkState {
    started_at: Option<Timestamp>,
    /// The position at which the next page begins. `None` at the beginning and at the end.
    after: Option<String>,
    is_finished: bool,
}

impl OrphanWalk {
    /// Examines the next page, unless today's walk is over. Returns the number of deleted orphans.
    ///
    /// # Errors
    /// Those of the ports. The next call examines the same page again.
    pub async fn examine_next_page(&self, ctx: &Ctx) -> Result<usize> {
        let now = ctx.clock.now();
        let mut state = self.lock_state().clone();
        let is_interval_over = state
            .started_at
            .is_none_or(|started_at| started_at.plus_seconds(WALK_INTERVAL_SECONDS) <= now);
        if state.is_finished && !is_interval_over {
            return Ok(0);
        }

        if state.is_finished || state.started_at.is_none() {
            state = WalkState {
                started_at: Some(now),
                ..WalkState::default()
            };
        }

        let (found, next) = collect_orphans(
            ctx,
            BlobStore::Objects,
            state.after.as_deref(),
            PAGE_OBJECTS,
        )
        .await?;
        if found > 0 {
            info!(found, "deleted {found} objects that nothing names");
        }

        (state.is_finished, state.after) = (next.is_none(), next);
        *self.lock_state() = state;

        Ok(found)
    }

    fn lock_state(&self) -> std::sync::MutexGuard<'_, WalkState> {
        // A panic while the lock is held cannot leave the state half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
