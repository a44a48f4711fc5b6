//! Services in a temporary folder, a clock that is advanced by hand, and SDK clients over any
//! transport.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_runtime_api::client::http::HttpClient;
use embedded::{ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY};
use tempfile::TempDir;

/// Services and their folder, which is removed at the end.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) services: EmbeddedServices,
    clock: Arc<AtomicU64>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
        let services = open_services(folder.path(), &clock);
        Self {
            folder,
            services,
            clock,
        }
    }

    /// Returns the time of SQS and S3.
    pub(crate) fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.load(Ordering::SeqCst))
    }

    /// Advances the time of SQS and S3.
    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    /// Opens the same folder again, as another process would.
    pub(crate) fn reopen(&self) -> EmbeddedServices {
        open_services(self.folder.path(), &self.clock)
    }

    pub(crate) fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        dynamodb_client(&self.services)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        sqs_client(&self.services)
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        s3_client(&sdk_config(InProcessTransport::new(self.services.clone())))
    }
}

fn open_services(folder: &Path, clock: &Arc<AtomicU64>) -> EmbeddedServices {
    let clock = Arc::clone(clock);
    EmbeddedServices::open_with_clock(folder, Arc::new(move || clock.load(Ordering::SeqCst)))
        .unwrap()
}

pub(crate) fn dynamodb_client(services: &EmbeddedServices) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::new(&sdk_config(InProcessTransport::new(services.clone())))
}

pub(crate) fn sqs_client(services: &EmbeddedServices) -> aws_sdk_sqs::Client {
    aws_sdk_sqs::Client::new(&sdk_config(InProcessTransport::new(services.clone())))
}

pub(crate) fn s3_client(config: &SdkConfig) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::config::Builder::from(config)
        .force_path_style(true)
        .build();
    aws_sdk_s3::Client::from_conf(config)
}

/// Returns an SDK configuration with the public credentials of the embedded services.
pub(crate) fn sdk_config(client: impl HttpClient + 'static) -> SdkConfig {
    config_with(client, ACCESS_KEY_ID, SECRET_ACCESS_KEY)
}

/// Returns an SDK configuration with the given credentials.
pub(crate) fn config_with(client: impl HttpClient + 'static, key: &str, secret: &str) -> SdkConfig {
    let keys = aws_sdk_s3::config::Credentials::new(key, secret, None, None, "embedded");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(aws_sdk_s3::config::SharedCredentialsProvider::new(keys))
        .http_client(client)
        .build()
}
