//! The ports on DynamoDB, S3, SQS and KMS. Only this crate and `stack`, which deploys, name the AWS SDK.
//!
//! The same adapters run on AWS, over the embedded services and against any endpoint that speaks
//! the protocols. The resources that they need are described once, in [`layout`].

pub mod layout;

mod answers;
mod api_keys;
mod arrivals;
mod blobs;
mod clients;
mod clock;
mod connections;
mod containers;
mod documents;
mod error;
mod function;
mod idempotency;
mod index;
mod jobs;
mod names;
mod operator_secret;
mod presign;
mod purge;
mod rate_limits;
mod receive;
mod records;
mod request_log;
mod settings;
mod setup;
mod sync;
mod table;
mod table_keys;
mod tasks;
mod tickets;
mod transaction;
mod vault;

use std::sync::Arc;

use domain::ports::Clock;
use service::Ctx;
use service::{Backlog, MAX_UNFINISHED, OrganizationCaps};

pub use aws_config::SdkConfig;

pub use answers::{AnswerStore, LargeAnswer};
pub use clients::{Clients, LocalObjects, config_through, load_config};
pub use clock::SystemClock;
pub use function::{CallAnswer, CallEvent, CallRequest, InlineBytes, LambdaFunction};
pub use names::ResourceNames;
pub use operator_secret::read_operator_secret;
pub use receive::{QueueDepth, QueueReceiver, ReceivedMessage};
pub use setup::{create_missing_resources, dead_letter_queue_urls, notify_of_uploads};

/// Returns the ports over one set of clients and resource names.
pub fn build_context(clients: &Clients, names: &ResourceNames, clock: Arc<dyn Clock>) -> Ctx {
    let records = table::Table {
        client: clients.dynamodb.clone(),
        name: names.records.clone(),
    };
    let secrets = table::Table {
        client: clients.dynamodb.clone(),
        name: names.secrets.clone(),
    };
    let activity = table::Table {
        client: clients.dynamodb.clone(),
        name: names.activity.clone(),
    };

    let blobs = blobs::AwsBlobs::new(
        records.clone(),
        clients,
        names.bucket.clone(),
        clock.clone(),
    );

    Ctx {
        containers: Arc::new(containers::DynamoContainers(records.clone())),
        settings: Arc::new(settings::DynamoSettings(records.clone())),
        documents: Arc::new(documents::DynamoDocuments {
            records: records.clone(),
            requests: activity.clone(),
        }),
        index: Arc::new(index::DynamoIndex(records.clone())),
        blobs: Arc::new(blobs),
        jobs: Arc::new(jobs::SqsJobs::new(clients.sqs.clone(), names)),
        keys: Arc::new(api_keys::DynamoKeys(secrets.clone())),
        idempotency: Arc::new(idempotency::DynamoIdempotencyStore(activity.clone())),
        tasks: Arc::new(tasks::DynamoTasks(records.clone())),
        connections: Arc::new(connections::DynamoConnections(records.clone())),
        sync: Arc::new(sync::DynamoSync(records)),
        tickets: Arc::new(tickets::DynamoTickets(secrets.clone())),
        request_log: Arc::new(request_log::DynamoRequestLog::new(activity.clone())),
        rate_limits: Arc::new(rate_limits::DynamoRateLimits(activity)),
        vault: Arc::new(vault::KmsVault::new(
            secrets,
            clients.kms.clone(),
            names.kms_key.clone(),
        )),
        backlog: Backlog::new(MAX_UNFINISHED),
        caps: OrganizationCaps::default(),
        clock,
    }
}
