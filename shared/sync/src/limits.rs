//! How much is done at once, and why that much.

use std::time::Duration;

/// Bounds of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// A step begins no other tick after so many seconds: with a slow last one it ends within its lease.
    pub(crate) seconds: i64,
    /// After so long a step asks the provider for nothing more, and waits for no answer.
    pub(crate) asks_for: Duration,
    /// After so long the tick at hand is given up, whatever it is at. A function lives for two minutes.
    pub(crate) lasts_for: Duration,
    /// Nor after so many items: ten full pages of a listing are about as many writes as fit into the time.
    pub(crate) items: usize,
    /// Rows that are read at once.
    pub(crate) rows: usize,
    /// Writes after which a tick takes no other folder.
    pub(crate) writes: usize,
    /// Folders of a tick.
    pub(crate) folders: usize,
    /// Files of a tick. Their writes fit into one transaction, so that counting them is exact.
    pub(crate) files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            seconds: 45,
            asks_for: Duration::from_secs(75),
            lasts_for: Duration::from_secs(90),
            items: 10_000,
            rows: 200,
            writes: 500,
            folders: 20,
            files: 16,
        }
    }
}

/// How long a worker has a connection for itself. It is written anew with each tick.
pub(crate) const LEASE_SECONDS: i64 = 90;
/// When a message of a run that goes on is taken for lost.
pub(crate) const LOST_SECONDS: i64 = 180;
/// The most bytes of a file.
pub(crate) const FILE_BYTES: usize = 50 * 1024 * 1024;
/// Megabytes of files that are in memory at once.
pub(crate) const IN_FLIGHT_MB: usize = 128;
/// Megabytes to expect of a file whose size the provider does not tell. One that has more is asked for once more, with
/// room for all that a file may have.
pub(crate) const UNKNOWN_MB: usize = 16;
/// Requests to a provider at a time.
pub(crate) const AT_ONCE: usize = 8;
/// Failures in a row that are taken for the provider's, not for those of the items at hand.
pub(crate) const PATIENCE: u32 = 3;
/// How often a file is tried before it counts as failed: with the pauses between, for a day and a half.
pub(crate) const FILE_ATTEMPTS: u32 = 20;
/// How long a file that could not be fetched waits, when nobody asks for a run: so long at first, then twice as long each
/// time, up to two hours.
pub(crate) const FILE_WAITS_SECONDS: i64 = 900;
/// How often that is doubled.
pub(crate) const FILE_WAITS_DOUBLED: u32 = 3;
/// How long a document stays after its item has gone: a move from one list of changes to another looks like an end and a
/// beginning.
pub(crate) const GRACE_SECONDS: i64 = 600;
/// Documents that may go in one run, unless a second run confirms each.
pub(crate) const BRAKE: usize = 500;
/// The same, as a share of all.
pub(crate) const BRAKE_PERCENT: u64 = 30;
/// Fewer than so many may always go.
pub(crate) const BRAKE_FROM: u64 = 10;
/// Days between looks at everything.
pub(crate) const RECONCILE_DAYS: i64 = 7;
/// Questions to a model in one run.
pub(crate) const JUDGEMENTS: u64 = 200;

/// The rules of the synchronization. All of them are on; tests switch one off to see that they would notice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags {
    /// The cursor is taken before the scan.
    pub(crate) token_before: bool,
    /// Selected items and what lies above them are looked at in each run.
    pub(crate) roots: bool,
    /// What a feed tells to be gone is removed.
    pub(crate) tombstones: bool,
    /// A change of a folder is a change of what lies below.
    pub(crate) subtree: bool,
    /// A folder that is known already is walked again when it changes.
    pub(crate) rewalk: bool,
    /// Unknown folders above an item are known from then on.
    pub(crate) ancestors: bool,
    /// What is forgotten below a folder ends at selected items.
    pub(crate) root_guard: bool,
    /// What lies below is forgotten even when the folder itself is not known.
    pub(crate) remove_unknown: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            token_before: true,
            roots: true,
            tombstones: true,
            subtree: true,
            rewalk: true,
            ancestors: true,
            root_guard: true,
            remove_unknown: true,
        }
    }
}
