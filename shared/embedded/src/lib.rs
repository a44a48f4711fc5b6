//! DynamoDB, S3, SQS and KMS inside the process, and the transport that hands them the SDK's requests.
//!
//! All state lies in one folder. Every answered write is in the operating system's hands before the answer leaves, so
//! `kill -9` loses nothing; by default it is on the disk as well, so a power cut loses nothing either ([`Durability`], and
//! the module `durability` on what is synced when). Several processes may open one folder at a time. It is private to its
//! user, and one that lacks a file which it had is refused.
//!
//! | service | engine | file |
//! |---|---|---|
//! | DynamoDB | the crate `dynoxide-rs` | `dynamodb.sqlite` |
//! | SQS | the module `sqs`, on SQLite | `sqs.sqlite` |
//! | S3 | the protocol by the crate `s3s`, storage by the module `s3` | `s3/index.sqlite`, `s3/blobs/` |
//! | KMS | the module `kms`, on the crate `aes-gcm` | `kms.key` |
//! | addresses and forms for strangers | the module `s3::public` | `signing.key` |

mod blocking;
mod clock;
mod durability;
mod dynamodb;
mod erase;
mod folder;
mod half_made;
mod kms;
mod log;
mod meter;
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
pub use folder::last_write;
pub use meter::{Count, Meter};
pub use serve::serve;
pub use services::Services;
pub use transport::Transport;

/// The access key id that both sides use: the embedded S3 verifies signatures against it.
pub const ACCESS_KEY: &str = "embedded";
/// The secret that belongs to [`ACCESS_KEY`]. Not a secret: the embedded services listen to their own process or to
/// the loopback interface only.
pub const SECRET_KEY: &str = "embedded-services-have-no-secrets";
/// The access key id of what is handed to strangers: see [`Services::call_public`].
pub const SIGNING_KEY: &str = "recollect-signed";
/// The region that both sides use.
pub const REGION: &str = "us-east-1";
