//! Tests of power cuts: a process works on a folder, and a simulated disk computes what would be
//! left of it at any moment.
//!
//! `disk.c` writes a trace of the process. `disk` builds from the beginning of the trace the folder
//! that a cut there would leave, and `check` opens that folder with the services. A failed cut
//! reports its place. The trace of another run differs; the seed decides the cut itself.

mod check;
mod disk;
mod full;
mod history;
mod workload;

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use self::check::check_image;
use self::disk::{RandomBits, SimulatedDisk, TraceRecord, UnsyncedChanges};
use self::history::History;

/// The second that a relaxed cut may lose, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn everything_answered_survives_a_power_cut_at_any_moment() {
    for seed in 0..3 {
        assert_survives("full", seed, 80);
    }
}

#[test]
fn a_relaxed_cut_takes_the_last_second_at_most_and_no_bytes_that_are_named() {
    assert_survives("relaxed", 7, 80);
}

#[test]
fn an_upload_in_parts_survives_a_power_cut_at_any_moment() {
    assert_survives("parts", 8, 24);
}

/// Shows the purpose of these tests, and that they can fail: without syncs, a third of the cuts
/// lose something. The others come while the folder is created, or keep what was not synced.
#[test]
fn without_syncs_a_power_cut_loses_what_was_answered() {
    let failures = run_cuts("unsynced", 9, 40);
    assert!(failures.len() >= 5, "{failures:?}");
}

fn assert_survives(workload: &str, seed: u64, count: usize) {
    let mut failures = run_cuts(workload, seed, count);
    let failed = failures.len();
    failures.truncate(5);
    assert!(
        failed == 0,
        "{failed} of {count} cuts of {workload} with seed {seed}:\n{}",
        failures.join("\n")
    );
}

/// Runs a workload and cuts its power `count` times. Returns the faults of the cuts that lost
/// something.
fn run_cuts(workload: &str, seed: u64, count: usize) -> Vec<String> {
    let traced_run = TracedRun::run_workload(workload);
    let records = TraceRecord::read_all(&traced_run.trace);
    let mut random = RandomBits(seed);
    let places = choose_places(&records, count, &mut random);
    let stall = records
        .iter()
        .filter(|record| record.operation == b'A')
        .fold(History::default(), add_record)
        .stall;
    let lag = if workload == "relaxed" {
        SECOND_NS + 2 * stall
    } else {
        0
    };

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (mut disk, mut history) = (SimulatedDisk::default(), History::default());
    let mut done = 0;
    let mut failures = Vec::new();
    for &place in &places {
        for record in &records[done..place] {
            disk.apply_record(record);
            history = if record.operation == b'A' {
                add_record(history, record)
            } else {
                history
            };
        }
        done = place;
        let unsynced = match random.below(4) {
            0 => UnsyncedChanges::Dropped,
            1 => UnsyncedChanges::Kept,
            _ => UnsyncedChanges::Torn([10, 50, 90][random.below(3) as usize]),
        };
        let image = scratch_folder();
        disk.write_image(&traced_run.folder, image.path(), unsynced, &mut random);
        let cut = records[place - 1].nanoseconds;
        let faults = runtime.block_on(check_image(image.path(), &history, cut, lag));
        if !faults.is_empty() {
            failures.push(format!(
                "cut before record {place}, {unsynced:?}: {}",
                faults.join("; ")
            ));
        }
    }

    assert!(
        history.count_answers() > 5,
        "the workload did next to nothing"
    );
    failures
}

fn add_record(mut history: History, record: &TraceRecord) -> History {
    history.record_lines(record);
    history
}

/// Chooses the places of the cuts: before syncs, evenly distributed, and in between.
fn choose_places(records: &[TraceRecord], count: usize, random: &mut RandomBits) -> Vec<usize> {
    let syncs: Vec<usize> = (1..records.len())
        .filter(|at| records[*at].operation == b'S')
        .collect();
    let mut places: Vec<usize> = (0..count)
        .map(|number| syncs[number * syncs.len() / count])
        .collect();
    for (number, place) in places.iter_mut().enumerate() {
        match number % 4 {
            // The folder is still being created, which takes some forty syncs.
            0 => *place = syncs[random.below(syncs.len().min(40) as u64) as usize],
            1 => *place = 1 + random.below(records.len() as u64 - 1) as usize,
            _ => {}
        }
    }

    places.sort_unstable();
    places
}

/// A process on the traced disk.
struct TracedRun {
    folder: PathBuf,
    trace: PathBuf,
    _scratch: TempDir,
}

impl TracedRun {
    /// Runs a workload to its end.
    fn run_workload(workload: &str) -> Self {
        let scratch = scratch_folder();
        let at = scratch.path().canonicalize().unwrap();
        let (folder, trace, acks) = (at.join("data"), at.join("trace"), at.join("acks"));
        std::fs::create_dir(&folder).unwrap();
        let mut child = child_command(&compile_disk(&at), &folder, workload::CHILD_TEST);
        child.env("DISK_TRACE", &trace).env("DISK_ACKS", &acks);
        child.env(
            workload::CHILD_VARIABLE,
            format!("{}|{}|{workload}", folder.display(), acks.display()),
        );
        let output = child.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );

        Self {
            folder,
            trace,
            _scratch: scratch,
        }
    }
}

/// Returns the command that runs a test of this executable in a process of its own, with the
/// simulated disk in front of `folder`.
fn child_command(library: &Path, folder: &Path, test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child.env("LD_PRELOAD", library).env("DISK_ROOT", folder);
    child
}

/// Compiles the simulated disk.
fn compile_disk(folder: &Path) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedded/power/disk.c");
    let library = folder.join("disk.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .args([source, "-ldl", "-lpthread"]);
    let output = compiler
        .output()
        .expect("a C compiler, as SQLite needs one, too");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    library
}

/// Creates a temporary folder, in memory if the system supports it. Otherwise thousands of syncs of
/// the check would wait for the disk.
fn scratch_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}
