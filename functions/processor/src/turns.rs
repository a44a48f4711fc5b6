//! The turns of commits to the same container.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use domain::{ContainerId, OrgId};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The time for which a container counts as busy after another commit was first.
const BUSY_TIME: Duration = Duration::from_secs(10);

type ContainerKey = (OrgId, ContainerId);

/// Lets the commits to a container take turns. Two at a time would compete for the head of its log, and
/// one of them would have to be repeated. Commits of other processes, and those of requests, are not
/// waited for, but remembered when they are first.
#[derive(Default)]
pub(crate) struct CommitTurns {
    locks: Mutex<HashMap<ContainerKey, Weak<AsyncMutex<()>>>>,
    /// The times at which other commits were first.
    conflicts: Mutex<HashMap<ContainerKey, Instant>>,
}

impl CommitTurns {
    /// Waits for a turn, which ends when the result is dropped.
    pub(crate) async fn wait(&self, org: &OrgId, container: &ContainerId) -> OwnedMutexGuard<()> {
        self.find_lock((org.clone(), container.clone()))
            .lock_owned()
            .await
    }

    fn find_lock(&self, key: ContainerKey) -> Arc<AsyncMutex<()>> {
        let mut locks = lock(&self.locks);
        if let Some(lock) = locks.get(&key).and_then(Weak::upgrade) {
            return lock;
        }

        let lock = Arc::default();
        locks.retain(|_, lock| lock.strong_count() > 0);
        locks.insert(key, Arc::downgrade(&lock));
        lock
    }

    /// Checks whether another commit to a container was first a few seconds ago.
    pub(crate) fn is_busy(&self, org: &OrgId, container: &ContainerId) -> bool {
        let key = (org.clone(), container.clone());
        let conflict = lock(&self.conflicts).get(&key).copied();
        conflict.is_some_and(|at| at.elapsed() < BUSY_TIME)
    }

    /// Records that another commit to a container was first.
    pub(crate) fn record_conflict(&self, org: &OrgId, container: &ContainerId) {
        let mut conflicts = lock(&self.conflicts);
        conflicts.retain(|_, at| at.elapsed() < BUSY_TIME);
        conflicts.insert((org.clone(), container.clone()), Instant::now());
    }
}

fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn commits_to_a_container_take_turns() {
        let turns = CommitTurns::default();
        let org = OrgId::parse("acme").expect("a name");
        let [one, other] = [ContainerId::random(), ContainerId::random()];

        let first = turns.wait(&org, &one).await;
        assert!(turns.wait(&org, &one).now_or_never().is_none());
        assert!(turns.wait(&org, &other).now_or_never().is_some());
        drop(first);
        assert!(turns.wait(&org, &one).now_or_never().is_some());
        assert_eq!(
            turns.locks.lock().expect("locks").len(),
            1,
            "unused locks are dropped"
        );
    }

    #[test]
    fn a_container_is_busy_for_a_while_after_a_conflict() {
        let turns = CommitTurns::default();
        let org = OrgId::parse("acme").expect("a name");
        let [one, other] = [ContainerId::random(), ContainerId::random()];

        turns.record_conflict(&org, &one);
        assert!(turns.is_busy(&org, &one));
        assert!(!turns.is_busy(&org, &other));
    }
}
