//! Channels that notify clients of changes.

use serde_json::{Value, json};

use super::failure::Failure;
use super::{Cx, changes};
use crate::channels::{Channel, is_allowed, resource_of};
use crate::wire::Reply;

const HOUR: i64 = 3_600_000;
const LONGEST: i64 = 7 * 24 * HOUR;

fn body(cx: &Cx<'_>) -> Result<Value, Failure> {
    let value = serde_json::from_slice::<Value>(&cx.call.body)
        .ok()
        .filter(Value::is_object);
    value.ok_or_else(|| Failure::new(400, "parseError", "The body is no JSON object."))
}

fn text<'a>(body: &'a Value, name: &str) -> Option<&'a str> {
    body.get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// Opens a channel on a change feed and sends the first notification.
pub(crate) fn open(cx: &mut Cx<'_>) -> Result<Value, Failure> {
    let feed = changes::feed(cx)?;
    changes::position(cx, &feed)?;
    let body = body(cx)?;
    let id = text(&body, "id").ok_or_else(|| Failure::required("resource.id"))?;
    if id.len() > 64 {
        return Err(Failure::invalid_value("resource.id"));
    }

    if text(&body, "type") != Some("web_hook") {
        return Err(Failure::invalid_value("resource.type"));
    }

    let address = text(&body, "address").ok_or_else(|| Failure::required("resource.address"))?;
    if !is_allowed(address) {
        return Err(Failure::new(
            400,
            "push.webhookUrlNotHttps",
            format!("WebHook callback must be HTTPS: {address}"),
        ));
    }

    if cx.state.channels.iter().any(|channel| channel.id == id) {
        return Err(Failure::new(
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
        token: text(&body, "token").map(str::to_owned),
        resource_uri: format!("{}/drive/v3/changes?alt=json", cx.call.base),
        expires: expiration(cx, &body)?,
        sent: 0,
        feed,
    };

    let _closing = cx.state.outbox.send(channel.notification("sync"));
    let shown = show(&channel);
    cx.state.channels.push(channel);

    Ok(shown)
}

/// Returns the requested expiration, which may be a number or a string of digits. The longest
/// lifetime is a week; the default is an hour.
fn expiration(cx: &Cx<'_>, body: &Value) -> Result<i64, Failure> {
    let now = cx.state.world.clock.now();
    let asked = match body.get("expiration") {
        None | Some(Value::Null) => now + HOUR,
        Some(Value::String(digits)) => digits
            .parse()
            .map_err(|_| Failure::invalid_value("resource.expiration"))?,
        Some(value) => value
            .as_i64()
            .ok_or_else(|| Failure::invalid_value("resource.expiration"))?,
    };

    if asked <= now {
        return Err(Failure::invalid_value("resource.expiration"));
    }

    Ok(asked.min(now + LONGEST))
}

fn show(channel: &Channel) -> Value {
    let mut shown = json!({
        "kind": "api#channel",
        "id": channel.id,
        "resourceId": resource_of(&channel.feed),
        "resourceUri": channel.resource_uri,
        "expiration": channel.expires.to_string(),
    });
    if let Some(token) = &channel.token {
        shown["token"] = json!(token);
    }
    shown
}

/// Closes a channel of the same account and app.
pub(crate) fn stop(cx: &mut Cx<'_>) -> Result<Reply, Failure> {
    let body = body(cx)?;
    let id = text(&body, "id").ok_or_else(|| Failure::required("resource.id"))?;
    let resource =
        text(&body, "resourceId").ok_or_else(|| Failure::required("resource.resourceId"))?;
    let at = cx.state.channels.iter().position(|channel| {
        channel.id == id
            && resource_of(&channel.feed) == resource
            && channel.email == cx.viewer.email
            && channel.client == cx.client
    });

    let at = at.ok_or_else(|| {
        Failure::new(
            404,
            "notFound",
            format!("Channel '{id}' not found for this app."),
        )
    })?;

    cx.state.channels.remove(at);
    Ok(Reply::empty(204))
}
