//! Tests of what the deletion of a connection ends: its documents, its notifications, and its
//! permission.

use domain::connection::{ConnectionStatus as Status, SyncQueue};
use domain::{ConnectionId, GrantId};

use super::errors::{down, filled};
use super::failures::{delete, permit};
use super::sync_world::{AFTER_GRACE_SECONDS, DAY, SyncWorld};
use crate::context::NextStep;

fn grant_users(world: &SyncWorld) -> Option<Vec<ConnectionId>> {
    let records = world.service.memory.lock();
    let grant = records.grants.values().next()?;
    Some(grant.connections.iter().cloned().collect())
}

/// Creates another connection that uses the grant of the first one.
fn add_user_of_grant(world: &SyncWorld) -> ConnectionId {
    let other = world.add_connection(domain::connection::SyncScope::Selected, &[]);
    let grant = GrantId::derived("cloud-drive", "app", "1");
    let mut records = world.service.memory.lock();
    records
        .grants
        .get_mut(&grant)
        .unwrap()
        .connections
        .insert(other.clone());
    records.connections.get_mut(&other).unwrap().grant = Some(grant);
    other
}

#[tokio::test]
async fn only_the_last_connection_of_a_permission_ends_it() {
    let (world, id, _) = filled().await;
    permit(&world, &id);
    let other = add_user_of_grant(&world);

    delete(&world, &id, false).await;
    assert_eq!(grant_users(&world), Some(vec![other.clone()]));
    assert_eq!(world.drive.lock().revocations, 0);
    assert!(world.service.forgotten_tokens.lock().unwrap().is_empty());

    delete(&world, &other, false).await;
    assert_eq!(grant_users(&world), None);
    assert_eq!(world.drive.lock().revocations, 1);
    assert_eq!(*world.service.forgotten_tokens.lock().unwrap(), ["first"]);
}

#[tokio::test]
async fn a_permission_that_cannot_be_revoked_is_tried_for_a_day() {
    let (world, id, _) = filled().await;
    permit(&world, &id);
    world.change(&id, |connection| connection.status = Status::Deleting);
    let failures = (0..1000).map(|_| down()).collect();
    world.drive.lock().faults.insert("revoke", failures);

    let mut waited = 0;
    while world.has_connection(&id) {
        if let NextStep::Later(seconds) = world.step(&id).await.unwrap() {
            assert_eq!(seconds, 600, "after {waited} s");
            assert!(
                grant_users(&world).is_some(),
                "the permission is still known"
            );
            world.advance_time(600);
            waited += 600;
        }
    }

    assert_eq!(waited, DAY);
    assert_eq!(grant_users(&world), None);
    assert_eq!(*world.service.forgotten_tokens.lock().unwrap(), ["first"]);
}

#[tokio::test]
async fn documents_that_wait_to_be_removed_go_along_with_the_others() {
    for with_documents in [false, true] {
        let (world, id, files) = filled().await;
        world.drive.lock().things.get_mut(&files[0]).unwrap().shown = false;
        world.advance_time(8 * DAY);
        world.execute_run(&id).await;
        assert_eq!(world.waiting(&id, SyncQueue::Remove), 1, "the grace period");

        delete(&world, &id, with_documents).await;
        let documents = world.service.docs.lock().unwrap();
        let count = if with_documents { 0 } else { 6 };
        assert_eq!(documents.len(), count);
        let claims = documents.values().map(|document| document.claims.len());
        assert_eq!(claims.sum::<usize>(), 0, "no claim is left behind");
    }
}

#[tokio::test]
async fn notifications_end_with_the_connection() {
    let (mut world, id, _) = filled().await;
    world.notifications = Some("https://recollect.test".into());
    world.advance_time(AFTER_GRACE_SECONDS);
    world.execute_run(&id).await;
    let begun = world.drive.lock().watched.len();
    assert!(begun > 0, "notifications were requested");

    delete(&world, &id, false).await;
    let drive = world.drive.lock();
    let ended = drive.watched.iter().filter(|(feed, _)| feed == "-").count();
    assert_eq!(ended, begun);
}
