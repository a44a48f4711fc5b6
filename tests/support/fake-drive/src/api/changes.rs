//! The change feeds.

use serde_json::{Value, json};

use super::failure::DriveApiError;
use super::{CallContext, files, render};
use crate::clock::format_timestamp;
use crate::drive_contents::{ChangeFeed, ChangedObject};
use crate::faults::FaultEffect;

/// Returns the change feed that the call is about.
pub(crate) fn requested_feed(cx: &CallContext<'_>) -> Result<ChangeFeed, DriveApiError> {
    let Some(drive) = cx.drive_param() else {
        return Ok(ChangeFeed::User(cx.viewer.email.clone()));
    };
    if !cx.supports_shared_drives() {
        return Err(DriveApiError::invalid_parameter(
            "driveId",
            "driveId may be set only together with supportsAllDrives.",
        ));
    }
    files::member_drive(cx, drive).map(|drive| ChangeFeed::Drive(drive.id.clone()))
}

pub(crate) fn start_page_token(cx: &mut CallContext<'_>) -> Result<Value, DriveApiError> {
    let feed = requested_feed(cx)?;
    let head = cx.state.contents.change_log(&feed).next_position();
    Ok(json!({ "kind": "drive#startPageToken", "startPageToken": head.to_string() }))
}

/// Returns the position that the page token stands for. It cannot be ahead of the log.
pub(crate) fn parse_position(
    cx: &mut CallContext<'_>,
    feed: &ChangeFeed,
) -> Result<u64, DriveApiError> {
    let head = cx.state.contents.change_log(feed).next_position();
    let token = cx
        .call
        .query_param("pageToken")
        .and_then(|token| token.parse::<u64>().ok());
    token
        .filter(|token| *token <= head)
        .ok_or_else(|| DriveApiError::invalid_value("pageToken"))
}

pub(crate) fn list_changes(cx: &mut CallContext<'_>) -> Result<Value, DriveApiError> {
    let feed = requested_feed(cx)?;
    if matches!(feed, ChangeFeed::Drive(_)) && !cx.includes_shared_drives() {
        return Err(DriveApiError::invalid_parameter(
            "driveId",
            "driveId may be set only together with includeItemsFromAllDrives.",
        ));
    }

    let start = parse_position(cx, &feed)?;
    let size = cx.page_size(100);
    let log = cx.state.contents.change_log(&feed);
    let head = log.next_position();
    let entries: Vec<_> = log
        .entries_since(start)
        .map(|(at, subject, time)| (at, subject.clone(), time))
        .collect();
    let mut changes = Vec::new();
    let mut next = None;
    for (at, subject, time) in entries {
        let Some(change) = render_change(cx, &feed, &subject, time) else {
            continue;
        };
        if changes.len() == size {
            next = Some(at);
            break;
        }
        changes.push(change);
    }

    if cx.fault_effect == Some(&FaultEffect::Emptied) {
        changes.clear();
    }

    let mut response = json!({ "kind": "drive#changeList", "changes": changes });
    match next {
        Some(next) => response["nextPageToken"] = json!(next.to_string()),
        None => response["newStartPageToken"] = json!(head.to_string()),
    }

    Ok(response)
}

/// Renders the current state of an entry, unless the client does not want such entries.
fn render_change(
    cx: &CallContext<'_>,
    feed: &ChangeFeed,
    subject: &ChangedObject,
    time: i64,
) -> Option<Value> {
    let mut change = match subject {
        ChangedObject::Item(id) => item_change(cx, feed, id),
        ChangedObject::Drive(id) if cx.includes_shared_drives() => drive_change(cx, id),
        ChangedObject::Drive(_) => return None,
    };
    change["kind"] = json!("drive#change");
    change["time"] = json!(format_timestamp(time));
    change["type"] = change["changeType"].clone();
    let is_unwanted =
        change["removed"] == true && cx.call.query_param("includeRemoved") == Some("false");
    (!is_unwanted).then_some(change)
}

fn item_change(cx: &CallContext<'_>, feed: &ChangeFeed, id: &str) -> Value {
    let contents = &cx.state.contents;
    let item = contents.items.get(id).filter(|item| match feed {
        ChangeFeed::Drive(drive) => {
            item.drive.as_ref() == Some(drive) && contents.can_see(&cx.viewer, id)
        }
        ChangeFeed::User(_) => {
            (item.drive.is_none() || cx.includes_shared_drives())
                && contents.can_see(&cx.viewer, id)
        }
    });

    let mut change = json!({ "changeType": "file", "removed": item.is_none(), "fileId": id });
    let file_mask = cx
        .mask
        .submask("changes")
        .and_then(|change| change.submask("file"));
    if let (Some(item), Some(file_mask)) = (item, file_mask) {
        change["file"] = render::render_file(cx, file_mask, item);
    }

    change
}

fn drive_change(cx: &CallContext<'_>, id: &str) -> Value {
    let drive = files::member_drive(cx, id).ok();
    let mut change = json!({ "changeType": "drive", "removed": drive.is_none(), "driveId": id });
    if let Some(drive) = drive {
        change["drive"] = render::render_drive(drive);
    }
    change
}
