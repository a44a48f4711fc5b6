//! Decisions about the selected items.

use std::collections::BTreeMap;

use domain::connection::{FeedState, ItemRecord, SelectedItemState, SyncState};

use super::{file_item, file_record, folder_item};
use crate::decide::selection::*;
use crate::decide::walks::NewWalk;

fn known_state() -> SelectedItemState {
    SelectedItemState {
        active: true,
        above: "/top".into(),
        chain: vec!["top".into()],
    }
}

fn known_record() -> ItemRecord {
    ItemRecord {
        seen: 7,
        ..file_record("s")
    }
}

/// Returns the step that is stored as `seen`, and the walk.
fn decide(
    sync: &SyncState,
    known: Option<&SelectedItemState>,
    record: Option<&ItemRecord>,
    above: &str,
) -> (u64, Option<NewWalk>) {
    let chain = vec!["top".to_owned()];
    let item = folder_item("s");
    let decision = decide_selected_item(sync, known, &item, record, chain, above.into());
    assert!(decision.state.active);
    assert_eq!(decision.state.above, above);
    assert_eq!(decision.state.chain, ["top"]);
    (decision.seen, decision.walk)
}

#[test]
fn a_selected_item_is_walked_when_it_is_new_has_reappeared_or_was_moved() {
    let sync = SyncState {
        step: 20,
        ..SyncState::default()
    };
    let afresh = Some(NewWalk {
        stamp: 20,
        restarts_listing: true,
    });
    let (known, record) = (known_state(), known_record());
    assert_eq!(
        decide(&sync, Some(&known), Some(&record), "/top"),
        (7, None)
    );
    assert_eq!(decide(&sync, None, Some(&record), "/top"), (20, afresh));
    assert_eq!(decide(&sync, Some(&known), None, "/top"), (20, afresh));
    assert_eq!(
        decide(&sync, Some(&known), Some(&record), "/other"),
        (20, afresh),
        "moved"
    );

    let gone = state_of_gone_item(Some(&known));
    assert_eq!((gone.active, gone.above.as_str()), (false, "/top"));
    assert_eq!(
        decide(&sync, Some(&gone), Some(&record), "/top"),
        (20, afresh),
        "reappeared"
    );
    let renamed = ItemRecord {
        name: "old".into(),
        ..known_record()
    };
    assert_eq!(
        decide(&sync, Some(&known), Some(&renamed), "/top"),
        (20, afresh)
    );
}

#[test]
fn a_scan_walks_each_selected_folder_as_part_of_it() {
    let pending = FeedState {
        pending: Some("1".into()),
        ..FeedState::default()
    };
    let sync = SyncState {
        step: 20,
        scanning_since: Some(15),
        feeds: BTreeMap::from([("user".to_owned(), pending)]),
        ..SyncState::default()
    };
    let part = Some(NewWalk {
        stamp: 15,
        restarts_listing: false,
    });
    let (known, record) = (known_state(), known_record());
    assert_eq!(
        decide(&sync, Some(&known), Some(&record), "/top"),
        (20, part)
    );

    let listed = SyncState {
        feeds: BTreeMap::new(),
        ..sync
    };
    let afresh = Some(NewWalk {
        stamp: 20,
        restarts_listing: true,
    });
    assert_eq!(
        decide(&listed, None, Some(&record), "/top"),
        (20, afresh),
        "everything is listed"
    );
}

#[test]
fn a_selected_file_is_not_walked() {
    let sync = SyncState::default();
    let decision = decide_selected_item(&sync, None, &file_item("s"), None, vec![], String::new());
    assert_eq!(decision.walk, None);
}

#[test]
fn deselected_items_are_taken_in_portions() {
    let mut sync = SyncState::default();
    for id in ["a", "b", "c", "d"] {
        sync.selected_items.insert(id.into(), known_state());
    }
    let is_selected = |id: &str| id == "b";
    assert_eq!(deselected_items(&sync, is_selected, 2), ["a", "c"]);
    assert_eq!(deselected_items(&sync, is_selected, 9), ["a", "c", "d"]);
}
