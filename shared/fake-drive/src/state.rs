//! Everything that the drive knows.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

use crate::channels::{Channel, Delivery, Notification};
use crate::faults::Fault;
use crate::oauth::OAuth;
use crate::world::World;

/// A request that came, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// GET or another.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The query's parameters, sorted; secrets are starred out.
    pub query: BTreeMap<String, String>,
    /// Whose access token it had.
    pub account: Option<String>,
    /// The call of the API, such as `files.list`.
    pub call: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// What it cost.
    pub units: u64,
}

/// An export that is made in the background.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) email: String,
    pub(crate) file: String,
    pub(crate) form: Option<String>,
    pub(crate) polls: u32,
    pub(crate) begun: i64,
}

pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) oauth: OAuth,
    pub(crate) channels: Vec<Channel>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) seen: Vec<Seen>,
    /// Spent quota units of each account.
    pub(crate) units: BTreeMap<String, u64>,
    /// The minute that runs, and what each account has spent in it.
    pub(crate) minute: (i64, BTreeMap<String, u64>),
    /// Sorted listings that are being paged through.
    pub(crate) sorted: HashMap<u64, Vec<String>>,
    pub(crate) operations: HashMap<String, Operation>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) outbox: UnboundedSender<Notification>,
}

impl State {
    pub(crate) fn new(world: World, oauth: OAuth, outbox: UnboundedSender<Notification>) -> Self {
        Self {
            world,
            oauth,
            channels: Vec::new(),
            faults: Vec::new(),
            seen: Vec::new(),
            units: BTreeMap::new(),
            minute: (0, BTreeMap::new()),
            sorted: HashMap::new(),
            operations: HashMap::new(),
            deliveries: Vec::new(),
            outbox,
        }
    }

    /// Books units on an account; whether the minute's limit, if there is one, allows them.
    pub(crate) fn spend(&mut self, email: &str, units: u64) -> bool {
        if let Some(limit) = self.world.quirks.units_per_minute {
            let minute = self.world.clock.now() / 60_000;
            if self.minute.0 != minute {
                self.minute = (minute, BTreeMap::new());
            }
            let spent = self.minute.1.entry(email.to_owned()).or_default();
            if *spent + units > limit {
                return false;
            }
            *spent += units;
        }

        *self.units.entry(email.to_owned()).or_default() += units;
        true
    }
}
