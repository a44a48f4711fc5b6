//! Rolls up the request log: an hour that has ended is counted once, so that reading it again costs
//! one item. A busy hour is counted in steps, which begin before it ends.

use domain::activity::{Hour, TallySlices};
use domain::ports::{HourCounts, PortResult};
use domain::{Tenant, Timestamp};
use service::{Ctx, count_on};
use tracing::{info, warn};

/// The time in seconds from a request until it is counted. By then it has been answered and recorded: what is
/// recorded later makes its hour be counted again.
const SETTLE_SECONDS: i64 = 5 * 60;
/// The most hours that one sweep counts. The next sweep follows in a minute.
const MAX_HOURS: usize = 100;
/// The number of pages of records after which a sweep begins no further hour. A page has at most 1 MB.
const MAX_PAGES: usize = 400;
/// The number of pages after which the count of an hour is stored, and the next sweep goes on from there.
const STEP_PAGES: usize = 100;
/// The milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

/// Counts and closes open hours that ended five minutes before `before`, and counts busy hours up to that
/// time. Returns the number of closed hours. The counts of an hour are computed from its records, so counting
/// it twice, or again after a crash, gives the same result. An hour that receives a late record meanwhile stays
/// open.
///
/// Each minute begins with another hour, so that an hour that takes all the time of a sweep delays
/// the others only for that sweep.
///
/// # Errors
/// Those of finding the hours. An hour that cannot be counted is left to the next sweep.
pub async fn roll_up_hours(ctx: &Ctx, before: Timestamp) -> PortResult<usize> {
    let settled = before.plus_seconds(-SETTLE_SECONDS);
    let mut hours = ctx
        .request_log
        .list_overdue_hours(settled, MAX_HOURS)
        .await?;
    let first = first_hour_index(before, hours.len());
    hours.rotate_left(first);

    let (mut closed, mut pages) = (0, 0);
    for (tenant, hour) in hours {
        if pages >= MAX_PAGES {
            break;
        }

        // An hour that cannot be counted must not stop the others.
        match count_hour(ctx, &tenant, hour, settled).await {
            Ok((is_closed, pages_read)) => {
                closed += usize::from(is_closed);
                pages += pages_read;
            }
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "could not count an hour"
            ),
        }
    }

    if closed > 0 {
        info!(hours = closed, "counted {closed} hours of the request log");
    }

    Ok(closed)
}

/// Returns the index of the hour with which a sweep begins.
fn first_hour_index(before: Timestamp, hours: usize) -> usize {
    let minute = before.as_millis().div_euclid(MINUTE_MS);
    let hours = i64::try_from(hours.max(1)).unwrap_or(i64::MAX);
    usize::try_from(minute.rem_euclid(hours)).unwrap_or(0)
}

/// Counts an hour up to `settled`, in a step, and closes it if it is complete. Returns whether it is closed
/// now, and the number of pages of records that were read.
async fn count_hour(
    ctx: &Ctx,
    tenant: &Tenant,
    hour: Hour,
    settled: Timestamp,
) -> PortResult<(bool, usize)> {
    let log = &ctx.request_log;
    let counts = log.count_by_hour(tenant, hour, hour).await?.pop();
    // The list of overdue hours may be slightly outdated.
    let Some(HourCounts {
        token, tally: None, ..
    }) = counts
    else {
        return Ok((false, 0));
    };

    let stored = log.get_slices(tenant, hour, &token).await?;
    let is_begun = stored.is_some();
    let mut slices = stored.unwrap_or_else(|| TallySlices::new(hour));
    let pages = count_on(ctx, tenant, hour, &mut slices, settled, STEP_PAGES).await?;
    // One page of records is as quickly read as slices.
    if is_begun || pages > 1 || !slices.is_complete() {
        log.put_slices(tenant, hour, &token, &slices).await?;
    }
    if !slices.is_complete() {
        return Ok((false, pages));
    }

    let is_closed = log
        .close_hour(tenant, hour, &token, &slices.total())
        .await?;
    Ok((is_closed, pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minute_begins_with_another_hour_and_all_come_first_in_turn() {
        for hours in [1, 2, 3, 60, 100] {
            let minutes = (0..100)
                .map(|minute| Timestamp::from_millis(1_767_225_612_345 + minute * MINUTE_MS));
            let firsts: Vec<usize> = minutes.map(|at| first_hour_index(at, hours)).collect();
            assert!(
                firsts
                    .windows(2)
                    .all(|pair| pair[1] == (pair[0] + 1) % hours),
                "{hours}: {firsts:?}"
            );
        }
        assert_eq!(first_hour_index(Timestamp::from_millis(59_999), 0), 0);
    }
}
