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

/// How long notifications are asked for: the most that the provider grants, less the time that the asking takes.
const SECONDS: i64 = 7 * 24 * 3600 - 60;
/// How long they last when nothing was said.
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
            // Whatever it has against our address: without notifications changes are found all the same.
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
            // It had ended by itself.
            Ok(()) | Err(Failure::Gone) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The provider tells nothing in the clear; a stand-in on this machine may tell this machine.
    fn may_be_told_at(&self, address: &str) -> bool {
        let Ok(address) = Url::parse(address) else {
            return false;
        };
        let stand_in = Url::parse(&self.addresses.api).is_ok_and(|api| is_loopback(&api));
        address.scheme() == "https"
            || (stand_in && address.scheme() == "http" && is_loopback(&address))
    }

    /// What time it is where the end of the notifications is reckoned.
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
    // Without an end and without a clock nobody would know when to ask again.
    let end = said
        .map(Timestamp::from_millis)
        .or_else(|| now.map(|now| now.plus_seconds(UNSAID_SECONDS)));
    Some(Watched {
        resource: channel.resource_id,
        expires_at: end?,
    })
}
