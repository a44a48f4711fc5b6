//! Tests that a failure never causes a lost document, a run that does not end, or a problem that
//! nobody sees.

use std::collections::BTreeSet;

use domain::connection::{
    ConnectionStatus as Status, DocumentIntent, Grant, ItemState, OAuthAppRef, Provider,
    ProviderAccount, RunState, RunTrigger, SyncScope,
};
use domain::ports::ConnectorError;
use domain::{Error, GrantId};

use super::drive::DriveEvents;
use super::errors::{down, due, filled};
use super::sync_world::{DAY, SyncWorld};
use super::tables;
use crate::context::NextStep;
use crate::judge::JudgeError;

pub(super) async fn delete(world: &SyncWorld, id: &domain::ConnectionId, with_documents: bool) {
    world.change(id, |connection| {
        connection.status = Status::Deleting;
        connection.delete_documents = with_documents;
    });
    while world.has_connection(id) {
        world.step(id).await.unwrap();
    }
}

#[tokio::test]
async fn documents_of_a_deleted_connection_outlive_another_one_that_cannot_fetch() {
    let (world, id, files) = filled().await;
    delete(&world, &id, false).await;
    assert_eq!(world.service.docs.lock().unwrap().len(), 6);
    files
        .iter()
        .for_each(|file| world.drive.lock().edit_content(file));
    world
        .drive
        .lock()
        .faults
        .insert("fetch", (0..6).map(|_| down()).collect());
    let parent = world.drive.lock().things[&files[0]].parent.clone().unwrap();
    let id = world.add_connection(SyncScope::Selected, &[parent]);
    due(&world, &id);
    assert_eq!(
        world.step(&id).await.unwrap(),
        NextStep::Later(2),
        "all fail"
    );
    world.advance_time(3);
    world.drive.lock().faults.insert("fetch", vec![down()]);
    world.execute_run(&id).await;
    assert_eq!(
        world.service.docs.lock().unwrap().len(),
        6,
        "one is tried again"
    );
    // Deleting a connection does not remove documents that it only intended to make.
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    delete(&world, &id, false).await;
    let third = world.add_connection(SyncScope::Selected, &[]);
    let intents = files.iter().map(|file| DocumentIntent {
        claiming_item: file.clone(),
        source_item: file.clone(),
    });

    world
        .service
        .memory
        .lock()
        .rows
        .entry(third.clone())
        .or_default()
        .state
        .fetching = intents.collect();
    delete(&world, &third, true).await;
    assert_eq!(world.service.docs.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn one_item_that_cannot_be_looked_at_does_not_stop_a_scan() {
    let cases: [fn() -> ConnectorError; 2] = [|| ConnectorError::Fault("odd".into()), down];
    for broken in cases {
        let (world, id, files) = filled().await;
        {
            let mut drive = world.drive.lock();
            drive.things.get_mut(&files[0]).unwrap().shown = false;
            drive.things.get_mut(&files[1]).unwrap().shown = false;
            drive.broken.insert(files[0].clone(), broken);
        }
        world.advance_time(8 * DAY);
        world.execute_run(&id).await;
        assert_eq!(
            world.connection(&id).last_run.unwrap().state,
            RunState::Completed
        );
        assert!(world.record(&id, &files[0]).is_some() && world.record(&id, &files[1]).is_none());

        files[2..].iter().for_each(|file| {
            world.drive.lock().things.get_mut(file).unwrap().shown = false;
            world.drive.lock().broken.insert(file.clone(), broken);
        });
        world.advance_time(8 * DAY);
        due(&world, &id);
        for _ in 0..12 {
            world.step(&id).await.unwrap();
            world.advance_time(200);
        }

        assert_eq!(
            world.connection(&id).last_run.unwrap().state,
            RunState::Failed
        );

        let stays = |file: &String| world.document_of(file).is_some();
        assert!(
            stays(&files[0]) && files[2..].iter().all(stays),
            "many are the provider's matter"
        );
    }
}

#[tokio::test]
async fn a_cursor_that_is_lost_twice_in_a_run_is_taken_anew_by_the_next() {
    let (world, id, files) = filled().await;
    let lost = || ConnectorError::CursorLost;
    world
        .drive
        .lock()
        .faults
        .insert("changes", vec![lost(), lost()]);
    due(&world, &id);
    while world.connection(&id).problem.is_none() {
        world.step(&id).await.unwrap();
    }

    assert_eq!(
        world.connection(&id).problem.unwrap().kind.as_str(),
        "provider_unavailable"
    );
    let state = world.rows(&id).state;
    assert!(state.scanning_since.is_none() && state.must_scan && state.run.is_none());
    assert!(state.feeds.values().all(|feed| feed.cursor.is_none()));
    world.drive.lock().edit_content(&files[0]);
    world.execute_run(&id).await;
    assert_eq!(
        (
            world.document_differences(&id),
            world.connection(&id).problem
        ),
        (Vec::new(), None)
    );
}

#[tokio::test]
async fn faults_of_ours_are_counted_and_shown() {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    world
        .service
        .refused
        .lock()
        .unwrap()
        .push(Error::internal("odd"));
    world.execute_run(&id).await;
    assert_eq!(
        world.connection(&id).last_run.unwrap().state,
        RunState::Completed
    );
    assert_eq!(world.record(&id, &files[0]).unwrap().attempts, 1);
    let gone = || Error::Unavailable("down".into());
    world
        .service
        .refused
        .lock()
        .unwrap()
        .extend((0..8).map(|_| gone()));
    world.advance_time(900);
    due(&world, &id);
    for _ in 0..7 {
        assert!(world.step(&id).await.is_err());
    }

    assert_eq!(world.step(&id).await.unwrap(), NextStep::Idle);
    let connection = world.connection(&id);
    assert_eq!(connection.problem.unwrap().kind.as_str(), "internal");
    assert_eq!(connection.last_run.unwrap().state, RunState::Failed);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

pub(super) fn permit(world: &SyncWorld, id: &domain::ConnectionId) {
    let grant = Grant {
        id: GrantId::derived("cloud-drive", "app", "1"),
        provider: Provider::CloudDrive,
        account: ProviderAccount {
            subject: "1".into(),
            email: None,
        },
        app: OAuthAppRef::Operator {
            client_id: "app".into(),
        },
        connections: BTreeSet::from([id.clone()]),
        secret: "first".into(),
        refreshing_until: None,
        throttled_until: None,
        rev: 1,
    };

    world.change(id, |connection| connection.grant = Some(grant.id.clone()));
    world
        .service
        .memory
        .lock()
        .grants
        .insert(grant.id.clone(), grant);
}

#[tokio::test]
async fn a_late_failure_does_not_undo_a_new_permission() {
    for (reconnected, status) in [
        (Some("second".to_owned()), Status::Active),
        (None, Status::Expired),
    ] {
        let (world, id, _) = filled().await;
        permit(&world, &id);
        world
            .service
            .denied
            .lock()
            .unwrap()
            .push(ConnectorError::Reauth("invalid_grant".into()));
        *world.service.reconnected.lock().unwrap() = reconnected;
        due(&world, &id);
        world.step(&id).await.unwrap();
        assert_eq!(world.connection(&id).status, status);
    }

    // A run that is requested during a failing run follows it.
    let (mut world, id, _) = filled().await;
    world.limits.items = 0;
    due(&world, &id);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Again);
    let now = *world.service.now.lock().unwrap();
    world.change(&id, |connection| {
        connection.request_run(RunTrigger::Manual, now)
    });
    world
        .service
        .denied
        .lock()
        .unwrap()
        .push(ConnectorError::QuotaExceeded);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Again);
    assert_eq!(world.connection(&id).next_run_at, Some(now));
}

#[tokio::test]
async fn pauses_grow_and_long_ones_are_shown() {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    let slow = || ConnectorError::Throttled { retry_after: None };
    world
        .drive
        .lock()
        .faults
        .insert("feeds", (0..9).map(|_| slow()).collect());
    due(&world, &id);
    let (mut pauses, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let now = *world.service.now.lock().unwrap();
        world.step(&id).await.unwrap();
        let pause = now.seconds_until(world.rows(&id).state.leased_until.unwrap());
        pauses.push(pause);
        shown.push(world.connection(&id).problem.is_some());
        world.advance_time(pause);
    }

    assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1920, 1920, 1920]);
    assert_eq!(
        shown,
        [false, false, false, false, false, false, false, true, true]
    );
    assert_eq!(
        world.connection(&id).problem.unwrap().kind.as_str(),
        "rate_limited"
    );
    world.execute_run(&id).await;
    assert_eq!(
        (
            world.document_differences(&id),
            world.connection(&id).problem
        ),
        (Vec::new(), None)
    );
}

