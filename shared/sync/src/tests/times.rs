//! Tests of the time limits of a tick, and of the amount of work in it.

use std::time::{Duration, Instant};

use domain::connection::{ItemState, SkipReason, SyncScope};

use super::drive::DriveEvents;
use super::errors::{due, filled};
use super::sync_world::{AFTER_GRACE_SECONDS, SyncWorld};
use super::tables;
use crate::context::NextStep;

const MB: usize = 1024 * 1024;

#[tokio::test]
async fn a_file_that_never_comes_costs_one_try() {
    let (mut world, id, files) = filled().await;
    world.limits.request_time = Duration::from_millis(100);
    files[..3]
        .iter()
        .for_each(|file| world.drive.lock().edit_content(file));
    world
        .drive
        .lock()
        .silent
        .insert(format!("fetch {}", files[0]));
    world.execute_run(&id).await;
    let tried = files[..3]
        .iter()
        .map(|file| world.record(&id, file).unwrap().attempts);
    assert_eq!(tried.collect::<Vec<_>>(), [1, 0, 0]);

    world.drive.lock().silent.clear();
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn a_tick_ends_whatever_does_not_answer() {
    for silent in ["feeds", "stat"] {
        let (mut world, id, files) = filled().await;
        world.limits.request_time = Duration::from_millis(50);
        world.limits.total_time = Duration::from_millis(100);
        let parent = world.drive.lock().things[&files[0]].parent.clone().unwrap();
        world
            .drive
            .lock()
            .silent
            .extend([silent.to_owned(), format!("{silent} {parent}")]);
        due(&world, &id);
        let begin = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let next = world.step(&id).await.unwrap();
            pauses.push(next);
            world.advance_time(200);
        }

        assert!(begin.elapsed() < Duration::from_secs(5), "{silent}");
        assert_eq!(
            (pauses[0], pauses[7]),
            (NextStep::Later(2), NextStep::Idle),
            "{silent}"
        );
        assert_eq!(
            world.connection(&id).problem.unwrap().kind.as_str(),
            "provider_unavailable"
        );
        assert_eq!(world.service.docs.lock().unwrap().len(), 6);
    }
}

#[tokio::test]
async fn many_feeds_are_taken_a_few_at_a_time() {
    let mut world = SyncWorld::new(30, DriveEvents::default());
    let (_, folder, _) = tables::create_filled_folder(&world, 1);
    world
        .drive
        .lock()
        .joined
        .extend((0..24).map(|n| format!("drive{n:02}")));
    world.notifications = Some("https://a.example".into());
    world.limits.items = 0;
    let id = world.add_connection(SyncScope::Selected, &[folder]);
    world.step(&id).await.unwrap();
    let state = world.rows(&id).state;
    assert_eq!(
        state
            .feeds
            .values()
            .filter(|feed| feed.pending.is_some())
            .count(),
        10
    );
    assert!(state.scanning_since.is_none());
    world.limits.items = 40;
    world.limits.seconds = 0;
    let mut most = 0;
    while world.rows(&id).state.run.is_some() {
        let before = world.drive.lock().watched.len();
        world.step(&id).await.unwrap();
        most = most.max(world.drive.lock().watched.len() - before);
    }

    assert_eq!((world.drive.lock().watched.len(), most), (25, 10));
    assert_eq!(world.document_differences(&id), [""; 0]);
}

#[tokio::test]
async fn a_second_look_after_a_mass_removal_is_taken_in_parts() {
    let mut world = SyncWorld::new(32, DriveEvents::default());
    let (_, folder, files) = tables::create_filled_folder(&world, 60);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    for file in &files[..40] {
        world
            .drive
            .lock()
            .change_item(file, |file| file.trashed = true);
    }

    world.execute_run(&id).await;
    for file in &files[..40] {
        world.drive.lock().things.get_mut(file).unwrap().trashed = false;
    }

    world.advance_time(AFTER_GRACE_SECONDS);
    world.limits.seconds = 0;
    due(&world, &id);
    let mut most = 0;
    world.step(&id).await.unwrap();
    while let Some(run) = world.rows(&id).state.run {
        world.step(&id).await.unwrap();
        let now = world
            .rows(&id)
            .state
            .run
            .map_or(run.requests, |run| run.requests);
        most = most.max(now - run.requests);
    }

    assert!(most <= 10, "{most} requests in a tick");
    world.limits.seconds = 45;
    world.run_until_settled(&id).await;
    assert_eq!(
        (
            world.document_differences(&id),
            world.service.docs.lock().unwrap().len()
        ),
        (Vec::new(), 60)
    );
}

#[tokio::test]
async fn a_file_of_untold_size_gets_the_room_that_it_needs() {
    for (bytes, fits) in [(1, true), (20 * MB, true), (60 * MB, false)] {
        let (world, id, files) = filled().await;
        world.drive.lock().unstated_size = Some(bytes);
        world.drive.lock().edit_content(&files[0]);
        world.execute_run(&id).await;
        let skipped = ItemState::Skipped {
            reason: SkipReason::TooLarge,
        };
        let state = if fits { ItemState::Filed } else { skipped };
        assert_eq!(
            world.record(&id, &files[0]).unwrap().state,
            state,
            "{bytes}"
        );
    }
}
