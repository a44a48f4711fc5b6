//! Tests of the errors of providers and of their records in the connection. None of them removes a
//! document.

use domain::connection::{
    ConnectionStatus as Status, ItemState, RunState, RunTrigger, SkipReason, SyncQueue, SyncScope,
};
use domain::ports::ConnectorError;

use super::drive::DriveEvents;
use super::sync_world::SyncWorld;
use crate::context::NextStep;

type Fault = fn() -> ConnectorError;

pub(super) fn down() -> ConnectorError {
    ConnectorError::Unavailable("down".into())
}

pub(super) async fn filled() -> (SyncWorld, domain::ConnectionId, Vec<String>) {
    let world = SyncWorld::new(20, DriveEvents::default());
    let (folder, files) = {
        let mut drive = world.drive.lock();
        let folder = drive.add_item("root", true);
        let files: Vec<String> = (0..6).map(|_| drive.add_item(&folder, false)).collect();
        (folder, files)
    };
    let id = world.add_connection(SyncScope::Selected, &[folder]);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    (world, id, files)
}

pub(super) fn due(world: &SyncWorld, id: &domain::ConnectionId) {
    let now = *world.service.now.lock().unwrap();
    world.change(id, |connection| connection.next_run_at = Some(now));
}

#[tokio::test]
async fn a_queue_entry_that_cannot_be_parsed_is_shown_and_removes_nothing() {
    let (world, id, _) = filled().await;
    {
        let mut records = world.service.memory.lock();
        let rows = records.rows.get_mut(&id).unwrap();
        rows.queues
            .insert((SyncQueue::Fetch, "0#file".into()), "[".into());
    }

    world.execute_run(&id).await;
    let problem = world.connection(&id).problem.expect("a problem");
    assert_eq!(problem.kind.as_str(), "internal");
    assert_eq!(world.waiting(&id, SyncQueue::Fetch), 1);
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn each_error_has_its_state_and_its_time() {
    let cases: [(Fault, Status, &str, Option<i64>); 6] = [
        (
            || ConnectorError::Reauth("invalid_grant".into()),
            Status::Expired,
            "reauth_required",
            Some(3600),
        ),
        (
            || ConnectorError::App("x".into()),
            Status::Suspended,
            "app_misconfigured",
            Some(86_400),
        ),
        (
            || ConnectorError::Policy("x".into()),
            Status::Suspended,
            "admin_policy",
            Some(86_400),
        ),
        (
            || ConnectorError::QuotaExceeded,
            Status::Active,
            "quota_exceeded",
            Some(86_400),
        ),
        (
            || ConnectorError::Fault("x".into()),
            Status::Active,
            "internal",
            Some(1800),
        ),
        (|| ConnectorError::CursorLost, Status::Active, "", None),
    ];
    for (fault, status, kind, after) in cases {
        let (world, id, _) = filled().await;
        // The access token is renewed before the permission counts as lost.
        let times = if status == Status::Expired { 2 } else { 1 };
        world
            .drive
            .lock()
            .faults
            .insert("changes", (0..times).map(|_| fault()).collect());
        due(&world, &id);
        let before = *world.service.now.lock().unwrap();
        while world.step(&id).await.unwrap() == NextStep::Again {}

        let connection = world.connection(&id);
        assert_eq!(connection.status, status);
        assert_eq!(
            connection
                .problem
                .map_or("", |problem| problem.kind.as_str()),
            kind
        );

        if let Some(after) = after {
            assert_eq!(
                connection.next_run_at,
                Some(before.plus_seconds(after)),
                "{kind}"
            );
            assert_eq!(connection.last_run.unwrap().state, RunState::Failed);
        }
        assert_eq!(world.service.docs.lock().unwrap().len(), 6);

        world.execute_run(&id).await;
        let connection = world.connection(&id);
        assert_eq!(
            (connection.status, connection.problem),
            (Status::Active, None),
            "{kind}"
        );
        assert_eq!(connection.expires_at, None, "{kind}");
    }
}

#[tokio::test]
async fn the_end_of_a_permission_that_works_stays_known() {
    let (world, id, _) = filled().await;
    let until = world.service.now.lock().unwrap().plus_seconds(3600);
    world.change(&id, |connection| connection.expires_at = Some(until));
    world.execute_run(&id).await;
    assert_eq!(world.connection(&id).expires_at, Some(until));
}

#[tokio::test]
async fn an_access_token_that_ends_early_is_made_anew_once_a_step() {
    let refused = || ConnectorError::Reauth("authError".into());
    for (times, status, count) in [(1, Status::Active, 7), (2, Status::Expired, 6)] {
        let (world, id, files) = filled().await;
        let parent = world.drive.lock().things[&files[0]].parent.clone().unwrap();
        world.drive.lock().add_item(&parent, false);
        world
            .drive
            .lock()
            .faults
            .insert("changes", (0..times).map(|_| refused()).collect());
        due(&world, &id);
        while world.step(&id).await.unwrap() == NextStep::Again {}

        assert_eq!(*world.service.renewed.lock().unwrap(), 1);
        assert_eq!(world.connection(&id).status, status);
        assert_eq!(world.service.docs.lock().unwrap().len(), count);
    }
}

#[tokio::test]
async fn a_lost_permission_is_tried_three_times() {
    let (world, id, _) = filled().await;
    let mut next = Vec::new();
    for _ in 0..4 {
        due(&world, &id);
        world
            .service
            .denied
            .lock()
            .unwrap()
            .push(ConnectorError::Reauth("invalid_grant".into()));
        let now = *world.service.now.lock().unwrap();
        assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);
        next.push(
            world
                .connection(&id)
                .next_run_at
                .map(|at| now.seconds_until(at)),
        );
    }

    assert_eq!(next, [Some(3600), Some(6 * 3600), Some(86_400), None]);
    assert_eq!(world.connection(&id).problem.unwrap().attempts, 4);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);
}

