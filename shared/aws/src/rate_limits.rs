//! Windows of rate limits on DynamoDB. Each limit is one item, which is written on condition that
//! it is unchanged since it was read. A writer that loses continues from what the winner wrote.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::ports::{PortResult, RateLimits};
use domain::{PortError, RateLimit, RateWindow, Revision, Tenant, Timestamp};

use crate::error::port_error;
use crate::records::limits::RateWindowRecord;
use crate::records::{
    ExpiryRecord, Item, Json, add_record, item_absent, read_record, record_item, string_value,
};
use crate::table::Table;
use crate::table_keys::{self, Key};

/// The most attempts of a request to get its place. In each failed attempt, another request got
/// one.
const MAX_ATTEMPTS: u32 = 100;
/// The number of latest requests that are remembered by their ids. A lost answer is noticed within
/// one request of the SDK, so its request is among the latest. One that is not is counted twice,
/// which admits fewer requests and never more.
const REMEMBERED_REQUESTS: usize = 8;
/// The time that an item outlives its window, in seconds.
const KEPT_SECONDS: i64 = 3600;

pub(crate) struct DynamoRateLimits(pub(crate) Table);

/// A window as it is stored.
#[derive(Default)]
struct StoredWindow {
    /// The random version, which changes with every write.
    version: Option<String>,
    window: RateWindow,
    recent: Vec<String>,
}

#[async_trait]
impl RateLimits for DynamoRateLimits {
    async fn admit(
        &self,
        tenant: &Tenant,
        name: &str,
        limit: RateLimit,
        request: &str,
        now: Timestamp,
    ) -> PortResult<Result<(), Timestamp>> {
        let key = table_keys::rate_window_key(tenant, name);
        let mut stored = read_window(self.0.get(&key).await?)?;
        for attempt in 0..MAX_ATTEMPTS {
            if stored.recent.iter().any(|id| id == request) {
                return Ok(Ok(()));
            }
            if let Err(next_free) = stored.window.admit(limit, now) {
                return Ok(Err(next_free));
            }
            stored.recent.push(request.to_owned());
            let surplus = stored.recent.len().saturating_sub(REMEMBERED_REQUESTS);
            stored.recent.drain(..surplus);
            let item = window_item(
                &key,
                &stored,
                now.plus_seconds(limit.window_ms / 1000 + KEPT_SECONDS),
            )?;
            let Some(current) = self.replace_window(stored.version.take(), item).await? else {
                return Ok(Ok(()));
            };
            stored = current;
            tokio::time::sleep(Duration::from_millis(u64::from(attempt / 4).min(20))).await;
        }

        Err(PortError::Unavailable(
            "other requests under the same limit won every attempt".into(),
        ))
    }
}

impl DynamoRateLimits {
    /// Writes `item` in place of `version`. Returns the stored window if it has another version.
    async fn replace_window(
        &self,
        version: Option<String>,
        item: Item,
    ) -> PortResult<Option<StoredWindow>> {
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        let put = match version {
            None => put.condition_expression(item_absent()),
            Some(old) => put
                .condition_expression(format!("{} = :old", RateWindowRecord::ATTRIBUTES.version))
                .expression_attribute_values(":old", string_value(old)),
        };

        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(None);
        };

        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(other)) => {
                Ok(Some(read_window(other.item().cloned())?))
            }
            _ => Err(port_error(error)),
        }
    }
}

/// Reads a window. A limit without an item has an empty window.
fn read_window(item: Option<Item>) -> PortResult<StoredWindow> {
    let Some(item) = item else {
        return Ok(StoredWindow::default());
    };

    let record: RateWindowRecord = read_record(item)?;
    Ok(StoredWindow {
        version: Some(record.version),
        window: record.window.decode()?,
        recent: record.recent_requests.decode()?,
    })
}

/// Returns the item of a window, with a new version.
fn window_item(key: &Key, stored: &StoredWindow, expires_at: Timestamp) -> PortResult<Item> {
    let record = RateWindowRecord {
        version: Revision::random().as_str().to_owned(),
        window: Json::encode(&stored.window)?,
        recent_requests: Json::encode(&stored.recent)?,
    };
    let expires_at_seconds = expires_at.as_millis() / 1000;

    let mut item = record_item(key, &record)?;
    add_record(&mut item, &ExpiryRecord { expires_at_seconds })?;
    Ok(item)
}
