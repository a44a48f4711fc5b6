//! The limits of the synchronization, with their reasons.

use std::time::Duration;

/// The limits of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepLimits {
    /// The seconds after which a step begins no further tick. Even with a slow last tick, it then
    /// ends within its lease.
    pub(crate) seconds: i64,
    /// The time after which a step sends no more requests to the provider and waits for no more
    /// answers.
    pub(crate) request_time: Duration,
    /// The time after which the current tick is aborted, whatever it does. A Lambda function lives
    /// for two minutes.
    pub(crate) total_time: Duration,
    /// The number of items after which a step begins no further tick. Ten full pages of a listing
    /// cause about as many writes as fit into the time.
    pub(crate) items: usize,
    /// The number of rows that are read in one request.
    pub(crate) rows: usize,
    /// The number of writes after which a tick begins no further folder.
    pub(crate) writes: usize,
    /// The most folders in one tick.
    pub(crate) folders: usize,
    /// The most files in one tick. Their writes fit into one transaction, which keeps their count
    /// exact.
    pub(crate) files: usize,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self {
            seconds: 45,
            request_time: Duration::from_secs(75),
            total_time: Duration::from_secs(90),
            items: 10_000,
            rows: 200,
            writes: 500,
            folders: 20,
            files: 16,
        }
    }
}

/// The seconds of a lease. Every tick renews it.
pub(crate) const LEASE_SECONDS: i64 = 90;
/// The seconds after which the message of a run in progress counts as lost.
pub(crate) const MESSAGE_LOST_SECONDS: i64 = 180;
/// The largest size of a file in bytes.
pub(crate) const MAX_FILE_BYTES: usize = 50 * 1024 * 1024;
/// The most megabytes of file contents in memory at a time.
pub(crate) const MAX_MB_IN_FLIGHT: usize = 128;
/// The megabytes reserved for a file whose size the provider does not state. A larger file is
/// requested a second time, with the room of the largest possible file.
pub(crate) const UNKNOWN_SIZE_MB: usize = 16;
/// The most documents of a deleted connection that are released at a time.
pub(crate) const MAX_CONCURRENT_REQUESTS: usize = 8;
/// The number of consecutive failures that are blamed on the provider instead of the current items.
pub(crate) const PROVIDER_FAILURES: u32 = 3;
/// The number of attempts after which a file counts as failed. With the pauses between them, they
/// take a day and a half.
pub(crate) const MAX_FILE_ATTEMPTS: u32 = 20;
/// The seconds that a file waits after its first failed attempt if nobody requests a run. The wait
/// doubles with each further failure, up to two hours.
pub(crate) const FILE_RETRY_SECONDS: i64 = 900;
/// The number of times that this wait is doubled.
pub(crate) const FILE_RETRY_DOUBLINGS: u32 = 3;
/// The seconds that a document stays after its item has gone. A move from one feed to another looks
/// like a removal and an addition.
pub(crate) const GRACE_SECONDS: i64 = 600;
/// The most documents that one run removes, unless a second run confirms each removal.
pub(crate) const MAX_REMOVALS: usize = 500;
/// The same limit as a percentage of all documents.
pub(crate) const MAX_REMOVALS_PERCENT: u64 = 30;
/// The number of removals below which the percentage does not apply.
pub(crate) const MIN_HELD_REMOVALS: u64 = 10;
/// The days between two complete scans.
pub(crate) const RECONCILE_DAYS: i64 = 7;
/// The most questions to a model in one run.
pub(crate) const MAX_MODEL_QUESTIONS: u64 = 200;
