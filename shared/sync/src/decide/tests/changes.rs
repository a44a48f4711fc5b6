//! Decisions about what reported changes mean.

use std::collections::{BTreeMap, HashSet};

use domain::connection::{FeedState, RunPhase, SelectedItemState, SyncState};
use domain::ports::{ItemChange, ProviderItem};

use super::{file_item, folder_item};
use crate::decide::changes::*;

#[test]
fn a_change_records_or_removes_and_spares_selected_items() {
    let cases = [
        (true, false, ChangeEffect::Record),
        (true, true, ChangeEffect::Record),
        (false, false, ChangeEffect::Remove),
        (false, true, ChangeEffect::LeaveToSelection),
    ];
    for (is_in_scope, is_selected, effect) in cases {
        assert_eq!(decide_change(is_in_scope, is_selected), effect);
    }
}

#[test]
fn changed_folders_are_walked_and_files_are_not() {
    assert!(must_walk_changed(&folder_item("a")));
    assert!(!must_walk_changed(&file_item("a")));
}

#[test]
fn the_folders_above_are_recorded_unless_the_item_is_selected() {
    assert!(needs_ancestors(false));
    assert!(!needs_ancestors(true));

    let top = ProviderItem {
        parent: None,
        ..folder_item("top")
    };
    assert!(must_walk_ancestor(&folder_item("a"), false));
    assert!(must_walk_ancestor(&top, true));
    assert!(!must_walk_ancestor(&top, false), "a whole account");
}

#[test]
fn a_change_of_a_selected_item_or_above_one_concerns_the_selection() {
    let selected = HashSet::from(["s".to_owned()]);
    let state = SelectedItemState {
        chain: vec!["above".into(), "top".into()],
        ..SelectedItemState::default()
    };
    let states = BTreeMap::from([("s".to_owned(), state)]);
    for (id, concerns) in [
        ("s", true),
        ("above", true),
        ("top", true),
        ("other", false),
    ] {
        assert_eq!(concerns_selection(id, &selected, &states), concerns, "{id}");
    }
}

#[test]
fn only_the_last_change_of_an_item_counts() {
    let change = |id: &str, item: Option<ProviderItem>| ItemChange {
        id: id.into(),
        item,
    };
    let changes = vec![
        change("a", Some(file_item("a"))),
        change("b", Some(file_item("b"))),
        change("a", None),
        change("c", None),
    ];
    let latest = latest_changes(changes);
    let ids: Vec<&str> = latest.iter().map(|change| change.id.as_str()).collect();
    assert_eq!(ids, ["b", "a", "c"]);
    assert!(latest[1].item.is_none());
}

fn state_with_feed() -> SyncState {
    let feed = FeedState {
        cursor: Some("1".into()),
        ..FeedState::default()
    };
    SyncState {
        feeds: BTreeMap::from([("user".to_owned(), feed)]),
        ..SyncState::default()
    }
}

#[test]
fn the_cursor_advances_with_its_page() {
    for (has_more, feeds_changed, phase) in [
        (true, false, RunPhase::Changes { done: vec![] }),
        (
            false,
            false,
            RunPhase::Changes {
                done: vec!["user".into()],
            },
        ),
        (true, true, RunPhase::Feeds),
        (false, true, RunPhase::Feeds),
    ] {
        let mut state = state_with_feed();
        let (feed, cursor) = ("user".to_owned(), "2".to_owned());
        advance_cursor(&mut state, feed, cursor, has_more, feeds_changed, vec![]);
        assert_eq!(state.feeds["user"].cursor.as_deref(), Some("2"));
        assert_eq!(state.phase, Some(phase));
    }
}

#[test]
fn the_selection_is_examined_after_a_change_of_it() {
    let mut state = state_with_feed();
    assert_eq!(phase_after_changes(&state), RunPhase::Walk);
    state.selected_items_changed = true;
    assert_eq!(
        phase_after_changes(&state),
        RunPhase::SelectedItems { next: 0 }
    );
}

#[test]
fn a_lost_cursor_causes_one_scan_in_a_run() {
    let mut state = state_with_feed();
    assert!(!record_lost_cursor(&mut state, "user"));
    assert_eq!(state.feeds["user"].cursor, None);
    assert!(state.must_scan);
    assert_eq!(state.phase, Some(RunPhase::Feeds));

    state.scanning_since = Some(3);
    assert!(record_lost_cursor(&mut state, "user"), "the second loss");
    assert_eq!(state.scanning_since, None);
}
