//! Tests of a provider that reports no changes, such as a website.

use std::time::Duration;

use domain::ConnectionId;
use domain::connection::{ItemState, SkipReason, SyncQueue, SyncScope};
use domain::ports::ConnectorError;

use super::drive::DriveEvents;
use super::errors::down;
use super::patience::execute_scheduled_run;
use super::sync_world::{AFTER_GRACE_SECONDS, DAY, SyncWorld};
use crate::limits::{FILE_RETRY_SECONDS, GRACE_SECONDS};

/// The seconds between two scheduled runs of the provider in these tests.
const INTERVAL: i64 = 4 * 3600;

async fn filled() -> (SyncWorld, ConnectionId, Vec<String>) {
    filled_with(true).await
}

async fn filled_with(is_without_changes: bool) -> (SyncWorld, ConnectionId, Vec<String>) {
    let world = SyncWorld::new(40, DriveEvents::default());
    world.drive.lock().is_without_changes = is_without_changes;
    let files: Vec<String> = (0..3)
        .map(|_| world.drive.lock().add_item("root", false))
        .collect();
    let id = world.add_connection(SyncScope::Full, &[]);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    (world, id, files)
}

/// Shows an item, or hides it.
fn show(world: &SyncWorld, item: &str, is_shown: bool) {
    let mut drive = world.drive.lock();
    drive.change_item(item, |item| item.shown = is_shown);
}

#[tokio::test]
async fn a_run_for_one_file_that_failed_lists_nothing() {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    world.drive.lock().faults.insert("fetch", vec![down()]);
    world.execute_run(&id).await;
    assert_eq!(world.record(&id, &files[0]).unwrap().attempts, 1);

    let listed = || world.drive.lock().listed;
    let before = listed();
    world.advance_time(FILE_RETRY_SECONDS);
    execute_scheduled_run(&world, &id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    assert_eq!(listed(), before);

    world.execute_run(&id).await;
    let requested = listed();
    assert!(requested > before, "a user requested it");
    world.advance_time(8 * DAY);
    execute_scheduled_run(&world, &id).await;
    assert!(listed() > requested, "a week has passed");
}

#[tokio::test]
async fn a_removal_is_done_after_a_second_lookup_and_without_a_listing() {
    let (world, id, files) = filled().await;
    show(&world, &files[0], false);
    show(&world, &files[1], false);
    world.execute_run(&id).await;
    assert_eq!(world.waiting(&id, SyncQueue::Remove), 2);
    assert_eq!(world.service.docs.lock().unwrap().len(), 3);

    show(&world, &files[0], true);
    let before = world.drive.lock().listed;
    world.advance_time(AFTER_GRACE_SECONDS);
    let wait = execute_scheduled_run(&world, &id).await;
    assert_eq!(world.drive.lock().listed, before);
    assert!(world.document_of(&files[0]).is_some(), "it is back");
    assert!(world.document_of(&files[1]).is_none());

    // A scan finds what else is back.
    assert!(wait < INTERVAL, "{wait}");
    world.advance_time(wait);
    assert_eq!(execute_scheduled_run(&world, &id).await, INTERVAL);
    assert!(world.drive.lock().listed > before);
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn a_removal_that_nothing_confirms_waits_for_the_schedule() {
    let (world, id, files) = filled().await;
    show(&world, &files[0], false);
    world.execute_run(&id).await;

    let withheld = || ConnectorError::Item(SkipReason::NotDownloadable);
    world.drive.lock().broken.insert(files[0].clone(), withheld);
    world.advance_time(GRACE_SECONDS);
    assert_eq!(execute_scheduled_run(&world, &id).await, INTERVAL);
    assert!(world.document_of(&files[0]).is_some());

    world.drive.lock().broken.clear();
    world.advance_time(INTERVAL);
    execute_scheduled_run(&world, &id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn items_are_requested_one_after_another_where_the_connector_says_so() {
    for is_without_changes in [true, false] {
        let (mut world, id, files) = filled_with(is_without_changes).await;
        world.limits.rows = 200;
        world.drive.lock().most_in_progress = 0;
        show(&world, &files[0], false);
        show(&world, &files[1], false);
        (0..2).for_each(|_| drop(world.drive.lock().add_item("root", false)));
        world.execute_run(&id).await;

        let most = world.drive.lock().most_in_progress;
        assert_eq!(most == 1, is_without_changes, "{most}");
    }
}

#[tokio::test]
async fn a_file_that_would_be_late_is_begun_in_the_next_step() {
    let (mut world, id, files) = filled().await;
    world.limits.request_time = Duration::from_millis(500);
    for (file, millis) in [(&files[0], 430), (&files[1], 100)] {
        let time = Duration::from_millis(millis);
        world.drive.lock().slow.insert(file.clone(), time);
        world.drive.lock().edit_content(file);
    }

    world.execute_run(&id).await;
    let second = world.record(&id, &files[1]).unwrap();
    assert_eq!((second.state, second.attempts), (ItemState::Filed, 0));
}
