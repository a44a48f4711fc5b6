//! Tests of the real binary `recollect` over its port, ended in every way in which a process can
//! end.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod assistants;
mod binary;
mod check;
mod clock;
mod command_line;
mod crash;
mod documents;
mod happy_path;
mod http;
mod idle;
mod newcomer;
mod recall;
mod server;
mod stopping;
mod traces;
mod transfer;
mod wait;
