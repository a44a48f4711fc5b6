//! DynamoDB, S3, SQS and KMS inside the process, and the transport that hands them the SDK's requests.
//!
//! All state lies in one folder and survives a killed process: every answered write is in the operating system's hands
//! before the answer leaves (SQLite in WAL mode with `synchronous=NORMAL`, object bytes written before the row that
//! names them), so `kill -9` loses nothing. A power failure may lose the last moments, object bytes among them, because
//! nothing is forced to the disk. Several processes may open one folder at a time.
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
mod dynamodb;
mod erase;
mod kms;
mod meter;
mod own_file;
mod s3;
mod serve;
mod services;
mod signing;
mod sqlite;
mod sqs;
mod transport;
mod wire;

pub use clock::Clock;
pub use erase::check_databases;
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
