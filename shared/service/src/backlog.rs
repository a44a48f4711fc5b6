//! Back-pressure on organizations that send documents faster than they are processed.
//!
//! Such an organization is asked to wait before anything of its request is accepted. Documents that
//! were accepted stay accepted. The count reads a bounded part of the waiting documents of all
//! organizations: while others have a large backlog it may be too low, so that more is accepted,
//! never less.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Ctx;
use domain::error::{Error, Result};
use domain::ids::OrgId;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of unfinished documents that an organization may have.
pub const MAX_UNFINISHED: usize = 100_000;
/// The number of seconds for which a count is used. Documents that this process accepts meanwhile
/// are added to it.
const FRESH_SECONDS: i64 = 5;
/// The shortest time between two counts, in seconds. A count that comes near the limit is repeated
/// after this time, before it has expired.
const RECOUNT_SECONDS: i64 = 1;
/// The pause that a refused client is asked for, in seconds: about the time in which some thousand
/// documents are processed.
const RETRY_AFTER_SECONDS: u64 = 10;

/// Counts the unfinished documents of organizations: one read every few seconds for each
/// organization that writes.
#[derive(Clone)]
pub struct Backlog {
    max: usize,
    counts: Arc<Mutex<HashMap<OrgId, Known>>>,
}

#[derive(Clone, Copy)]
struct Known {
    unfinished: usize,
    counted_at: Timestamp,
}

impl Backlog {
    /// Creates a backlog of at most `max` unfinished documents for each organization.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            counts: Arc::default(),
        }
    }

    /// Counts `documents` new documents of the organization, or refuses them all.
    ///
    /// # Errors
    /// Returns [`Error::RateLimited`] when the organization has too many unfinished documents, and
    /// the errors of the ports.
    pub async fn admit_documents(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        documents: usize,
    ) -> Result<()> {
        let now = ctx.clock.now();
        let cached = self.lock().get(tenant.org()).copied();
        let age = |cached: &Known| now.as_millis() - cached.counted_at.as_millis();
        let fresh = cached.filter(|cached| age(cached) < FRESH_SECONDS * 1000);

        let unfinished = match fresh {
            Some(cached)
                if cached.unfinished + documents <= self.max
                    || age(&cached) < RECOUNT_SECONDS * 1000 =>
            {
                cached.unfinished
            }
            _ => {
                let unfinished = ctx.documents.count_unfinished(tenant, self.max).await?;
                self.lock().insert(
                    tenant.org().clone(),
                    Known {
                        unfinished,
                        counted_at: now,
                    },
                );
                unfinished
            }
        };

        // A single batch that is larger than the limit would never be admitted. It is admitted when
        // no other document waits.
        if unfinished > 0 && unfinished + documents > self.max {
            return Err(Error::RateLimited {
                message: format!(
                    "{unfinished} documents of this organization wait to be processed, and {} may; send more later",
                    self.max
                ),
                retry_after_seconds: RETRY_AFTER_SECONDS,
            });
        }

        if let Some(cached) = self.lock().get_mut(tenant.org()) {
            cached.unfinished += documents;
        }

        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<OrgId, Known>> {
        // A panic while the lock was held cannot leave the map half-changed.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
