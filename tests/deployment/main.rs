//! What is deployed is what the code means: the template beside the code, recorded events through the Lambda glue, and
//! the rules of the tree that no compiler checks.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod documents;
mod http_events;
mod invariants;
mod layout;
mod limits;
mod manifests;
mod openapi;
mod queue_events;
mod rights;
mod routes;
mod template;
mod tree;
