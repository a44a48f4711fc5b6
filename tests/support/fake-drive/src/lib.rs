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
mod drive_contents;
mod faults;
mod oauth;
mod quirks;
mod random;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod wire;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

pub use admin::{Account, DriveAdmin};
pub use channels::SentNotification;
pub use clock::ClockFn;
pub use command::AdminCommand;
pub use demo::DemoContent;
pub use drive_contents::{EditRefused, FakeContent, Restrictions, SheetTable, Slide};
pub use faults::{FaultEffect, PlannedFault};
pub use oauth::{ConsentDecision, LOOPBACK_REDIRECT};
pub use quirks::{Descendants, Quirks};
pub use state::RecordedRequest;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::drive_contents::DriveContents;
use crate::oauth::OAuthState;
use crate::state::DriveState;

/// The configuration of a drive.
#[derive(Clone)]
pub struct DriveConfig {
    /// The address to listen on.
    pub bind: SocketAddr,
    /// The clock. Without one, time begins with 2026 and advances by one millisecond each time it
    /// is read.
    pub clock: Option<ClockFn>,
    /// The client id of the app.
    pub client_id: String,
    /// The client secret of the app.
    pub client_secret: String,
    /// The addresses to which users may be redirected; [`LOOPBACK_REDIRECT`] stands for every
    /// address on this machine.
    pub redirect_addresses: Vec<String>,
    /// The seed of ids and tokens. The same seed produces the same values.
    pub seed: u64,
    /// The quirks of the drive.
    pub quirks: Quirks,
}

impl Default for DriveConfig {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            clock: None,
            client_id: "fake-client.apps.googleusercontent.com".to_owned(),
            client_secret: "fake-client-secret".to_owned(),
            redirect_addresses: vec![LOOPBACK_REDIRECT.to_owned()],
            seed: 1,
            quirks: Quirks::default(),
        }
    }
}

/// A running drive. It stops when it is dropped. [`DriveAdmin`] has the functions that control it.
pub struct FakeDrive {
    admin: DriveAdmin,
    tasks: Vec<JoinHandle<()>>,
}

impl FakeDrive {
    /// Starts an empty drive on a free port of the loopback interface.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn start() -> std::io::Result<Self> {
        Self::start_with(DriveConfig::default()).await
    }

    /// Starts an empty drive.
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
    pub async fn start_with(config: DriveConfig) -> std::io::Result<Self> {
        let listener = TcpListener::bind(config.bind).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (outbox, notifications) = mpsc::unbounded_channel();
        let contents = DriveContents::new(Clock::new(config.clock), config.quirks, config.seed);
        let mut oauth = OAuthState::default();
        oauth.add_app(
            &config.client_id,
            &config.client_secret,
            config.redirect_addresses,
        );
        let state = Arc::new(Mutex::new(DriveState::new(contents, oauth, outbox)));
        let admin = DriveAdmin::new(state, url, (config.client_id, config.client_secret));
        let server_task = tokio::spawn(server::serve_requests(listener, admin.clone()));
        let notification_task =
            tokio::spawn(server::send_notifications(notifications, admin.clone()));

        Ok(Self {
            admin,
            tasks: vec![server_task, notification_task],
        })
    }

    /// Returns a handle, which may outlive the drive.
    pub fn admin(&self) -> DriveAdmin {
        self.admin.clone()
    }

    /// Waits until the drive ends. It ends on its own only if its socket fails.
    pub async fn wait_until_stopped(mut self) {
        for task in &mut self.tasks {
            let _ended = task.await;
        }
    }
}

impl Deref for FakeDrive {
    type Target = DriveAdmin;

    fn deref(&self) -> &DriveAdmin {
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
