//! Access to the analytics, and their rate limit.

use axum::extract::FromRequestParts;
use domain::{RateLimit, Tenant};
use edge::{ApiError, Auth, ReadOrganization, request_id};
use http::request::Parts;
use service::{RateLimitName, check_rate_limit};

use crate::AnalyticsState;

/// The most requests of an organization in any minute, over all routes of this function. Part of
/// the API.
const RATE_LIMIT: RateLimit = RateLimit {
    max: 100,
    window_ms: 60_000,
};

/// A tenant that may see the whole organization and is within the rate limit. A handler that takes
/// this type cannot forget the limit.
pub(crate) struct RateLimitedTenant(pub(crate) Tenant);

impl FromRequestParts<AnalyticsState> for RateLimitedTenant {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AnalyticsState,
    ) -> Result<Self, ApiError> {
        let Auth { tenant, .. } =
            Auth::<ReadOrganization>::from_request_parts(parts, state).await?;
        check_rate_limit(
            &state.app.ctx,
            &tenant,
            &RateLimitName::Analytics,
            RATE_LIMIT,
            &request_id(),
        )
        .await
        .map_err(ApiError)?;
        Ok(Self(tenant))
    }
}
