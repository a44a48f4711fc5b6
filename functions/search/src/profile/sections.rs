//! Reads the profile of a container, whatever the form of the answer.

use std::collections::BTreeMap;
use std::iter::zip;
use std::sync::{Arc, Mutex, PoisonError};

use container_index::{partial_segments, read_until_fetched};
use domain::{Container, Filter, ProfileBucket, Result, Tenant};
use memory_model::{
    BucketSorter, Ledger, Profile, ProfileLine, ProfileOptions, build_complete_profile,
    build_shortlisted_profile,
};
use service::{ContainerScope, find_containers};

use crate::SearchState;
use crate::engine::open_memories;

/// A profile with its buckets by their keys.
pub(crate) struct ProfileSections {
    pub(crate) statics: Vec<ProfileLine>,
    pub(crate) dynamic: Vec<ProfileLine>,
    pub(crate) buckets: BTreeMap<String, Vec<ProfileLine>>,
}

/// The part of a profile that is read, and its size.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProfileSelection<'a> {
    /// A condition that the memories must satisfy.
    pub(crate) filter: Option<&'a Filter>,
    /// True if the memories are sorted into buckets as well.
    pub(crate) with_buckets: bool,
    /// The most estimated tokens, as [`ProfileOptions::max_tokens`].
    pub(crate) max_tokens: Option<usize>,
    /// True if the same request searches the memories as well.
    pub(crate) is_searched: bool,
}

/// Returns the profile of the container in scope, which is empty if there is no such container.
///
/// # Errors
/// Those of the ports, and of a tag that the key does not reach.
pub(crate) async fn read_profile(
    state: &SearchState,
    tenant: &Tenant,
    scope: &ContainerScope,
    selection: ProfileSelection<'_>,
) -> Result<ProfileSections> {
    let container = find_container(state, tenant, scope).await?;
    let sorter = if selection.with_buckets {
        let buckets = effective_buckets(state, tenant, container.as_ref()).await?;
        Some(state.sorters.get_or_create(buckets))
    } else {
        None
    };
    let sorted_by = sorter.as_deref();
    let profile = load_profile(state, tenant, container.as_ref(), sorted_by, selection).await?;

    let known_buckets = match &sorter {
        Some(sorter) => sorter.buckets(),
        None => &[],
    };
    let mut buckets = BTreeMap::new();
    for (bucket, lines) in known_buckets.iter().zip(profile.bucket_lines) {
        buckets.insert(bucket.key.clone(), lines);
    }

    Ok(ProfileSections {
        statics: profile.static_lines,
        dynamic: profile.dynamic_lines,
        buckets,
    })
}

impl ProfileSections {
    /// Removes the buckets that a request with these keys does not show.
    pub(crate) fn retain_buckets(&mut self, requested_keys: Option<&[String]>) {
        self.buckets
            .retain(|key, _| shows_bucket(requested_keys, key));
    }
}

/// Returns the container of the scope, or `None` before anything has been written to it.
pub(super) async fn find_container(
    state: &SearchState,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Option<Container>> {
    Ok(find_containers(&state.app.ctx, tenant, scope).await?.pop())
}

/// Returns the buckets of the organization, with those that the container adds.
pub(super) async fn effective_buckets(
    state: &SearchState,
    tenant: &Tenant,
    container: Option<&Container>,
) -> Result<Vec<ProfileBucket>> {
    let settings = state.app.ctx.settings.get(tenant).await?;
    let container_buckets = match container {
        Some(container) => container.profile_buckets.as_slice(),
        None => &[],
    };
    Ok(settings.merge_buckets(container_buckets))
}

/// Checks whether a bucket is shown: all are if the request names none. Names that the container
/// does not have are ignored.
fn shows_bucket(requested_keys: Option<&[String]>, key: &str) -> bool {
    match requested_keys {
        None | Some([]) => true,
        Some(requested_keys) => requested_keys.iter().any(|requested| requested == key),
    }
}

/// Returns the profile of a container, which is empty if there is no container.
pub(super) async fn load_profile(
    state: &SearchState,
    tenant: &Tenant,
    container: Option<&Container>,
    sorter: Option<&BucketSorter>,
    selection: ProfileSelection<'_>,
) -> Result<Profile> {
    let ids = match container {
        Some(container) => container.ids.as_slice(),
        None => &[],
    };
    let indexed_memories = open_memories(state, tenant, ids, selection.is_searched).await?;
    let ledgers: Vec<&Ledger> = indexed_memories
        .iter()
        .map(|memories| memories.ledger())
        .collect();
    let options = ProfileOptions {
        filter: selection.filter,
        sorter,
        max_tokens: selection.max_tokens,
        ..ProfileOptions::new(state.app.ctx.clock.now())
    };

    let ctx = &state.app.ctx;
    let partial = partial_segments(&indexed_memories);
    let shortlisted = read_until_fetched(ctx, tenant, &partial, || {
        build_shortlisted_profile(&ledgers, &options)
    });
    if let Some(profile) = shortlisted.await? {
        return Ok(profile);
    }
    let views: Vec<_> = zip(ids, &indexed_memories).collect();
    let _large_read = state.memories.fetch_all(ctx, tenant, &views).await?;
    Ok(build_complete_profile(&ledgers, &options))
}

/// A cache of sorters by their buckets, the most recently used first. A sorter remembers the
/// buckets of the memories that it has sorted.
#[derive(Debug, Default)]
pub(crate) struct SorterCache(Mutex<Vec<Arc<BucketSorter>>>);

impl SorterCache {
    fn get_or_create(&self, buckets: Vec<ProfileBucket>) -> Arc<BucketSorter> {
        /// More sets of buckets than are in use at the same time.
        const MAX_SORTERS: usize = 16;
        // A panic while the lock is held cannot leave the list half-changed.
        let mut sorters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = sorters
            .iter()
            .position(|sorter| sorter.buckets() == buckets);
        let sorter = match position {
            Some(index) => sorters.remove(index),
            None => Arc::new(BucketSorter::new(buckets)),
        };

        sorters.insert(0, sorter.clone());
        sorters.truncate(MAX_SORTERS);

        sorter
    }
}
