//! The change feeds.

use serde_json::{Value, json};

use super::failure::Failure;
use super::{Cx, files, render};
use crate::clock::stamp;
use crate::faults::Effect;
use crate::world::{Feed, Subject};

/// Returns the change feed that the call is about.
pub(crate) fn feed(cx: &Cx<'_>) -> Result<Feed, Failure> {
    let Some(drive) = cx.drive_param() else {
        return Ok(Feed::User(cx.viewer.email.clone()));
    };
    if !cx.knows_drives() {
        return Err(Failure::invalid(
            "driveId",
            "driveId may be set only together with supportsAllDrives.",
        ));
    }
    files::member_drive(cx, drive).map(|drive| Feed::Drive(drive.id.clone()))
}

pub(crate) fn start(cx: &mut Cx<'_>) -> Result<Value, Failure> {
    let feed = feed(cx)?;
    let head = cx.state.world.log(&feed).head();
    Ok(json!({ "kind": "drive#startPageToken", "startPageToken": head.to_string() }))
}

/// Returns the position that the page token stands for. It cannot be ahead of the log.
pub(crate) fn position(cx: &mut Cx<'_>, feed: &Feed) -> Result<u64, Failure> {
    let head = cx.state.world.log(feed).head();
    let token = cx
        .call
        .param("pageToken")
        .and_then(|token| token.parse::<u64>().ok());
    token
        .filter(|token| *token <= head)
        .ok_or_else(|| Failure::invalid_value("pageToken"))
}

pub(crate) fn list(cx: &mut Cx<'_>) -> Result<Value, Failure> {
    let feed = feed(cx)?;
    if matches!(feed, Feed::Drive(_)) && !cx.wants_drives() {
        return Err(Failure::invalid(
            "driveId",
            "driveId may be set only together with includeItemsFromAllDrives.",
        ));
    }

    let from = position(cx, &feed)?;
    let size = cx.page_size(100);
    let log = cx.state.world.log(&feed);
    let head = log.head();
    let entries: Vec<_> = log
        .since(from)
        .map(|(at, subject, time)| (at, subject.clone(), time))
        .collect();
    let mut changes = Vec::new();
    let mut next = None;
    for (at, subject, time) in entries {
        let Some(change) = change(cx, &feed, &subject, time) else {
            continue;
        };
        if changes.len() == size {
            next = Some(at);
            break;
        }
        changes.push(change);
    }

    if cx.twist == Some(&Effect::Emptied) {
        changes.clear();
    }

    let mut answer = json!({ "kind": "drive#changeList", "changes": changes });
    match next {
        Some(next) => answer["nextPageToken"] = json!(next.to_string()),
        None => answer["newStartPageToken"] = json!(head.to_string()),
    }

    Ok(answer)
}

/// Renders the current state of an entry, unless the client does not want such entries.
fn change(cx: &Cx<'_>, feed: &Feed, subject: &Subject, time: i64) -> Option<Value> {
    let mut change = match subject {
        Subject::Item(id) => item_change(cx, feed, id),
        Subject::Drive(id) if cx.wants_drives() => drive_change(cx, id),
        Subject::Drive(_) => return None,
    };
    change["kind"] = json!("drive#change");
    change["time"] = json!(stamp(time));
    change["type"] = change["changeType"].clone();
    let unwanted = change["removed"] == true && cx.call.param("includeRemoved") == Some("false");
    (!unwanted).then_some(change)
}

fn item_change(cx: &Cx<'_>, feed: &Feed, id: &str) -> Value {
    let world = &cx.state.world;
    let item = world.items.get(id).filter(|item| match feed {
        Feed::Drive(drive) => item.drive.as_ref() == Some(drive) && world.sees(&cx.viewer, id),
        Feed::User(_) => (item.drive.is_none() || cx.wants_drives()) && world.sees(&cx.viewer, id),
    });

    let mut change = json!({ "changeType": "file", "removed": item.is_none(), "fileId": id });
    let wanted = cx
        .mask
        .below("changes")
        .and_then(|change| change.below("file"));
    if let (Some(item), Some(wanted)) = (item, wanted) {
        change["file"] = render::file(cx, wanted, item);
    }

    change
}

fn drive_change(cx: &Cx<'_>, id: &str) -> Value {
    let drive = files::member_drive(cx, id).ok();
    let mut change = json!({ "changeType": "drive", "removed": drive.is_none(), "driveId": id });
    if let Some(drive) = drive {
        change["drive"] = render::drive(drive);
    }
    change
}
