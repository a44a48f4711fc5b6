//! Support for tests of [`domain::ports::SyncStore`], from the view of one connection.

use domain::connection::{
    ItemRecord, ItemState, Run, RunState, RunTrigger, SyncQueue, SyncQueueEntry, SyncState,
};
use domain::ports::{SyncStore, SyncWrite};
use domain::{ConnectionId, Tenant, Timestamp};

use crate::setting::{PortFixture, retry_unavailable};

/// Returns ids that are easily confused: some are prefixes of others, and some contain characters
/// that keys use as separators.
pub(crate) fn hard_ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "#",
        "##",
        "1#a",
        "a",
        "a#",
        "a#b",
        "a/b",
        "a%23",
        "ä",
        "a b",
        "ab",
        "~",
        "秘密",
        "🙂#🙂",
    ]
    .iter()
    .map(|id| (*id).to_owned())
    .collect();
    ids.push("x".repeat(300));
    ids.push("#".repeat(300));
    ids.push("ö".repeat(150));
    ids.push(format!("https://örter.example/{}", "ä/".repeat(1000)));
    ids.push(format!("https://örter.example/{}!", "ä/".repeat(1000)));
    ids.sort();

    ids
}

/// Returns a file in a folder.
pub(crate) fn new_node(id: &str, parent: Option<&str>) -> ItemRecord {
    ItemRecord {
        id: id.into(),
        parent: parent.map(str::to_owned),
        name: format!("Plan „{}“", id.chars().take(10).collect::<String>()),
        path: "/My Drive/Örter/plan.md".into(),
        folder: false,
        target: None,
        drive: None,
        media_type: "text/markdown".into(),
        version: "1".into(),
        content_version: "m1".into(),
        size: Some(12),
        modified_at: Timestamp::from_millis(1_744_709_400_000),
        url: Some("https://drive.example/file".into()),
        owner: Some("zoe@örter.example".into()),
        kind: None,
        seen: 0,
        state: ItemState::Pending,
        filed: None,
        attempts: 0,
        verdict: None,
    }
}

/// Returns a write of a new node.
pub(crate) fn add_node_write(node: &ItemRecord) -> SyncWrite {
    SyncWrite::PutItem(Box::new(node.clone()), None)
}

/// Returns a write of a node that was `old` before.
pub(crate) fn change_node_write(old: &ItemRecord, new: &ItemRecord) -> SyncWrite {
    SyncWrite::PutItem(Box::new(new.clone()), Some(Box::new(old.clone())))
}

/// Returns a write that adds an entry to a queue.
pub(crate) fn enqueue_write(queue: SyncQueue, key: &str, value: &str) -> SyncWrite {
    SyncWrite::Enqueue(
        queue,
        SyncQueueEntry {
            key: key.into(),
            value: value.into(),
        },
    )
}

/// Returns a run that succeeded.
pub(crate) fn finished_run(number: u64) -> Run {
    Run {
        number,
        trigger: RunTrigger::Cron,
        state: RunState::Completed,
        started_at: Timestamp::from_millis(1_744_709_400_000),
        completed_at: None,
        processed: number,
        failed: 0,
        skipped: 0,
        removed: 0,
        requests: 0,
        error: None,
    }
}

/// The stored synchronization data of one connection.
pub(crate) struct ConnectionStore<'a> {
    pub(crate) setting: &'a PortFixture,
    pub(crate) tenant: Tenant,
    pub(crate) of: ConnectionId,
}

impl<'a> ConnectionStore<'a> {
    /// Returns a new connection of the first organization.
    pub(crate) fn for_new_connection(setting: &'a PortFixture) -> Self {
        Self {
            setting,
            tenant: setting.alpha.clone(),
            of: ConnectionId::random(),
        }
    }

    /// Returns the connection with the same id in the other organization, and another connection of
    /// the same organization.
    pub(crate) fn neighbouring_stores(&self) -> [Self; 2] {
        let (setting, of) = (self.setting, self.of.clone());
        [
            Self {
                tenant: setting.beta.clone(),
                setting,
                of,
            },
            Self::for_new_connection(setting),
        ]
    }

