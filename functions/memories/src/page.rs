//! Pages of lists of memories. The times of all memories decide which are on a page, and only these are read.

use std::cmp::Ordering;

use container_index::{IndexedMemories, ListedTime, ViewCache, listed_at};
use domain::{Error, Filter, MemoryId, Result, Tenant, Timestamp};
use edge::{Pagination, SortField};
use memory_model::{Memory, MemoryFilter};
use service::Ctx;

use crate::container_memories::{ContainerMemories, ListEntry, LocatedMemory};

/// The number of memories on a page if the request does not set a limit.
pub(crate) const DEFAULT_LIMIT: usize = 10;
/// The most memories on a page. Part of the API.
pub(crate) const MAX_LIMIT: usize = 1100;
/// The number of memories from which a selection leaves out those behind its page.
const MIN_SHRUNK: usize = 4_096;

/// The number and the size of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageNumber {
    number: usize,
    limit: usize,
}

impl PageNumber {
    /// Checks the number and the size of the page.
    pub(crate) fn parse(number: Option<usize>, limit: Option<usize>) -> Result<Self> {
        let (number, limit) = (number.unwrap_or(1), limit.unwrap_or(DEFAULT_LIMIT));
        if number == 0 {
            return Err(Error::invalid_field("page", "1 or more"));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")));
        }
        Ok(Self { number, limit })
    }

    /// Returns the position of the page in a list of `total` items.
    pub(crate) fn pagination(self, total: usize) -> Pagination {
        Pagination::new(self.number, self.limit, total)
    }

    /// Returns the number of items on the pages before.
    fn first(self) -> usize {
        (self.number - 1).saturating_mul(self.limit)
    }
}

/// The latest memories to list, their order and the page.
pub(crate) struct MemoryQuery {
    pub(crate) filter: Option<Filter>,
    /// Lists memories that were forgotten or have expired as well.
    pub(crate) includes_forgotten: bool,
    pub(crate) sort: SortField,
    pub(crate) is_ascending: bool,
    pub(crate) page: PageNumber,
}

impl MemoryQuery {
    /// Returns the memories of the page, and the number of memories on all pages.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn read_page<'a>(
        &self,
        container_memories: &'a ContainerMemories,
        ctx: &Ctx,
        tenant: &Tenant,
        cache: &ViewCache<IndexedMemories<()>>,
    ) -> Result<(Vec<LocatedMemory<'a>>, usize)> {
        let selection = self.select(container_memories, ctx, tenant, cache).await?;
        let total = selection.total;
        let (mut candidates, skipped) = selection.into_candidates();
        candidates.sort_unstable_by(ListEntry::compare_places);
        let read = || -> Vec<LocatedMemory<'a>> {
            let located = candidates.iter();
            let located = located.filter_map(|entry| container_memories.read_entry(entry));
            located.collect()
        };
        let mut found = container_memories.read(ctx, tenant, read).await?;
        self.sort_memories(&mut found);
        let page = found.into_iter().skip(skipped).take(self.page.limit);
        Ok((page.collect(), total))
    }

    /// Selects the memories that may be on the page. All memories are read for a filter, and otherwise those whose
    /// times are not stored.
    async fn select(
        &self,
        container_memories: &ContainerMemories,
        ctx: &Ctx,
        tenant: &Tenant,
        cache: &ViewCache<IndexedMemories<()>>,
    ) -> Result<PageSelection<ListEntry>> {
        let time = self.listed_time();
        if self.filter.is_none() {
            let list = || {
                let latest = container_memories.list_latest(time);
                self.select_timed(container_memories, latest)
            };
            if let Some(selection) = container_memories.read(ctx, tenant, list).await? {
                return Ok(selection);
            }
        }

        container_memories.begin_scan(tenant, cache).await;
        let list = || container_memories.list_latest(time).collect();
        let latest: Vec<ListEntry> = container_memories.read(ctx, tenant, list).await?;
        let is_read = |entry: &ListEntry| self.filter.is_some() || entry.time().is_none();
        let (to_read, timed): (Vec<ListEntry>, Vec<ListEntry>) =
            latest.into_iter().partition(is_read);
        let prepare = || -> Vec<Option<MemoryFilter<'_>>> {
            let filter = self.filter.as_ref();
            let containers = container_memories.containers.iter();
            let prepared = containers
                .map(|(_, memories)| filter.map(|filter| memories.ledger().prepare_filter(filter)));
            prepared.collect()
        };
        let filters = container_memories.read(ctx, tenant, prepare).await?;
        let matches = |entry: &ListEntry, memory: &Memory| {
            let filter = filters[entry.container].as_ref();
            filter.is_none_or(|filter| filter.matches(memory))
        };
        let matching = container_memories
            .scan(ctx, tenant, (time, &to_read), matches)
            .await?;
        let listed = timed.into_iter().chain(matching);
        let selection = self.select_timed(container_memories, listed);
        Ok(selection.expect("a scan gives times"))
    }

    /// Selects memories by their times. Returns `None` if one of them has none.
    fn select_timed(
        &self,
        container_memories: &ContainerMemories,
        entries: impl Iterator<Item = ListEntry>,
    ) -> Option<PageSelection<ListEntry>> {
        let mut selection = PageSelection::new(self.page, self.is_ascending);
        for entry in entries {
            if self.includes_forgotten || container_memories.is_live(&entry) {
                selection.push(entry.time()?, entry);
            }
        }
        Some(selection)
    }

    /// Sorts by the requested field. Equal times are sorted by fields that never change.
    fn sort_memories(&self, found: &mut [LocatedMemory<'_>]) {
        found.sort_by(|a, b| {
            let (a, b) = (self.sort_key(&a.memory), self.sort_key(&b.memory));
            compare(self.is_ascending, &a, &b)
        });
    }

    fn sort_key<'m>(&self, memory: &'m Memory) -> (Timestamp, Timestamp, &'m MemoryId) {
        let time = listed_at(memory, self.listed_time());
        (time, memory.said_at, &memory.id)
    }

    fn listed_time(&self) -> ListedTime {
        match self.sort {
            SortField::CreatedAt => ListedTime::Created,
            SortField::UpdatedAt => ListedTime::Updated,
        }
    }
}

