//! Decisions about walks through folders.

use std::collections::HashSet;

use domain::connection::{FolderWalk, ItemRecord};
use domain::ports::ProviderItem;

use super::{file_item, file_record, folder_item};
use crate::decide::walks::*;

fn walk(stamp: u64, restarts_listing: bool) -> NewWalk {
    NewWalk {
        stamp,
        restarts_listing,
    }
}

#[test]
fn a_walk_is_enqueued_unless_a_recent_one_waits() {
    let waiting = |stamp| FolderWalk {
        stamp,
        page: Some("p".into()),
        listed: true,
        ..FolderWalk::default()
    };
    let stamp_of = |waiting: Option<FolderWalk>, walk| {
        merge_walk(waiting.as_ref(), Some("d"), walk).map(|entry| {
            assert_eq!((entry.page, entry.listed), (None, false), "it starts again");
            assert_eq!(entry.drive.as_deref(), Some("d"));
            entry.stamp
        })
    };
    assert_eq!(stamp_of(None, walk(5, false)), Some(5));
    assert_eq!(stamp_of(Some(waiting(4)), walk(5, false)), Some(5));
    assert_eq!(stamp_of(Some(waiting(5)), walk(5, false)), None);
    assert_eq!(stamp_of(Some(waiting(6)), walk(5, false)), None);
    assert_eq!(stamp_of(Some(waiting(6)), walk(5, true)), Some(6));
    assert_eq!(stamp_of(Some(waiting(4)), walk(5, true)), Some(5));
}

#[test]
fn listed_folders_are_walked_once_and_again_where_they_moved() {
    let known = |seen, folder, path: &str| ItemRecord {
        seen,
        folder,
        path: path.into(),
        ..file_record("f")
    };
    let (item, path) = (folder_item("f"), "/folder/f");
    let decide = |known: Option<&ItemRecord>| decide_listed(&item, path, known, 10, 20);
    assert_eq!(decide(None), Some(walk(10, false)), "new");
    assert_eq!(decide(Some(&known(9, true, path))), Some(walk(10, false)));
    assert_eq!(decide(Some(&known(10, true, path))), None, "walked");
    assert_eq!(
        decide(Some(&known(10, true, "/old/f"))),
        Some(walk(20, false)),
        "walked, then moved"
    );
    assert_eq!(
        decide(Some(&known(9, true, "/old/f"))),
        Some(walk(10, false))
    );
    assert_eq!(
        decide(Some(&known(10, false, path))),
        Some(walk(10, false)),
        "it was a file"
    );
    assert_eq!(decide_listed(&file_item("f"), path, None, 10, 20), None);
}

#[test]
fn a_child_is_unseen_if_the_listing_has_not_reached_it() {
    let child = |seen| ItemRecord {
        seen,
        ..file_record("a")
    };
    assert!(is_unseen(&child(4), "folder", 5));
    assert!(!is_unseen(&child(5), "folder", 5));
    assert!(!is_unseen(&child(4), "another folder", 5));
}

#[test]
fn only_moved_folders_are_walked_after_a_lookup() {
    let record = file_record("a");
    let path = record.path.clone();
    assert!(!is_moved_folder(&record, &folder_item("a"), &path));
    assert!(is_moved_folder(&record, &folder_item("a"), "/elsewhere"));
    assert!(!is_moved_folder(&record, &file_item("a"), "/elsewhere"));

    let other_parent = ProviderItem {
        parent: Some("another folder".into()),
        ..folder_item("a")
    };
    assert!(is_moved_folder(&record, &other_parent, &path));
}

#[test]
fn the_removal_of_a_folder_spares_selected_items_and_those_that_moved_away() {
    let moved = ItemRecord {
        parent: Some("another folder".into()),
        ..file_record("moved")
    };
    let children = vec![file_record("a"), file_record("selected"), moved];
    let selected = HashSet::from(["selected".to_owned()]);
    let removed = children_to_remove(children, "folder", &selected);
    assert_eq!(removed, [file_record("a")]);
}
