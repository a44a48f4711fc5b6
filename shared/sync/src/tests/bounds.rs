//! Tests of the notifications, and of the number of rows in memory.

use domain::connection::{RunState, SyncScope};

use super::drive::DriveEvents;
use super::tables::create_filled_folder;
use super::world::SyncWorld;

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
    assert_eq!(world.office.docs.lock().unwrap().len(), 0);
    assert!(world.node(&id, &files[0]).is_none());
    assert!(world.office.memory.lock().most_read <= 4 * world.limits.rows);
}

/// A file is seen before the folders above it, and these are moved away before they are seen.
#[tokio::test]
async fn folders_that_were_never_seen_take_along_what_lies_below() {
    let cases = [
        (true, true, 1, 0),
        (true, false, 1, 0),
        (false, true, 1, 0),
        (false, false, 1, 1),
        (false, true, 2, 1),
    ];
    for (ancestors, remove_unknown, depth, leaked) in cases {
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
        (world.flags.ancestors, world.flags.remove_unknown) = (ancestors, remove_unknown);
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
        while world.node(&id, &file).is_none() {
            world.step(&id).await.unwrap();
        }

        world.drive.lock().move_item(&top, &outer);
        world.run_until_settled(&id).await;
        assert_eq!(
            world.document_differences(&id).len(),
            leaked,
            "{ancestors} {remove_unknown} {depth}"
        );
    }
}
