//! Decisions about the schedule of runs.

use domain::ContainerTag;
use domain::connection::{
    Connection, ConnectionErrorKind, ConnectionStatus, Provider, Run, RunPhase, RunState,
    RunTrigger, SyncScope, SyncState,
};

use super::after;
use crate::decide::schedule::*;
use crate::limits::{GRACE_SECONDS, MESSAGE_LOST_SECONDS};

fn connection(status: ConnectionStatus) -> Connection {
    let tag = ContainerTag::default_tag();
    let mut connection = Connection::new(Provider::CloudDrive, tag, after(0));
    connection.status = status;
    connection.scope = SyncScope::Full;
    connection.next_run_at = Some(after(0));
    connection
}

#[test]
fn a_connection_has_work_when_it_is_due_or_in_a_run() {
    use ConnectionStatus as S;
    let idle = SyncState::default();
    for (status, works) in [
        (S::Active, true),
        (S::Expired, true),
        (S::Suspended, true),
        (S::PendingOauth, false),
        (S::Deleting, true),
    ] {
        assert_eq!(
            has_work(&connection(status), &idle, after(0)),
            works,
            "{status:?}"
        );
    }

    let mut later = connection(S::Active);
    later.next_run_at = Some(after(1));
    assert!(!has_work(&later, &idle, after(0)));
    let mut running = SyncState::default();
    start_run(&mut running, RunTrigger::Cron, after(0));
    assert!(has_work(&later, &running, after(0)));
    later.status = S::Deleting;
    assert!(has_work(&later, &idle, after(0)));

    let mut selective = connection(S::Active);
    selective.scope = SyncScope::Selected;
    assert!(!has_work(&selective, &idle, after(0)), "nothing selected");
    selective.selection = 1;
    assert!(has_work(&selective, &idle, after(0)));
}

#[test]
fn a_run_begins_with_the_feeds_and_ends_with_its_outcome() {
    let mut state = SyncState {
        runs: 4,
        judged: 9,
        ..SyncState::default()
    };
    start_run(&mut state, RunTrigger::Manual, after(0));
    assert_eq!((state.runs, state.judged), (5, 0));
    assert_eq!(state.phase, Some(RunPhase::Feeds));
    assert_eq!(state.run.as_ref().unwrap().number, 5);

    let run = close_run(&mut state, RunState::Completed, None, after(8)).unwrap();
    assert_eq!(
        (run.state, run.completed_at),
        (RunState::Completed, Some(after(8)))
    );
    assert_eq!(run.error, None);
    assert_eq!((&state.run, &state.phase), (&None, &None));
    assert!(close_run(&mut state, RunState::Completed, None, after(9)).is_none());
}

#[test]
fn a_run_that_holds_back_says_so_unless_it_failed() {
    let closed = |held_by_run, error| {
        let mut state = SyncState::default();
        start_run(&mut state, RunTrigger::Cron, after(0));
        state.held_by_run = held_by_run;
        let run = close_run(&mut state, RunState::Failed, error, after(1)).unwrap();
        run.error.map(|(kind, _)| kind)
    };
    let failure = || Some((ConnectionErrorKind::Internal, String::new()));
    assert_eq!(closed(None, None), None);
    assert_eq!(
        closed(Some(1), None),
        Some(ConnectionErrorKind::RemovalHeld)
    );
    assert_eq!(closed(Some(0), None), None, "an earlier run");
    assert_eq!(
        closed(Some(1), failure()),
        Some(ConnectionErrorKind::Internal)
    );
}

#[test]
fn a_lost_message_delays_a_run_for_minutes_only() {
    let mut connection = connection(ConnectionStatus::Active);
    schedule_recovery(&mut connection, after(0), 30);
    let expected = after(30 + MESSAGE_LOST_SECONDS);
    assert_eq!(connection.next_run_at, Some(expected));
}

#[test]
fn the_next_run_comes_as_soon_as_waiting_work_is_due() {
    let next = |waiting| seconds_until_next_run(10_000, waiting);
    let none = WaitingWork::default();
    assert_eq!(next(none), 10_000);
    let removals = WaitingWork {
        has_removals: true,
        ..none
    };
    assert_eq!(next(removals), GRACE_SECONDS + 5);
    let held = WaitingWork {
        is_held_back: true,
        ..removals
    };
    assert_eq!(next(held), 3600);
    let retry = |seconds| WaitingWork {
        seconds_until_retry: Some(seconds),
        ..held
    };
    assert_eq!((next(retry(70)), next(retry(7000))), (70, 3600));
    let model = WaitingWork {
        has_unanswered_questions: true,
        ..none
    };
    assert_eq!(next(model), MODEL_RETRY_SECONDS);
    assert_eq!(seconds_until_next_run(60, model), 60);
}

#[test]
fn a_requested_run_comes_at_once_unless_a_notification_requests_it() {
    let run = Run::start(1, RunTrigger::Cron, after(0));
    let next =
        |requested, seconds| seconds_until_requested_run(requested, Some(&run), after(seconds));
    assert_eq!(next(None, 10), None);
    assert_eq!(next(Some(RunTrigger::Manual), 10), Some(0));
    assert_eq!(next(Some(RunTrigger::Cron), 10), Some(0));
    assert_eq!(next(Some(RunTrigger::Event), 10), Some(20));
    assert_eq!(next(Some(RunTrigger::Event), 40), Some(0));
    let without_run = seconds_until_requested_run(Some(RunTrigger::Event), None, after(0));
    assert_eq!(without_run, Some(0));
}
