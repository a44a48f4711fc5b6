//! Profiles: `POST /v4/profile`, `POST /v4/profile/buckets` and
//! `GET /v3/container-tags/{tag}/profile`.

mod markdown;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{Container, ContainerTag, Error, Filter, ProfileBucket, Result, Tenant};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, Path, ReadContent, ReadSurroundings, check_length,
    resolve_tag,
};
use http::HeaderMap;
use memory_model::{BucketSorter, Ledger, Profile, ProfileOptions, build_profile};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::{ContainerScope, find_containers, find_existing_container};

use crate::SearchState;
use crate::engine::open_memories;
use crate::v4::check_threshold;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ProfileRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    q: Option<String>,
    threshold: Option<f32>,
    filters: Option<Value>,
    include: Option<Vec<ProfilePart>>,
    buckets: Option<Vec<String>>,
}

/// A part of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProfilePart {
    Static,
    Dynamic,
    Buckets,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileResponse {
    profile: ProfileParts,
    #[serde(skip_serializing_if = "Option::is_none")]
    search_results: Option<Value>,
}

/// The requested parts of a profile.
#[derive(Debug, Serialize)]
struct ProfileParts {
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    statics: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buckets: Option<BTreeMap<String, Vec<String>>>,
}

pub(crate) async fn get_profile(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    headers: HeaderMap,
    Json(request): Json<ProfileRequest>,
) -> ApiResult<Response> {
    let scope = named_scope(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;

    check_length(
        "include",
        request.include.as_deref().unwrap_or_default(),
        MAX_ENTRIES,
    )?;
    check_length(
        "buckets",
        request.buckets.as_deref().unwrap_or_default(),
        MAX_ENTRIES,
    )?;

    let filter = Filter::parse_optional(request.filters.as_ref())?;
    let threshold = match request.threshold {
        Some(value) => Some(check_threshold(value, "threshold")?),
        None => None,
    };

    let container = find_container(&state, &tenant, &scope).await?;
    let sorter = if request.includes_part(ProfilePart::Buckets) {
        let buckets = effective_buckets(&state, &tenant, container.as_ref()).await?;
        Some(state.sorters.get_or_create(buckets))
    } else {
        None
    };
    let built_profile = load_profile(
        &state,
        &tenant,
        container.as_ref(),
        filter.as_ref(),
        sorter.as_deref(),
    )
    .await?;

    // Some clients send an empty question if they have none.
    let search_results = match request.q.as_deref() {
        Some(q) if !q.trim().is_empty() => {
            let filters = request.filters.clone();
            Some(search_for_question(&state, &tenant, q, &scope, threshold, filters).await?)
        }
        _ => None,
    };

    let response = ProfileResponse {
        profile: request.select_parts(built_profile, sorter.as_deref()),
        search_results,
    };

    if markdown::is_preferred(&headers) {
        return Ok(markdown::markdown_response(&response));
    }

    Ok(Json(response).into_response())
}

/// Returns the profile of an existing tag, without buckets.
pub(crate) async fn get_tag_profile(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(tag): Path<String>,
) -> ApiResult<Json<ProfileResponse>> {
    let container =
        find_existing_container(&state.app.ctx, &tenant, &ContainerTag::parse(&tag)?).await?;
    let built_profile = load_profile(&state, &tenant, Some(&container), None, None).await?;
    let profile = ProfileParts {
        statics: Some(built_profile.static_lines),
        dynamic: Some(built_profile.dynamic_lines),
        buckets: None,
    };

    Ok(Json(ProfileResponse {
        profile,
        search_results: None,
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BucketsRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BucketsResponse {
    buckets: Vec<ProfileBucket>,
}

pub(crate) async fn list_buckets(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<BucketsRequest>,
) -> ApiResult<Json<BucketsResponse>> {
    let scope = named_scope(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let container = find_container(&state, &tenant, &scope).await?;

    Ok(Json(BucketsResponse {
        buckets: effective_buckets(&state, &tenant, container.as_ref()).await?,
    }))
}

/// Returns the scope of the one container tag that the request names.
fn named_scope(
    tenant: &Tenant,
    tag: Option<&str>,
    tags: Option<&[String]>,
) -> Result<ContainerScope> {
    Ok(ContainerScope {
        tags: vec![resolve_tag(
            tenant,
            tag,
            tags,
            "name the container of the profile",
        )?],
    })
}

/// Returns the container of the scope, or `None` before anything has been written to it.
async fn find_container(
    state: &SearchState,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Option<Container>> {
    Ok(find_containers(&state.app.ctx, tenant, scope).await?.pop())
}

/// Returns the buckets of the organization, with those that the container adds.
async fn effective_buckets(
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

async fn load_profile(
    state: &SearchState,
    tenant: &Tenant,
    container: Option<&Container>,
    filter: Option<&Filter>,
    sorter: Option<&BucketSorter>,
) -> Result<Profile> {
    let ids = match container {
        Some(container) => container.ids.as_slice(),
        None => &[],
    };
    let indexed_memories = open_memories(state, tenant, ids).await?;
    let ledgers: Vec<&Ledger> = indexed_memories
        .iter()
        .map(|memories| memories.ledger())
        .collect();
    let now = state.app.ctx.clock.now();

    Ok(build_profile(
        &ledgers,
        &ProfileOptions {
            filter,
            sorter,
            ..ProfileOptions::new(now)
        },
    ))
}

/// Searches the container for the question that came with the profile request.
async fn search_for_question(
    state: &SearchState,
    tenant: &Tenant,
    q: &str,
    scope: &ContainerScope,
    threshold: Option<f32>,
    filters: Option<Value>,
) -> Result<Value> {
    let response =
        crate::v4::search_for_profile(state, tenant, q, scope, threshold, filters).await?;
    serde_json::to_value(response).map_err(|_| Error::internal("results serialize"))
}

impl ProfileRequest {
    fn includes_part(&self, part: ProfilePart) -> bool {
        let has_named_buckets = matches!(self.buckets.as_deref(), Some([_, ..]));
        match self.include.as_deref().unwrap_or_default() {
            [] => true,
            parts => parts.contains(&part) || (part == ProfilePart::Buckets && has_named_buckets),
        }
    }

    fn select_parts(&self, profile: Profile, sorter: Option<&BucketSorter>) -> ProfileParts {
        let known_buckets = sorter.map(BucketSorter::buckets).unwrap_or_default();
        let mut buckets = BTreeMap::new();
        for (bucket, lines) in known_buckets.iter().zip(profile.bucket_lines) {
            if shows_bucket(self.buckets.as_deref(), &bucket.key) {
                buckets.insert(bucket.key.clone(), lines);
            }
        }

        ProfileParts {
            statics: self
                .includes_part(ProfilePart::Static)
                .then_some(profile.static_lines),
            dynamic: self
                .includes_part(ProfilePart::Dynamic)
                .then_some(profile.dynamic_lines),
            buckets: self.includes_part(ProfilePart::Buckets).then_some(buckets),
        }
    }
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
