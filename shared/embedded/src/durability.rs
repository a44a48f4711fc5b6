//! When an answered call is on the disk, and in which order the files of a folder get there.
//!
//! **What is synced.** SQLite runs in WAL mode with `synchronous=NORMAL`: a commit appends to the write-ahead log, whose
//! checksums make what a power cut leaves of it a prefix of the commits, and SQLite itself syncs the log before it copies
//! pages into the database. What it leaves out, the sync after each commit, [`crate::log::Log`] adds: before an answer
//! leaves, one sync of the log for all who wait for one. Readers wait as well when they saw a commit that is not on the disk
//! yet, or else they could act on something that never was.
//!
//! | file | on the disk |
//! |---|---|
//! | blob | its bytes, then its folder, then (new folder) the folder above, before the row of the index that names it |
//! | row of `s3/index.sqlite` | before the answer, and before a replaced or deleted blob is unlinked |
//! | unlinked blob | its folder, before the row of the list `garbage` goes that would unlink it again |
//! | name of a new blob | on the list `garbage` before the file is created, so no cut leaves a file that nothing knows |
//! | `dynamodb.sqlite`, `sqs.sqlite` | full: before the answer; relaxed: within a second |
//! | `kms.key`, `signing.key`, `MANIFEST` | written beside, synced, renamed, folder synced, before the first use |
//!
//! **Full.** Every answered call is durable when the caller hears of it, so what a cut leaves is what a killed process
//! leaves: all calls that were answered, and any of those that were not. The one exception is that a received SQS message
//! is in flight: after a cut it may be received again, as it may at any time.
//!
//! **Relaxed.** Bytes and their index (S) are synced as above. DynamoDB (D) and SQS (Q) are each a prefix of their commits
//! that lacks at most the last second. The prefixes need not end at the same moment, so these are the cases:
//!
//! * *S is ahead of D.* An object that no item names: bytes that nobody sees, as after a crash between the two calls. An
//!   object that was replaced or deleted while an item on the disk still names the old bytes would be a loss; therefore a
//!   transaction of S that discards bytes first syncs D and Q.
//! * *S is behind D or Q.* Cannot be: S is synced before its answer, and who names an object has its answer.
//! * *Q is ahead of D.* A message about an item that is missing or older, which is a message that comes early; or a message
//!   deleted while its effect is missing, whose item is still marked as unfinished and found by the sweep.
//! * *D is ahead of Q.* An item without its message, as after a crash between the two calls: the sweep sends it again. Or a
//!   message that comes again after its work was done.
//! * *A message about a new object* (a bucket's notification) would be found by no sweep; it is synced with its object.

/// What survives a power cut. Everything that was answered survives the death of the process in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Everything that was answered.
    #[default]
    Full,
    /// Everything but at most the last second of DynamoDB and SQS. Nothing names bytes that are missing.
    Relaxed,
    /// Nothing in particular: nothing is synced. For folders that are thrown away, such as those of tests.
    Process,
}

impl Durability {
    /// How the bytes of S3 and their index are kept: never relaxed.
    pub(crate) fn of_bytes(self) -> Self {
        if self == Self::Relaxed {
            Self::Full
        } else {
            self
        }
    }

    /// Whether anything is synced at all.
    pub(crate) fn syncs(self) -> bool {
        self != Self::Process
    }
}
