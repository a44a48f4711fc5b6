//! Tests of a provider that reports no changes, such as a website.

use domain::ConnectionId;
use domain::connection::{SkipReason, SyncQueue, SyncScope};
use domain::ports::ConnectorError;

use super::drive::DriveEvents;
use super::errors::down;
use super::patience::execute_scheduled_run;
use super::sync_world::{AFTER_GRACE_SECONDS, DAY, SyncWorld};
use crate::limits::{FILE_RETRY_SECONDS, GRACE_SECONDS};

/// The seconds between two scheduled runs of the provider in these tests.
const INTERVAL: i64 = 4 * 3600;

async fn filled() -> (SyncWorld, ConnectionId, Vec<String>) {
    let world = SyncWorld::new(40, DriveEvents::default());
    world.drive.lock().is_without_changes = true;
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
