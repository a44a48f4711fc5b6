//! Single items and shared drives.

use serde_json::{Value, json};

use super::failure::Failure;
use super::page::Position;
use super::{Cx, render};
use crate::world::SharedDrive;

pub(crate) fn get(cx: &Cx<'_>) -> Result<Value, Failure> {
    let item = cx.item(cx.knows_drives())?;
    Ok(render::file(cx, &cx.mask, item))
}

/// Lists the shared drives of which the viewer is a member.
pub(crate) fn drives(cx: &Cx<'_>) -> Result<Value, Failure> {
    let size = cx.page_size(10);
    let print = super::page::fingerprint(&[
        &cx.viewer.email,
        "drives",
        cx.call.param("q").unwrap_or_default(),
    ]);
    let now = cx.state.world.clock.now();
    let from = match cx.call.param("pageToken") {
        Some(token) => Position::read(token, print, now)?.seq as usize,
        None => 0,
    };

    let mine = cx
        .state
        .world
        .drives
        .values()
        .filter(|drive| drive.members.contains(&cx.viewer.email));
    let mut page: Vec<_> = mine.skip(from).take(size + 1).map(render::drive).collect();
    let more = page.len() > size;
    page.truncate(size);
    let mut answer = json!({ "kind": "drive#driveList", "drives": page });
    if more {
        let next = Position {
            shelf: 0,
            seq: (from + size) as u64,
        };
        answer["nextPageToken"] = json!(next.write(print, now));
    }

    Ok(answer)
}

pub(crate) fn drive(cx: &Cx<'_>) -> Result<Value, Failure> {
    member_drive(cx, &cx.id).map(render::drive)
}

/// Returns a shared drive, if the viewer is a member.
pub(crate) fn member_drive<'a>(cx: &'a Cx<'_>, id: &str) -> Result<&'a SharedDrive, Failure> {
    let found = cx.state.world.drives.get(id);
    found
        .filter(|drive| drive.members.contains(&cx.viewer.email))
        .ok_or_else(|| Failure::no_drive(id))
}
