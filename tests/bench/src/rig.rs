//! The product in this process, reached through its routes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use aws::{Clients, SystemClock};
use axum::Router;
use axum::body::Body;
use cli::{ExternalServices, FolderObjects, LocalSystem, Workers};
use container_index::{CacheSettings, SegmentReading};
use domain::ports::{Connectors, OverdueWork};
use domain::{ContainerTag, OrgId, Tenant};
use edge::{App, LoopbackPeer};
use embedded::{
    ACCESS_KEY_ID, Durability, EmbeddedServices, InProcessTransport, MeteredTransport,
    NetworkProfile, REGION, SECRET_ACCESS_KEY,
};
use http::Request;
use http_body_util::BodyExt;
use processor::ContentReaders;
use reader::LocalReader;
use remote::{Fetcher, ModelClient, ModelSettings, Network};
use sandbox::Sandbox;
use serde_json::{Value, json};
use service::Authenticator;
use tempfile::TempDir;
use tower::ServiceExt;

const CACHE_BYTES: usize = 2 * 1024 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(1200);

/// A running system in a temporary folder.
pub(crate) struct BenchSystem {
    pub(crate) system: LocalSystem,
    pub(crate) meter: MeteredTransport,
    cache: CacheSettings,
    routes: Router,
    sandbox: Sandbox,
    workers: Option<Workers>,
    _folder: Option<TempDir>,
}

impl BenchSystem {
    /// Creates a system. Without workers, it processes nothing until
    /// [`BenchSystem::start_workers`].
    pub(crate) async fn new() -> Result<Self> {
        Self::with_durability(Durability::Full).await
    }

    /// Creates a system whose parsers run in `sandbox`.
    pub(crate) async fn with_sandbox(sandbox: Sandbox) -> Result<Self> {
        Ok(Self {
            sandbox,
            ..Self::new().await?
        })
    }

