//! Tests of the engine over a small world in memory: a drive that reports as little as a real drive
//! may, a store whose commits are interrupted halfway, and a user who constantly changes
//! everything.

mod bounds;
mod drive;
mod errors;
mod failures;
mod history;
mod memory;
mod office;
mod patience;
mod provider;
mod records;
mod tables;
mod times;
mod told;
mod world;
