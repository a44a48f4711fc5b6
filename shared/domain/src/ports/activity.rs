//! The request log and the rate limits.

use async_trait::async_trait;

use crate::activity::{Hour, RequestRecord, RequestTally, TallySlices, TimeSpan};
use crate::ids::ContainerId;
use crate::ports::PortResult;
use crate::rate::RateLimit;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// The request log and its counts by hour.
#[async_trait]
pub trait RequestLog: Send + Sync {
    /// Writes the record of a request. The hour of the record is opened before the record is
    /// written, so the tally of an hour that is not open is complete. A record that is written more than two
    /// minutes after its time gives the hour another token. Writing the same record again is harmless.
    async fn record(
        &self,
        tenant: &Tenant,
        record: &RequestRecord,
        now: Timestamp,
    ) -> PortResult<()>;

    /// Returns a page of those records of an hour that lie in `span`, newest first, at most `limit`. The page
    /// starts at `after`, a position that an earlier page returned. The second part is the position of the next
    /// page, or `None` after the last page.
    async fn list_requests(
        &self,
        tenant: &Tenant,
        hour: Hour,
        span: TimeSpan,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)>;

    /// Returns a page of the same records as [`RequestLog::list_requests`], but oldest first and without the
    /// inputs and outputs. These records suffice for counting, however large the inputs and outputs are.
    async fn list_outlines(
        &self,
        tenant: &Tenant,
        hour: Hour,
        span: TimeSpan,
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

    /// Returns the slices that were stored last with this token of the hour, or `None` if there are none.
    async fn get_slices(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
    ) -> PortResult<Option<TallySlices>>;

    /// Stores slices of an hour that was found open with this `token` before its records were read. A late
    /// record gives the hour another token, and the slices of the earlier one count no more.
    async fn put_slices(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
        slices: &TallySlices,
    ) -> PortResult<()>;

    /// Returns open hours that ended before `before`, at most `limit`, and busy ones that began before it.
    /// Eventually consistent.
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
pub struct HourCounts {
    /// The hour.
    pub hour: Hour,
    /// The token, which changes when another record arrives late.
    pub token: String,
    /// The tally, or `None` if the hour is open and its records have to be read.
    pub tally: Option<RequestTally>,
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
