//! Rate limits. A request over its limit gets an error that says when to try again.

use crate::Ctx;
use domain::error::{Error, Result};
use domain::ids::KeyId;
use domain::rate::RateLimit;
use domain::tenant::Tenant;

/// The name of a rate limit of an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateLimitName {
    /// The limit of an API key.
    Key(KeyId),
    /// The limit of all requests for analytics.
    Analytics,
}

impl RateLimitName {
    /// Returns the name by which the requests of the limit are stored.
    fn as_stored(&self) -> String {
        match self {
            Self::Key(id) => format!("key#{id}"),
            Self::Analytics => "analytics".to_owned(),
        }
    }

    /// Returns the name in messages. The id of a key means nothing to its user.
    fn label(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Analytics => "analytics",
        }
    }
}

/// Admits the request with the id `request` under a limit of the organization, and counts it.
///
/// # Errors
/// Returns [`Error::RateLimited`] with the seconds to wait, and the errors of the ports.
pub async fn check_rate_limit(
    ctx: &Ctx,
    tenant: &Tenant,
    name: &RateLimitName,
    limit: RateLimit,
    request: &str,
) -> Result<()> {
    let Err(next_free) = ctx
        .rate_limits
        .admit(tenant, &name.as_stored(), limit, request, ctx.clock.now())
        .await?
    else {
        return Ok(());
    };

    // Other requests may have been admitted since the limit was checked: the wait begins now.
    let now = ctx.clock.now();
    let RateLimit { max, window_ms } = limit;
    let label = name.label();
    Err(Error::RateLimited {
        message: format!(
            "{label}: at most {max} requests in {} seconds",
            window_ms as f64 / 1000.0
        ),
        retry_after_seconds: now.seconds_until(next_free).max(1).unsigned_abs(),
    })
}
