//! What the organization's keys have asked for, counted: usage, errors and the request log.
//!
//! Figures are those of a recount of the records, however many hours are rolled up: an hour that is counted and lies
//! whole in what is asked comes from its roll-up, every other one from its records.

mod requests;
mod span;

use std::ops::ControlFlow;

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::activity::{Hour, RequestRecord, Tally};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::ports::{HourCounts, PortResult};
use crate::tenant::Tenant;

pub use requests::{RequestFilter, RequestPage, find_request, list_requests};
pub use span::Span;

/// How many hours are read at the same time.
const PARALLEL: usize = 8;

/// The counts of the requests in `span`, by the hour, ascending. An hour without any is missing.
///
/// # Errors
/// Those of the ports.
pub async fn read_tallies(ctx: &Ctx, tenant: &Tenant, span: Span) -> Result<Vec<(Hour, Tally)>> {
    let Some((first, last)) = span.hours() else {
        return Ok(Vec::new());
    };
    let known = ctx.activity.hours(tenant, first, last).await?;
    let counted = stream::iter(known.into_iter().map(|hour| count(ctx, tenant, span, hour)));
    let mut tallies: Vec<(Hour, Tally)> = counted.buffered(PARALLEL).try_collect().await?;
    tallies.retain(|(_, tally)| !tally.cells.is_empty());
    Ok(tallies)
}

async fn count(
    ctx: &Ctx,
    tenant: &Tenant,
    span: Span,
    known: HourCounts,
) -> PortResult<(Hour, Tally)> {
    let hour = match known {
        HourCounts::Closed(hour, tally) if span.covers(hour) => return Ok((hour, tally)),
        HourCounts::Closed(hour, _) | HourCounts::Open(hour, _) => hour,
    };
    Ok((hour, tally_hour(ctx, tenant, hour, span).await?.0))
}

/// Counts the records of an hour that lie in `span`; and the pages that had to be read.
///
/// # Errors
/// Those of the ports.
pub async fn tally_hour(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    span: Span,
) -> PortResult<(Tally, usize)> {
    let (mut tally, mut pages, mut after) = (Tally::default(), 0, None::<String>);
    loop {
        let (records, next) = ctx
            .activity
            .outlines(tenant, hour, after.as_deref())
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

/// Shows `visit` the records of an hour, oldest first, until it has seen enough.
async fn each_request(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    mut visit: impl FnMut(RequestRecord) -> ControlFlow<()>,
) -> PortResult<()> {
    let mut after: Option<String> = None;
    loop {
        let (records, next) = ctx
            .activity
            .requests(tenant, hour, after.as_deref())
            .await?;
        if records.into_iter().try_for_each(&mut visit).is_break() || next.is_none() {
            return Ok(());
        }
        after = next;
    }
}
