//! Single items and shared drives.

use serde_json::{Value, json};

use super::failure::DriveApiError;
use super::page::PagePosition;
use super::{CallContext, render};
use crate::world::SharedDrive;

pub(crate) fn get(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    let item = cx.visible_item(cx.supports_shared_drives())?;
    Ok(render::render_file(cx, &cx.mask, item))
}

/// Lists the shared drives of which the viewer is a member.
pub(crate) fn list_drives(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    let size = cx.page_size(10);
    let print = super::page::fingerprint_query(&[
        &cx.viewer.email,
        "drives",
        cx.call.query_param("q").unwrap_or_default(),
    ]);
    let now = cx.state.world.clock.now();
    let from = match cx.call.query_param("pageToken") {
        Some(token) => PagePosition::from_token(token, print, now)?.seq as usize,
        None => 0,
    };

    let mine = cx
        .state
        .world
        .drives
        .values()
        .filter(|drive| drive.members.contains(&cx.viewer.email));
    let mut page: Vec<_> = mine
        .skip(from)
        .take(size + 1)
        .map(render::render_drive)
        .collect();
    let more = page.len() > size;
    page.truncate(size);
    let mut answer = json!({ "kind": "drive#driveList", "drives": page });
    if more {
        let next = PagePosition {
            shelf: 0,
            seq: (from + size) as u64,
        };
        answer["nextPageToken"] = json!(next.to_token(print, now));
    }

    Ok(answer)
}

pub(crate) fn get_drive(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    member_drive(cx, &cx.id).map(render::render_drive)
}

/// Returns a shared drive, if the viewer is a member.
pub(crate) fn member_drive<'a>(
    cx: &'a CallContext<'_>,
    id: &str,
) -> Result<&'a SharedDrive, DriveApiError> {
    let found = cx.state.world.drives.get(id);
    found
        .filter(|drive| drive.members.contains(&cx.viewer.email))
        .ok_or_else(|| DriveApiError::drive_not_found(id))
}
