//! The system on one machine: embedded services in a data folder, and the ports over them.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use aws::{Clients, Names, SystemClock};
use domain::Ctx;
use domain::ports::Clock;
use embedded::{ACCESS_KEY, Durability, REGION, SECRET_KEY, SIGNING_KEY, Services, Transport};

/// Everything in a data folder.
#[derive(Clone)]
pub struct System {
    /// The embedded services.
    pub services: Services,
    /// The clients of the services.
    pub clients: Clients,
    /// The names of the tables, the bucket and the queues.
    pub names: Names,
    /// The ports.
    pub ctx: Ctx,
}

impl System {
    /// Opens a data folder, and creates what is missing in it. `durability` determines what
    /// survives a power cut. Links to files and uploads begin with `public`, the base address at
    /// which [`crate::bucket_routes`] are served. Without one they lead nowhere. If the machine's
    /// clock has been set back, time continues from the last write to the folder.
    ///
    /// # Errors
    /// Fails if the folder cannot be used.
    pub async fn open(
        folder: &Path,
        durability: impl Into<Durability>,
        public: Option<&str>,
    ) -> Result<Self> {
        if let Some(time) = embedded::last_write(folder) {
            SystemClock::go_on_from(time);
        }

        // All services share one clock, so that no queue message is delayed because the machine's
        // clock was set back.
        let clock = Arc::new(|| u64::try_from(SystemClock.now().as_millis()).unwrap_or_default());
        let services = Services::open_with(folder, durability.into(), clock)
            .with_context(|| format!("open the data folder {}", folder.display()))?;
        let config = aws::through(
            Transport::new(services.clone()),
            ACCESS_KEY,
            SECRET_KEY,
            REGION,
        );

        Self::over(
            services,
            &Clients::new(&config),
            Arc::new(SystemClock),
            public,
        )
        .await
    }

    /// Returns the system over open services, which are reached through `clients`, with the time of
    /// `clock`.
    ///
    /// # Errors
    /// Fails if missing parts cannot be created.
    pub async fn over(
        services: Services,
        clients: &Clients,
        clock: Arc<dyn Clock>,
        public: Option<&str>,
    ) -> Result<Self> {
        let secret = services.signing_secret();
        let clients = match public {
            Some(public) => clients
                .clone()
                .with_public_endpoint(public, SIGNING_KEY, secret),
            None => clients.clone(),
        };
        let clients = &clients;
        let names = aws::create_missing(clients, Names::embedded()).await?;
        let ctx = aws::ctx(clients, &names, clock);

        Ok(Self {
            services,
            clients: clients.clone(),
            names,
            ctx,
        })
    }
}
