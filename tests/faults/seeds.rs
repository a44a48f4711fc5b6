//! Random histories under throttling, lost requests, lost answers, repeated and reordered
//! deliveries and crashes.

use std::ops::Range;

use container_index::CompactionSettings;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use testkit::{AS_LARGE_CONTAINERS, FaultRates, TestApp, TestEnvironment};

use crate::history::HistoryClient;
use crate::processes::Processes;

/// The steps of one history.
const STEPS: usize = 14;

async fn run_history(world: &TestEnvironment, healthy: &TestApp, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let org = format!("seed-{seed}");
    let mut client = HistoryClient::new(&org, healthy.create_key(&org).await);
    // Two processes work at the same time, as on AWS.
    let mut processes = Processes::start(world, seed).await;
    for _ in 0..STEPS {
        let (app, other) = (&processes.first, &processes.second);
        let custom_id = if random.random_bool(0.6) { "a" } else { "b" };
        match random.random_range(0..20) {
            0..4 => client.put_content(app, custom_id).await,
            4 => client.put_batch(app, &["a", "b", custom_id]).await,
            5 => client.send_message(app).await,
            6 => client.change_metadata(app, custom_id).await,
            7..9 => client.delete(app, custom_id).await,
            9..13 => processes.work().await,
            // The same messages arrive again, and leases are taken away, while the first are being
            // handled.
            13..15 => processes.work_twice().await,
            15 => {
                futures::join!(client.put_content(app, custom_id), other.run_workers_once());
            }
            16 => {
                futures::join!(client.search(app), other.run_workers_once());
            }
            17 => {
                // Metadata and messages change while the other process commits.
                let change = async {
                    client.change_metadata(app, custom_id).await;
                    client.send_message(app).await;
                };
                futures::join!(change, other.run_workers_once());
            }
            18 => world.clock.advance_seconds(100),
            _ => {
                // The process crashes at one of the next few calls, and a new one starts.
                processes.crash_within(30, &mut random);
                client.put_content(app, custom_id).await;
                app.run_workers_once().await;
                processes.restart(&mut random).await;
            }
        }
    }

    let app = &processes.first;
    app.faults.set_rates(FaultRates::default());
    app.run_until_settled()
        .await
        .unwrap_or_else(|error| panic!("{error:#}"));
    client.check_state(app).await;
}

/// A guard that prints how to repeat the histories that panic.
pub(crate) struct SeedReporter(pub(crate) Range<u64>);

#[expect(
    clippy::print_stderr,
    reason = "the seed is what a person needs of a failed run"
)]
impl Drop for SeedReporter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Range { start, end } = self.0;
            eprintln!("this history fails: RECOLLECT_SEEDS={start}..{end}");
        }
    }
}

/// Returns the seeds that the environment asks for, or else the committed ones.
pub(crate) fn seeds_to_run(committed: Range<u64>) -> Range<u64> {
    #[expect(
        clippy::disallowed_methods,
        reason = "lets a person run the seed that a failure printed"
    )]
    let asked = std::env::var("RECOLLECT_SEEDS").ok();
    let range = asked.and_then(|text| {
        let (first, last) = text.split_once("..")?;
        Some(first.parse().ok()?..last.parse().ok()?)
    });
    range.unwrap_or(committed)
}

async fn run_histories(committed: Range<u64>, compaction: CompactionSettings) {
    let mut environment = TestEnvironment::new().expect("a folder");
    environment.compaction = compaction;
    let healthy = TestApp::start(&environment, 0).await.expect("an app");
    for seed in seeds_to_run(committed) {
        let reporter = SeedReporter(seed..seed + 1);
        run_history(&environment, &healthy, seed).await;
        drop(reporter);
    }
}

// There are two tests so that both cores of a small machine are in use.

#[tokio::test]
async fn histories_0_to_150_lose_nothing() {
    run_histories(0..150, CompactionSettings::LOCAL).await;
}

#[tokio::test]
async fn histories_150_to_300_lose_nothing() {
    run_histories(150..300, AS_LARGE_CONTAINERS).await;
}