#[tokio::test]
async fn a_failed_file_without_room_brings_no_other_run() {
    for (limit, soon) in [(6, false), (7, true)] {
        let (world, id, files) = filled().await;
        let parent = world.drive.lock().things[&files[0]].parent.clone().unwrap();
        world.drive.lock().add_item(&parent, false);
        world.drive.lock().faults.insert("fetch", vec![down()]);
        world.execute_run(&id).await;
        world.change(&id, |connection| connection.document_limit = limit);
        world.drive.lock().faults.insert("fetch", vec![down()]);
        world.execute_run(&id).await;
        let now = *world.service.now.lock().unwrap();
        let next = now.seconds_until(world.connection(&id).next_run_at.unwrap());
        assert_eq!(next <= 1800, soon, "{limit}: {next}");
    }
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_no_failure_of_the_provider() {
    let world = SyncWorld::new(32, DriveEvents::default());
    let (_, folder, files) = tables::create_filled_folder(&world, 6);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    *world.judge.0.lock().unwrap() = Err(JudgeError::Unavailable);
    *world.service.settings.lock().unwrap() = domain::settings::Settings {
        should_llm_filter: Some(true),
        filter_prompt: Some("no lunch".to_owned()),
        ..domain::settings::Settings::default()
    };

    while world.step(&id).await.unwrap() == NextStep::Again {}
    let connection = world.connection(&id);
    assert_eq!(connection.problem, None);
    assert_eq!(connection.last_run.unwrap().state, RunState::Completed);
    for file in &files {
        let record = world.record(&id, file).unwrap();
        assert_eq!((record.state, record.attempts), (ItemState::Pending, 1));
    }

    *world.judge.0.lock().unwrap() = Ok(0);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn what_a_model_cannot_be_asked_about_is_not_read() {
    let world = SyncWorld::new(31, DriveEvents::default());
    let (_, folder, files) = tables::create_filled_folder(&world, 230);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    let prompt = Some("no lunch".to_owned());
    *world.service.settings.lock().unwrap() = domain::settings::Settings {
        should_llm_filter: Some(true),
        filter_prompt: prompt,
        ..domain::settings::Settings::default()
    };

    world.execute_run(&id).await;
    let waits = |file: &&String| world.record(&id, file).unwrap().state == ItemState::Pending;
    assert_eq!(files.iter().filter(waits).count(), 30);
    assert_eq!(*world.judge.0.lock().unwrap(), Ok(200));
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}
