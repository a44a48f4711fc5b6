//! Random histories of a drive, with crashes and concurrent changes. At the end, the documents have
//! to match the drive. With any single rule switched off, some history has to fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::connection::SyncScope;

use super::drive::Life;
use super::world::{DAY, World};
use crate::limits::Flags;

/// The parameters of a history.
#[derive(Clone, Copy)]
struct Plot {
    life: Life,
    scope: SyncScope,
    days: usize,
    /// The probability that the selection changes in a day.
    reselects: f64,
    busy: f64,
    crashes: f64,
    flags: Flags,
    /// `true` if everything is scanned at the end.
    reconciles: bool,
}

impl Plot {
    fn new() -> Self {
        Self {
            life: Life::default(),
            scope: SyncScope::Selected,
            days: 4,
            reselects: 0.0,
            busy: 0.3,
            crashes: 0.03,
            flags: Flags::default(),
            reconciles: false,
        }
    }
}

async fn trial(seed: u64, plot: Plot) -> Vec<String> {
    let mut world = World::new(seed, plot.life);
    world.flags = plot.flags;
    let selected = {
        let mut drive = world.drive.lock();
        (0..50).for_each(|_| drive.happen());
        choose(&mut drive)
    };

    let id = world.connect(plot.scope, &selected);
    world.crashes(plot.crashes);
    world.drive.lock().busy = plot.busy;
    world.run(&id).await;
    for _ in 0..plot.days {
        let selected = {
            let mut drive = world.drive.lock();
            (0..20).for_each(|_| drive.happen());
            (drive.random() < plot.reselects).then(|| choose(&mut drive))
        };
        if let Some(selected) = selected {
            world.select(&id, &selected);
        }
        world.pass(300);
        world.run(&id).await;
    }

    world.crashes(0.0);
    world.drive.lock().busy = 0.0;
    if plot.reconciles {
        world.pass(8 * DAY);
    }

    world.settle(&id).await;
    world.faults(&id)
}

fn choose(drive: &mut super::drive::Drive) -> Vec<String> {
    let mut folders = drive.folders();
    folders.retain(|id| id.starts_with('n') || id.starts_with('d'));
    folders.push("root".into());
    let mut chosen: Vec<String> = (0..2).map(|_| drive.pick(&folders)).collect();
    if folders.len() > 2 {
        chosen.retain(|id| id != "root");
    }
    chosen.sort();
    chosen.dedup();
    chosen
}

/// Runs histories on all processors, and returns those that failed, by seed.
fn run(seeds: std::ops::Range<u64>, plot: Plot, until_first: bool) -> Vec<(u64, Vec<String>)> {
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
                    let faults = runtime.block_on(trial(seed, plot));
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

fn none(wrong: Vec<(u64, Vec<String>)>) {
    assert!(
        wrong.is_empty(),
        "{} histories: {:?}",
        wrong.len(),
        wrong.iter().take(3).collect::<Vec<_>>()
    );
}

#[test]
fn a_selection_is_in_step_by_changes_alone() {
    none(run(0..3000, Plot::new(), false));
}

#[test]
fn everything_is_in_step_after_a_look_at_everything() {
    let life = Life {
        shared: true,
        shortcuts: true,
        renames: true,
        unstable: true,
    };

    let plot = Plot {
        life,
        reselects: 0.2,
        reconciles: true,
        ..Plot::new()
    };

    none(run(10_000..10_000 + 1000, plot, false));
    none(run(
        20_000..20_000 + 1000,
        Plot {
            scope: SyncScope::Full,
            ..plot
        },
        false,
    ));
}

#[test]
fn shared_drives_and_renames_are_followed_by_changes_alone() {
    let life = Life {
        shared: true,
        renames: true,
        ..Life::default()
    };

    none(run(
        30_000..30_000 + 500,
        Plot {
            life,
            ..Plot::new()
        },
        false,
    ));
    let plot = Plot {
        life,
        scope: SyncScope::Full,
        ..Plot::new()
    };

    none(run(40_000..40_000 + 500, plot, false));
}

/// Checks that for each rule some history fails without it and succeeds with it. Rules that few
/// histories need have histories of their own in `tables`.
#[test]
fn no_rule_can_be_left_out() {
    type Off = fn(&mut Flags);
    let (plot, busy) = (
        Plot::new(),
        Plot {
            busy: 0.9,
            ..Plot::new()
        },
    );
    let cases: [(&str, Off, Plot, std::ops::Range<u64>); 5] = [
        ("roots", |flags| flags.roots = false, plot, 0..300),
        ("subtree", |flags| flags.subtree = false, plot, 0..300),
        ("tombstones", |flags| flags.tombstones = false, plot, 0..300),
        ("rewalk", |flags| flags.rewalk = false, plot, 0..300),
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
        let wrong = run(histories, plot, true);
        let (seed, _) = wrong
            .first()
            .unwrap_or_else(|| panic!("nothing went wrong without {name}"));
        println!("{name}: {seed}");
        none(run(*seed..*seed + 1, right, false));
    }
}
