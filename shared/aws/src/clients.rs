//! The SDK's clients, one for each service, and their configurations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::auth::AuthSchemeId;
use aws_smithy_runtime_api::client::http::HttpClient;
use domain::ports::LocalBlob;

use crate::presign::Presigner;

/// The longest wait for a connection before the next attempt. Within a region, connecting takes a
/// few milliseconds.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest wait for the answer to one attempt before the next. Large objects stream within it.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest wait for DynamoDB, which answers within milliseconds. A lost connection would
/// otherwise hold a request for [`ATTEMPT_TIMEOUT`].
const DYNAMODB_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// The SDK's name for requests without a signature.
const UNSIGNED: AuthSchemeId = AuthSchemeId::new("noAuth");

/// Loads the standard AWS configuration: environment, profile or role, and `AWS_ENDPOINT_URL` if it
/// is set.
pub async fn load_config() -> SdkConfig {
    let https = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder();
    let timeouts = timeouts
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build();

    aws_config::defaults(BehaviorVersion::latest())
        .http_client(https)
        .timeout_config(timeouts)
        .load()
        .await
}

/// Returns a configuration that sends all requests to `transport`, with keys to sign them. The
/// SDK's protection against stalled streams is off, because those of a transport in the same process do
/// not stall.
pub fn config_through(
    transport: impl HttpClient + 'static,
    access_key: &str,
    secret_key: &str,
    region: &str,
) -> SdkConfig {
    let credentials = Credentials::new(access_key, secret_key, None, None, "fixed");
    let retries = aws_config::retry::RetryConfig::standard();

    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region.to_owned()))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .retry_config(retries)
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .endpoint_url("http://localhost")
        .sleep_impl(aws_sdk_dynamodb::config::SharedAsyncSleep::new(
            aws_smithy_async::rt::sleep::TokioSleep::new(),
        ))
        .http_client(transport)
        .build()
}

/// The SDK's clients, all from one configuration.
#[derive(Debug, Clone)]
pub struct Clients {
    /// The client for records.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// The client for objects.
    pub s3: aws_sdk_s3::Client,
    /// The client for queues.
    pub sqs: aws_sdk_sqs::Client,
    /// The client for seals.
    pub kms: aws_sdk_kms::Client,
    /// The signer of object addresses for others.
    pub(crate) presigner: Presigner,
    /// The objects, if they are on a disk of this machine.
    pub(crate) local_objects: Option<Arc<dyn LocalObjects>>,
}

/// Objects on a disk of this machine.
pub trait LocalObjects: fmt::Debug + Send + Sync {
    /// Opens an object, so that parts of it can be read without a request. Returns `None` if there is no
    /// such object.
    fn open(&self, bucket: &str, key: &str) -> Option<Arc<dyn LocalBlob>>;
}

impl Clients {
    /// Creates the clients for `config`. Buckets are addressed by path, which every endpoint
    /// understands.
    pub fn new(config: &SdkConfig) -> Self {
        let s3 = aws_sdk_s3::config::Builder::from(config)
            .force_path_style(true)
            .build();
        let mut dynamodb = aws_sdk_dynamodb::config::Builder::from(config);
        if let Some(timeouts) = config.timeout_config() {
            let timeouts = timeouts
                .to_builder()
                .operation_attempt_timeout(DYNAMODB_ATTEMPT_TIMEOUT);
            dynamodb = dynamodb.timeout_config(timeouts.build());
        }
        Self {
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb.build()),
            s3: aws_sdk_s3::Client::from_conf(s3),
            sqs: aws_sdk_sqs::Client::new(config),
            kms: aws_sdk_kms::Client::new(config),
            presigner: Presigner::new(config),
            local_objects: None,
        }
    }

    /// Reads pages of objects from a disk of this machine instead of asking S3.
    #[must_use]
    pub fn with_local_objects(mut self, objects: Arc<dyn LocalObjects>) -> Self {
        self.local_objects = Some(objects);
        self
    }

    /// Creates the clients for services in the same process, of which only S3 checks signatures.
    /// Requests to the others are not signed, because signing takes a twelfth of the processor time
    /// that a document costs.
    pub fn in_process(config: &SdkConfig) -> Self {
        let signing = Self::new(config);
        let dynamodb = signing.dynamodb.config().to_builder().allow_no_auth();
        let sqs = signing.sqs.config().to_builder().allow_no_auth();
        let kms = signing.kms.config().to_builder().allow_no_auth();

        let dynamodb = dynamodb.auth_scheme_preference([UNSIGNED]).build();
        let sqs = sqs.auth_scheme_preference([UNSIGNED]).build();
        let kms = kms.auth_scheme_preference([UNSIGNED]).build();
        Self {
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb),
            sqs: aws_sdk_sqs::Client::from_conf(sqs),
            kms: aws_sdk_kms::Client::from_conf(kms),
            ..signing
        }
    }

    /// Sets the endpoint and the keys of addresses and forms for others. Without this call, they
    /// name the endpoint that this process uses itself, and are signed with its own keys.
    #[must_use]
    pub fn with_public_endpoint(
        mut self,
        endpoint: &str,
        access_key: &str,
        secret_key: &str,
    ) -> Self {
        self.presigner = self
            .presigner
            .for_endpoint(endpoint, access_key, secret_key);
        self
    }
}
