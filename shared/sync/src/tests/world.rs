//! A test world: a drive, a service, and a connection between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::connection::{
    Connection, ConnectionStatus, Node, Provider, Queue, Selected, Selection, SyncScope, Trigger,
};
use domain::ports::Connectors;
use domain::settings::Settings;
use domain::usecase::custom_id_of;
use domain::{ConnectionId, ContainerTag, OrgId, Tenant, Timestamp};

use super::drive::{Drive, Life};
use super::memory::{Memory, Rows};
use super::office::{Doc, Office};
use super::provider::Shared;
use crate::judge::{Judge, JudgeError, Judged, Verdict};
use crate::limits::{Flags, Limits};
use crate::step::{self, Next, Tools};

pub(super) const BEGIN: i64 = 1_800_000_000_000;
/// A number of seconds longer than the grace period of documents and the delay of a removal that
/// was held back.
pub(super) const A_WHILE: i64 = 4000;
pub(super) const DAY: i64 = 86_400;

/// A judge that rejects the items whose names say so.
pub(super) struct Strict(pub(super) Mutex<Result<usize, JudgeError>>);

#[async_trait]
impl Judge for Strict {
    fn is_configured(&self) -> bool {
        !matches!(*self.0.lock().unwrap(), Err(JudgeError::NotConfigured))
    }

    async fn judge(&self, _: &str, item: &Judged) -> Result<Verdict, JudgeError> {
        let mut asked = self.0.lock().unwrap();
        match &mut *asked {
            Ok(asked) => *asked += 1,
            Err(error) => return Err(*error),
        }
        Ok(Verdict {
            keep: !item.name.contains("lunch"),
            reason: String::new(),
        })
    }
}

pub(super) struct World {
    pub(super) drive: Arc<Shared>,
    pub(super) office: Office,
    connectors: Connectors,
    pub(super) judge: Strict,
    pub(super) tenant: Tenant,
    pub(super) flags: Flags,
    pub(super) limits: Limits,
    pub(super) notifications: Option<String>,
}

impl World {
    pub(super) fn new(seed: u64, life: Life) -> Self {
        let drive = Arc::new(Shared(Mutex::new(Drive::new(seed, life))));
        let office = Office {
            memory: Memory::new(seed),
            docs: Mutex::default(),
            now: Mutex::new(Timestamp::from_millis(BEGIN)),
            settings: Mutex::new(Settings::default()),
            denied: Mutex::default(),
            renewed: Mutex::default(),
            reconnected: Mutex::default(),
            refused: Mutex::default(),
        };

        let limits = Limits {
            items: 40,
            rows: 7,
            writes: 12,
            folders: 4,
            files: 4,
            ..Limits::default()
        };

        Self {
            connectors: Connectors::new(vec![drive.clone()]),
            drive,
            office,
            judge: Strict(Mutex::new(Ok(0))),
            tenant: Tenant::of_operator(OrgId::parse("acme").unwrap()),
            flags: Flags::default(),
            limits,
            notifications: None,
        }
    }

    /// Creates a connection with a requested run.
    pub(super) fn connect(&self, scope: SyncScope, selected: &[String]) -> ConnectionId {
        let now = *self.office.now.lock().unwrap();
        let mut connection =
            Connection::new(Provider::CloudDrive, ContainerTag::default_tag(), now);
        connection.status = ConnectionStatus::Active;
        connection.scope = scope;
        connection.rev = 1;
        connection.request(Trigger::Manual, now);
        let id = connection.id.clone();
        self.office
            .memory
            .lock()
            .connections
            .insert(id.clone(), connection);
        if scope == SyncScope::Selected {
            self.select(&id, selected);
        }

        id
    }

    pub(super) fn select(&self, id: &ConnectionId, selected: &[String]) {
        let items = selected.iter().map(|id| Selected {
            id: id.clone(),
            name: id.clone(),
            folder: true,
            drive: None,
        });
        let items = items.collect();
        let mut records = self.office.memory.lock();
        let rows = records.rows.entry(id.clone()).or_default();
        rows.selection = Selection {
            rev: rows.selection.rev + 1,
            items,
        };

        let rev = rows.selection.rev;
        records.connections.get_mut(id).unwrap().selection = rev;
    }

