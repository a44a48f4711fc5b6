//! A test world: a drive, a service, and a connection between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::connection::{
    Connection, ConnectionStatus, ItemRecord, Provider, RunTrigger, SelectedItem, Selection,
    SyncQueue, SyncScope,
};
use domain::ports::Connectors;
use domain::settings::Settings;
use domain::{ConnectionId, ContainerTag, OrgId, Tenant, Timestamp};
use service::item_custom_id;

use super::drive::{DriveEvents, SimulatedDrive};
use super::fake_service::{FakeDocument, FakeService};
use super::memory::{ConnectionRows, MemoryStore};
use super::provider::DriveHandle;
use crate::context::{NextStep, StepContext};
use crate::judge::{ItemJudge, JudgeError, JudgedItem, ModelVerdict};
use crate::limits::StepLimits;
use crate::step;

pub(super) const BEGIN: i64 = 1_800_000_000_000;
/// A number of seconds longer than the grace period of documents and the delay of a removal that
/// was held back.
pub(super) const AFTER_GRACE_SECONDS: i64 = 4000;
pub(super) const DAY: i64 = 86_400;

/// A judge that rejects the items whose names say so.
pub(super) struct RejectLunch(pub(super) Mutex<Result<usize, JudgeError>>);

#[async_trait]
impl ItemJudge for RejectLunch {
    fn is_configured(&self) -> bool {
        !matches!(*self.0.lock().unwrap(), Err(JudgeError::NotConfigured))
    }

    async fn judge_item(&self, _: &str, item: &JudgedItem) -> Result<ModelVerdict, JudgeError> {
        let mut asked = self.0.lock().unwrap();
        match &mut *asked {
            Ok(asked) => *asked += 1,
            Err(error) => return Err(*error),
        }
        Ok(ModelVerdict {
            keep: !item.name.contains("lunch"),
            reason: String::new(),
        })
    }
}

pub(super) struct SyncWorld {
    pub(super) drive: Arc<DriveHandle>,
    pub(super) service: FakeService,
    connectors: Connectors,
    pub(super) judge: RejectLunch,
    pub(super) tenant: Tenant,
    pub(super) limits: StepLimits,
    pub(super) notifications: Option<String>,
}

impl SyncWorld {
    pub(super) fn new(seed: u64, life: DriveEvents) -> Self {
        let drive = Arc::new(DriveHandle(Mutex::new(SimulatedDrive::new(seed, life))));
        let service = FakeService {
            memory: MemoryStore::new(seed),
            docs: Mutex::default(),
            now: Mutex::new(Timestamp::from_millis(BEGIN)),
            settings: Mutex::new(Settings::default()),
            denied: Mutex::default(),
            renewed: Mutex::default(),
            reconnected: Mutex::default(),
            refused: Mutex::default(),
            interruption: Mutex::default(),
            forgotten_tokens: Mutex::default(),
        };

        let limits = StepLimits {
            items: 40,
            rows: 7,
            writes: 12,
            folders: 4,
            files: 4,
            ..StepLimits::default()
        };

        Self {
            connectors: Connectors::new(vec![drive.clone()]),
            drive,
            service,
            judge: RejectLunch(Mutex::new(Ok(0))),
            tenant: Tenant::for_operator(OrgId::parse("acme").unwrap()),
            limits,
            notifications: None,
        }
    }

    /// Creates a connection with a requested run.
    pub(super) fn add_connection(&self, scope: SyncScope, selected: &[String]) -> ConnectionId {
        let now = *self.service.now.lock().unwrap();
        let mut connection =
            Connection::new(Provider::CloudDrive, ContainerTag::default_tag(), now);
        connection.status = ConnectionStatus::Active;
        connection.scope = scope;
        connection.rev = 1;
        connection.request_run(RunTrigger::Manual, now);
        let id = connection.id.clone();
        self.service
            .memory
            .lock()
            .connections
            .insert(id.clone(), connection);
        if scope == SyncScope::Selected {
            self.select_items(&id, selected);
        }

        id
    }

    pub(super) fn select_items(&self, id: &ConnectionId, selected: &[String]) {
        let items = selected.iter().map(|id| SelectedItem {
            id: id.clone(),
            name: id.clone(),
            folder: true,
            drive: None,
        });
        let items = items.collect();
        let mut records = self.service.memory.lock();
        let rows = records.rows.entry(id.clone()).or_default();
        rows.selection = Selection {
            rev: rows.selection.rev + 1,
            items,
            excluded: Vec::new(),
        };

        let rev = rows.selection.rev;
        records.connections.get_mut(id).unwrap().selection = rev;
    }

    pub(super) fn change(&self, id: &ConnectionId, change: impl FnOnce(&mut Connection)) {
        let mut records = self.service.memory.lock();
        let connection = records.connections.get_mut(id).unwrap();
        change(connection);
        connection.rev += 1;
    }

    pub(super) fn connection(&self, id: &ConnectionId) -> Connection {
        self.service.memory.lock().connections[id].clone()
    }

    /// Checks whether the record of a connection still exists.
    pub(super) fn has_connection(&self, id: &ConnectionId) -> bool {
        self.service.memory.lock().connections.contains_key(id)
    }

