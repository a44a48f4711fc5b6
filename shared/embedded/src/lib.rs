//! DynamoDB, S3, SQS and KMS inside the process, and the transport that passes the requests of the
//! SDK to them.
//!
//! All state is in one folder. Every write reaches the operating system before its answer leaves,
//! so `kill -9` loses nothing. By default it is also on the disk, so a power cut loses nothing
//! either. [`Durability`] has the options, and the module `durability` says what is synced when.
//! Several processes may open one folder at the same time. The folder is private to its user, and a
//! folder that has lost one of its files is refused.
//!
//! | service | engine | file |
//! |---|---|---|
//! | DynamoDB | the crate `dynoxide-rs` | `dynamodb.sqlite` |
//! | SQS | the module `sqs`, on SQLite | `sqs.sqlite` |
//! | S3 | the protocol by the crate `s3s`, storage by the module `s3` | `s3/index.sqlite`, `s3/blobs/` |
//! | KMS | the module `kms`, on the crate `aes-gcm` | `kms.key` |
//! | presigned addresses and forms for others | the module `s3::public` | `signing.key` |

mod blocking;
mod clock;
mod durability;
mod dynamodb;
mod erase;
mod folder;
mod incomplete_tables;
mod kms;
mod log;
mod meter;
mod network;
mod s3;
mod serve;
mod services;
mod signing;
mod sqlite;
mod sqs;
mod transport;
mod wire;

pub use clock::Clock;
pub use durability::Durability;
pub use erase::check_databases;
pub use folder::last_write_time;
pub use meter::{MeteredTransport, RequestCounts};
pub use network::{NetworkProfile, ResponseTime};
pub use s3::ObjectFile;
pub use serve::serve_aws_clients;
pub use services::EmbeddedServices;
pub use transport::InProcessTransport;

/// The access key id that both sides use. The embedded S3 verifies signatures against it.
pub const ACCESS_KEY_ID: &str = "embedded";
/// The secret of [`ACCESS_KEY_ID`]. It need not be secret, because the embedded services listen
/// only to their own process or to the loopback interface.
pub const SECRET_ACCESS_KEY: &str = "embedded-services-have-no-secrets";
/// The access key id of presigned addresses and forms for others. See
/// [`EmbeddedServices::handle_public_request`].
pub const SIGNING_KEY_ID: &str = "recollect-signed";
/// The region that both sides use.
pub const REGION: &str = "us-east-1";
