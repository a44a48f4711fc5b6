//! Analytics of the requests of an organization's keys: usage, errors and the request log.
//!
//! The figures always equal a recount of the records, however much of the log has stored counts. An hour that
//! is closed and lies entirely within the span takes its counts from its tally. Of every other hour, the parts
//! that have slices take their counts from these, and the rest is counted from the records.

mod requests;

use std::ops::ControlFlow;

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::Ctx;
use domain::activity::{Hour, RequestRecord, RequestTally, TallySlices, TimeSpan};
use domain::error::Result;
use domain::ports::{HourCounts, PortResult};
use domain::tenant::Tenant;
use domain::time::Timestamp;

pub use requests::{RequestFilter, RequestPage, find_request, list_requests};

/// The number of hours, or of minutes of an hour, that are read in parallel.
const PARALLEL: usize = 8;

/// The counts of a span of time within an hour.
struct CountedSpan {
    hour: Hour,
    span: TimeSpan,
    tally: RequestTally,
    /// The token of the hour, if the counts are those of the whole hour, which may have slices.
    hour_token: Option<String>,
}

impl CountedSpan {
    /// Returns about how many records have to be read until `wanted` of `admitted` requests are found.
    fn expected_records(&self, wanted: u64, admitted: u64) -> u64 {
        let all = self.tally.total_where(|_| true);
        let all = all.map_or(0, |cell| cell.count);
        all.saturating_mul(wanted) / admitted.max(1)
    }
}

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
    let mut tallies: Vec<(Hour, RequestTally)> = Vec::new();
    for counted in count_span(ctx, tenant, span).await? {
        match tallies.last_mut() {
            Some((hour, tally)) if *hour == counted.hour => tally.add(&counted.tally),
            _ => tallies.push((counted.hour, counted.tally)),
        }
    }
    Ok(tallies)
}

/// Returns the counts of the requests in `span`, in ascending order, without spans that have no requests.
async fn count_span(ctx: &Ctx, tenant: &Tenant, span: TimeSpan) -> PortResult<Vec<CountedSpan>> {
    let Some((first, last)) = span.hours() else {
        return Ok(Vec::new());
    };
    let hours = ctx.request_log.count_by_hour(tenant, first, last).await?;
    let counted = hours
        .into_iter()
        .map(|hour| count_hour(ctx, tenant, span, hour));
    let counted: Vec<Vec<CountedSpan>> = stream::iter(counted)
        .buffered(PARALLEL)
        .try_collect()
        .await?;

    let counted = counted.into_iter().flatten();
    Ok(counted
        .filter(|counted| !counted.tally.cells.is_empty())
        .collect())
}

/// Returns the counts of the part of `span` within an hour.
async fn count_hour(
    ctx: &Ctx,
    tenant: &Tenant,
    span: TimeSpan,
    HourCounts { hour, token, tally }: HourCounts,
) -> PortResult<Vec<CountedSpan>> {
    match tally {
        Some(tally) if span.covers(hour) => Ok(vec![CountedSpan {
            hour,
            span: TimeSpan::for_hour(hour),
            tally,
            hour_token: Some(token),
        }]),
        _ => count_slices(ctx, tenant, hour, &token, span).await,
    }
}

/// Returns the counts of the part of `span` within an hour by slices. What has none is counted from the
/// records.
async fn count_slices(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    token: &str,
    span: TimeSpan,
) -> PortResult<Vec<CountedSpan>> {
    let counted = |(span, tally)| CountedSpan {
        hour,
        span,
        tally,
        hour_token: None,
    };
    let Some(slices) = ctx.request_log.get_slices(tenant, hour, token).await? else {
        let Some(span) = span.intersection(TimeSpan::for_hour(hour)) else {
            return Ok(Vec::new());
        };
        let tally = tally_records(ctx, tenant, hour, span).await?;
        return Ok(vec![counted((span, tally))]);
    };

    // An hour with slices is busy, so that a minute has much to read.
    let parts = slices.divide(span).into_iter().flat_map(|(span, tally)| {
        let minutes = match tally {
            Some(_) => Vec::new(),
            None => span.minutes().map(|minute| (minute, None)).collect(),
        };
        let slice = tally.map(|tally| (span, Some(tally)));
        slice.into_iter().chain(minutes)
    });
    let tallies = parts.map(async |(span, tally)| match tally {
        Some(tally) => Ok((span, tally)),
        None => Ok((span, tally_records(ctx, tenant, hour, span).await?)),
    });
    let tallies = stream::iter(tallies).buffered(PARALLEL);
    tallies.map_ok(counted).try_collect().await
}

/// Counts the records of an hour that lie in `span`.
async fn tally_records(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    span: TimeSpan,
) -> PortResult<RequestTally> {
    let (mut tally, mut after) = (RequestTally::default(), None::<String>);
    loop {
        let page = ctx
            .request_log
            .list_outlines(tenant, hour, span, after.as_deref());
        let (records, next) = page.await?;
        records.iter().for_each(|record| tally.count(record));
        if next.is_none() {
            return Ok(tally);
        }
        after = next;
    }
}

/// Counts the records of an hour on, from where `slices` end up to the minute of `to`. Stops after
/// `max_pages` pages of records as soon as a minute is whole. Returns the number of pages that were read.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn count_on(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    slices: &mut TallySlices,
    to: Timestamp,
    max_pages: usize,
) -> PortResult<usize> {
    let to = TimeSpan::of_minute(to.min(hour.end_time())).start_time();
    let span = TimeSpan::for_hour(hour)
        .since(slices.counted_to())
        .until(to);
    if span.start_time() >= span.end_time() {
        return Ok(0);
    }

    let (mut pages, mut after) = (0, None::<String>);
    loop {
        let page = ctx
            .request_log
            .list_outlines(tenant, hour, span, after.as_deref());
        let (records, next) = page.await?;
        pages += 1;
        records.iter().for_each(|record| slices.count(record));
        if next.is_none() {
            slices.finish(to);
            return Ok(pages);
        }
        if pages >= max_pages && slices.finish_whole_minutes() {
            return Ok(pages);
        }
        after = next;
    }
}

/// Calls `visit` with the records of an hour in `span`, newest first, until it breaks. Reads `expected` records
/// first, and then as many at a time as a page holds.
async fn each_request(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    span: TimeSpan,
    expected: usize,
    mut visit: impl FnMut(RequestRecord) -> ControlFlow<()>,
) -> PortResult<()> {
    let (mut after, mut limit) = (None::<String>, expected);
    loop {
        let page = ctx
            .request_log
            .list_requests(tenant, hour, span, after.as_deref(), limit);
        let (records, next) = page.await?;
        if records.into_iter().try_for_each(&mut visit).is_break() || next.is_none() {
            return Ok(());
        }

        (after, limit) = (next, usize::MAX);
    }
}
