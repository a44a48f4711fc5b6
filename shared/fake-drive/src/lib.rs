//! A cloud drive in a process, for tests and for demonstrations without the real one: OAuth 2.0 with pages for people,
//! and the part of the Drive API v3 that a connector reads with. It holds requests against the documented names and
//! types, misbehaves as planned, and keeps accounts of what was asked and what it would have cost.
//!
//! Nothing in it is secret, and nothing is checked that would keep anybody out: it belongs on a loopback address.

mod admin;
mod api;
mod channels;
mod clock;
mod command;
mod content;
mod demo;
mod faults;
mod oauth;
mod quirks;
mod random;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod wire;
mod world;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

pub use admin::{Account, Admin};
pub use channels::Delivery;
pub use clock::Now;
pub use command::Command;
pub use demo::Demo;
pub use faults::{Effect, Fault};
pub use oauth::{Consent, LOOPBACK};
pub use quirks::{Descendants, Quirks};
pub use state::Seen;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
pub use world::{Body, Refused, Restrictions, Slide, Table};

use crate::clock::Clock;
use crate::oauth::OAuth;
use crate::state::State;
use crate::world::World;

/// How the drive is set up.
#[derive(Clone)]
pub struct Config {
    /// Where it listens.
    pub bind: SocketAddr,
    /// Its clock. Without one, time begins with 2026 and moves a millisecond with every look.
    pub now: Option<Now>,
    /// The app's client id.
    pub client_id: String,
    /// The app's secret.
    pub client_secret: String,
    /// The addresses to which people may come back with the app's answers; [`LOOPBACK`] is each on this machine.
    pub redirects: Vec<String>,
    /// Ids and tokens are the same with the same seed.
    pub seed: u64,
    /// How bad it is.
    pub quirks: Quirks,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            now: None,
            client_id: "fake-client.apps.googleusercontent.com".to_owned(),
            client_secret: "fake-client-secret".to_owned(),
            redirects: vec![LOOPBACK.to_owned()],
            seed: 1,
            quirks: Quirks::default(),
        }
    }
}

/// A running drive. It stops when it is dropped; what can be done with it is in [`Admin`].
pub struct FakeDrive {
    admin: Admin,
    tasks: Vec<JoinHandle<()>>,
}

impl FakeDrive {
    /// Starts an empty drive on a free port of the loopback interface.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start() -> std::io::Result<Self> {
        Self::start_with(Config::default()).await
    }

    /// Starts an empty drive.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn start_with(config: Config) -> std::io::Result<Self> {
        let listener = TcpListener::bind(config.bind).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (outbox, letters) = mpsc::unbounded_channel();
        let world = World::new(Clock::new(config.now), config.quirks, config.seed);
        let mut oauth = OAuth::default();
        oauth.add_app(&config.client_id, &config.client_secret, config.redirects);
        let state = Arc::new(Mutex::new(State::new(world, oauth, outbox)));
        let admin = Admin::new(state, url, (config.client_id, config.client_secret));
        let serve = tokio::spawn(server::serve(listener, admin.clone()));
        let post = tokio::spawn(server::post(letters, admin.clone()));

        Ok(Self {
            admin,
            tasks: vec![serve, post],
        })
    }

    /// A handle that may outlive the drive.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// Waits until the drive ends, which it does by itself only when its socket fails.
    pub async fn run(mut self) {
        for task in &mut self.tasks {
            let _ended = task.await;
        }
    }
}

impl Deref for FakeDrive {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

impl Drop for FakeDrive {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
