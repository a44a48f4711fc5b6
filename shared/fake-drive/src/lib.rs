//! An in-process cloud drive for tests, and for demonstrations without the real one. It implements
//! OAuth 2.0 with consent pages, and the part of the Drive API v3 that a connector reads with. It
//! validates requests against the documented names and types, fails as planned, and records every
//! request and its cost in quota units.
//!
//! Nothing in it is secret, and it keeps nobody out. Bind it to a loopback address only.

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

/// The configuration of a drive.
#[derive(Clone)]
pub struct Config {
    /// The address to listen on.
    pub bind: SocketAddr,
    /// The clock. Without one, time begins with 2026 and advances by one millisecond each time it
    /// is read.
    pub now: Option<Now>,
    /// The client id of the app.
    pub client_id: String,
    /// The client secret of the app.
    pub client_secret: String,
    /// The addresses to which users may be redirected; [`LOOPBACK`] stands for every address on
    /// this machine.
    pub redirects: Vec<String>,
    /// The seed of ids and tokens. The same seed produces the same values.
    pub seed: u64,
    /// The quirks of the drive.
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

/// A running drive. It stops when it is dropped. [`Admin`] has the functions that control it.
pub struct FakeDrive {
    admin: Admin,
    tasks: Vec<JoinHandle<()>>,
}

impl FakeDrive {
    /// Starts an empty drive on a free port of the loopback interface.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn start() -> std::io::Result<Self> {
        Self::start_with(Config::default()).await
    }

    /// Starts an empty drive.
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
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

    /// Returns a handle, which may outlive the drive.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// Waits until the drive ends. It ends on its own only if its socket fails.
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
