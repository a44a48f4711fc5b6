//! Decides which folders are walked, and what becomes of the items in them.

use std::collections::HashSet;

use domain::connection::{FolderWalk, ItemRecord};
use domain::ports::ProviderItem;

use crate::item_paths::is_folder;

/// A walk that is to be enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewWalk {
    /// The step at which the walk through this folder and all folders around it began.
    pub(crate) stamp: u64,
    /// `true` if a listing of the folder that has begun starts again, because the folder itself has
    /// changed.
    pub(crate) restarts_listing: bool,
}

/// Returns the entry of a walk to store, or `None` if a walk that is at least as recent is already
/// waiting.
pub(crate) fn merge_walk(
    waiting: Option<&FolderWalk>,
    drive: Option<&str>,
    walk: NewWalk,
) -> Option<FolderWalk> {
    let mut stamp = walk.stamp;
    if let Some(waiting) = waiting {
        if waiting.stamp >= walk.stamp && !walk.restarts_listing {
            return None;
        }
        stamp = stamp.max(waiting.stamp);
    }

    Some(FolderWalk {
        drive: drive.map(str::to_owned),
        stamp,
        ..FolderWalk::default()
    })
}

/// Decides whether to walk through an item that the listing of a folder has shown: a folder that
/// the same walk has not reached yet, or that was moved here. `walk_stamp` is the stamp of the
/// walk, `step` the number of the step.
pub(crate) fn decide_listed(
    item: &ProviderItem,
    path: &str,
    known: Option<&ItemRecord>,
    walk_stamp: u64,
    step: u64,
) -> Option<NewWalk> {
    if !is_folder(item) {
        return None;
    }

    let is_walked = known.is_some_and(|known| known.folder && known.seen >= walk_stamp);
    let is_moved = known.is_some_and(|known| known.path != path);
    let stamp = match (is_walked, is_moved) {
        (true, false) => return None,
        (true, true) => step,
        (false, _) => walk_stamp,
    };

    Some(NewWalk {
        stamp,
        restarts_listing: false,
    })
}

/// Checks whether the listing of a folder has not shown a known child. `since` is the step at which
/// the listing began.
pub(crate) fn is_unseen(record: &ItemRecord, folder: &str, since: u64) -> bool {
    record.seen < since && record.parent.as_deref() == Some(folder)
}

/// Checks whether an item is a folder that was moved since it was recorded. It takes along what is
/// in it, so it is walked.
pub(crate) fn is_moved_folder(record: &ItemRecord, item: &ProviderItem, path: &str) -> bool {
    is_folder(item) && (path != record.path || item.parent != record.parent)
}

/// Returns the known children of a removed folder that are removed with it. Selected items stay,
/// and so do items that have moved elsewhere since they were recorded here.
pub(crate) fn children_to_remove(
    children: Vec<ItemRecord>,
    folder: &str,
    selected: &HashSet<String>,
) -> Vec<ItemRecord> {
    let mut removed = children;
    removed
        .retain(|child| child.parent.as_deref() == Some(folder) && !selected.contains(&child.id));
    removed
}