#[tokio::test]
async fn a_run_outlives_seven_failures_and_goes_on_where_it_was() {
    let (world, id, _) = filled().await;
    world
        .drive
        .lock()
        .faults
        .insert("changes", (0..8).map(|_| down()).collect());
    due(&world, &id);
    let (mut pauses, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let NextStep::Later(seconds) = world.step(&id).await.unwrap() else {
            panic!()
        };
        assert_eq!(
            world.step(&id).await.unwrap(),
            NextStep::Idle,
            "nobody works meanwhile"
        );
        world.advance_time(seconds);
        pauses.push(seconds);
        shown.push(world.connection(&id).problem.is_some());
    }

    assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128]);
    assert_eq!(shown, [false, false, true, true, true, true, true]);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);
    let connection = world.connection(&id);
    assert_eq!(
        connection.problem.unwrap().kind.as_str(),
        "provider_unavailable"
    );
    assert_eq!(connection.status, Status::Active);
}

#[tokio::test]
async fn what_was_wrong_is_shown_until_the_provider_answers_again() {
    let (mut world, id, _) = filled().await;
    world.limits.items = 0;
    world
        .drive
        .lock()
        .faults
        .insert("changes", (0..3).map(|_| down()).collect());
    due(&world, &id);
    loop {
        match world.step(&id).await.unwrap() {
            NextStep::Later(seconds) => world.advance_time(seconds),
            NextStep::Again if world.drive.lock().faults["changes"].is_empty() => break,
            NextStep::Again => {}
            NextStep::Idle => panic!("the run is abandoned"),
        }
    }

    let connection = world.connection(&id);
    assert_eq!(
        (connection.problem, connection.last_run.unwrap().state),
        (None, RunState::Running)
    );
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn whoever_is_asked_to_slow_down_does() {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    world.drive.lock().faults.insert(
        "fetch",
        vec![ConnectorError::Throttled {
            retry_after: Some(77),
        }],
    );
    due(&world, &id);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Later(77));

    world.advance_time(76);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);

    world.advance_time(2);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn one_bad_file_does_not_stop_the_others() {
    let (world, id, files) = filled().await;
    {
        let mut drive = world.drive.lock();
        drive.edit_content(&files[0]);
        drive.edit_content(&files[1]);
        drive.edit_content(&files[2]);
        let reason = SkipReason::NotDownloadable;
        drive
            .faults
            .insert("fetch", vec![down(), ConnectorError::Item(reason)]);
    }

    world.execute_run(&id).await;
    let states: Vec<ItemState> = files[..3]
        .iter()
        .map(|file| world.record(&id, file).unwrap().state)
        .collect();
    let skipped = ItemState::Skipped {
        reason: SkipReason::NotDownloadable,
    };

    assert_eq!(
        states,
        [ItemState::Pending, skipped.clone(), ItemState::Filed]
    );
    for _ in 0..18 {
        world.drive.lock().faults.insert("fetch", vec![down()]);
        world.execute_run(&id).await;
        assert_eq!(
            world.record(&id, &files[0]).unwrap().state,
            ItemState::Pending
        );
    }

    world.drive.lock().faults.insert("fetch", vec![down()]);
    world.execute_run(&id).await;
    assert!(matches!(
        world.record(&id, &files[0]).unwrap().state,
        ItemState::Failed { .. }
    ));
    assert!(
        world.document_of(&files[0]).is_some(),
        "the old content stays"
    );
    world.drive.lock().edit_content(&files[0]);
    world.execute_run(&id).await;
    assert_eq!(
        world.record(&id, &files[0]).unwrap().state,
        ItemState::Filed
    );
}

#[tokio::test]
async fn a_second_worker_finds_the_connection_taken() {
    let (world, id, _) = filled().await;
    due(&world, &id);
    world
        .service
        .memory
        .lock()
        .rows
        .get_mut(&id)
        .unwrap()
        .state
        .leased_until = Some(world.service.now.lock().unwrap().plus_seconds(50));
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);

    world.advance_time(51);
    assert_ne!(world.step(&id).await.unwrap(), NextStep::Again);
    assert_eq!(world.rows(&id).state.runs, 2);
}

#[tokio::test]
async fn what_is_asked_for_during_a_run_comes_after_it() {
    let (mut world, id, files) = filled().await;
    world.limits.items = 1;
    for (trigger, pause, runs) in [
        (RunTrigger::Manual, None, 3),
        // Notifications do not cause runs without a pause.
        (RunTrigger::Event, Some(23), 5),
    ] {
        world.drive.lock().edit_content(&files[0]);
        due(&world, &id);
        assert_eq!(world.step(&id).await.unwrap(), NextStep::Again);
        world.advance_time(7);
        let now = *world.service.now.lock().unwrap();
        world.change(&id, |connection| connection.request_run(trigger, now));

        let mut paused = None;
        while world.rows(&id).state.runs < runs {
            match world.step(&id).await.unwrap() {
                NextStep::Again => {}
                NextStep::Later(seconds) => {
                    assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);
                    assert_eq!(paused.replace(seconds), None);
                    world.advance_time(seconds);
                }
                NextStep::Idle => panic!("no run follows"),
            }
        }

        assert_eq!(paused, pause, "{trigger:?}");
        let run = world.rows(&id).state.run.expect("a run");
        assert_eq!(run.trigger, trigger);
        while world.rows(&id).state.run.is_some() {
            world.step(&id).await.unwrap();
        }
    }
}
