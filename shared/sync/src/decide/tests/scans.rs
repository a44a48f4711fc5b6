//! Decisions about scans and cursors.

use std::collections::BTreeMap;

use domain::connection::{FeedState, Run, RunPhase, RunTrigger, SyncState};

use super::after;
use crate::decide::scans::*;

const DAY: i64 = 86_400;

fn feed(cursor: Option<&str>, pending: Option<&str>) -> FeedState {
    FeedState {
        cursor: cursor.map(str::to_owned),
        pending: pending.map(str::to_owned),
        ..FeedState::default()
    }
}

/// Returns the state of a connection that follows the changes of one feed.
fn settled_state() -> SyncState {
    SyncState {
        step: 40,
        selection: 2,
        reconciled_at: Some(after(-DAY)),
        feeds: BTreeMap::from([("user".to_owned(), feed(Some("7"), None))]),
        ..SyncState::default()
    }
}

fn feeds(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_scan_begins_only_when_something_demands_it() {
    type Change = fn(&mut SyncState);
    let user = feeds(&["user"]);
    let cases: [(&str, Change, bool); 7] = [
        ("settled", |_| {}, false),
        ("demanded", |state| state.must_scan = true, true),
        ("never", |state| state.reconciled_at = None, true),
        (
            "a week ago",
            |state| state.reconciled_at = Some(after(-7 * DAY)),
            true,
        ),
        (
            "almost a week ago",
            |state| state.reconciled_at = Some(after(1 - 7 * DAY)),
            false,
        ),
        (
            "lost cursor",
            |state| {
                state.feeds.insert("user".into(), feed(None, None));
            },
            true,
        ),
        (
            "pending cursor",
            |state| {
                state.feeds.insert("user".into(), feed(None, Some("9")));
            },
            false,
        ),
    ];
    for (name, change, expected) in cases {
        let mut state = settled_state();
        change(&mut state);
        let needs = needs_scan(&state, &user, Some(2), true, after(0));
        assert_eq!(needs, expected, "{name}");
    }

    let state = settled_state();
    let needs = |feeds: &[String], selection| needs_scan(&state, feeds, selection, true, after(0));
    assert!(needs(&user, Some(3)), "another selection");
    assert!(!needs(&user, None), "the whole account");
    assert!(needs(&feeds(&["user", "shared"]), Some(2)), "a new feed");
    assert!(needs(&feeds(&["shared"]), Some(2)), "another feed");
    assert!(needs(&[], Some(2)), "no feed");
}

#[test]
fn without_changes_a_scan_is_due_once_a_week_and_on_request() {
    let user = feeds(&["user"]);
    let mut state = settled_state();
    for (trigger, expected) in [
        (RunTrigger::Cron, false),
        (RunTrigger::Event, false),
        (RunTrigger::Manual, true),
    ] {
        state.run = Some(Run::start(3, trigger, after(0)));
        let needs = |reports_changes| needs_scan(&state, &user, None, reports_changes, after(0));
        assert_eq!(needs(false), expected, "{trigger:?}");
        assert!(!needs(true), "{trigger:?}");
    }

    state.run = Some(Run::start(3, RunTrigger::Cron, after(0)));
    state.reconciled_at = Some(after(-7 * DAY));
    assert!(needs_scan(&state, &user, None, false, after(0)));
}

#[test]
fn a_scan_in_progress_suffices_unless_what_it_scans_has_changed() {
    let mut state = settled_state();
    state.scanning_since = Some(30);
    state.must_scan = true;
    let needs = |state: &SyncState, selection, reports_changes| {
        needs_scan(
            state,
            &feeds(&["user"]),
            selection,
            reports_changes,
            after(0),
        )
    };
    assert!(!needs(&state, Some(2), true));
    assert!(needs(&state, Some(3), true));

    state.feeds.insert("user".into(), feed(None, None));
    assert!(needs(&state, Some(2), true), "a lost cursor");
    assert!(!needs(&state, Some(2), false), "there are no cursors");
}

#[test]
fn the_cursors_are_taken_before_the_scan_and_adopted_after_it() {
    let mut state = settled_state();
    state.feeds.insert("gone".into(), feed(Some("1"), None));
    state.feeds.insert("taken".into(), feed(None, Some("5")));
    state.scanning_since = Some(3);
    let waiting = prepare_scan(&mut state, &feeds(&["new", "taken", "user"]));
    assert_eq!(waiting, ["new", "user"]);
    assert!(!state.feeds.contains_key("gone"));
    assert!(state.must_scan);
    assert_eq!(state.scanning_since, None);
    assert!(is_listing(&state));

    for name in waiting {
        state.feeds.insert(name, feed(None, Some("8")));
    }
    begin_scan(&mut state, 6);
    assert_eq!((state.selection, state.scanning_since), (6, Some(40)));

    end_walks(&mut state, true);
    assert!(!is_listing(&state));
    assert_eq!(state.feeds["taken"].cursor.as_deref(), Some("5"));
    assert_eq!(state.feeds["user"].cursor.as_deref(), Some("8"));
    assert_eq!(state.phase, Some(RunPhase::Changes { done: vec![] }));

    end_walks(&mut state, true);
    assert_eq!(state.phase, Some(RunPhase::UnseenItems { after: None }));

    end_scan(&mut state, after(0));
    assert_eq!((state.scanning_since, state.must_scan), (None, false));
    assert_eq!(state.reconciled_at, Some(after(0)));
    assert_eq!(state.phase, Some(RunPhase::Refilter { after: None }));

    end_walks(&mut state, true);
    assert_eq!(state.phase, Some(RunPhase::Refilter { after: None }));
}

#[test]
fn a_provider_without_changes_is_swept_after_its_scan() {
    let mut state = settled_state();
    state.feeds.insert("user".into(), feed(None, Some("")));
    state.scanning_since = Some(3);
    end_walks(&mut state, false);
    assert_eq!(state.phase, Some(RunPhase::UnseenItems { after: None }));
}

#[test]
fn the_phases_follow_from_what_is_pending() {
    let scan = RunPhase::Scan {
        feed: None,
        page: None,
    };
    let mut state = settled_state();
    let changes = RunPhase::Changes { done: vec![] };
    assert_eq!(phase_after_selected_items(&state, true), changes);
    assert_eq!(phase_after_selected_items(&state, false), RunPhase::Walk);
    assert_eq!(phase_after_feeds(&state, false, true), changes);
    assert_eq!(
        phase_after_feeds(&state, true, true),
        RunPhase::SelectedItems { next: 0 }
    );

    state.feeds.insert("user".into(), feed(None, Some("9")));
    assert_eq!(phase_after_selected_items(&state, true), scan);
    assert_eq!(phase_after_selected_items(&state, false), scan);
}
