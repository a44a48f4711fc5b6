//! Decisions about when documents are removed.

use domain::connection::{Run, RunPhase, RunTrigger, SyncState};

use super::{after, file_record, removal, with_document};
use crate::decide::removals::*;
use crate::limits::GRACE_SECONDS;

#[test]
fn many_removals_at_once_are_held_back() {
    let cases = [
        (9, 10, false),
        (10, 33, true),
        (10, 34, false),
        (30, 100, false),
        (31, 100, true),
        (500, 1_000_000, false),
        (501, 1_000_000, true),
        (10, 0, true),
        (0, 0, false),
    ];
    for (count, documents, held) in cases {
        assert_eq!(
            must_hold_back(count, documents),
            held,
            "{count}/{documents}"
        );
    }
}

fn state_in_run(number: u64, held_by_run: Option<u64>) -> SyncState {
    SyncState {
        run: Some(Run::start(number, RunTrigger::Cron, after(0))),
        held_by_run,
        ..SyncState::default()
    }
}

#[test]
fn a_run_holds_back_and_the_next_one_confirms() {
    for (held_by_run, mode) in [
        (None, RemovalMode::Normal),
        (Some(4), RemovalMode::HoldBack),
        (Some(3), RemovalMode::Confirm),
    ] {
        assert_eq!(removal_mode(&state_in_run(4, held_by_run), true), mode);
    }
}

#[test]
fn without_changes_each_removal_is_confirmed() {
    for (held_by_run, mode) in [
        (None, RemovalMode::Confirm),
        (Some(4), RemovalMode::HoldBack),
        (Some(3), RemovalMode::Confirm),
    ] {
        assert_eq!(removal_mode(&state_in_run(4, held_by_run), false), mode);
    }
}

#[test]
fn a_removal_that_was_looked_up_in_vain_waits_for_the_schedule() {
    let due = -GRACE_SECONDS;
    for (since, reports_changes, expected) in [
        (due, true, true),
        (due, false, false),
        (due + 1, false, true),
        (5, false, true),
    ] {
        let waiting = removal(with_document(file_record("a")), since, false);
        let needs = needs_another_run(&waiting, reports_changes, after(0));
        assert_eq!(needs, expected, "{since} {reports_changes}");
    }
}

#[test]
fn a_removal_waits_for_its_grace_period_and_for_its_confirmation() {
    use RemovalDecision as D;
    use RemovalMode as M;
    let due = -GRACE_SECONDS;
    let began = due + 1;
    let cases = [
        (M::Normal, due, D::Remove),
        (M::Normal, due + 1, D::Wait),
        (M::HoldBack, due - 1, D::Wait),
        (M::Confirm, due, D::LookUp),
        (M::Confirm, due + 1, D::Wait),
    ];
    for (mode, since, decision) in cases {
        let gone = removal(with_document(file_record("a")), since, false);
        let decided = decide_removal(&gone, mode, after(began), after(0));
        assert_eq!(decided, decision, "{mode:?} {since}");

        let deselected = removal(with_document(file_record("a")), 0, true);
        let decided = decide_removal(&deselected, mode, after(began), after(0));
        assert_eq!(decided, D::Remove, "{mode:?}, deselected");
    }

    let gone = removal(with_document(file_record("a")), due, false);
    let decided = decide_removal(&gone, M::Confirm, after(due), after(0));
    assert_eq!(decided, D::Wait, "it was recorded in this run");
}

#[test]
fn removals_may_make_room_for_waiting_files() {
    let ended = |removed, has_waiting_files, limited: bool, is_full| {
        let mut state = state_in_run(4, Some(3));
        state.limited = limited.then(|| "1#".to_owned());
        if let Some(run) = &mut state.run {
            run.removed = removed;
        }
        end_removals(&mut state, has_waiting_files, is_full);
        assert_eq!(state.held_by_run, None, "confirmed");
        state.phase
    };
    assert_eq!(ended(1, true, true, false), Some(RunPhase::Fetch));
    assert_eq!(ended(0, true, true, false), Some(RunPhase::Watch));
    assert_eq!(ended(1, false, true, false), Some(RunPhase::Watch));
    assert_eq!(ended(1, true, false, false), Some(RunPhase::Watch));
    assert_eq!(ended(1, true, true, true), Some(RunPhase::Watch));

    let mut state = state_in_run(4, Some(4));
    end_removals(&mut state, false, false);
    assert_eq!(state.held_by_run, Some(4), "the next run confirms");
}