/// Selects the items of a page by their times. Items that have the time of the first or the last of the page are
/// kept too, because other fields decide between them.
struct PageSelection<T> {
    page: PageNumber,
    is_ascending: bool,
    /// The number of items that were offered.
    total: usize,
    /// Those that may be on the page or before it, with their times.
    items: Vec<(Timestamp, T)>,
    /// The number of items from which those behind the page are left out.
    shrink_at: usize,
}

impl<T> PageSelection<T> {
    fn new(page: PageNumber, is_ascending: bool) -> Self {
        Self {
            page,
            is_ascending,
            total: 0,
            items: Vec::new(),
            shrink_at: MIN_SHRUNK,
        }
    }

    fn push(&mut self, time: Timestamp, item: T) {
        self.total += 1;
        self.items.push((time, item));
        if self.items.len() >= self.shrink_at {
            self.shrink();
        }
    }

    /// Leaves out items that are behind the page.
    fn shrink(&mut self) {
        let is_ascending = self.is_ascending;
        let end = self.page.first().saturating_add(self.page.limit);
        if self.items.len() > end {
            let (_, (last, _), _) = self
                .items
                .select_nth_unstable_by(end - 1, |(a, _), (b, _)| compare(is_ascending, a, b));
            let last = *last;
            self.items
                .retain(|(time, _)| compare(is_ascending, time, &last).is_le());
        }
        self.shrink_at = MIN_SHRUNK.max(2 * self.items.len());
    }

    /// Returns the items that may be on the page, and the number of those of them that are before it.
    fn into_candidates(self) -> (Vec<T>, usize) {
        let (is_ascending, mut items) = (self.is_ascending, self.items);
        items.sort_unstable_by(|(a, _), (b, _)| compare(is_ascending, a, b));
        let first = self.page.first();
        let Some((first_time, _)) = items.get(first) else {
            return (Vec::new(), 0);
        };
        let last = items.len().min(first + self.page.limit) - 1;
        let last_time = items[last].0;
        let start =
            items.partition_point(|(time, _)| compare(is_ascending, time, first_time).is_lt());
        let end =
            items.partition_point(|(time, _)| compare(is_ascending, time, &last_time).is_le());
        let candidates = items.drain(start..end).map(|(_, item)| item);
        (candidates.collect(), first - start)
    }
}

/// Compares values by the order of a list.
fn compare<T: Ord>(is_ascending: bool, a: &T, b: &T) -> Ordering {
    match is_ascending {
        true => a.cmp(b),
        false => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Selects a page of memories with these times. Returns the times of the page, and the total.
    fn select(times: &[i64], page: PageNumber, is_ascending: bool) -> (Vec<i64>, usize) {
        let mut selection = PageSelection::new(page, is_ascending);
        for time in times {
            selection.push(Timestamp::from_millis(*time), *time);
        }
        let total = selection.total;
        let (mut candidates, skipped) = selection.into_candidates();
        candidates.sort_unstable_by(|a, b| compare(is_ascending, a, b));
        let page = candidates.into_iter().skip(skipped).take(page.limit);
        (page.collect(), total)
    }

    #[test]
    fn a_page_is_selected_by_times_alone() {
        // Some times are those of many memories, and some of one.
        let times: Vec<i64> = (0..20_000)
            .map(|i| i * 7_919 % 20_011 / 3 % 4_001)
            .collect();
        for is_ascending in [true, false] {
            let mut sorted = times.clone();
            sorted.sort_unstable_by(|a, b| compare(is_ascending, a, b));
            for (number, limit) in [
                (1, 1),
                (1, 10),
                (7, 100),
                (181, 110),
                (200, 100),
                (900, 1_000),
            ] {
                let page = PageNumber { number, limit };
                let expected = sorted.iter().skip(page.first()).take(limit).copied();
                let expected: Vec<i64> = expected.collect();
                assert_eq!(select(&times, page, is_ascending), (expected, times.len()));
            }
        }
    }

    #[test]
    fn a_selection_of_a_first_page_stays_small() {
        let page = PageNumber {
            number: 1,
            limit: 10,
        };
        let mut selection = PageSelection::new(page, false);
        for time in 0..100_000 {
            selection.push(Timestamp::from_millis(time), ());
        }
        assert!(selection.items.capacity() <= 2 * MIN_SHRUNK);
    }
}
