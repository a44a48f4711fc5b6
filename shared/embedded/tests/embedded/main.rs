//! Tests of the embedded services through the real AWS SDK clients.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod dynamodb;
mod folder;
mod kms;
mod notifications;
mod port;
// The simulated disk is loaded in front of the C library, which glibc's loader allows.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod power;
mod public;
mod s3;
mod signed_addresses;
mod sqs_fair;
mod sqs_fifo;
mod sqs_queues;
mod sqs_standard;
mod stranger;
mod support;
mod whole;
