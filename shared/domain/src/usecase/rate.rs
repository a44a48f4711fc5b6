//! Rate limits: from a window that has no room to an error that says when to come back.

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::rate::RateLimit;
use crate::tenant::Tenant;

/// Admits the request with the id `request` under a limit of the organization. `what` says in words what is limited, as
/// in `analytics`.
///
/// # Errors
/// [`Error::RateLimited`] with the seconds to wait, and those of the ports.
pub async fn admit(
    ctx: &Ctx,
    tenant: &Tenant,
    what: &str,
    limit: RateLimit,
    request: &str,
) -> Result<()> {
    let Err(room) = ctx
        .rates
        .admit(tenant, what, limit, request, ctx.clock.now())
        .await?
    else {
        return Ok(());
    };

    // Others may have been admitted since it was asked: the wait begins now.
    let now = ctx.clock.now();
    let RateLimit { max, window_ms } = limit;
    // A key's limit has its id in its name, which tells its user nothing.
    let what = what.split_once('#').map_or(what, |(kind, _)| kind);

    Err(Error::RateLimited {
        message: format!(
            "{what}: at most {max} requests in {} seconds",
            window_ms as f64 / 1000.0
        ),
        retry_after_seconds: now.seconds_until(room).max(1).unsigned_abs(),
    })
}
