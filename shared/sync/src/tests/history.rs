//! Random histories of a drive, with crashes and concurrent changes. At the end, the documents have
//! to match the drive.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::connection::SyncScope;

use super::drive::DriveEvents;
use super::sync_world::{DAY, SyncWorld};

/// The parameters of a history.
#[derive(Clone, Copy)]
struct HistoryPlan {
    life: DriveEvents,
    scope: SyncScope,
    days: usize,
    /// The probability that the selection changes in a day.
    reselects: f64,
    busy: f64,
    crashes: f64,
    /// `true` if everything is scanned at the end.
    reconciles: bool,
}

impl HistoryPlan {
    fn new() -> Self {
        Self {
            life: DriveEvents::default(),
            scope: SyncScope::Selected,
            days: 4,
            reselects: 0.0,
            busy: 0.3,
            crashes: 0.03,
            reconciles: false,
        }
    }
}

async fn run_history(seed: u64, plot: HistoryPlan) -> Vec<String> {
    let world = SyncWorld::new(seed, plot.life);
    let selected = {
        let mut drive = world.drive.lock();
        (0..50).for_each(|_| drive.simulate_event());
        choose_selection(&mut drive)
    };

    let id = world.add_connection(plot.scope, &selected);
    world.set_crash_rate(plot.crashes);
    world.drive.lock().event_rate = plot.busy;
    world.execute_run(&id).await;
    for _ in 0..plot.days {
        let selected = {
            let mut drive = world.drive.lock();
            (0..20).for_each(|_| drive.simulate_event());
            (drive.random_fraction() < plot.reselects).then(|| choose_selection(&mut drive))
        };
        if let Some(selected) = selected {
            world.select_items(&id, &selected);
        }
        world.advance_time(300);
        world.execute_run(&id).await;
    }

    world.set_crash_rate(0.0);
    world.drive.lock().event_rate = 0.0;
    if plot.reconciles {
        world.advance_time(8 * DAY);
    }

    world.run_until_settled(&id).await;
    world.document_differences(&id)
}

fn choose_selection(drive: &mut super::drive::SimulatedDrive) -> Vec<String> {
    let mut folders = drive.folders();
    folders.retain(|id| id.starts_with('n') || id.starts_with('d'));
    folders.push("root".into());
    let mut chosen: Vec<String> = (0..2).map(|_| drive.pick_one(&folders)).collect();
    if folders.len() > 2 {
        chosen.retain(|id| id != "root");
    }
    chosen.sort();
    chosen.dedup();
    chosen
}

/// Runs histories on all processors, and returns those that failed, by seed.
fn run_histories(seeds: std::ops::Range<u64>, plot: HistoryPlan) -> Vec<(u64, Vec<String>)> {
    let next = AtomicU64::new(seeds.start);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .unwrap();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let faults = runtime.block_on(run_history(seed, plot));
                    if !faults.is_empty() {
                        wrong.lock().unwrap().push((seed, faults));
                    }
                }
            });
        }
    });

    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();

    wrong
}

fn assert_none_failed(wrong: Vec<(u64, Vec<String>)>) {
    assert!(
        wrong.is_empty(),
        "{} histories: {:?}",
        wrong.len(),
        wrong.iter().take(3).collect::<Vec<_>>()
    );
}

#[test]
fn a_selection_is_in_step_by_changes_alone() {
    assert_none_failed(run_histories(0..3000, HistoryPlan::new()));
}

#[test]
fn everything_is_in_step_after_a_look_at_everything() {
    let life = DriveEvents {
        shared: true,
        shortcuts: true,
        renames: true,
        unstable: true,
    };

    let plot = HistoryPlan {
        life,
        reselects: 0.2,
        reconciles: true,
        ..HistoryPlan::new()
    };

    assert_none_failed(run_histories(10_000..10_000 + 1000, plot));
    assert_none_failed(run_histories(
        20_000..20_000 + 1000,
        HistoryPlan {
            scope: SyncScope::Full,
            ..plot
        },
    ));
}

#[test]
fn shared_drives_and_renames_are_followed_by_changes_alone() {
    let life = DriveEvents {
        shared: true,
        renames: true,
        ..DriveEvents::default()
    };

    assert_none_failed(run_histories(
        30_000..30_000 + 500,
        HistoryPlan {
            life,
            ..HistoryPlan::new()
        },
    ));
    let plot = HistoryPlan {
        life,
        scope: SyncScope::Full,
        ..HistoryPlan::new()
    };

    assert_none_failed(run_histories(40_000..40_000 + 500, plot));
}
