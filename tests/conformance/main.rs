//! Conformance tests of the ports. Each guarantee is tested on the plain adapters, and again while
//! the services throttle, lose requests and lose answers.

mod activity;
mod blobs;
mod compactions;
mod connections;
mod containers;
mod damage;
mod describe;
mod documents;
mod erasure;
mod files;
mod grants;
mod index;
mod jobs;
mod keys;
mod leases;
mod listing;
mod merges;
mod origins;
mod overdue;
mod races;
mod rates;
mod references;
mod repeats;
mod scans;
mod setting;
mod settings;
mod sharing;
mod supersede;
mod sync;
mod sync_nodes;
mod sync_queues;
mod sync_steps;
mod tags;
mod tasks;
mod tickets;
mod vault;

/// Generates two tests for each function: one on plain adapters, and one on adapters whose calls
/// fail.
macro_rules! promises {
    ($($name:ident),+ $(,)?) => {
        mod plain {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&crate::setting::PortFixture::without_faults().await).await;
            })+
        }
        mod rough {
            $(#[tokio::test]
            async fn $name() {
                for seed in 1..=crate::setting::SEEDS {
                    super::$name(&crate::setting::PortFixture::with_faults(seed).await).await;
                }
            })+
        }
    };
}
pub(crate) use promises;
