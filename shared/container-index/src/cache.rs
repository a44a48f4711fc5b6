//! Warm views of containers. A search costs one strongly consistent read of the head, and a read of
//! the log only if the container has changed since the last search.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::PortResult;
use domain::{ContainerId, IndexHead, OrgId, PortError, Tenant, Timestamp};
use service::Ctx;
use service::report_damage;
use tokio::sync::OwnedMutexGuard;

use crate::segments::{
    PartialSegment, SegmentReading, complete_in_background, fetch_all, partial_segments,
};
use crate::view::{ContainerState, ContainerView, Loaded};

/// The interval in seconds at which the cache checks whether a container that it keeps warm still
/// exists. Each check costs one read.
const CHECK_INTERVAL_SECONDS: i64 = 60;

/// The length of a tail from which a view is dropped and reloaded from the segments that compaction
/// has made of the tail.
const MAX_TAIL: usize = 2_000;

/// The seconds for which a view may read pages after its segments were last seen in the head. Segments are
/// purged a minute after they were replaced.
const READABLE_SECONDS: i64 = 30;

type Slot<V> = Arc<tokio::sync::Mutex<Option<Loaded<V>>>>;

/// The size of a cache of views, and how it reads them.
#[derive(Debug, Clone, Copy)]
pub struct CacheSettings {
    /// The bytes that are kept warm.
    pub bytes: usize,
    /// The parts of segments that are read when a container is opened.
    pub reading: SegmentReading,
}

impl CacheSettings {
    /// Creates settings.
    pub const fn new(bytes: usize, reading: SegmentReading) -> Self {
        Self { bytes, reading }
    }

    /// Returns the settings of a cache of another size.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }
}

impl From<usize> for CacheSettings {
    /// Returns the settings of a cache of so many bytes for a process with local stores.
    fn from(bytes: usize) -> Self {
        Self::new(bytes, SegmentReading::FROM_DISK)
    }
}

/// The warm views of a process. The least recently used view is evicted first. The key starts with
/// the organization, so views of another organization cannot be reached.
#[derive(Debug)]
pub struct ViewCache<V> {
    slots: Mutex<Slots<V>>,
    max_bytes: usize,
    reading: SegmentReading,
    /// Held by a request that reads everything of views that do not fit.
    large_read: Arc<tokio::sync::Mutex<()>>,
}

/// Held while a request reads everything of views that do not fit into the cache, so that one request at a time
/// does so.
#[derive(Debug)]
#[must_use]
pub struct LargeRead(
    #[expect(dead_code, reason = "it is released when it is dropped")] Option<OwnedMutexGuard<()>>,
);

#[derive(Debug)]
struct Slots<V> {
    by_container: HashMap<(OrgId, ContainerId), Entry<V>>,
    /// The bytes of all entries.
    total_bytes: usize,
    /// The count of uses and checks, by which they are ordered.
    tick: u64,
    /// The time of the next check for a deleted container; `None` before the first request.
    next_check_at: Option<Timestamp>,
}

#[derive(Debug)]
struct Entry<V> {
    slot: Slot<V>,
    /// The tenant that first asked for the view.
    tenant: Tenant,
    last_used: u64,
    /// The last use or successful check of the view, in the cache's own count.
    last_checked: u64,
    bytes: usize,
}

impl<V> Slots<V> {
    /// Sets the bytes of a view, if the cache has it.
    fn set_bytes(&mut self, key: &(OrgId, ContainerId), bytes: usize) {
        if let Some(entry) = self.by_container.get_mut(key) {
            self.total_bytes = self.total_bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        }
    }

    fn remove(&mut self, key: &(OrgId, ContainerId)) {
        if let Some(entry) = self.by_container.remove(key) {
            self.total_bytes -= entry.bytes;
        }
    }

    /// Evicts the views that were used the longest time ago, but for that of `key`, until the others
    /// take at most `max_bytes`.
    fn make_room(&mut self, key: &(OrgId, ContainerId), max_bytes: usize) {
        while self.total_bytes > max_bytes && self.by_container.len() > 1 {
            let others = self.by_container.iter().filter(|(other, _)| *other != key);
            let Some((oldest, _)) = others.min_by_key(|(_, entry)| entry.last_used) else {
                return;
            };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }
}

impl<V: ContainerView> ViewCache<V> {
    /// Creates a cache.
    pub fn new(settings: impl Into<CacheSettings>) -> Self {
        let settings = settings.into();
        Self {
            slots: Mutex::new(Slots {
                by_container: HashMap::new(),
                total_bytes: 0,
                tick: 0,
                next_check_at: None,
            }),
            max_bytes: settings.bytes,
            reading: settings.reading,
            large_read: Arc::default(),
        }
    }

