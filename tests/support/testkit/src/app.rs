//! The whole app in one process: the production routers, adapters and workers over embedded
//! services.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use aws::Clients;
use aws_smithy_async::rt::sleep::SharedAsyncSleep;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use cli::{ExternalServices, FolderObjects, LocalSystem, QueueSet};
use container_index::{CacheSettings, CompactionSettings, SegmentReading};
use domain::key::{KeyKind, KeySpec, NewKey, Permission};
use domain::{ContainerTag, OrgId, Tenant, Timestamp};
use edge::{App, ProviderNames};
use embedded::{ACCESS_KEY_ID, Durability, EmbeddedServices, REGION, SECRET_ACCESS_KEY};
use http::{HeaderMap, Request, StatusCode};
use processor::ContentReaders;
use reader::{LocalReader, Reader};
use remote::{Fetcher, ModelClient, ModelSettings};
use sandbox::Sandbox;
use serde_json::Value;
use service::{Authenticator, Backlog, OrganizationCaps, create_key};
use tempfile::TempDir;
use tower::ServiceExt;
use transformer::FolderSettings;

use crate::clock::TestClock;
use crate::faults::FaultyTransport;
use crate::internet::TestInternet;
use crate::openapi;
use crate::rights::{CheckedWorker, run_as, with_rights_of_functions};
use crate::sleep::NoSleep;

/// Services in a temporary folder, and their clock. Several apps may share one world, as processes
/// share AWS.
#[derive(Clone)]
pub struct TestEnvironment {
    /// The embedded services.
    pub services: EmbeddedServices,
    /// The clock.
    pub clock: TestClock,
    /// The simulated internet from which pages are fetched.
    pub internet: TestInternet,
    /// The reader of pages and files, instead of one in this process.
    pub reader: Option<Arc<dyn Reader>>,
    /// The models that describe pictures and transcribe recordings. There are none unless a test
    /// sets them before it starts an app.
    pub models: ModelSettings,
    /// The folder of an embedding model, which then takes the place of one at an endpoint.
    pub embedding_folder: Option<FolderSettings>,
    /// The settings of the cloud drive. There is none unless a test starts one and sets it before
    /// it starts an app.
    pub drive: connectors::DriveSettings,
    /// The most unfinished documents of an organization. A test may set it before it starts an app.
    pub max_unfinished: Option<usize>,
    /// The most tags and keys of an organization.
    pub caps: OrganizationCaps,
    /// The names that answers have for the cloud drive. A test may set them before it starts an
    /// app.
    pub provider_names: ProviderNames,
    /// The parts of segments that searches read at first.
    pub reading: SegmentReading,
    /// The settings of the workers' compactions.
    pub compaction: CompactionSettings,
    /// The size of the cache for warm indexes, in bytes.
    pub cache_bytes: usize,
    /// Reads pages of segments from the files of objects, as `recollect serve` does.
    pub reads_object_files: bool,
    folder: Arc<TempDir>,
}

impl TestEnvironment {
    /// Creates a new world.
    ///
    /// # Errors
    /// Fails if the temporary folder cannot be created.
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let clock = TestClock::default();
        // The folder is deleted with the test, so the data need not survive a power cut.
        let services = EmbeddedServices::open_with(
            folder.path(),
            Durability::Process,
            clock.as_service_clock(),
        )?;

        let reads_by_pages = std::env::var_os(PAGES_VARIABLE).is_some();
        let local = CompactionSettings::LOCAL;
        Ok(Self {
            services,
            clock,
            internet: TestInternet::default(),
            reader: None,
            models: ModelSettings::default(),
            embedding_folder: None,
            drive: connectors::DriveSettings::default(),
            max_unfinished: None,
            caps: OrganizationCaps::default(),
            provider_names: ProviderNames::default(),
            reading: match reads_by_pages {
                true => BY_PAGES,
                false => SegmentReading::Whole,
            },
            compaction: match reads_by_pages {
                true => CompactionSettings {
                    reading: BY_PAGES,
                    ..local
                },
                false => local,
            },
            cache_bytes: 64 * 1024 * 1024,
            reads_object_files: false,
            folder: Arc::new(folder),
        })
    }
}