    /// Creates a system with this durability.
    pub(crate) async fn with_durability(durability: Durability) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let services = EmbeddedServices::open_durable(folder.path(), durability)?;
        let transport = InProcessTransport::new(services.clone());
        Ok(Self {
            _folder: Some(folder),
            ..Self::over(services, transport, CACHE_BYTES.into()).await?
        })
    }

    /// Opens the system of a folder, which is created if it does not exist, and which stays.
    pub(crate) async fn in_folder(folder: &Path) -> Result<Self> {
        let services = EmbeddedServices::open_durable(folder, Durability::Relaxed)?;
        let transport = InProcessTransport::new(services.clone());
        Self::over(services, transport, CACHE_BYTES.into()).await
    }

    /// Opens the system of a folder as a function in Lambda sees it: each answer of a service takes
    /// as long as on AWS.
    pub(crate) async fn as_function(folder: &Path) -> Result<Self> {
        let services = EmbeddedServices::open_durable(folder, Durability::Relaxed)?;
        let transport =
            InProcessTransport::new(services.clone()).with_network(NetworkProfile::lambda());
        // A quarter of it is for the routes of other functions.
        let cache = search::network_cache(search::LAMBDA_CACHE_BYTES / 3 * 4);
        Self::over(services, transport, cache).await
    }

    /// Creates a system in a temporary folder, whose services answer as those of AWS do.
    pub(crate) async fn with_network() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let system = Self::as_function(folder.path()).await?;
        Ok(Self {
            _folder: Some(folder),
            ..system
        })
    }

    async fn over(
        services: EmbeddedServices,
        transport: InProcessTransport,
        cache: CacheSettings,
    ) -> Result<Self> {
        let meter = MeteredTransport::new(transport);
        let config = aws::config_through(meter.clone(), ACCESS_KEY_ID, SECRET_ACCESS_KEY, REGION);
        let mut clients = Clients::in_process(&config);
        if cache.reading == SegmentReading::FROM_DISK {
            clients = clients.with_local_objects(Arc::new(FolderObjects(services.clone())));
        }
        let clock = Arc::new(SystemClock);
        let system = LocalSystem::over_services(services, &clients, clock, None).await?;
        let routes = start_routes(&system, cache)?;

        Ok(Self {
            system,
            meter,
            cache,
            routes,
            sandbox: Sandbox::in_process(),
            workers: None,
            _folder: None,
        })
    }

    /// Forgets everything that is warm, as a new function has nothing warm.
    pub(crate) fn become_cold(&mut self) -> Result<()> {
        self.routes = start_routes(&self.system, self.cache)?;
        Ok(())
    }

    /// Starts the workers.
    pub(crate) async fn start_workers(&mut self) -> Result<()> {
        self.workers =
            Some(Workers::start(&self.system, &no_external_systems(self.sandbox.clone())).await?);
        Ok(())
    }

    /// Returns the readers of content that the workers have.
    pub(crate) fn content_readers(&self) -> ContentReaders {
        no_external_systems(self.sandbox.clone()).readers
    }

    /// Sends a request and returns its answer.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        self.call_as("local", method, path, body).await
    }

    /// Sends a request with another key.
    pub(crate) async fn call_as(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };

        self.send(key, method, path, "application/json", body.into())
            .await
    }

    /// Sends a file to a container in a form.
    pub(crate) async fn upload_file(&self, tag: &str, name: &str, bytes: &[u8]) -> Result<Value> {
        let disposition = "content-disposition: form-data";
        let head = format!(
            "--part\r\n{disposition}; name=\"containerTag\"\r\n\r\n{tag}\r\n\
             --part\r\n{disposition}; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        let form = [head.as_bytes(), bytes, b"\r\n--part--\r\n"].concat();
        let kind = "multipart/form-data; boundary=part";
        self.send("local", "POST", "/v3/documents/file", kind, form.into())
            .await
    }

    async fn send(
        &self,
        key: &str,
        method: &str,
        path: &str,
        kind: &str,
        body: Body,
    ) -> Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .extension(LoopbackPeer);
        let request = request
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", kind);
        let response = self.routes.clone().oneshot(request.body(body)?).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!(
                "{method} {path} answered {status}: {}",
                String::from_utf8_lossy(&bytes)
            );
        }

        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Sends a `POST`.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.call("POST", path, body).await
    }

    /// Adds text and returns the document's id.
    pub(crate) async fn add_text(&self, tag: &str, content: &str) -> Result<String> {
        let answer = self
            .post(
                "/v3/documents",
                &json!({"content": content, "containerTag": tag}),
            )
            .await?;
        Ok(answer["id"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until a document is done.
    pub(crate) async fn wait_until_done(&self, id: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let document = self
                .call("GET", &format!("/v3/documents/{id}"), &Value::Null)
                .await?;
            match document["status"].as_str() {
                Some("done") => return Ok(()),
                Some("failed") => bail!("{document}"),
                _ if begun.elapsed() > PATIENCE => bail!("{id} is not done: {document}"),
                _ => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }

    /// Waits until no document is unfinished.
    pub(crate) async fn wait_until_idle(&self) -> Result<()> {
        let begun = Instant::now();
        while self.has_unfinished().await? {
            if begun.elapsed() > PATIENCE {
                bail!("work is left after {} s", PATIENCE.as_secs());
            }
            // The pause is long because the embedded DynamoDB reads the whole index for each poll.
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        Ok(())
    }

    /// Checks whether a document is unfinished. Purges wait a minute by design and do not count.
    async fn has_unfinished(&self) -> Result<bool> {
        let all = domain::Timestamp::from_millis(i64::MAX);
        let overdue = self.system.ctx.documents.list_overdue(all, 1000).await?;
        Ok(overdue
            .iter()
            .any(|work| matches!(work, OverdueWork::Document(..))))
    }

    /// Counts the records in the log of a container that are not compacted yet.
    pub(crate) async fn count_uncovered_records(&self, tag: &str) -> Result<u64> {
        let ctx = &self.system.ctx;
        let tenant = Tenant::for_operator(OrgId::parse("local")?);
        let tag = ContainerTag::parse(tag)?;
        let container = service::find_existing_container(ctx, &tenant, &tag).await?;
        let head = ctx.index.get_head(&tenant, container.primary_id()).await?;
        Ok(head.uncovered_records())
    }

    /// Stops the workers.
    pub(crate) async fn stop_workers(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.stop().await;
        }
    }
}

/// Returns the routes with empty caches.
fn start_routes(system: &LocalSystem, cache: CacheSettings) -> Result<Router> {
    let ctx = system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let authenticator = authenticator.with_local_key(OrgId::parse("local")?);
    Ok(cli::all_routes(
        &App::new(ctx, authenticator),
        cache,
        Connectors::default(),
        None,
        false,
    ))
}

/// Returns the resident memory of this process in megabytes; 0 if the system does not provide it.
pub(crate) fn resident_megabytes() -> u64 {
    read_memory("VmRSS:")
}

/// Forgets the peak of the resident memory of this process. Returns the present memory in megabytes,
/// `None` if the system does not provide it.
pub(crate) fn reset_peak_memory() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    Some(resident_megabytes())
}

/// Returns the most resident memory of this process since [`reset_peak_memory`], in megabytes.
pub(crate) fn peak_megabytes() -> u64 {
    read_memory("VmHWM:")
}

fn read_memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or_default()
        / 1024
}

/// Returns the median, the 99th percentile and the maximum of some durations, in milliseconds.
pub(crate) fn percentiles(times: &mut [Duration]) -> (f64, f64, f64) {
    times.sort_unstable();
    let at = |share: f64| {
        let place = ((times.len() as f64 - 1.0) * share).round() as usize;
        times
            .get(place)
            .map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    (at(0.5), at(0.99), at(1.0))
}

/// Returns external systems without a network, models or providers.
fn no_external_systems(sandbox: Sandbox) -> ExternalServices {
    let nowhere = Network::simulated(|_| Vec::new(), |_, _| None);
    let readers = ContentReaders {
        pages_and_files: Arc::new(LocalReader {
            sandbox,
            fetcher: Fetcher::new(nowhere),
        }),
        models: ModelClient::new(ModelSettings::default()),
        embedder: None,
    };
    ExternalServices {
        readers,
        connectors: Connectors::default(),
        public_url: None,
    }
}
