//! Notifications of changes.

use domain::ports::{ConnectorError, ConnectorResult, NotificationSubscription, ProviderAccess};
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::DriveConnector;
use super::api::ApiRequest;
use super::failure::{ApiFailure, answer_time};
use super::feeds::shared_drive_of;
use crate::settings::is_loopback;

/// The requested duration of notifications: the longest that the provider grants, less the time
/// that the request takes.
const CHANNEL_SECONDS: i64 = 7 * 24 * 3600 - 60;
/// The assumed duration if the provider states none.
const DEFAULT_CHANNEL_SECONDS: i64 = 3600;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChannelAnswer {
    resource_id: String,
    expiration: Option<Value>,
}

impl DriveConnector {
    pub(super) async fn open_channel(
        &self,
        access: &ProviderAccess,
        feed: &str,
        cursor: &str,
        channel: (&str, &str, &str),
    ) -> ConnectorResult<Option<NotificationSubscription>> {
        let (id, address, token) = channel;
        if !self.may_notify_address(address) {
            return Ok(None);
        }

        let now = self.provider_time(access).await?;
        let mut body = json!({"id": id, "type": "web_hook", "address": address, "token": token});
        if let Some(now) = now {
            body["expiration"] = json!(now.plus_seconds(CHANNEL_SECONDS).as_millis().to_string());
        }

        let request = ApiRequest::post(&["changes", "watch"])
            .with_query("pageToken", cursor)
            .with_optional_query("driveId", shared_drive_of(feed))
            .with_query("includeRemoved", "true")
            .with_query("includeItemsFromAllDrives", "true")
            .all_drives()
            .with_body(body);
        match self.request_json::<ChannelAnswer>(access, request).await {
            Ok(channel) => Ok(to_watched(channel, now)),
            Err(ApiFailure::NotFound) => Err(ConnectorError::CursorLost),
            // Changes are found without notifications as well, whatever the provider's objection to
            // our address is.
            Err(ApiFailure::Refused(reason)) => {
                tracing::warn!(reason, "the drive does not send notifications");
                Ok(None)
            }
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn close_channel(
        &self,
        access: &ProviderAccess,
        id: &str,
        resource: &str,
    ) -> ConnectorResult<()> {
        let request = ApiRequest::post(&["channels", "stop"])
            .with_body(json!({"id": id, "resourceId": resource}));
        match self.request_and_ignore(access, request).await {
            // The channel had already expired.
            Ok(()) | Err(ApiFailure::NotFound) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Checks whether notifications may be requested for an address. The provider sends none
    /// without TLS. A fake drive on this machine may send them to this machine.
    fn may_notify_address(&self, address: &str) -> bool {
        let Ok(address) = Url::parse(address) else {
            return false;
        };
        let is_fake_drive = Url::parse(&self.addresses.api).is_ok_and(|api| is_loopback(&api));
        address.scheme() == "https"
            || (is_fake_drive && address.scheme() == "http" && is_loopback(&address))
    }

    /// Returns the current time at the provider, by whose clock the notifications end.
    async fn provider_time(&self, access: &ProviderAccess) -> ConnectorResult<Option<Timestamp>> {
        let request = ApiRequest::get(&["about"]).with_query("fields", "user(permissionId)");
        let (_, headers) = self
            .request_json_with_headers::<Value>(access, request)
            .await?;
        Ok(answer_time(&headers).map(|time| Timestamp::from_millis(time.as_millisecond())))
    }
}

fn to_watched(channel: ChannelAnswer, now: Option<Timestamp>) -> Option<NotificationSubscription> {
    let expiration_millis = match &channel.expiration {
        Some(Value::String(text)) => text.parse().ok(),
        Some(number) => number.as_i64(),
        None => None,
    };

    // Without an end and a clock, it would be unknown when to renew the notifications.
    let expires_at = match expiration_millis {
        Some(millis) => Timestamp::from_millis(millis),
        None => now?.plus_seconds(DEFAULT_CHANNEL_SECONDS),
    };

    Some(NotificationSubscription {
        resource: channel.resource_id,
        expires_at,
    })
}