/// One process of the app.
pub struct TestApp {
    /// The world of this process.
    pub environment: TestEnvironment,
    /// The faults on the way to the services.
    pub faults: FaultyTransport,
    /// The system behind the routes.
    pub system: LocalSystem,
    router: Router,
    queues: QueueSet,
}

/// An answer to a request.
#[derive(Debug)]
pub struct TestAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as JSON; `null` if it is empty or not JSON.
    pub body: Value,
}

/// The base of links to files and uploads. Requests to its path reach the routes of the app like
/// any other request.
pub const PUBLIC_URL: &str = "http://recollect.test";
/// Segments of any size are read by pages, as functions read large ones.
pub const BY_PAGES: SegmentReading = SegmentReading::Beginnings {
    above: 0,
    searches: true,
    completes: false,
    max_page_bytes: u64::MAX,
};
/// Containers of tests are compacted as functions compact large ones: segments are read by pages, and soon
/// too large to be merged.
pub const AS_LARGE_CONTAINERS: CompactionSettings = CompactionSettings {
    reading: SegmentReading::Beginnings {
        above: 0,
        searches: false,
        completes: false,
        max_page_bytes: u64::MAX,
    },
    max_merged_bytes: 12 * 1024,
};
/// The variable with which all tests read segments page by page, as functions read large ones.
const PAGES_VARIABLE: &str = "RECOLLECT_TEST_PAGES";

impl TestApp {
    /// Starts an app in a new world, without faults.
    ///
    /// # Panics
    /// Panics if the app cannot be set up.
    pub async fn new() -> Self {
        let environment = TestEnvironment::new().expect("a temporary folder");
        Self::start(&environment, 0)
            .await
            .expect("an app in a fresh world")
    }

    /// Starts a process in `world`, as after a restart. `seed` determines its faults.
    ///
    /// # Errors
    /// Fails if the services refuse a request.
    pub async fn start(environment: &TestEnvironment, seed: u64) -> Result<Self> {
        let faults = FaultyTransport::new(environment.services.clone(), seed);
        let config = aws::config_through(faults.clone(), ACCESS_KEY_ID, SECRET_ACCESS_KEY, REGION);
        let config = config
            .into_builder()
            .sleep_impl(SharedAsyncSleep::new(NoSleep))
            .build();
        let clock = Arc::new(environment.clock.clone());
        let mut clients = Clients::in_process(&config);
        if environment.reads_object_files {
            let objects = FolderObjects(environment.services.clone());
            clients = clients.with_local_objects(Arc::new(objects));
        }
        let mut system = LocalSystem::over_services(
            environment.services.clone(),
            &clients,
            clock,
            Some(PUBLIC_URL),
        )
        .await?;
        if let Some(max) = environment.max_unfinished {
            system.ctx.backlog = Backlog::new(max);
        }

        system.ctx.caps = environment.caps;
        system.compaction = environment.compaction;
        Self::over(environment, faults, system).await
    }

    /// Returns this process as one that has nothing in its caches.
    ///
    /// # Errors
    /// Fails if the services refuse a request.
    pub async fn with_empty_caches(&self) -> Result<Self> {
        Self::over(&self.environment, self.faults.clone(), self.system.clone()).await
    }

    /// Creates the routes and the workers of a system.
    async fn over(
        environment: &TestEnvironment,
        faults: FaultyTransport,
        system: LocalSystem,
    ) -> Result<Self> {
        let external_services = environment.external_systems()?;
        let queues = QueueSet::open(&system, &external_services).await?;
        let queues = queues.map_workers(CheckedWorker::wrap);
        let authenticator = Authenticator::new(system.ctx.keys.clone(), system.ctx.clock.clone());
        let app = App::new(system.ctx.clone(), authenticator)
            .with_embedder(external_services.readers.embedder.clone())
            .with_rerank_model(external_services.readers.models.rerank_model())
            .with_provider_names(environment.provider_names);
        let routes = cli::all_routes(
            &app,
            CacheSettings {
                bytes: environment.cache_bytes,
                reading: environment.reading,
            },
            external_services.connectors,
            external_services.public_url,
            external_services.readers.models.reads_memories(),
        );
        let router = openapi::with_contract_checks(with_rights_of_functions(routes));
        let router = router.merge(cli::bucket_routes(environment.services.clone()));

        Ok(Self {
            environment: environment.clone(),
            faults,
            system,
            router,
            queues,
        })
    }

