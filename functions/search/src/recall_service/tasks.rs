//! The running tasks, and the order in which they are asked about a container.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::net::lookup_host;
use tokio::time::timeout;
use tracing::warn;

/// The time for which the addresses of the tasks are cached.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(5);
/// The longest wait for a look-up.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for which known tasks are asked while the name cannot be resolved. Then their addresses may
/// belong to others.
const MAX_AGE: Duration = Duration::from_secs(30);
/// The time for which a task that cannot be reached is not asked again.
const PAUSE: Duration = Duration::from_secs(10);

/// The running tasks.
#[derive(Debug)]
pub(super) struct Tasks {
    /// Names or IP addresses with ports.
    names: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: BTreeSet<SocketAddr>,
    /// The times of the last look-up, and of the last one that succeeded.
    looked_up: Option<Instant>,
    found: Option<Instant>,
    paused_until: HashMap<SocketAddr, Instant>,
}

impl Tasks {
    /// Returns the tasks at these names or IP addresses with ports, separated by commas.
    pub(super) fn at(addresses: &str) -> Self {
        let names = addresses.split(',').map(str::trim);
        Self {
            names: names.map(str::to_owned).collect(),
            state: Mutex::default(),
        }
    }

    /// Returns the tasks to ask about the container with this key, the one that keeps it warm first.
    pub(super) async fn tasks_by_preference(&self, container: &str) -> Vec<SocketAddr> {
        if self.is_outdated() {
            let running = self.look_up().await;
            let now = Instant::now();
            let mut state = self.lock();
            state.looked_up = Some(now);
            if let Some(running) = running {
                state.running = running;
                state.found = Some(now);
            } else if state.found.is_none_or(|time| now - time >= MAX_AGE) {
                state.running.clear();
            }
        }

        let now = Instant::now();
        let mut state = self.lock();
        state.paused_until.retain(|_, until| *until > now);
        let running = state.running.iter().copied();
        let asked = running.filter(|task| !state.paused_until.contains_key(task));
        order_by_weight(asked, container)
    }

    /// Leaves a task out for some seconds, because it cannot be reached.
    pub(super) fn pause(&self, task: SocketAddr) {
        let until = Instant::now() + PAUSE;
        self.lock().paused_until.insert(task, until);
    }

    fn is_outdated(&self) -> bool {
        let looked_up = self.lock().looked_up;
        looked_up.is_none_or(|time| time.elapsed() >= LOOKUP_INTERVAL)
    }

    /// Resolves the names. Returns `None` if this fails.
    async fn look_up(&self) -> Option<BTreeSet<SocketAddr>> {
        let mut running = BTreeSet::new();
        for name in &self.names {
            let found = timeout(LOOKUP_TIMEOUT, lookup_host(name.as_str())).await;
            match found.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
                Ok(addresses) => running.extend(addresses),
                // A name without an address is an error, too.
                Err(error) => {
                    warn!(name, %error, "no task of the recall service was found");
                    return None;
                }
            }
        }
        Some(running)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held cannot leave the state half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Orders tasks by rendezvous hashing (Thaler and Ravishankar, 1998): each has a weight for each
/// container, and the heaviest comes first. When a task comes or goes, only its own containers move,
/// and they spread evenly over the others.
fn order_by_weight(tasks: impl Iterator<Item = SocketAddr>, container: &str) -> Vec<SocketAddr> {
    let mut tasks: Vec<SocketAddr> = tasks.collect();
    tasks.sort_by_cached_key(|task| {
        let digest = Sha256::new()
            .chain_update(task.to_string())
            .chain_update([0])
            .chain_update(container)
            .finalize();
        Reverse(digest)
    });
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(count: u8) -> Vec<SocketAddr> {
        (1..=count)
            .map(|host| SocketAddr::from(([10, 0, 0, host], 8787)))
            .collect()
    }

    fn owners(tasks: &[SocketAddr]) -> Vec<SocketAddr> {
        (0..4000)
            .map(|number| order_by_weight(tasks.iter().copied(), &format!("org/user{number}"))[0])
            .collect()
    }

    #[test]
    fn each_task_gets_its_share_of_the_containers() {
        let tasks = addresses(4);
        let owners = owners(&tasks);
        for task in &tasks {
            let share = owners.iter().filter(|owner| *owner == task).count();
            assert!((850..1150).contains(&share), "{task}: {share}");
        }
    }

    #[test]
    fn only_the_containers_of_a_task_that_goes_move() {
        let tasks = addresses(4);
        let (before, after) = (owners(&tasks), owners(&tasks[1..]));
        let mut moved = BTreeSet::new();
        for (before, after) in before.iter().zip(&after) {
            if *before == tasks[0] {
                moved.insert(*after);
            } else {
                assert_eq!(before, after);
            }
        }
        assert_eq!(moved, tasks[1..].iter().copied().collect());
    }

    #[tokio::test]
    async fn a_task_that_cannot_be_reached_is_left_out() {
        let tasks = Tasks::at("127.0.0.1:1, 127.0.0.2:1");
        let order = tasks.tasks_by_preference("org/tag").await;
        assert_eq!(order.len(), 2);
        tasks.pause(order[0]);
        assert_eq!(tasks.tasks_by_preference("org/tag").await, order[1..]);
    }

    #[tokio::test]
    async fn known_tasks_stay_for_a_while_when_the_name_cannot_be_resolved() {
        let tasks = Tasks::at("no-port");
        assert!(tasks.tasks_by_preference("org/tag").await.is_empty());

        for (age, expected) in [(Duration::ZERO, addresses(1)), (MAX_AGE, Vec::new())] {
            *tasks.lock() = State {
                running: addresses(1).into_iter().collect(),
                found: Instant::now().checked_sub(age),
                ..State::default()
            };
            assert_eq!(tasks.tasks_by_preference("org/tag").await, expected);
        }
    }
}