    /// Returns the container's view, which includes everything that was committed before this call.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub async fn open(&self, ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<V> {
        let state = ContainerState::read(ctx, tenant, id, self.is_warm(tenant, id)).await?;
        self.open_at(ctx, tenant, id, state).await
    }

    /// Checks whether the view of a container with this head fits into the cache.
    pub(crate) fn has_room_for(&self, head: &IndexHead) -> bool {
        V::expected_bytes(head, self.reading) <= self.max_bytes
    }

    /// Checks whether a view of the container is warm, so that its head tells what is new.
    pub fn is_warm(&self, tenant: &Tenant, id: &ContainerId) -> bool {
        let key = (tenant.org().clone(), id.clone());
        self.lock().by_container.contains_key(&key)
    }

    /// Returns the container's view, which includes everything up to `state`.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub async fn open_at(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        state: ContainerState,
    ) -> PortResult<V> {
        self.open_for(ctx, tenant, id, state, true).await
    }

    /// Returns the container's view, as [`Self::open_at`] does. If the request `searches` nothing and the view
    /// was not warm, less is read of it, and the first search reads the rest.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub async fn open_for(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        state: ContainerState,
        searches: bool,
    ) -> PortResult<V> {
        let reading = self.reading.for_view(searches);
        self.drop_deleted_view(ctx).await;
        let head = &state.head;
        let key = (tenant.org().clone(), id.clone());
        if head.seq == 0 {
            self.remove(&key);
            return Ok(V::empty(id));
        }

        let slot = self.slot(tenant, &key);
        // One reader follows the log. Other readers of this container wait for it and then find the
        // work done.
        let mut cached = slot.lock().await;
        if let Some(loaded) = &mut *cached
            && loaded.seq >= head.seq
            && is_usable(loaded, &state)
        {
            count_open("warm");
            let view = loaded.view.clone();
            if !view.partial_segments().is_empty() {
                let is_current = loaded.generation == head.generation;
                self.complete(ctx, tenant, &key, &view, is_current);
            }
            return Ok(view);
        }
        let generation = head.generation;

        let (mut next, is_followed) = self
            .follow_or_load(ctx, tenant, &key, state, reading, cached.take())
            .await?;

        let unreadable = next.view.take_unreadable();
        if !unreadable.is_empty() {
            // Commits may have replaced these documents, and deleted their blobs, since the head was read.
            follow_replacements(ctx, tenant, id, &mut next).await?;
            report_damage(ctx, tenant, id, &unreadable).await;
        }

        let view = next.view.clone();
        let is_current = next.generation == generation;
        *cached = Some(next);
        drop(cached);
        match is_followed {
            true => self.complete(ctx, tenant, &key, &view, is_current),
            false => self.record_view(&key, &view),
        }

        Ok(view)
    }

    /// Brings the cached view up to `state`, or loads the view if the cached one cannot be used. Returns
    /// the view, and `true` if it was cached.
    async fn follow_or_load(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        key: &(OrgId, ContainerId),
        state: ContainerState,
        reading: SegmentReading,
        mut cached: Option<Loaded<V>>,
    ) -> PortResult<(Loaded<V>, bool)> {
        let (head, id) = (&state.head, &key.1);
        // A lost part of a current segment is damaged. Otherwise the segment was replaced and purged.
        let reading = match cached.take_if(|loaded| is_lost(loaded)) {
            Some(lost) if is_damaged(&lost, head) => SegmentReading::Whole,
            _ => reading,
        };

        // It stays in memory until the new view is loaded, which shares the segments that are still the same.
        if let Some(reusable) = &mut cached
            && reusable.seq >= head.covered_through()
            && is_usable(reusable, &state)
            && reusable.follow_intact(ctx, tenant, id, head.seq).await?
            && let Some(followed) = cached.take()
        {
            count_open("followed");
            return Ok((followed, true));
        }

        count_open("loaded");
        // Others make room before the view takes it.
        self.record_size(key, V::expected_bytes(head, reading));
        let read = load(ctx, tenant, id, state, reading);
        let read = spans::trace(spans::step_span("load container"), read).await;
        let fresh = read.inspect_err(|_| self.record_size(key, 0))?;
        if fresh.is_recovered {
            report_damage(ctx, tenant, id, &[]).await;
        }
        Ok((fresh, false))
    }

    /// Records the size of a view that was asked for again, because requests may have read more of it
    /// meanwhile. Fetches what is missing of it if its segments are current, unless it would take more than half
    /// of the cache.
    fn complete(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        key: &(OrgId, ContainerId),
        view: &V,
        is_current: bool,
    ) {
        let segments = view.partial_segments();
        let bytes: usize = segments.iter().map(PartialSegment::file_bytes).sum();
        if is_current && self.reading.completes() && bytes <= self.max_bytes / 2 {
            // Others make room before the view takes it.
            self.record_size(key, view.size_bytes().max(bytes));
            complete_in_background(ctx, tenant, segments);
        } else {
            self.record_view(key, view);
        }
    }

    /// Records the size of a view. One with too many pages is dropped, and read anew for the next request,
    /// unless it was read as a whole and fits.
    fn record_view(&self, key: &(OrgId, ContainerId), view: &V) {
        let (size, segments) = (view.size_bytes(), view.partial_segments());
        let pages = segments.iter().map(PartialSegment::page_bytes).sum();
        let fits = segments.iter().all(PartialSegment::is_whole) && size <= self.max_bytes;
        if self.reading.is_exceeded_by(pages) && !fits {
            self.drop_pages(key, view);
        } else {
            self.record_size(key, size);
        }
    }

    /// Returns the bytes that are kept warm.
    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Records the size of a view of which a request has read pages.
    pub(crate) fn record_read(&self, tenant: &Tenant, id: &ContainerId, view: &V) {
        self.record_view(&(tenant.org().clone(), id.clone()), view);
    }

    /// Fetches everything that is missing of views, for a request that reads all of it, and makes room for it.
    ///
    /// # Errors
    /// As [`read_until_fetched`](crate::read_until_fetched).
    pub async fn fetch_all(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        views: &[(&ContainerId, &V)],
    ) -> PortResult<LargeRead> {
        let large_read = self.make_room_for_all(tenant, views).await;
        let partial = partial_segments(views.iter().map(|(_, view)| *view));
        fetch_all(ctx, tenant, &partial).await?;
        Ok(large_read)
    }

    /// Makes room for everything that a request may read of views. Views that do not fit are dropped from the
    /// cache, and stay in memory until the request ends.
    pub async fn make_room_for_all(
        &self,
        tenant: &Tenant,
        views: &[(&ContainerId, &V)],
    ) -> LargeRead {
        let mut are_large = false;
        for (id, view) in views {
            let (key, size) = ((tenant.org().clone(), (*id).clone()), view.size_when_read());
            if size > self.max_bytes && !view.partial_segments().is_empty() {
                self.drop_pages(&key, view);
                are_large = true;
            } else {
                self.record_size(&key, size);
            }
        }
        let guard = match are_large {
            true => Some(self.large_read.clone().lock_owned().await),
            false => None,
        };
        LargeRead(guard)
    }

    fn drop_pages(&self, key: &(OrgId, ContainerId), view: &V) {
        let segments = view.partial_segments().iter();
        segments.for_each(PartialSegment::mark_overgrown);
        self.remove(key);
    }

    /// Checks from time to time whether the container of a view was deleted, and drops the view:
    /// nobody asks for it any more, so nothing else would drop it. Checks the view that was seen
    /// the longest time ago.
    async fn drop_deleted_view(&self, ctx: &Ctx) {
        let Some((key, tenant)) = self.next_to_check(ctx.clock.now()) else {
            return;
        };
        // An error in this check must not fail the request beside it.
        let head = ctx.index.get_head(&tenant, &key.1).await;
        if head.is_ok_and(|head| head.seq == 0) {
            self.remove(&key);
        }
    }

    fn remove(&self, key: &(OrgId, ContainerId)) {
        self.change(|slots| slots.remove(key));
    }

    /// Records the bytes of a view, and evicts others if the cache has no room for them.
    fn record_size(&self, key: &(OrgId, ContainerId), bytes: usize) {
        self.change(|slots| {
            slots.set_bytes(key, bytes);
            slots.make_room(key, self.max_bytes);
        });
    }

    /// Changes the entries, and the metric of their bytes. All caches of a process count as one.
    fn change(&self, change: impl FnOnce(&mut Slots<V>)) {
        let mut slots = self.lock();
        let bytes_before = slots.total_bytes;
        change(&mut slots);
        let added = slots.total_bytes as f64 - bytes_before as f64;
        metrics::gauge!("recollect_cache_bytes").increment(added);
    }

    /// Returns the view that is to be checked now, if a check is due.
    fn next_to_check(&self, now: Timestamp) -> Option<((OrgId, ContainerId), Tenant)> {
        let mut slots = self.lock();
        let next = now.plus_seconds(CHECK_INTERVAL_SECONDS);
        let due = *slots.next_check_at.get_or_insert(next);
        // A clock that was set back does not postpone the check.
        if now < due && due <= next {
            return None;
        }

        slots.next_check_at = Some(next);
        slots.tick += 1;
        let tick = slots.tick;
        let (key, entry) = slots
            .by_container
            .iter_mut()
            .min_by_key(|(_, entry)| entry.last_checked)?;
        entry.last_checked = tick;

        Some((key.clone(), entry.tenant.clone()))
    }

    fn slot(&self, tenant: &Tenant, key: &(OrgId, ContainerId)) -> Slot<V> {
        let mut slots = self.lock();
        slots.tick += 1;
        let tick = slots.tick;
        let entry = slots.by_container.entry(key.clone());
        let entry = entry.or_insert_with(|| Entry {
            slot: Slot::default(),
            tenant: tenant.clone(),
            last_used: 0,
            last_checked: 0,
            bytes: 0,
        });

        (entry.last_used, entry.last_checked) = (tick, tick);
        entry.slot.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slots<V>> {
        // A panic while the lock was held cannot leave the map half-changed.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a container from scratch: as a whole if a page of its segments turns out to be damaged.
async fn load<V: ContainerView>(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    state: ContainerState,
    reading: SegmentReading,
) -> PortResult<Loaded<V>> {
    match Loaded::read(ctx, tenant, id, state.clone(), reading).await {
        Err(PortError::Corrupt(_)) if reading != SegmentReading::Whole => {
            Loaded::read(ctx, tenant, id, state, SegmentReading::Whole).await
        }
        read => read,
    }
}

/// Counts how a view was opened: it was `warm`, has `followed` the log, or was `loaded`.
fn count_open(result: &'static str) {
    metrics::counter!("recollect_cache_opens_total", "result" => result).increment(1);
}

/// Brings a view of which blobs were missing up to the present head.
async fn follow_replacements<V: ContainerView>(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    loaded: &mut Loaded<V>,
) -> PortResult<()> {
    let head = ctx.index.get_head(tenant, id).await?;
    if head.incarnation == loaded.incarnation {
        // If the log was trimmed meanwhile, the next request reads the view anew.
        loaded.follow_intact(ctx, tenant, id, head.seq).await?;
    }
    Ok(())
}

/// Checks whether a warm view may still be used. Its answers are the same for any layout of
/// segments, so a compaction matters only when the tail has become long, or when the view still reads
/// segments that the compaction has replaced some time ago. A view of a container that was deleted and
/// imported again meanwhile is of another log.
fn is_usable<V: ContainerView>(loaded: &mut Loaded<V>, state: &ContainerState) -> bool {
    if loaded.incarnation != state.head.incarnation {
        return false;
    }
    let mut partial = loaded.view.partial_segments().iter();
    let is_whole = partial.clone().all(PartialSegment::is_whole);
    if partial.any(PartialSegment::is_stale) {
        return false;
    }
    if loaded.generation == state.head.generation {
        loaded.current_at = state.read_at;
        return true;
    }
    let readable_until = loaded.current_at.plus_seconds(READABLE_SECONDS);
    let is_readable = is_whole || state.read_at < readable_until;
    is_readable && loaded.view.tail_len() <= MAX_TAIL
}

/// Checks whether a part of a segment that the head still has cannot be read.
fn is_damaged<V: ContainerView>(loaded: &Loaded<V>, head: &IndexHead) -> bool {
    let mut partial = loaded.view.partial_segments().iter();
    partial.any(|segment| segment.is_lost_of(head))
}

/// Checks whether a part of the segments of a view cannot be read.
fn is_lost<V: ContainerView>(loaded: &Loaded<V>) -> bool {
    let mut partial = loaded.view.partial_segments().iter();
    partial.any(PartialSegment::is_lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::ChunkTail;

    #[test]
    fn a_view_of_another_incarnation_of_the_container_is_not_usable() {
        let now = Timestamp::from_millis(0);
        let state = |incarnation: Option<&str>| {
            let head = IndexHead {
                seq: 1,
                incarnation: incarnation.map(str::to_owned),
                ..IndexHead::default()
            };
            ContainerState::of_head(head, now)
        };

        for (incarnation, is_same) in [(Some("a"), true), (Some("b"), false), (None, false)] {
            let mut loaded = Loaded {
                seq: 2,
                generation: 0,
                incarnation: Some("a".into()),
                current_at: now,
                is_recovered: false,
                view: ChunkTail::default(),
            };
            assert_eq!(
                is_usable(&mut loaded, &state(incarnation)),
                is_same,
                "{incarnation:?}"
            );
        }
    }
}
