//! Tests of the notifications, and of the number of rows in memory.

use domain::connection::{RunState, SyncScope};

use super::drive::DriveEvents;
use super::sync_world::SyncWorld;
use super::tables::create_filled_folder;

#[tokio::test]
async fn notifications_are_asked_for_where_they_can_arrive() {
    for (base, channels) in [
        (Some("https://a.example/"), 1),
        (Some("http://a.example"), 0),
        (None, 0),
    ] {
        let mut world = SyncWorld::new(11, DriveEvents::default());
        let (_, folder, _) = create_filled_folder(&world, 1);
        world.notifications = base.map(str::to_owned);
        let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
        world.execute_run(&id).await;
        world.execute_run(&id).await;
        assert_eq!(world.drive.lock().watched.len(), channels, "{base:?}");

        if channels > 0 {
            let address = "https://a.example/v3/connections/cloud-drive/notifications";
            assert_eq!(
                world.drive.lock().watched[0],
                ("user".into(), address.into())
            );
            world.advance_time(6 * 86_400 + 10);
            world.execute_run(&id).await;
            assert_eq!(
                world.drive.lock().watched.len(),
                3,
                "a new one, and the end of the old one"
            );
        }
    }
}

#[tokio::test]
async fn a_large_folder_is_never_in_memory_at_once() {
    let world = SyncWorld::new(12, DriveEvents::default());
    let (outer, folder, files) = create_filled_folder(&world, 300);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    assert_eq!(
        (
            world.document_differences(&id).len(),
            world.rows(&id).runs[&1].state
        ),
        (0, RunState::Completed)
    );

    world
        .drive
        .lock()
        .change_item(&outer, |outer| outer.trashed = true);
    world.run_until_settled(&id).await;
    assert_eq!(world.service.docs.lock().unwrap().len(), 0);
    assert!(world.record(&id, &files[0]).is_none());
    assert!(world.service.memory.lock().most_read <= 4 * world.limits.rows);
}

/// A file is seen before the folders above it, and these are moved away before they are seen.
#[tokio::test]
async fn folders_that_were_never_seen_take_along_what_lies_below() {
    for depth in [1, 2] {
        let mut world = SyncWorld::new(13, DriveEvents::default());
        let (outer, folder, _) = create_filled_folder(&world, 1);
        let (top, file) = {
            let mut drive = world.drive.lock();
            let top = drive.add_item(&outer, true);
            let inner = if depth == 2 {
                drive.add_item(&top, true)
            } else {
                top.clone()
            };
            (top, drive.add_item(&inner, false))
        };
        let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
        world.execute_run(&id).await;
        {
            let mut drive = world.drive.lock();
            drive.edit_content(&file);
            (0..2).for_each(|_| drop(drive.add_item(&outer, false)));
            drive.move_item(&top, &folder);
        }
        world.limits.items = 1;
        world.change(&id, |connection| {
            connection.next_run_at = Some(connection.created_at)
        });
        while world.record(&id, &file).is_none() {
            world.step(&id).await.unwrap();
        }

        world.drive.lock().move_item(&top, &outer);
        world.run_until_settled(&id).await;
        assert_eq!(world.document_differences(&id), [""; 0], "{depth}");
    }
}
