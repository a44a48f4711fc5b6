//! Tests of the engine over a small world in memory: a drive that reports as little as a real drive
//! may, a store whose commits are interrupted halfway, and a user who constantly changes
//! everything.

mod bounds;
mod deletion;
mod drive;
mod drive_feeds;
mod errors;
mod failures;
mod fake_service;
mod history;
mod interruptions;
mod memory;
mod patience;
mod provider;
mod records;
mod scans_only;
mod sync_world;
mod tables;
mod times;