    /// Creates a key of `org` with write access to everything.
    ///
    /// # Panics
    /// Panics if the key cannot be stored.
    pub async fn create_key(&self, org: &str) -> String {
        self.create_key_with(org, Permission::Write, None).await
    }

    /// Creates a key of `org` with limited permissions.
    ///
    /// # Panics
    /// Panics if the key cannot be stored.
    pub async fn create_key_with(
        &self,
        org: &str,
        permission: Permission,
        tags: Option<&[&str]>,
    ) -> String {
        let tags = tags.map(|tags| {
            tags.iter()
                .map(|tag| ContainerTag::parse(tag).expect("a tag"))
                .collect()
        });

        let (kind, name) = (
            if tags.is_some() {
                KeyKind::Agent
            } else {
                KeyKind::Full
            },
            "test".to_owned(),
        );
        let spec = KeySpec {
            name,
            kind,
            permission,
            tags,
            expires_at: None,
            rate_limit: None,
        };

        self.create_planned_key(org, spec).await.key_text
    }

    /// Creates a key of `org` as planned, and returns it with its record.
    ///
    /// # Panics
    /// Panics if the key cannot be stored.
    pub async fn create_planned_key(&self, org: &str, spec: KeySpec) -> NewKey {
        let tenant = Tenant::for_operator(OrgId::parse(org).expect("an organization id"));
        create_key(&self.system.ctx, &tenant, spec)
            .await
            .expect("a stored key")
    }

