//! Analytics of the requests of an organization's keys: usage, errors and the request log.
//!
//! The figures always equal a recount of the records, however many hours have a stored tally. An
//! hour that is closed and lies entirely within the span takes its counts from its tally; every
//! other hour is counted from its records.

mod requests;
mod span;

use std::ops::ControlFlow;

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::Ctx;
use domain::activity::{Hour, RequestRecord, RequestTally};
use domain::error::Result;
use domain::ports::{HourCounts, PortResult};
use domain::tenant::Tenant;

pub use requests::{RequestFilter, RequestPage, find_request, list_requests};
pub use span::TimeSpan;

/// The number of hours that are read in parallel.
const PARALLEL: usize = 8;

/// Returns the counts of the requests in `span` by hour, in ascending order. An hour without
/// requests is omitted.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn read_tallies(
    ctx: &Ctx,
    tenant: &Tenant,
    span: TimeSpan,
) -> Result<Vec<(Hour, RequestTally)>> {
    let Some((first, last)) = span.hours() else {
        return Ok(Vec::new());
    };
    let hour_counts = ctx.request_log.count_by_hour(tenant, first, last).await?;
    let counted = stream::iter(
        hour_counts
            .into_iter()
            .map(|hour| count(ctx, tenant, span, hour)),
    );
    let mut tallies: Vec<(Hour, RequestTally)> = counted.buffered(PARALLEL).try_collect().await?;
    tallies.retain(|(_, tally)| !tally.cells.is_empty());
    Ok(tallies)
}

async fn count(
    ctx: &Ctx,
    tenant: &Tenant,
    span: TimeSpan,
    hour_counts: HourCounts,
) -> PortResult<(Hour, RequestTally)> {
    let hour = match hour_counts {
        HourCounts::Closed(hour, tally) if span.covers(hour) => return Ok((hour, tally)),
        HourCounts::Closed(hour, _) | HourCounts::Open(hour, _) => hour,
    };
    Ok((hour, tally_hour(ctx, tenant, hour, span).await?.0))
}

/// Counts the records of an hour that lie in `span`. Returns the counts and the number of pages
/// that were read.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn tally_hour(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    span: TimeSpan,
) -> PortResult<(RequestTally, usize)> {
    let (mut tally, mut pages, mut after) = (RequestTally::default(), 0, None::<String>);
    loop {
        let (records, next) = ctx
            .request_log
            .list_outlines(tenant, hour, after.as_deref())
            .await?;
        pages += 1;

        records
            .iter()
            .filter(|record| span.contains(record.at))
            .for_each(|record| tally.count(record));

        if next.is_none() {
            return Ok((tally, pages));
        }

        after = next;
    }
}

/// Calls `visit` with the records of an hour, oldest first, until it breaks.
async fn each_request(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    mut visit: impl FnMut(RequestRecord) -> ControlFlow<()>,
) -> PortResult<()> {
    let mut after: Option<String> = None;
    loop {
        let (records, next) = ctx
            .request_log
            .list_requests(tenant, hour, after.as_deref())
            .await?;

        if records.into_iter().try_for_each(&mut visit).is_break() || next.is_none() {
            return Ok(());
        }

        after = next;
    }
}
