//! The commands of the real binary, with a data folder and with a server on loopback.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod folders;
mod journey;
mod profiles;
mod targets;
mod watching;
mod world;
