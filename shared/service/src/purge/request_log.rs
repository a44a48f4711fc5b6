//! Purging the contents of deleted containers from the request log. One pass covers all containers.

use crate::Ctx;
use domain::activity::Hour;
use domain::error::Result;
use domain::task::{ContainerPurge, PendingErasure, PurgePhase, PurgeReport};
use domain::tenant::Tenant;

/// The number of hours that one step covers. Hours without requests cost nothing more.
const WINDOW_HOURS: i64 = 7 * 24;
/// The number of pages of records that one step looks at.
const MAX_PAGES: usize = 8;

/// Plans which records, from `hour` on, lose their contents next. The position stays at these
/// records: once their contents are gone, nothing is found there any more.
pub(super) async fn plan(
    ctx: &Ctx,
    tenant: &Tenant,
    purge: &mut ContainerPurge,
    hour: Hour,
) -> Result<()> {
    let last = Hour::containing(ctx.clock.now());
    // A position within an hour applies to the first hour only.
    let mut after = purge.cursor.take();
    if hour > last {
        purge.phase = PurgePhase::Waiting;
        return Ok(());
    }

    let to = Hour((hour.0 + WINDOW_HOURS - 1).min(last.0));
    let mut pages = 0;
    for counts in ctx.request_log.count_by_hour(tenant, hour, to).await? {
        let at = counts.hour;
        let mut cursor = Some(after.take().filter(|_| at == hour));
        while let Some(after) = cursor {
            if pages == MAX_PAGES {
                (purge.phase, purge.cursor) = (PurgePhase::RequestLog { hour: at }, after);
                return Ok(());
            }
            let (items, next) = ctx
                .request_log
                .list_contents(tenant, at, &purge.containers, after.as_deref())
                .await?;

            if !items.is_empty() {
                (purge.phase, purge.cursor) = (PurgePhase::RequestLog { hour: at }, after);

                let report = PurgeReport {
                    log_contents: items.len() as u64,
                    ..PurgeReport::default()
                };
                purge.pending = PendingErasure {
                    items,
                    report,
                    ..PendingErasure::default()
                };
                return Ok(());
            }

            pages += 1;
            cursor = next.map(Some);
        }
    }

    purge.phase = PurgePhase::RequestLog { hour: to.next() };
    Ok(())
}
