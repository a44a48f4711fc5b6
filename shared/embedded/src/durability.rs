//! The durability of answered calls, and the order in which the files of a folder are synced.
//!
//! **What is synced.** SQLite runs in WAL mode with `synchronous=NORMAL`. A commit appends to the
//! write-ahead log. The checksums of the log ensure that what a power cut leaves of it is a prefix
//! of the commits, and SQLite itself syncs the log before it copies pages into the database. SQLite
//! leaves out the sync after each commit, which [`crate::log::CommitLog`] adds: before answers
//! leave, one sync of the log serves all callers that wait for one. Readers also wait if they saw a
//! commit that is not on the disk yet. Otherwise they could act on data that a power cut then
//! removes.
//!
//! | file | on the disk |
//! |---|---|
//! | blob | its bytes, then its folder, then (new folder) the folder above, before the index row that names it |
//! | row of `s3/index.sqlite` | before the answer, and before a replaced or deleted blob is unlinked |
//! | unlinked blob | its folder, before the row of the table `garbage` goes that would unlink it again |
//! | name of a new blob | in the table `garbage` before the file is created, so no power cut leaves an unknown file |
//! | `dynamodb.sqlite`, `sqs.sqlite` | full: before the answer; relaxed: within a second |
//! | `kms.key`, `signing.key`, `MANIFEST` | written beside, synced, renamed, folder synced, before the first use |
//!
//! **Full.** Every call is durable when its caller receives the answer. A power cut therefore
//! leaves what a killed process leaves: all calls that were answered, and any of those that were
//! not. The only exception is that a received SQS message is in flight: after a power cut it may be
//! received again, as it may be at any time.
//!
//! **Relaxed.** Bytes and their index (S) are synced as above. DynamoDB (D) and SQS (Q) are each a
//! prefix of their commits that lacks at most the last second. The prefixes need not end at the
//! same moment, so these are the cases:
//!
//! * *S is ahead of D.* An object exists that no item names. Nobody sees its bytes, as after a
//!   crash between the two calls. It would be a loss if an object were replaced or deleted while an
//!   item on the disk still named the old bytes. A transaction of S that discards bytes therefore
//!   syncs D and Q first.
//! * *S is behind D or Q.* This cannot happen: S is synced before its answer, and a caller that
//!   names an object has received that answer.
//! * *Q is ahead of D.* A message names an item that is missing or older, as does a message that
//!   arrives early. Or a message is deleted while its effect is missing; its item is still marked
//!   as unfinished, and the sweep finds it.
//! * *D is ahead of Q.* An item lacks its message, as after a crash between the two calls, and the
//!   sweep sends it again. Or a message comes again after its work was done.
//! * *A message about a new object* (a bucket's notification) would be found by no sweep, so it is
//!   synced with its object.

/// The data that survives a power cut. Everything that was answered survives the death of the
/// process in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Everything that was answered survives.
    #[default]
    Full,
    /// Everything survives except at most the last second of DynamoDB and SQS. Nothing names bytes
    /// that are missing.
    Relaxed,
    /// Nothing is guaranteed to survive, because nothing is synced. This is for folders that are
    /// thrown away, such as those of tests.
    Process,
}

impl Durability {
    /// Returns the durability of the bytes of S3 and their index, which is never relaxed.
    pub(crate) fn for_bytes(self) -> Self {
        if self == Self::Relaxed {
            Self::Full
        } else {
            self
        }
    }

    /// Checks whether anything is synced at all.
    pub(crate) fn syncs_anything(self) -> bool {
        self != Self::Process
    }
}
