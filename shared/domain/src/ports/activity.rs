//! The request log and the rate limits.

use async_trait::async_trait;

use crate::activity::{Hour, RequestRecord, RequestTally};
use crate::ids::ContainerId;
use crate::ports::PortResult;
use crate::rate::RateLimit;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// The request log and its counts by hour.
#[async_trait]
pub trait RequestLog: Send + Sync {
    /// Writes the record of a request. The hour of the record is opened before the record is
    /// written, so the tally of an hour that is not open is complete. Writing the same record again
    /// is harmless.
    async fn record(
        &self,
        tenant: &Tenant,
        record: &RequestRecord,
        now: Timestamp,
    ) -> PortResult<()>;

    /// Returns a page of an hour's records, oldest first. The page starts at `after`, a position
    /// that an earlier page returned. The second part is the position of the next page, or `None`
    /// after the last page.
    async fn list_requests(
        &self,
        tenant: &Tenant,
        hour: Hour,
        after: Option<&str>,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)>;

    /// Returns the same as [`RequestLog::list_requests`], without the inputs and outputs. These
    /// records suffice for counting, however large the inputs and outputs are.
    async fn list_outlines(
        &self,
        tenant: &Tenant,
        hour: Hour,
        after: Option<&str>,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)>;

    /// Returns the counts of the hours from `from` to `to`, both included, in ascending order.
    /// Hours without any request are left out.
    async fn count_by_hour(
        &self,
        tenant: &Tenant,
        from: Hour,
        to: Hour,
    ) -> PortResult<Vec<HourCounts>>;

    /// Stores the tally of an hour and closes the hour. The records must have been read after the
    /// hour was found open with this `token`. Returns `false` and leaves the hour open when another
    /// record has arrived in the meantime.
    async fn close_hour(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
        tally: &RequestTally,
    ) -> PortResult<bool>;

    /// Returns open hours that ended before `before`, at most `limit`. Eventually consistent.
    async fn list_overdue_hours(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(Tenant, Hour)>>;

    /// Returns the names of those records of an hour that have input or output and concern one of
    /// the containers, from a page of records that starts at `after`. The second part is the
    /// position of the next page, or `None` after the last page.
    async fn list_contents(
        &self,
        tenant: &Tenant,
        hour: Hour,
        containers: &[ContainerId],
        after: Option<&str>,
    ) -> PortResult<(Vec<String>, Option<String>)>;

    /// Removes input and output from records of an hour, given by the names that
    /// [`RequestLog::list_contents`] returned. Doing it again changes nothing.
    async fn remove_contents(
        &self,
        tenant: &Tenant,
        hour: Hour,
        names: &[String],
    ) -> PortResult<()>;
}

/// The counts of one hour's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HourCounts {
    /// The hour is closed, and this is its tally.
    Closed(Hour, RequestTally),
    /// The hour is open, and its records have to be read. The token changes when another record
    /// arrives.
    Open(Hour, String),
}

/// The windows of rate limits.
#[async_trait]
pub trait RateLimits: Send + Sync {
    /// Admits a request under the limit `name` of the organization, or returns the time at which
    /// one will be admitted. Exact for any number of concurrent callers. `request` is the id of the
    /// request: a request that is repeated after a lost response is counted once.
    async fn admit(
        &self,
        tenant: &Tenant,
        name: &str,
        limit: RateLimit,
        request: &str,
        now: Timestamp,
    ) -> PortResult<Result<(), Timestamp>>;
}