    pub(super) fn rows(&self, id: &ConnectionId) -> ConnectionRows {
        self.service
            .memory
            .lock()
            .rows
            .get(id)
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn record(&self, id: &ConnectionId, item: &str) -> Option<ItemRecord> {
        self.rows(id).records.get(item).cloned()
    }

    pub(super) fn waiting(&self, id: &ConnectionId, queue: SyncQueue) -> usize {
        self.rows(id)
            .queues
            .keys()
            .filter(|(of, _)| *of == queue)
            .count()
    }

    pub(super) fn advance_time(&self, seconds: i64) {
        let mut now = self.service.now.lock().unwrap();
        *now = now.plus_seconds(seconds);
    }

    pub(super) fn set_crash_rate(&self, rate: f64) {
        *self.service.memory.crashes.lock().unwrap() = rate;
    }

    pub(super) async fn step(&self, id: &ConnectionId) -> domain::Result<NextStep> {
        let context = StepContext {
            service: &self.service,
            connectors: &self.connectors,
            judge: &self.judge,
            notifications: self.notifications.as_deref(),
            limits: self.limits,
        };
        step::execute_step(&context, &self.tenant, id).await
    }

    /// Executes a run from beginning to end, with as many processes as it takes.
    pub(super) async fn execute_run(&self, id: &ConnectionId) {
        self.change(id, |connection| {
            let now = *self.service.now.lock().unwrap();
            connection.request_run(RunTrigger::Manual, now);
        });

        for _ in 0..3000 {
            match self.step(id).await {
                Ok(NextStep::Again) => {}
                Ok(_)
                    if self.rows(id).state.run.is_none()
                        && self.connection(id).requested.is_none() =>
                {
                    return;
                }
                Ok(_) => self.advance_time(200),
                Err(_) => {
                    self.service.memory.lock().dead = false;
                    self.advance_time(100);
                }
            }
        }

        panic!("a run without end: {:?}", self.rows(id).state);
    }

    /// Executes runs until nothing waits any more.
    pub(super) async fn run_until_settled(&self, id: &ConnectionId) {
        for _ in 0..3 {
            self.execute_run(id).await;
            self.advance_time(AFTER_GRACE_SECONDS);
        }
        self.execute_run(id).await;
    }

    pub(super) fn document_of(&self, item: &str) -> Option<FakeDocument> {
        let custom_id = item_custom_id(Provider::CloudDrive, item);
        let org = OrgId::parse("acme").unwrap();
        let container = domain::ContainerId::parse("1111111111111111111111").unwrap();
        let id = domain::DocumentId::in_container(&org, &container, &custom_id);
        self.service.docs.lock().unwrap().get(id.as_str()).cloned()
    }

    /// Returns the items that the connection should claim, with the expected content and path of
    /// the document.
    pub(super) fn expected_documents(
        &self,
        id: &ConnectionId,
    ) -> BTreeMap<String, (String, String)> {
        let full = self.connection(id).scope == SyncScope::Full;
        let selected: BTreeSet<String> = self
            .rows(id)
            .selection
            .items
            .iter()
            .map(|item| item.id.clone())
            .collect();
        let drive = self.drive.lock();
        let mut wanted = BTreeMap::new();
        let in_scope = |item: &str| {
            drive.is_present(item)
                && (full
                    || drive
                        .ancestors_of(item)
                        .iter()
                        .any(|up| selected.contains(up)))
        };

        for (item, thing) in drive
            .things
            .iter()
            .filter(|(item, thing)| !thing.folder && in_scope(item))
        {
            let target = thing.target.as_ref();
            let of = target.unwrap_or(item);
            let leads = target.is_none_or(|target| {
                let file = drive
                    .things
                    .get(target)
                    .is_some_and(|thing| !thing.folder && thing.target.is_none());
                file && drive.is_present(target)
            });
            if leads {
                let shown = if in_scope(of) { of } else { item };
                wanted.insert(
                    item.clone(),
                    (drive.things[of].content.to_string(), drive.path_of(shown)),
                );
            }
        }

        wanted
    }

    /// Returns the differences between the actual and the expected documents: superfluous, missing
    /// and outdated ones.
    pub(super) fn document_differences(&self, id: &ConnectionId) -> Vec<String> {
        let wanted = self.expected_documents(id);
        let docs = self.service.docs.lock().unwrap().clone();
        let mut faults = Vec::new();
        let mut claimed = BTreeSet::new();
        for doc in docs.values() {
            for claim in doc.claims.iter().filter(|claim| claim.connection == *id) {
                claimed.insert(claim.item.clone());
                match wanted.get(&claim.item) {
                    None => faults.push(format!("leaked {}", claim.item)),
                    Some((content, path)) if *content != doc.content || *path != doc.path => {
                        faults.push(format!(
                            "stale {}: {} {} not {content} {path}",
                            claim.item, doc.content, doc.path
                        ));
                    }
                    Some(_) => {}
                }
            }
        }

        faults.extend(
            wanted
                .keys()
                .filter(|item| !claimed.contains(*item))
                .map(|item| format!("missing {item}")),
        );
        faults
    }
}
