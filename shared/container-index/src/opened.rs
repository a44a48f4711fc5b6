//! The segments that views of this process have open.
//!
//! A process may have several views of a container, in the caches of its functions and in a compaction.
//! Most of their segments are the same, so they share them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use domain::{BlobRef, OrgId, Tenant};
use search_engine::Segment;
use service::Ctx;

use crate::segments::{PartialSegment, WeakPartialSegment};

/// The number of entries from which those of segments that nobody has open any more are removed.
const FIRST_CLEANUP: usize = 64;

static OPENED: LazyLock<Mutex<OpenedSegments>> = LazyLock::new(Mutex::default);

/// A segment that a view has open.
#[derive(Debug, Clone)]
pub(crate) enum OpenedSegment {
    /// All of its bytes were read.
    Whole(Arc<Segment>),
    /// Some of its pages may be missing.
    Partial(PartialSegment),
}

impl OpenedSegment {
    /// Returns the partial segment, or `None` for a whole one.
    pub(crate) fn as_partial(&self) -> Option<&PartialSegment> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(partial) => Some(partial),
        }
    }

    /// Returns the segment.
    pub(crate) fn into_segment(self) -> Arc<Segment> {
        match self {
            Self::Whole(segment) => segment,
            Self::Partial(partial) => partial.segment().clone(),
        }
    }
}

/// The place of a segment. The organization is a part of it, so segments of another organization cannot be
/// reached. The content of a blob never changes.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SegmentPlace {
    /// The address of the store in memory. Tests run several processes in one, each with a store of its own.
    store: usize,
    org: OrgId,
    blob: BlobRef,
}

impl SegmentPlace {
    fn new(ctx: &Ctx, tenant: &Tenant, blob: &BlobRef) -> Self {
        Self {
            store: Arc::as_ptr(&ctx.blobs).addr(),
            org: tenant.org().clone(),
            blob: blob.clone(),
        }
    }
}

#[derive(Debug, Default)]
struct OpenedSegments {
    by_place: HashMap<SegmentPlace, WeakSegment>,
    /// The number of entries from which they are cleaned up.
    cleanup_at: usize,
}

impl OpenedSegments {
    fn lock() -> MutexGuard<'static, Self> {
        // A panic while the lock was held cannot leave the map half-changed.
        OPENED.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A segment for as long as somebody has it open.
#[derive(Debug)]
enum WeakSegment {
    Whole(Weak<Segment>),
    Partial(WeakPartialSegment),
}

impl WeakSegment {
    /// Checks whether somebody has the segment open.
    fn is_open(&self) -> bool {
        match self {
            Self::Whole(segment) => segment.strong_count() > 0,
            Self::Partial(partial) => partial.is_open(),
        }
    }

    fn upgrade(&self) -> Option<OpenedSegment> {
        match self {
            Self::Whole(segment) => segment.upgrade().map(OpenedSegment::Whole),
            Self::Partial(partial) => partial.upgrade().map(OpenedSegment::Partial),
        }
    }
}

/// Returns the segment of a blob, if a view has it open and it does not have to be read anew.
pub(crate) fn find_opened(ctx: &Ctx, tenant: &Tenant, blob: &BlobRef) -> Option<OpenedSegment> {
    let place = SegmentPlace::new(ctx, tenant, blob);
    let opened = OpenedSegments::lock().by_place.get(&place)?.upgrade()?;
    match &opened {
        OpenedSegment::Partial(partial) if partial.is_stale() => None,
        _ => Some(opened),
    }
}

/// Remembers the segment of a blob for as long as somebody has it open.
pub(crate) fn remember_opened(ctx: &Ctx, tenant: &Tenant, blob: &BlobRef, segment: &OpenedSegment) {
    let place = SegmentPlace::new(ctx, tenant, blob);
    let weak = match segment {
        OpenedSegment::Whole(segment) => WeakSegment::Whole(Arc::downgrade(segment)),
        OpenedSegment::Partial(partial) => WeakSegment::Partial(partial.downgrade()),
    };
    let mut opened = OpenedSegments::lock();
    opened.by_place.insert(place, weak);
    if opened.by_place.len() >= opened.cleanup_at.max(FIRST_CLEANUP) {
        opened.by_place.retain(|_, segment| segment.is_open());
        opened.cleanup_at = 2 * opened.by_place.len();
    }
}
