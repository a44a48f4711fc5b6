//! Random histories of a whole organization: documents and memories in three containers, deletions
//! of documents, tags and containers, merges, the search for orphans and jumps of the clock, by two
//! processes that crash and whose services fail.

mod client;

use std::ops::Range;

use cli::check::check_stored_data;
use cli::transfer::ProgressBar;
use domain::ports::{BlobStore, Clock};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use service::collect_orphans;
use testkit::{AS_LARGE_CONTAINERS, FaultRates, TestApp, TestEnvironment};

use crate::orphans::{LONG_SECONDS, collect_all};
use crate::processes::Processes;
use crate::seeds::{SeedReporter, seeds_to_run};
use client::{ItemKind, ServiceClient};

/// The steps of one history.
const STEPS: usize = 18;
/// The histories that share services. The check of everything stored takes as long as one of them.
const HISTORIES_PER_ENVIRONMENT: u64 = 20;
/// The container tags of an organization.
const TAGS: [&str; 3] = ["harbour", "lighthouse", "pier"];

/// Deletes some of the bytes to which nothing refers.
async fn delete_orphans(app: &TestApp) {
    for store in [BlobStore::Inline, BlobStore::Objects] {
        collect_orphans(&app.system.ctx, store, None, 100)
            .await
            .ok();
    }
}

/// Ends all work without faults.
async fn settle(environment: &TestEnvironment, processes: &Processes<'_>) {
    processes.set_rates(FaultRates::default());
    // Tasks and purges wait for requests in progress.
    for _ in 0..2 {
        environment.clock.advance_seconds(LONG_SECONDS);
        let now = environment.clock.now();
        maintenance::sweep_overdue_work(&processes.first.system.ctx, now)
            .await
            .expect("a sweep");
        let settled = processes.first.run_until_settled().await;
        settled.unwrap_or_else(|error| panic!("{error:#}"));
    }
}

async fn run_history(environment: &TestEnvironment, healthy: &TestApp, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut client = ServiceClient::new(format!("seed-{seed}"), healthy).await;
    let mut processes = Processes::start(environment, seed).await;
    for _ in 0..STEPS {
        let mut tags = TAGS;
        tags.shuffle(&mut random);
        let [tag, other, _] = tags;
        let first = &processes.first;
        match random.random_range(0..32) {
            0..7 => client.add(first, ItemKind::Document, tag).await,
            7..9 => client.add(first, ItemKind::Memory, tag).await,
            9..11 => client.delete_one(first, &mut random).await,
            11 => client.delete_documents(first, tag).await,
            12..14 => client.delete_container(first, tag).await,
            14..17 => client.merge(first, tag, other).await,
            17..19 => client.search(first, tag).await,
            19..23 => processes.work().await,
            23..25 => processes.work_twice().await,
            25 => {
                let added = client.add(first, ItemKind::Document, tag);
                futures::join!(added, processes.second.run_workers_once());
            }
            26 => {
                let merged = client.merge(first, tag, other);
                futures::join!(merged, processes.second.run_workers_once());
            }
            27 => environment.clock.advance_seconds(40),
            28 => environment.clock.advance_seconds(LONG_SECONDS),
            29 => delete_orphans(&processes.second).await,
            30 => {
                processes.crash_within(40, &mut random);
                processes.first.run_workers_once().await;
                processes.restart(&mut random).await;
            }
            _ => {
                settle(environment, &processes).await;
                client.check_state(&processes.first).await;
                processes.set_rates(FaultRates::OCCASIONAL);
            }
        }
    }

    settle(environment, &processes).await;
    client.check_state(&processes.first).await;
}

/// Runs histories, and checks everything that those of one environment have stored.
async fn run_histories(committed: Range<u64>) {
    let seeds = seeds_to_run(committed);
    let mut first = seeds.start;
    while first < seeds.end {
        let mut environment = TestEnvironment::new().expect("a folder");
        if (first / HISTORIES_PER_ENVIRONMENT) % 2 == 1 {
            environment.compaction = AS_LARGE_CONTAINERS;
        }
        let healthy = TestApp::start(&environment, 0).await.expect("an app");
        let last = seeds.end.min(first + HISTORIES_PER_ENVIRONMENT);
        for seed in first..last {
            let reporter = SeedReporter(seed..seed + 1);
            run_history(&environment, &healthy, seed).await;
            drop(reporter);
        }

        let reporter = SeedReporter(first..last);
        // A request that ended with an error may have left bytes that nothing names.
        environment.clock.advance_seconds(LONG_SECONDS);
        collect_all(&healthy.system.ctx).await;
        let bar = ProgressBar::hidden();
        let report = check_stored_data(&healthy.system.ctx, false, &bar).await;
        let findings = report.expect("a report").findings;
        assert!(findings.is_empty(), "{findings:?}");
        drop(reporter);
        first = last;
    }
}

// There are two tests so that both cores of a small machine are in use.

#[tokio::test]
async fn organizations_0_to_20_keep_what_they_have() {
    run_histories(0..20).await;
}

#[tokio::test]
async fn organizations_20_to_40_keep_what_they_have() {
    run_histories(20..40).await;
}
