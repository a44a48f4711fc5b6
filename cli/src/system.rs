//! The system on one machine: embedded services in a data folder, and the ports over them.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use aws::{Clients, LocalObjects, ResourceNames, SystemClock};
use bytes::Bytes;
use container_index::CompactionSettings;
use domain::ports::{Clock, LocalBlob};
use embedded::{
    ACCESS_KEY_ID, Durability, EmbeddedServices, InProcessTransport, ObjectFile, REGION,
    SECRET_ACCESS_KEY, SIGNING_KEY_ID,
};
use service::Ctx;

/// Everything in a data folder.
#[derive(Clone)]
pub struct LocalSystem {
    /// The embedded services.
    pub services: EmbeddedServices,
    /// The clients of the services.
    pub clients: Clients,
    /// The names of the tables, the bucket and the queues.
    pub names: ResourceNames,
    /// The ports.
    pub ctx: Ctx,
    /// The settings of the workers' compactions.
    pub compaction: CompactionSettings,
}

impl LocalSystem {
    /// Opens a data folder, and creates what is missing in it. `durability` determines what
    /// survives a power cut. Links to files and uploads begin with `public_url`, the base address
    /// at which [`crate::bucket_routes`] are served. Without one they lead nowhere. If the
    /// machine's clock has been set back, time continues from the last write to the folder.
    ///
    /// # Errors
    /// Fails if the folder cannot be used.
    pub async fn open(
        folder: &Path,
        durability: impl Into<Durability>,
        public_url: Option<&str>,
    ) -> Result<Self> {
        if let Some(time) = embedded::last_write_time(folder) {
            SystemClock::continue_from(time);
        }

        // All services share one clock, so that no queue message is delayed because the machine's
        // clock was set back.
        let clock = Arc::new(|| u64::try_from(SystemClock.now().as_millis()).unwrap_or_default());
        let services = EmbeddedServices::open_with(folder, durability.into(), clock)
            .with_context(|| format!("open the data folder {}", folder.display()))?;
        let config = aws::config_through(
            InProcessTransport::new(services.clone()),
            ACCESS_KEY_ID,
            SECRET_ACCESS_KEY,
            REGION,
        );

        let clients = Clients::in_process(&config);
        let clients = clients.with_local_objects(Arc::new(FolderObjects(services.clone())));
        Self::over_services(services, &clients, Arc::new(SystemClock), public_url).await
    }

    /// Returns the system over open services, which are reached through `clients`, with the time of
    /// `clock`.
    ///
    /// # Errors
    /// Fails if missing parts cannot be created.
    pub async fn over_services(
        services: EmbeddedServices,
        clients: &Clients,
        clock: Arc<dyn Clock>,
        public_url: Option<&str>,
    ) -> Result<Self> {
        let secret = services.signing_secret();
        let clients = match public_url {
            Some(public_url) => {
                clients
                    .clone()
                    .with_public_endpoint(public_url, SIGNING_KEY_ID, secret)
            }
            None => clients.clone(),
        };
        let clients = &clients;
        let names = aws::create_missing_resources(clients, ResourceNames::for_embedded()).await?;
        let ctx = aws::build_context(clients, &names, clock);

        Ok(Self {
            services,
            clients: clients.clone(),
            names,
            ctx,
            compaction: CompactionSettings::LOCAL,
        })
    }
}

/// The objects of a data folder, whose files this process can read.
pub struct FolderObjects(pub EmbeddedServices);

impl fmt::Debug for FolderObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FolderObjects")
    }
}

impl LocalObjects for FolderObjects {
    fn open(&self, bucket: &str, key: &str) -> Option<Arc<dyn LocalBlob>> {
        let file = self.0.open_object(bucket, key)?;
        Some(Arc::new(FolderObject(file)))
    }
}

/// The file of an object.
#[derive(Debug)]
struct FolderObject(ObjectFile);

impl LocalBlob for FolderObject {
    fn read_part(&self, bytes: Range<u64>) -> Option<Bytes> {
        self.0.read(bytes).ok().map(Bytes::from)
    }
}
