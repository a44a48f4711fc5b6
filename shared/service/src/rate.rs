//! Rate limits. A request over its limit gets an error that says when to try again.

use crate::Ctx;
use domain::error::{Error, Result};
use domain::rate::RateLimit;
use domain::tenant::Tenant;

/// Admits the request with the id `request` under a limit of the organization. `name` names the
/// limit in words, such as `analytics`.
///
/// # Errors
/// Returns [`Error::RateLimited`] with the seconds to wait, and the errors of the ports.
pub async fn admit(
    ctx: &Ctx,
    tenant: &Tenant,
    name: &str,
    limit: RateLimit,
    request: &str,
) -> Result<()> {
    let Err(next_free) = ctx
        .rate_limits
        .admit(tenant, name, limit, request, ctx.clock.now())
        .await?
    else {
        return Ok(());
    };

    // Other requests may have been admitted since the limit was checked: the wait begins now.
    let now = ctx.clock.now();
    let RateLimit { max, window_ms } = limit;
    // The name of a key's limit contains the id of the key, which means nothing to its user.
    let name = name.split_once('#').map_or(name, |(kind, _)| kind);

    Err(Error::RateLimited {
        message: format!(
            "{name}: at most {max} requests in {} seconds",
            window_ms as f64 / 1000.0
        ),
        retry_after_seconds: now.seconds_until(next_free).max(1).unsigned_abs(),
    })
}
