//! The request log: its records, newest first.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::Ctx;
use crate::analytics::{CountedSpan, PARALLEL, count_slices, count_span, each_request};
use domain::activity::{Hour, RequestRecord, RequestType, TimeSpan};
use domain::container::ContainerOwner;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::ports::PortResult;
use domain::tenant::Tenant;

/// About the number of records that one page of a query of the log has. Slices are looked up only where more
/// have to be read.
const PAGE_RECORDS: u64 = 1_000;
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

    /// Returns the number of admitted requests of a span.
    fn count(&self, counted: &CountedSpan) -> u64 {
        let tally = &counted.tally;
        let admitted = tally.total_where(|by| self.admits(by.kind, by.status, &by.key));
        admitted.map_or(0, |cell| cell.count)
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

/// Returns a page of the requests in `span`, newest first. `page` counts from 1. Only the hours or minutes
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
    let counted = count_span(ctx, tenant, span).await?;
    let total = counted.iter().map(|counted| filter.count(counted)).sum();

    let mut skip = (page.saturating_sub(1) as u64).saturating_mul(limit as u64);
    let mut requests: Vec<RequestRecord> = Vec::new();
    // The last one is the newest.
    let mut left = counted;
    while let Some(newest) = left.pop() {
        if requests.len() >= limit {
            break;
        }
        let count = filter.count(&newest);
        if skip >= count {
            skip -= count;
            continue;
        }
        // The page ends with the last admitted request, or nothing would stop the reading before the
        // beginning of the hour.
        let wanted = (limit - requests.len()) as u64;
        let end = count.min(skip + wanted);
        if newest.expected_records(end, count) > PAGE_RECORDS
            && let Some(token) = &newest.hour_token
        {
            left.extend(count_slices(ctx, tenant, newest.hour, token, newest.span).await?);
            continue;
        }
        requests.extend(read_range(ctx, tenant, &newest, filter, skip..end).await?);
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
    let searches = hours.map(|counts| find_in_hour(ctx, tenant, counts.hour, span, id));
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
    span: TimeSpan,
    id: &str,
) -> PortResult<Option<RequestRecord>> {
    let mut found = None;
    let Some(span) = span.intersection(TimeSpan::for_hour(hour)) else {
        return Ok(None);
    };
    each_request(ctx, tenant, hour, span, usize::MAX, |record| {
        if record.id != id {
            return ControlFlow::Continue(());
        }
        found = Some(record);
        ControlFlow::Break(())
    })
    .await?;

    Ok(found)
}

/// Returns those admitted records of a span whose positions, counted from the newest, lie in `positions`.
async fn read_range(
    ctx: &Ctx,
    tenant: &Tenant,
    counted: &CountedSpan,
    filter: &RequestFilter,
    positions: Range<u64>,
) -> PortResult<Vec<RequestRecord>> {
    let (mut position, mut found) = (0, Vec::new());
    let CountedSpan { hour, span, .. } = *counted;
    let expected = usize::try_from(positions.end).unwrap_or(usize::MAX);
    each_request(ctx, tenant, hour, span, expected, |record| {
        if filter.admits_record(&record) {
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
