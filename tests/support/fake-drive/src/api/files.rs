//! Single items and shared drives.

use serde_json::{Value, json};

use super::failure::DriveApiError;
use super::page::PagePosition;
use super::{CallContext, render};
use crate::drive_contents::SharedDrive;

pub(crate) fn get(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    let item = cx.visible_item(cx.supports_shared_drives())?;
    Ok(render::render_file(cx, &cx.mask, item))
}

/// Lists the shared drives of which the viewer is a member.
pub(crate) fn list_drives(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    let size = cx.page_size(10);
    let fingerprint = super::page::fingerprint_query(&[
        &cx.viewer.email,
        "drives",
        cx.call.query_param("q").unwrap_or_default(),
    ]);
    let now = cx.state.contents.clock.now();
    let start = match cx.call.query_param("pageToken") {
        Some(token) => PagePosition::from_token(token, fingerprint, now)?.seq as usize,
        None => 0,
    };

    let member_drives = cx
        .state
        .contents
        .drives
        .values()
        .filter(|drive| drive.members.contains(&cx.viewer.email));
    let mut page: Vec<_> = member_drives
        .skip(start)
        .take(size + 1)
        .map(render::render_drive)
        .collect();
    let has_more = page.len() > size;
    page.truncate(size);
    let mut response = json!({ "kind": "drive#driveList", "drives": page });
    if has_more {
        let next = PagePosition {
            list_number: 0,
            seq: (start + size) as u64,
        };
        response["nextPageToken"] = json!(next.to_token(fingerprint, now));
    }

    Ok(response)
}

pub(crate) fn get_drive(cx: &CallContext<'_>) -> Result<Value, DriveApiError> {
    member_drive(cx, &cx.id).map(render::render_drive)
}

/// Returns a shared drive, if the viewer is a member.
pub(crate) fn member_drive<'a>(
    cx: &'a CallContext<'_>,
    id: &str,
) -> Result<&'a SharedDrive, DriveApiError> {
    let drive = cx.state.contents.drives.get(id);
    drive
        .filter(|drive| drive.members.contains(&cx.viewer.email))
        .ok_or_else(|| DriveApiError::drive_not_found(id))
}
