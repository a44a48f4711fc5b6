//! The engine over a small world in memory: a drive that tells as little as a drive may, records that are cut off in the
//! middle of a commit, and a person who changes everything all the time.

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
