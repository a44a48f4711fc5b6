//! Windows of rate limits on DynamoDB. Each limit is one item, which is written on condition that
//! it is unchanged since it was read. A writer that loses continues from what the winner wrote.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::ports::{PortResult, RateLimits};
use domain::{PortError, RateLimit, RateWindow, Revision, Tenant, Timestamp};

use crate::error::port_error;
use crate::item::{Item, ReadItem, Table, json_value, key_item, number_value, string_value};
use crate::keys::{Key, SINGLE_ITEM_SORT_KEY};

/// The most attempts of a request to get its place. In each failed attempt, another request got
/// one.
const MAX_ATTEMPTS: u32 = 100;
/// The number of latest requests that are remembered by their ids. A lost answer is noticed within
/// one request of the SDK, so its request is among the latest. One that is not is counted twice,
/// which admits fewer requests and never more.
const REMEMBERED_REQUESTS: usize = 8;
/// The time that an item outlives its window, in seconds.
const KEPT_SECONDS: i64 = 3600;

pub(crate) struct DynamoRates(pub(crate) Table);

/// A window as it is stored.
#[derive(Default)]
struct StoredWindow {
    /// The random version, which changes with every write.
    version: Option<String>,
    window: RateWindow,
    recent: Vec<String>,
}

#[async_trait]
impl RateLimits for DynamoRates {
    async fn admit(
        &self,
        tenant: &Tenant,
        name: &str,
        limit: RateLimit,
        request: &str,
        now: Timestamp,
    ) -> PortResult<Result<(), Timestamp>> {
        let key = window_key(tenant, name);
        let mut stored = read_window(self.0.get(&key).await?.as_ref())?;
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
            );
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

impl DynamoRates {
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
            None => put.condition_expression("attribute_not_exists(pk)"),
            Some(old) => put
                .condition_expression("ver = :old")
                .expression_attribute_values(":old", string_value(old)),
        };

        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(None);
        };

        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(other)) => {
                read_window(other.item()).map(Some)
            }
            _ => Err(port_error(error)),
        }
    }
}

fn window_key(tenant: &Tenant, name: &str) -> Key {
    (
        format!("W#{}#{name}", tenant.org()),
        SINGLE_ITEM_SORT_KEY.into(),
    )
}

fn read_window(item: Option<&Item>) -> PortResult<StoredWindow> {
    let Some(item) = item else {
        return Ok(StoredWindow::default());
    };
    Ok(StoredWindow {
        version: Some(item.get_text("ver")?.to_owned()),
        window: item.get_json("win")?,
        recent: item.get_json("ids")?,
    })
}

fn window_item(key: &Key, stored: &StoredWindow, expires_at: Timestamp) -> Item {
    let mut item = key_item(key);
    item.insert("v".into(), number_value(1));
    item.insert("ver".into(), string_value(Revision::random().as_str()));
    item.insert("win".into(), json_value(&stored.window));
    item.insert("ids".into(), json_value(&stored.recent));
    item.insert("ttl".into(), number_value(expires_at.as_millis() / 1000));
    item
}
