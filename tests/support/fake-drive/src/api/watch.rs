//! Channels that notify clients of changes.

use serde_json::{Value, json};

use super::failure::DriveApiError;
use super::{CallContext, changes};
use crate::channels::{Channel, is_allowed_address, resource_id};
use crate::wire::Reply;

const HOUR_MS: i64 = 3_600_000;
const MAX_LIFETIME_MS: i64 = 7 * 24 * HOUR_MS;

fn parse_body(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    let value = serde_json::from_slice::<Value>(&cx.call.body)
        .ok()
        .filter(Value::is_object);
    value.ok_or_else(|| DriveApiError::new(400, "parseError", "The body is no JSON object."))
}

fn text_field<'a>(body: &'a Value, name: &str) -> Option<&'a str> {
    body.get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// Opens a channel on a change feed and sends the first notification.
pub(crate) fn open_channel(cx: &mut CallContext<'_>) -> Result<Value, DriveApiError> {
    let feed = changes::requested_feed(cx)?;
    changes::parse_position(cx, &feed)?;
    let body = parse_body(cx)?;
    let id =
        text_field(&body, "id").ok_or_else(|| DriveApiError::missing_parameter("resource.id"))?;
    if id.len() > 64 {
        return Err(DriveApiError::invalid_value("resource.id"));
    }

    if text_field(&body, "type") != Some("web_hook") {
        return Err(DriveApiError::invalid_value("resource.type"));
    }

    let address = text_field(&body, "address")
        .ok_or_else(|| DriveApiError::missing_parameter("resource.address"))?;
    if !is_allowed_address(address) {
        return Err(DriveApiError::new(
            400,
            "push.webhookUrlNotHttps",
            format!("WebHook callback must be HTTPS: {address}"),
        ));
    }

    if cx.state.channels.iter().any(|channel| channel.id == id) {
        return Err(DriveApiError::new(
            400,
            "channelIdNotUnique",
            format!("Channel id {id} not unique"),
        ));
    }

    let mut channel = Channel {
        id: id.to_owned(),
        email: cx.viewer.email.clone(),
        client: cx.client.clone(),
        address: address.to_owned(),
        token: text_field(&body, "token").map(str::to_owned),
        resource_uri: format!("{}/drive/v3/changes?alt=json", cx.call.base),
        expires_at: parse_expiration(cx, &body)?,
        sent_count: 0,
        feed,
    };

    let _closing = cx.state.outbox.send(channel.next_notification("sync"));
    let response = render_channel(&channel);
    cx.state.channels.push(channel);

    Ok(response)
}

/// Returns the requested expiration, which may be a number or a string of digits. The longest
/// lifetime is a week; the default is an hour.
fn parse_expiration(cx: &CallContext<'_>, body: &Value) -> Result<i64, DriveApiError> {
    let now = cx.state.contents.clock.now();
    let requested = match body.get("expiration") {
        None | Some(Value::Null) => now + HOUR_MS,
        Some(Value::String(digits)) => digits
            .parse()
            .map_err(|_| DriveApiError::invalid_value("resource.expiration"))?,
        Some(value) => value
            .as_i64()
            .ok_or_else(|| DriveApiError::invalid_value("resource.expiration"))?,
    };

    if requested <= now {
        return Err(DriveApiError::invalid_value("resource.expiration"));
    }

    Ok(requested.min(now + MAX_LIFETIME_MS))
}

fn render_channel(channel: &Channel) -> Value {
    let mut response = json!({
        "kind": "api#channel",
        "id": channel.id,
        "resourceId": resource_id(&channel.feed),
        "resourceUri": channel.resource_uri,
        "expiration": channel.expires_at.to_string(),
    });
    if let Some(token) = &channel.token {
        response["token"] = json!(token);
    }
    response
}

/// Closes a channel of the same account and app.
pub(crate) fn close_channel(cx: &mut CallContext<'_>) -> Result<Reply, DriveApiError> {
    let body = parse_body(cx)?;
    let id =
        text_field(&body, "id").ok_or_else(|| DriveApiError::missing_parameter("resource.id"))?;
    let resource = text_field(&body, "resourceId")
        .ok_or_else(|| DriveApiError::missing_parameter("resource.resourceId"))?;
    let at = cx.state.channels.iter().position(|channel| {
        channel.id == id
            && resource_id(&channel.feed) == resource
            && channel.email == cx.viewer.email
            && channel.client == cx.client
    });

    let at = at.ok_or_else(|| {
        DriveApiError::new(
            404,
            "notFound",
            format!("Channel '{id}' not found for this app."),
        )
    })?;

    cx.state.channels.remove(at);
    Ok(Reply::empty_reply(204))
}
