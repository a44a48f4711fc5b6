//! What was asked, and how often it may be.

use crate::activity::Hour;
use crate::activity::RequestRecord;
use crate::activity::Tally;
use crate::ids::ContainerId;
use crate::ports::PortResult;
use crate::rate::RateLimit;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use async_trait::async_trait;

/// The request log, and its counts by the hour.
#[async_trait]
pub trait Activity: Send + Sync {
    /// Writes the record of a request. The hour it lies in is open before the record is there, so an hour that is not
    /// open is counted completely. Writing the same again is harmless.
    async fn record(
        &self,
        tenant: &Tenant,
        record: &RequestRecord,
        now: Timestamp,
    ) -> PortResult<()>;

    /// A page of an hour's records, oldest first, from `after` on, which an earlier page told. The second part is where
    /// the next page begins; `None` after the last one.
    async fn requests(
        &self,
        tenant: &Tenant,
        hour: Hour,
        after: Option<&str>,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)>;

    /// As [`Activity::requests`], without what was sent and answered: enough to count by, however much that is.
    async fn outlines(
        &self,
        tenant: &Tenant,
        hour: Hour,
        after: Option<&str>,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)>;

    /// The counts of the hours from `from` to `to`, both included, ascending. An hour without any request is missing.
    async fn hours(&self, tenant: &Tenant, from: Hour, to: Hour) -> PortResult<Vec<HourCounts>>;

    /// Stores what an hour's records come to, which were read after the hour was found open with this `token`, and closes
    /// the hour; `false`, and it stays open, when a record came late meanwhile.
    async fn close(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
        tally: &Tally,
    ) -> PortResult<bool>;

    /// Open hours that ended before `before`, at most `limit`. Eventually consistent.
    async fn overdue_hours(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(Tenant, Hour)>>;

    /// The names of those records of an hour that have input or output and came to one of the containers, from a page of
    /// records from `after` on. The second part is where the next page begins; `None` after the last one.
    async fn contents(
        &self,
        tenant: &Tenant,
        hour: Hour,
        containers: &[ContainerId],
        after: Option<&str>,
    ) -> PortResult<(Vec<String>, Option<String>)>;

    /// Takes input and output out of records of an hour, as [`Activity::contents`] names them. Doing it again changes
    /// nothing.
    async fn forget_contents(
        &self,
        tenant: &Tenant,
        hour: Hour,
        names: &[String],
    ) -> PortResult<()>;
}

/// What an hour's requests come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HourCounts {
    /// They are counted.
    Closed(Hour, Tally),
    /// They have to be read. The token changes when a record comes late.
    Open(Hour, String),
}

/// Windows of rate limits.
#[async_trait]
pub trait Rates: Send + Sync {
    /// Admits a request under the limit `name` of the organization, or tells when one will be admitted. Exact, however
    /// many ask at once. `request` is the request's id: the same asked again, after a lost answer, is counted once.
    async fn admit(
        &self,
        tenant: &Tenant,
        name: &str,
        limit: RateLimit,
        request: &str,
        now: Timestamp,
    ) -> PortResult<Result<(), Timestamp>>;
}