    pub(crate) fn store(&self) -> &dyn SyncStore {
        self.setting.ctx().sync.as_ref()
    }

    pub(crate) async fn read_state(&self) -> SyncState {
        retry_unavailable(async || self.store().get_state(&self.tenant, &self.of).await)
            .await
            .expect("a state")
    }

    /// Commits a step. Under faults, a call may be repeated and then find its own write, which
    /// counts as committed.
    pub(crate) async fn commit_step(&self, writes: &[SyncWrite], next: &SyncState) -> bool {
        let call = async || {
            self.store()
                .commit_step(&self.tenant, &self.of, writes, next)
                .await
        };
        let done = retry_unavailable(call).await.expect("an answer");
        done || !self.setting.is_calm() && self.read_state().await == *next
    }

    /// Commits these writes as the next step.
    pub(crate) async fn commit_next_step(&self, writes: &[SyncWrite]) {
        let mut next = self.read_state().await;
        next.step += 1;
        assert!(
            self.commit_step(writes, &next).await,
            "nobody else does anything"
        );
    }

    pub(crate) async fn read_nodes(&self, ids: &[String]) -> Vec<Option<ItemRecord>> {
        retry_unavailable(async || self.store().get_items(&self.tenant, &self.of, ids).await)
            .await
            .expect("nodes")
    }

    /// Returns all nodes, read in pages of `limit`.
    pub(crate) async fn read_all_nodes(&self, limit: usize) -> Vec<ItemRecord> {
        let mut all: Vec<ItemRecord> = Vec::new();
        loop {
            let after = all.last().map(|node| node.id.clone());
            let page = async || {
                self.store()
                    .list_items(&self.tenant, &self.of, after.as_deref(), limit)
                    .await
            };
            let page = retry_unavailable(page).await.expect("a page");
            assert!(page.len() <= limit);

            let is_last = page.len() < limit;
            all.extend(page);
            if is_last {
                return all;
            }
        }
    }

    /// Returns the ids of the items in a folder, read in pages of `limit`.
    pub(crate) async fn read_children(&self, folder: &str, limit: usize) -> Vec<String> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = async || {
                self.store()
                    .list_children(&self.tenant, &self.of, folder, after.as_deref(), limit)
                    .await
            };
            let (page, next) = retry_unavailable(page).await.expect("a page");
            assert!(page.len() <= limit);
            all.extend(page.into_iter().map(|node| node.id));
            let Some(next) = next else { return all };
            after = Some(next);
        }
    }

    pub(crate) async fn read_shortcuts(&self, target: &str, limit: usize) -> Vec<String> {
        let call = async || {
            self.store()
                .list_shortcuts(&self.tenant, &self.of, target, limit)
                .await
        };
        retry_unavailable(call)
            .await
            .expect("shortcuts")
            .into_iter()
            .map(|node| node.id)
            .collect()
    }

    /// Returns all entries of a queue, read in pages of `limit`.
    pub(crate) async fn read_queue(&self, queue: SyncQueue, limit: usize) -> Vec<SyncQueueEntry> {
        let mut all: Vec<SyncQueueEntry> = Vec::new();
        loop {
            let after = all.last().map(|entry| entry.key.clone());
            let page = async || {
                self.store()
                    .list_queue(&self.tenant, &self.of, queue, after.as_deref(), limit)
                    .await
            };
            let page = retry_unavailable(page).await.expect("a page");
            assert!(page.len() <= limit);

            let is_last = page.len() < limit;
            all.extend(page);
            if is_last {
                return all;
            }
        }
    }

    pub(crate) async fn read_runs(&self, limit: usize) -> Vec<u64> {
        let call = async || self.store().list_runs(&self.tenant, &self.of, limit).await;
        retry_unavailable(call)
            .await
            .expect("runs")
            .into_iter()
            .map(|run| run.number)
            .collect()
    }

    pub(crate) async fn erase_some(&self, limit: usize) -> bool {
        let call = async || {
            self.store()
                .erase_records(&self.tenant, &self.of, limit)
                .await
        };
        retry_unavailable(call).await.expect("an answer")
    }
}
