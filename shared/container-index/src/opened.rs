//! The segments that views of this process have open.
//!
//! A process may have several views of a container, in the caches of its functions and in a compaction.
//! Most of their segments are the same, so they share them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use domain::{BlobRef, OrgId, Tenant};
use search_engine::Segment;

/// The number of entries from which those of segments that nobody has open any more are removed.
const FIRST_CLEANUP: usize = 64;

static OPENED: LazyLock<Mutex<OpenedSegments>> = LazyLock::new(Mutex::default);

/// Segments of which all bytes were read. The key starts with the organization, so segments of another
/// organization cannot be reached. The content of a blob never changes.
#[derive(Debug, Default)]
struct OpenedSegments {
    by_blob: HashMap<(OrgId, BlobRef), Weak<Segment>>,
    /// The number of entries from which they are cleaned up.
    cleanup_at: usize,
}

impl OpenedSegments {
    fn lock() -> MutexGuard<'static, Self> {
        // A panic while the lock was held cannot leave the map half-changed.
        OPENED.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the segment of a blob, if a view has it open.
pub(crate) fn find_opened(tenant: &Tenant, blob: &BlobRef) -> Option<Arc<Segment>> {
    let key = (tenant.org().clone(), blob.clone());
    OpenedSegments::lock().by_blob.get(&key)?.upgrade()
}

/// Remembers the segment of a blob for as long as somebody has it open.
pub(crate) fn remember_opened(tenant: &Tenant, blob: &BlobRef, segment: &Arc<Segment>) {
    let key = (tenant.org().clone(), blob.clone());
    let mut opened = OpenedSegments::lock();
    opened.by_blob.insert(key, Arc::downgrade(segment));
    if opened.by_blob.len() >= opened.cleanup_at.max(FIRST_CLEANUP) {
        opened
            .by_blob
            .retain(|_, segment| segment.strong_count() > 0);
        opened.cleanup_at = 2 * opened.by_blob.len();
    }
}
