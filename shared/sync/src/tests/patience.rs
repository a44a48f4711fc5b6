//! Tests that temporary failures are retried, and do not delay anything that succeeds.

use domain::connection::{ItemState, RunState, SkipReason};
use domain::ports::ConnectorError;

use super::errors::{down, due, filled};
use super::failures::permit;
use super::sync_world::{DAY, SyncWorld};
use crate::context::NextStep;

const HOUR: i64 = 3600;

/// Executes a scheduled run, and returns the seconds until the next one.
pub(super) async fn execute_scheduled_run(world: &SyncWorld, id: &domain::ConnectionId) -> i64 {
    due(world, id);
    while world.step(id).await.unwrap() == NextStep::Again {}
    world
        .service
        .now
        .lock()
        .unwrap()
        .seconds_until(world.connection(id).next_run_at.unwrap())
}

#[tokio::test]
async fn a_file_that_fails_is_tried_for_more_than_a_day_and_then_by_who_looks_at_everything() {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    let mut waits = Vec::new();
    for tried in 1..=20 {
        world.drive.lock().faults.insert("fetch", vec![down()]);
        let wait = execute_scheduled_run(&world, &id).await;
        let row = world.record(&id, &files[0]).unwrap();
        assert_eq!(
            row.state == ItemState::Pending,
            tried < 20,
            "{tried}: {:?}",
            row.state
        );
        assert_eq!(row.attempts, tried);
        // A run before the end of the wait does not count as an attempt.
        world.advance_time(30);
        assert_eq!(
            execute_scheduled_run(&world, &id).await,
            if tried < 20 { wait - 30 } else { wait }
        );
        assert_eq!(world.record(&id, &files[0]).unwrap(), row);
        waits.push(wait);
        world.advance_time(wait - 30);
    }

    assert_eq!(waits[..4], [HOUR / 4, HOUR / 2, HOUR, 2 * HOUR]);
    assert!(
        waits[4..19].iter().all(|wait| *wait == 2 * HOUR) && waits[19] == 4 * HOUR,
        "{waits:?}"
    );
    assert!(
        world.document_of(&files[0]).is_some(),
        "the old content stays"
    );
    world.advance_time(8 * DAY);
    world.drive.lock().faults.insert("fetch", vec![down()]);
    execute_scheduled_run(&world, &id).await;
    let row = world.record(&id, &files[0]).unwrap();
    assert_eq!((row.state, row.attempts), (ItemState::Pending, 1));
    // A run that a user requests does not wait.
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn an_item_that_is_not_shown_for_a_moment_keeps_its_document() {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    let withheld = || ConnectorError::Item(SkipReason::NotDownloadable);
    world.drive.lock().broken.insert(files[0].clone(), withheld);
    world.execute_run(&id).await;
    assert_eq!(
        world.record(&id, &files[0]).unwrap().state,
        ItemState::Pending
    );
    assert!(world.document_of(&files[0]).is_some());
    world.drive.lock().broken.clear();
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn whoever_waits_for_an_account_does_not_prolong_the_wait() {
    let (world, id, files) = filled().await;
    permit(&world, &id);
    let until = || {
        world
            .service
            .memory
            .lock()
            .grants
            .values()
            .next()
            .unwrap()
            .throttled_until
    };

    world.drive.lock().edit_content(&files[0]);
    world.drive.lock().faults.insert(
        "fetch",
        vec![ConnectorError::Throttled {
            retry_after: Some(77),
        }],
    );
    due(&world, &id);
    assert_eq!(world.step(&id).await.unwrap(), NextStep::Later(77));
    let first = until();
    assert_eq!(
        first,
        Some(world.service.now.lock().unwrap().plus_seconds(77))
    );
    // Another connection of the account begins now, and is told the remaining time, rounded up.
    world.advance_time(76);
    world
        .service
        .memory
        .lock()
        .rows
        .get_mut(&id)
        .unwrap()
        .state
        .leased_until = None;
    world
        .service
        .denied
        .lock()
        .unwrap()
        .push(ConnectorError::Throttled {
            retry_after: Some(2),
        });

    assert_eq!(world.step(&id).await.unwrap(), NextStep::Later(2));
    assert_eq!(until(), first);
    world.advance_time(2);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn one_folder_that_cannot_be_looked_at_does_not_stop_the_changes() {
    let (world, id, files) = filled().await;
    {
        let mut drive = world.drive.lock();
        let outside = drive.add_item("root", true);
        let below = drive.add_item(&outside, false);
        drive
            .broken
            .insert(outside, || ConnectorError::Fault("odd".into()));
        drive.edit_content(&below);
        drive.edit_content(&files[0]);
    }

    world.execute_run(&id).await;
    assert_eq!(
        world.connection(&id).last_run.unwrap().state,
        RunState::Completed
    );
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn many_items_are_deselected_a_few_at_a_time() {
    let (mut world, id, files) = filled().await;
    let (many, other) = {
        let mut drive = world.drive.lock();
        let many: Vec<String> = (0..60).map(|_| drive.add_item("root", false)).collect();
        let other = drive.add_item("root", false);
        (many, other)
    };

    world.select_items(&id, &many);
    world.execute_run(&id).await;
    assert!(many.iter().all(|file| world.document_of(file).is_some()));
    world.limits.items = 0;
    world
        .drive
        .lock()
        .broken
        .insert(many[0].clone(), || ConnectorError::Fault("odd".into()));
    world.select_items(&id, std::slice::from_ref(&other));
    world.execute_run(&id).await;
    world.advance_time(HOUR);
    world.execute_run(&id).await;
    assert!(
        many[1..]
            .iter()
            .chain(&files)
            .all(|file| world.document_of(file).is_none())
    );
    assert!(
        world.document_of(&many[0]).is_some() && world.document_of(&other).is_some(),
        "nobody says that it is gone"
    );
    assert_eq!(
        world
            .rows(&id)
            .state
            .selected_items
            .keys()
            .collect::<Vec<_>>(),
        [&other]
    );
    world.drive.lock().broken.clear();
    world.advance_time(8 * DAY);
    world.execute_run(&id).await;
    world.advance_time(HOUR);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}