    pub(super) fn change(&self, id: &ConnectionId, change: impl FnOnce(&mut Connection)) {
        let mut records = self.office.memory.lock();
        let connection = records.connections.get_mut(id).unwrap();
        change(connection);
        connection.rev += 1;
    }

    pub(super) fn connection(&self, id: &ConnectionId) -> Connection {
        self.office.memory.lock().connections[id].clone()
    }

    /// Checks whether the record of a connection still exists.
    pub(super) fn has(&self, id: &ConnectionId) -> bool {
        self.office.memory.lock().connections.contains_key(id)
    }

    pub(super) fn rows(&self, id: &ConnectionId) -> Rows {
        self.office
            .memory
            .lock()
            .rows
            .get(id)
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn node(&self, id: &ConnectionId, item: &str) -> Option<Node> {
        self.rows(id).nodes.get(item).cloned()
    }

    pub(super) fn waiting(&self, id: &ConnectionId, queue: Queue) -> usize {
        self.rows(id)
            .queues
            .keys()
            .filter(|(of, _)| *of == queue)
            .count()
    }

    pub(super) fn pass(&self, seconds: i64) {
        let mut now = self.office.now.lock().unwrap();
        *now = now.plus_seconds(seconds);
    }

    pub(super) fn crashes(&self, rate: f64) {
        *self.office.memory.crashes.lock().unwrap() = rate;
    }

    pub(super) async fn step(&self, id: &ConnectionId) -> domain::Result<Next> {
        let tools = Tools {
            desk: &self.office,
            connectors: &self.connectors,
            judge: &self.judge,
            notifications: self.notifications.as_deref(),
            limits: self.limits,
            flags: self.flags,
        };
        step::step(&tools, &self.tenant, id).await
    }

    /// Executes a run from beginning to end, with as many processes as it takes.
    pub(super) async fn run(&self, id: &ConnectionId) {
        self.change(id, |connection| {
            let now = *self.office.now.lock().unwrap();
            connection.request(Trigger::Manual, now);
        });

        for _ in 0..3000 {
            match self.step(id).await {
                Ok(Next::Again) => {}
                Ok(_)
                    if self.rows(id).state.run.is_none()
                        && self.connection(id).requested.is_none() =>
                {
                    return;
                }
                Ok(_) => self.pass(200),
                Err(_) => {
                    self.office.memory.lock().dead = false;
                    self.pass(100);
                }
            }
        }

        panic!("a run without end: {:?}", self.rows(id).state);
    }

    /// Executes runs until nothing waits any more.
    pub(super) async fn settle(&self, id: &ConnectionId) {
        for _ in 0..3 {
            self.run(id).await;
            self.pass(A_WHILE);
        }
        self.run(id).await;
    }

    pub(super) fn doc(&self, item: &str) -> Option<Doc> {
        let custom_id = custom_id_of(Provider::CloudDrive, item);
        let org = OrgId::parse("acme").unwrap();
        let container = domain::ContainerId::parse("1111111111111111111111").unwrap();
        let id = domain::DocumentId::derived(&org, &container, &custom_id);
        self.office.docs.lock().unwrap().get(id.as_str()).cloned()
    }

    /// Returns the items that the connection should claim, with the expected content and path of
    /// the document.
    pub(super) fn wanted(&self, id: &ConnectionId) -> BTreeMap<String, (String, String)> {
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
            drive.lives(item) && (full || drive.line(item).iter().any(|up| selected.contains(up)))
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
                file && drive.lives(target)
            });
            if leads {
                let shown = if in_scope(of) { of } else { item };
                wanted.insert(
                    item.clone(),
                    (drive.things[of].content.to_string(), drive.path(shown)),
                );
            }
        }

        wanted
    }

    /// Returns the differences between the actual and the expected documents: superfluous, missing
    /// and outdated ones.
    pub(super) fn faults(&self, id: &ConnectionId) -> Vec<String> {
        let wanted = self.wanted(id);
        let docs = self.office.docs.lock().unwrap().clone();
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