    /// Sends a request through the routes.
    ///
    /// # Panics
    /// Panics if the request cannot be built.
    pub async fn send(&self, request: Request<Body>) -> TestAnswer {
        let (parts, bytes) = self.send_raw(request).await;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        TestAnswer {
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    pub(crate) async fn send_through_routes(&self, request: Request<Body>) -> Response {
        self.router
            .clone()
            .oneshot(request)
            .await
            .expect("routes never fail")
    }

    /// Sends a request with a JSON body.
    pub async fn call_json(&self, method: &str, path: &str, key: &str, body: &Value) -> TestAnswer {
        let body = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        self.send(build_request(method, path, key, "application/json", body))
            .await
    }

    /// Sends a `POST` with a JSON body.
    pub async fn post(&self, path: &str, key: &str, body: &Value) -> TestAnswer {
        self.call_json("POST", path, key, body).await
    }

    /// Sends a `GET`.
    pub async fn get(&self, path: &str, key: &str) -> TestAnswer {
        self.call_json("GET", path, key, &Value::Null).await
    }

    /// Sends a `DELETE`.
    pub async fn delete(&self, path: &str, key: &str) -> TestAnswer {
        self.call_json("DELETE", path, key, &Value::Null).await
    }

    /// Sends a `POST` of a file with other form fields.
    pub async fn upload_file(
        &self,
        key: &str,
        name: &str,
        bytes: &[u8],
        fields: &[(&str, &str)],
    ) -> TestAnswer {
        let form = multipart_form(name, bytes, fields);
        self.send_form("POST", "/v3/documents/file", key, form)
            .await
    }

    /// Sends a form, given as its media type and its bytes.
    pub async fn send_form(
        &self,
        method: &str,
        path: &str,
        key: &str,
        (content_type, body): (String, Bytes),
    ) -> TestAnswer {
        self.send(build_request(method, path, key, &content_type, body))
            .await
    }

    /// Handles one batch of each queue and returns the number of messages. Faults may interrupt the
    /// batch; the result is then 0.
    pub async fn run_workers_once(&self) -> usize {
        self.queues
            .handle_one_batch_each()
            .await
            .unwrap_or_default()
    }

    /// Runs the workers and the sweep until nothing is unfinished. Advances the clock whenever they
    /// wait.
    ///
    /// # Errors
    /// Fails if some work never ends.
    pub async fn run_until_settled(&self) -> Result<()> {
        const ROUNDS: usize = 1000;
        for _ in 0..ROUNDS {
            if self.run_workers_once().await > 0 {
                continue;
            }
            let far_future = Timestamp::from_millis(i64::MAX);
            let overdue = self.system.ctx.documents.list_overdue(far_future, 1).await;
            if overdue.is_ok_and(|overdue| overdue.is_empty()) {
                return Ok(());
            }
            self.environment.clock.advance_seconds(30);
            let now = self.environment.clock_now();
            let sweep = maintenance::sweep_overdue_work(&self.system.ctx, now);
            run_as("maintenance", sweep).await.ok();
        }

        let overdue = self
            .system
            .ctx
            .documents
            .list_overdue(Timestamp::from_millis(i64::MAX), 3)
            .await?;
        Err(anyhow::anyhow!("{overdue:?}")).context("work that never ends")
    }

    /// Adds a document, waits until it is `done`, and returns its id.
    ///
    /// # Panics
    /// Panics if the document does not become `done`.
    pub async fn add_document(&self, key: &str, body: &Value) -> String {
        let answer = self.post("/v3/documents", key, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        self.run_until_settled().await.expect("work that ends");
        let id = answer.body["id"].as_str().expect("an id").to_owned();
        let document = self.get(&format!("/v3/documents/{id}"), key).await.body;
        assert_eq!(document["status"], "done", "{document}");
        id
    }
}

impl Drop for TestApp {
    /// Fails the test if a function has done what `template.yaml` does not let it do.
    fn drop(&mut self) {
        let missing = self.faults.missing_rights();
        if !std::thread::panicking() {
            assert!(missing.is_empty(), "{}", missing.join("\n"));
        }
    }
}

impl TestEnvironment {
    /// Returns the readers of content: parsers in this process, the internet of this world and its
    /// models. They retry without a pause.
    ///
    /// # Panics
    /// Panics if the embedding model's folder cannot be used.
    pub fn content_readers(&self) -> ContentReaders {
        let models = ModelClient::new(self.models.clone()).with_retry_pause(Duration::ZERO);
        let embedder = match &self.embedding_folder {
            Some(folder) => Some(transformer::open_folder(folder).expect("an embedding model")),
            None => models.embedder(),
        };
        ContentReaders {
            pages_and_files: self
                .reader
                .clone()
                .unwrap_or_else(|| Arc::new(self.local_reader())),
            models,
            embedder,
        }
    }

    /// Returns the reader in this process: without child processes, and with the internet of this
    /// world.
    pub fn local_reader(&self) -> LocalReader {
        LocalReader {
            sandbox: Sandbox::in_process(),
            fetcher: Fetcher::new(self.internet.as_network()).with_retry_pause(Duration::ZERO),
        }
    }

    /// Returns the external systems that an app in this world reaches: its internet, its models and
    /// its drive.
    ///
    /// # Errors
    /// Fails if the address of the drive is invalid.
    pub fn external_systems(&self) -> Result<ExternalServices> {
        let readers = self.content_readers();
        let connectors = connectors::all_connectors(&self.drive, readers.pages_and_files.clone())?;
        Ok(ExternalServices {
            readers,
            connectors,
            public_url: Some(PUBLIC_URL.to_owned()),
        })
    }

    /// Returns the folder that holds all stored data.
    pub fn data_folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn clock_now(&self) -> Timestamp {
        domain::ports::Clock::now(&self.clock)
    }
}

fn build_request(
    method: &str,
    path: &str,
    key: &str,
    content_type: &str,
    body: Bytes,
) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type);
    let request = if key.is_empty() {
        request
    } else {
        request.header("authorization", format!("Bearer {key}"))
    };
    request
        .body(Body::from(body))
        .expect("a request of plain parts")
}

/// Builds a form with one file. Returns its content type and its body.
pub fn multipart_form(name: &str, bytes: &[u8], fields: &[(&str, &str)]) -> (String, Bytes) {
    const BOUNDARY: &str = "recollect-test-boundary";
    let mut body = Vec::new();
    for (field, value) in fields {
        let part = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n"
        );
        body.extend_from_slice(part.as_bytes());
    }

    let head = format!("content-disposition: form-data; name=\"file\"; filename=\"{name}\"");
    body.extend_from_slice(
        format!("--{BOUNDARY}\r\n{head}\r\ncontent-type: application/octet-stream\r\n\r\n")
            .as_bytes(),
    );
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());

    (
        format!("multipart/form-data; boundary={BOUNDARY}"),
        body.into(),
    )
}
