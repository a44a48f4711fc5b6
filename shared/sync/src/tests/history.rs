//! Random histories of a drive, with crashes and concurrent changes. At the end, the documents have
//! to match the drive. With any single rule switched off, some history has to fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::connection::SyncScope;

use super::drive::DriveEvents;
use super::world::{DAY, SyncWorld};
use crate::limits::SyncRules;

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
    flags: SyncRules,
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
            flags: SyncRules::default(),
            reconciles: false,
        }
    }
}

async fn run_history(seed: u64, plot: HistoryPlan) -> Vec<String> {
    let mut world = SyncWorld::new(seed, plot.life);
    world.flags = plot.flags;
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
fn run_histories(
    seeds: std::ops::Range<u64>,
    plot: HistoryPlan,
    until_first: bool,
) -> Vec<(u64, Vec<String>)> {
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
                    let enough = until_first && !wrong.lock().unwrap().is_empty();
                    if seed >= seeds.end || enough {
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
    assert_none_failed(run_histories(0..3000, HistoryPlan::new(), false));
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

    assert_none_failed(run_histories(10_000..10_000 + 1000, plot, false));
    assert_none_failed(run_histories(
        20_000..20_000 + 1000,
        HistoryPlan {
            scope: SyncScope::Full,
            ..plot
        },
        false,
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
        false,
    ));
    let plot = HistoryPlan {
        life,
        scope: SyncScope::Full,
        ..HistoryPlan::new()
    };

    assert_none_failed(run_histories(40_000..40_000 + 500, plot, false));
}

/// Checks that for each rule some history fails without it and succeeds with it. Rules that few
/// histories need have histories of their own in `tables`.
#[test]
fn no_rule_can_be_left_out() {
    type Off = fn(&mut SyncRules);
    let (plot, busy) = (
        HistoryPlan::new(),
        HistoryPlan {
            busy: 0.9,
            ..HistoryPlan::new()
        },
    );
    let cases: [(&str, Off, HistoryPlan, std::ops::Range<u64>); 5] = [
        ("roots", |flags| flags.roots = false, plot, 0..300),
        ("subtree", |flags| flags.subtree = false, plot, 0..300),
        (
            "tombstones",
            |flags| flags.remove_reported = false,
            plot,
            0..300,
        ),
        (
            "rewalk",
            |flags| flags.walk_known_folders = false,
            plot,
            0..300,
        ),
        (
            "token_before",
            |flags| flags.token_before = false,
            busy,
            1500..1600,
        ),
    ];

    for (name, off, right, histories) in cases {
        let mut plot = right;
        off(&mut plot.flags);
        let wrong = run_histories(histories, plot, true);
        let (seed, _) = wrong
            .first()
            .unwrap_or_else(|| panic!("nothing went wrong without {name}"));
        println!("{name}: {seed}");
        assert_none_failed(run_histories(*seed..*seed + 1, right, false));
    }
}
