//! Checks of the deployment: the template matches the code, recorded events pass through the Lambda
//! glue, and the sources follow the rules that no compiler checks.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod description;
mod documents;
mod http_events;
mod invariants;
mod large_answers;
mod layout;
mod limits;
mod links;
mod manifests;
mod map;
mod openapi;
mod queue_events;
mod recall;
mod rights;
mod routes;
mod tree;
