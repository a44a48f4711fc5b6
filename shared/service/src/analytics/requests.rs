//! The request log: its records, newest first.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::Ctx;
use crate::analytics::{PARALLEL, TimeSpan, each_request, read_tallies};
use domain::activity::{Hour, RequestRecord, RequestType};
use domain::container::ContainerOwner;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::ports::{HourCounts, PortResult};
use domain::tenant::Tenant;

/// The number of containers that are looked up in one read.
const OWNER_BATCH_SIZE: usize = 100;

/// A filter of the request log. A field that is `None` admits every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// Only requests of this type.
    pub kind: Option<RequestType>,
    /// Only requests that were answered with this status.
    pub status: Option<u16>,
    /// `true` admits only requests that were refused or failed, `false` only all others.
    pub failed: Option<bool>,
    /// Only requests of the key with this public part.
    pub key: Option<String>,
}

impl RequestFilter {
    fn admits(&self, kind: RequestType, status: u16, key: &str) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
            && self.status.is_none_or(|wanted| wanted == status)
            && self.failed.is_none_or(|wanted| wanted == (status >= 400))
            && self.key.as_deref().is_none_or(|wanted| wanted == key)
    }

    fn admits_record(&self, record: &RequestRecord) -> bool {
        self.admits(record.kind, record.status, &record.key)
    }
}

/// A page of the request log, with the number of requests on all pages.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPage {
    /// The requests of the page, newest first.
    pub requests: Vec<RequestRecord>,
    /// The number of requests on all pages.
    pub total: u64,
}

/// Returns a page of the requests in `span`, newest first. `page` counts from 1. Only the hours
/// that the page covers are read: their counts tell where it begins.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn list_requests(
    ctx: &Ctx,
    tenant: &Tenant,
    span: TimeSpan,
    filter: &RequestFilter,
    page: usize,
    limit: usize,
) -> Result<RequestPage> {
    let tallies = read_tallies(ctx, tenant, span).await?;
    let (mut hours, mut total) = (Vec::new(), 0);
    for (hour, tally) in &tallies {
        let matching = tally.total_where(|by| filter.admits(by.kind, by.status, &by.key));
        if let Some(cell) = matching
            && cell.count > 0
        {
            hours.push((*hour, cell.count));
            total += cell.count;
        }
    }

    let mut skip = (page.saturating_sub(1) as u64).saturating_mul(limit as u64);
    let mut requests: Vec<RequestRecord> = Vec::new();
    for (hour, count) in hours.into_iter().rev() {
        if requests.len() >= limit {
            break;
        }
        if skip >= count {
            skip -= count;
            continue;
        }
        let end = count - skip;
        let begin = end.saturating_sub((limit - requests.len()) as u64);
        let found = read_range(ctx, tenant, hour, span, filter, begin..end).await?;
        requests.extend(found.into_iter().rev());
        skip = 0;
    }

    hide_deleted(ctx, tenant, &mut requests).await?;
    Ok(RequestPage { requests, total })
}

/// Returns the request with this id if it lies in `span` and the filter admits it. An id does not
/// tell its hour, so hours are read from the newest until the request is found. An unknown id costs
/// a read of every hour of `span`.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn find_request(
    ctx: &Ctx,
    tenant: &Tenant,
    span: TimeSpan,
    filter: &RequestFilter,
    id: &str,
) -> Result<Option<RequestRecord>> {
    let Some((first, last)) = span.hours() else {
        return Ok(None);
    };

    let hours = ctx.request_log.count_by_hour(tenant, first, last).await?;
    let hours = hours.into_iter().rev();
    let searches = hours.map(
        |(HourCounts::Closed(hour, _) | HourCounts::Open(hour, _))| {
            find_in_hour(ctx, tenant, hour, id)
        },
    );
    let mut searches = stream::iter(searches).buffered(PARALLEL);
    while let Some(found) = searches.try_next().await? {
        let Some(record) = found else {
            continue;
        };
        if !span.contains(record.at) || !filter.admits_record(&record) {
            return Ok(None);
        }

        let mut requests = [record];
        hide_deleted(ctx, tenant, &mut requests).await?;
        let [record] = requests;
        return Ok(Some(record));
    }

    Ok(None)
}

async fn find_in_hour(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    id: &str,
) -> PortResult<Option<RequestRecord>> {
    let mut found = None;
    each_request(ctx, tenant, hour, |record| {
        if record.id != id {
            return ControlFlow::Continue(());
        }
        found = Some(record);
        ControlFlow::Break(())
    })
    .await?;

    Ok(found)
}

/// Returns those of an hour's admitted records whose positions, counted from the oldest, lie in
/// `positions`.
async fn read_range(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    span: TimeSpan,
    filter: &RequestFilter,
    positions: Range<u64>,
) -> PortResult<Vec<RequestRecord>> {
    let (mut position, mut found) = (0, Vec::new());
    each_request(ctx, tenant, hour, |record| {
        if span.contains(record.at) && filter.admits_record(&record) {
            if positions.contains(&position) {
                found.push(record);
            }
            position += 1;
        }

        if position >= positions.end {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .await?;

    Ok(found)
}

/// Removes the input and output of each request that came to a container which is deleted by now,
/// whether or not the deletion has reached the request log yet.
async fn hide_deleted(
    ctx: &Ctx,
    tenant: &Tenant,
    requests: &mut [RequestRecord],
) -> PortResult<()> {
    let mut container_ids: BTreeSet<ContainerId> = BTreeSet::new();
    for record in requests.iter() {
        container_ids.extend(record.containers.iter().cloned());
    }
    let container_ids: Vec<ContainerId> = container_ids.into_iter().collect();

    let mut deleted_ids: BTreeSet<ContainerId> = BTreeSet::new();
    for ids in container_ids.chunks(OWNER_BATCH_SIZE) {
        let owners = ctx.containers.list_owners(tenant, ids).await?;
        for (id, owner) in ids.iter().zip(owners) {
            if owner == ContainerOwner::Deleted {
                deleted_ids.insert(id.clone());
            }
        }
    }

    for record in requests {
        if record.containers.iter().any(|id| deleted_ids.contains(id)) {
            record.input = None;
            record.output = None;
        }
    }

    Ok(())
}
