//! Notifications of changes.

use domain::ports::{Access, ConnectorError, ConnectorResult, Watched};
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::Drive;
use super::api::Call;
use super::failure::{Failure, date};
use super::feeds::shared;
use crate::settings::is_loopback;

/// The requested duration of notifications: the longest that the provider grants, less the time
/// that the request takes.
const SECONDS: i64 = 7 * 24 * 3600 - 60;
/// The assumed duration if the provider states none.
const UNSAID_SECONDS: i64 = 3600;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Channel {
    resource_id: String,
    expiration: Option<Value>,
}

impl Drive {
    pub(super) async fn open_channel(
        &self,
        access: &Access,
        feed: &str,
        cursor: &str,
        channel: (&str, &str, &str),
    ) -> ConnectorResult<Option<Watched>> {
        let (id, address, token) = channel;
        if !self.may_be_told_at(address) {
            return Ok(None);
        }

        let now = self.provider_time(access).await?;
        let mut body = json!({"id": id, "type": "web_hook", "address": address, "token": token});
        if let Some(now) = now {
            body["expiration"] = json!(now.plus_seconds(SECONDS).as_millis().to_string());
        }

        let call = Call::post(&["changes", "watch"])
            .with("pageToken", cursor)
            .maybe("driveId", shared(feed))
            .with("includeRemoved", "true")
            .with("includeItemsFromAllDrives", "true")
            .all_drives()
            .body(body);
        match self.json::<Channel>(access, call).await {
            Ok(channel) => Ok(watched(channel, now)),
            Err(Failure::Gone) => Err(ConnectorError::CursorLost),
            // Changes are found without notifications as well, whatever the provider's objection to
            // our address is.
            Err(Failure::Refused(reason)) => {
                tracing::warn!(reason, "the drive does not tell changes");
                Ok(None)
            }
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn close_channel(
        &self,
        access: &Access,
        id: &str,
        resource: &str,
    ) -> ConnectorResult<()> {
        let call =
            Call::post(&["channels", "stop"]).body(json!({"id": id, "resourceId": resource}));
        match self.done(access, call).await {
            // The channel had already expired.
            Ok(()) | Err(Failure::Gone) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Checks whether notifications may be requested for an address. The provider sends none
    /// without TLS. A fake drive on this machine may send them to this machine.
    fn may_be_told_at(&self, address: &str) -> bool {
        let Ok(address) = Url::parse(address) else {
            return false;
        };
        let stand_in = Url::parse(&self.addresses.api).is_ok_and(|api| is_loopback(&api));
        address.scheme() == "https"
            || (stand_in && address.scheme() == "http" && is_loopback(&address))
    }

    /// Returns the current time at the provider, by whose clock the notifications end.
    async fn provider_time(&self, access: &Access) -> ConnectorResult<Option<Timestamp>> {
        let call = Call::get(&["about"]).with("fields", "user(permissionId)");
        let (_, headers) = self
            .dated::<Value>(access, call)
            .await
            .map_err(ConnectorError::from)?;
        Ok(date(&headers).map(|time| Timestamp::from_millis(time.as_millisecond())))
    }
}

fn watched(channel: Channel, now: Option<Timestamp>) -> Option<Watched> {
    let said = channel.expiration.as_ref().and_then(|end| match end {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64(),
    });
    // Without an end and a clock, it would be unknown when to renew the notifications.
    let end = said
        .map(Timestamp::from_millis)
        .or_else(|| now.map(|now| now.plus_seconds(UNSAID_SECONDS)));
    Some(Watched {
        resource: channel.resource_id,
        expires_at: end?,
    })
}
