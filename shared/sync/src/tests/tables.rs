//! Tests of the engine in single situations.

use domain::connection::{
    ConnectionErrorKind, ConnectionStatus, ItemState, SkipReason, SyncQueue, SyncScope,
};
use domain::settings::{ItemRules, Settings};

use super::drive::DriveEvents;
use super::sync_world::{AFTER_GRACE_SECONDS, SyncWorld};
use crate::judge::JudgeError;

/// Creates a folder to select, with `files` files, inside another folder.
pub(super) fn create_filled_folder(
    world: &SyncWorld,
    files: usize,
) -> (String, String, Vec<String>) {
    let mut drive = world.drive.lock();
    let outer = drive.add_item("root", true);
    let folder = drive.add_item(&outer, true);
    let files = (0..files).map(|_| drive.add_item(&folder, false)).collect();
    (outer, folder, files)
}

fn state(world: &SyncWorld, id: &domain::ConnectionId, item: &str) -> ItemState {
    world.record(id, item).unwrap().state
}

#[tokio::test]
async fn a_document_outlives_a_short_absence_of_its_item() {
    let world = SyncWorld::new(1, DriveEvents::default());
    let (_, folder, files) = create_filled_folder(&world, 3);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);

    let fetched = world.drive.lock().fetched;
    world
        .drive
        .lock()
        .change_item(&files[0], |file| file.trashed = true);
    world.execute_run(&id).await;
    assert!(world.document_of(&files[0]).is_some() && world.record(&id, &files[0]).is_none());

    world
        .drive
        .lock()
        .change_item(&files[0], |file| file.trashed = false);
    world.execute_run(&id).await;
    assert_eq!(state(&world, &id, &files[0]), ItemState::Filed);
    assert_eq!(
        (
            world.waiting(&id, SyncQueue::Remove),
            world.drive.lock().fetched
        ),
        (0, fetched)
    );

    world.drive.lock().delete_item(&files[0]);
    world.execute_run(&id).await;
    let next = world.connection(&id).next_run_at.unwrap();
    assert!(
        next <= domain::Timestamp::from_millis(super::sync_world::BEGIN).plus_seconds(900),
        "{next}"
    );

    world.advance_time(700);
    world.execute_run(&id).await;
    assert!(world.document_of(&files[0]).is_none() && world.document_of(&files[1]).is_some());
    assert_eq!(world.rows(&id).state.documents, 2);
}

#[tokio::test]
async fn renames_and_moves_fetch_nothing() {
    let world = SyncWorld::new(2, DriveEvents::default());
    let (outer, folder, files) = create_filled_folder(&world, 4);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    let fetched = world.drive.lock().fetched;

    world.drive.lock().rename_item(&files[0], "other");
    world.drive.lock().rename_item(&outer, "Elsewhere");
    world.execute_run(&id).await;
    assert_eq!(
        (world.document_differences(&id), world.drive.lock().fetched),
        (Vec::new(), fetched)
    );
    assert!(
        world
            .document_of(&files[0])
            .unwrap()
            .path
            .ends_with("/Elsewhere/n2/other")
    );

    world.drive.lock().edit_content(&files[1]);
    world.execute_run(&id).await;
    assert_eq!(
        (world.document_differences(&id), world.drive.lock().fetched),
        (Vec::new(), fetched + 1)
    );
}

#[tokio::test]
async fn what_is_deselected_goes_at_once_however_much_it_is() {
    let world = SyncWorld::new(3, DriveEvents::default());
    let (outer, folder, _) = create_filled_folder(&world, 30);
    let other = world.drive.lock().add_item(&outer, true);
    let file = world.drive.lock().add_item(&other, false);
    let id = world.add_connection(SyncScope::Selected, &[folder.clone(), other.clone()]);
    world.execute_run(&id).await;
    assert_eq!(world.service.docs.lock().unwrap().len(), 31);

    world.select_items(&id, std::slice::from_ref(&other));
    world.execute_run(&id).await;
    assert_eq!(
        (
            world.document_differences(&id),
            world.rows(&id).state.documents
        ),
        (Vec::new(), 1)
    );

    // Documents that another selected item contains stay.
    world.select_items(&id, &[outer.clone(), other.clone()]);
    world.execute_run(&id).await;
    world.select_items(&id, std::slice::from_ref(&outer));
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    assert!(world.document_of(&file).is_some());
}

#[tokio::test]
async fn a_mass_removal_waits_for_a_second_look() {
    let world = SyncWorld::new(4, DriveEvents::default());
    let (_, folder, files) = create_filled_folder(&world, 20);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    for file in &files[..12] {
        world
            .drive
            .lock()
            .change_item(file, |file| file.trashed = true);
    }

    world.execute_run(&id).await;
    let connection = world.connection(&id);
    assert_eq!(connection.problem.unwrap().kind.as_str(), "removal_held");
    assert_eq!(
        connection.last_run.unwrap().error.unwrap().0.as_str(),
        "removal_held"
    );
    assert_eq!(world.service.docs.lock().unwrap().len(), 20);
    // One item reappears without a reported change.
    world
        .drive
        .lock()
        .things
        .get_mut(&files[0])
        .unwrap()
        .trashed = false;
    world.advance_time(AFTER_GRACE_SECONDS);
    world.execute_run(&id).await;
    assert_eq!(
        (
            world.document_differences(&id),
            world.connection(&id).problem
        ),
        (Vec::new(), None)
    );
    assert_eq!(world.service.docs.lock().unwrap().len(), 9);
}

#[tokio::test]
async fn the_newest_come_first_and_others_follow_when_there_is_room() {
    let world = SyncWorld::new(5, DriveEvents::default());
    let (_, folder, files) = create_filled_folder(&world, 12);
    for (age, file) in files.iter().enumerate() {
        world.drive.lock().things.get_mut(file).unwrap().content = 100 - age as u64;
    }

    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.change(&id, |connection| connection.document_limit = 5);
    world.execute_run(&id).await;
    let have_documents = |from: usize, to: usize| {
        files[from..to]
            .iter()
            .all(|file| world.document_of(file).is_some())
    };
    let limited = || {
        files
            .iter()
            .filter(|file| {
                state(&world, &id, file)
                    == ItemState::Skipped {
                        reason: SkipReason::Limit,
                    }
            })
            .count()
    };

    assert!(have_documents(0, 5), "the newest");
    assert_eq!(
        (world.service.docs.lock().unwrap().len(), limited()),
        (5, 7)
    );
    world.drive.lock().delete_item(&files[0]);
    world.execute_run(&id).await;
    world.advance_time(700);
    world.execute_run(&id).await;
    assert!(world.document_of(&files[0]).is_none() && have_documents(1, 6));
    world.change(&id, |connection| connection.document_limit = 8);
    world.execute_run(&id).await;
    assert!(have_documents(1, 9) && world.rows(&id).state.documents == 8);
    // An update does not count against the limit.
    world.drive.lock().edit_content(&files[3]);
    world.execute_run(&id).await;
    assert_eq!(world.rows(&id).state.documents, 8);
}

#[tokio::test]
async fn rules_are_applied_to_what_is_known_without_a_listing() {
    let world = SyncWorld::new(6, DriveEvents::default());
    let (_, folder, files) = create_filled_folder(&world, 6);
    world.drive.lock().rename_item(&files[0], "lunch.txt");
    world.drive.lock().rename_item(&files[1], "b.tmp");
    world.drive.lock().rename_item(&files[2], "c.odd");
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    assert_eq!(world.service.docs.lock().unwrap().len(), 5);
    let rules = ItemRules {
        patterns: vec!["*.tmp".into()],
        ..ItemRules::default()
    };

    let prompt = Some("no lunch".to_owned());
    let settings = Settings {
        should_llm_filter: Some(true),
        exclude_items: Some(rules),
        filter_prompt: prompt,
        ..Settings::default()
    };

    *world.service.settings.lock().unwrap() = settings;
    world.drive.lock().faults.insert(
        "children",
        vec![domain::ports::ConnectorError::Fault("listed".into())],
    );
    world.execute_run(&id).await;
    let reason = |file: &str| match state(&world, &id, file) {
        ItemState::Skipped { reason } => Some(reason.as_str()),
        _ => None,
    };

    assert_eq!(reason(&files[0]), Some("filtered_out"));
    assert_eq!(reason(&files[1]), Some("excluded"));
    assert_eq!(reason(&files[2]), Some("unsupported_type"));
    assert!(
        world.document_of(&files[0]).is_none()
            && world.document_of(&files[1]).is_none()
            && world.document_of(&files[3]).is_some()
    );
    let asked = *world.judge.0.lock().unwrap();
    world.drive.lock().rename_item(&files[3], "another name");
    world.execute_run(&id).await;
    assert_eq!(
        *world.judge.0.lock().unwrap(),
        asked,
        "a model is asked once about a content"
    );
    *world.service.settings.lock().unwrap() = Settings::default();
    world.execute_run(&id).await;
    assert_eq!(world.service.docs.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn without_a_model_what_it_is_to_filter_waits() {
    let world = SyncWorld::new(7, DriveEvents::default());
    let (_, folder, files) = create_filled_folder(&world, 2);
    *world.judge.0.lock().unwrap() = Err(JudgeError::NotConfigured);
    let prompt = Some("no lunch".to_owned());
    *world.service.settings.lock().unwrap() = Settings {
        should_llm_filter: Some(true),
        filter_prompt: prompt,
        ..Settings::default()
    };

    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    assert_eq!(
        state(&world, &id, &files[0]),
        ItemState::Skipped {
            reason: SkipReason::PendingFilter
        }
    );
    let connection = world.connection(&id);
    assert_eq!(
        connection.problem.map(|problem| problem.kind),
        Some(ConnectionErrorKind::ModelRequired)
    );

    *world.judge.0.lock().unwrap() = Ok(0);
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    assert!(world.connection(&id).problem.is_none());
}

#[tokio::test]
async fn two_connections_share_a_document_and_the_last_one_takes_it_along() {
    let world = SyncWorld::new(8, DriveEvents::default());
    let (outer, folder, files) = create_filled_folder(&world, 3);
    let one = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    let two = world.add_connection(SyncScope::Selected, std::slice::from_ref(&outer));
    world.execute_run(&one).await;
    let fetched = world.drive.lock().fetched;
    world.execute_run(&two).await;
    assert_eq!(
        (
            world.document_differences(&one),
            world.document_differences(&two),
            world.drive.lock().fetched
        ),
        (vec![], vec![], fetched)
    );
    for (connection, with_documents, left) in [(&one, true, 3), (&two, true, 0)] {
        world.change(connection, |connection| {
            connection.status = ConnectionStatus::Deleting;
            connection.delete_documents = with_documents;
        });
        for _ in 0..20 {
            world.step(connection).await.unwrap();
        }
        assert!(!world.has_connection(connection));
        assert_eq!(world.service.docs.lock().unwrap().len(), left);
        assert!(world.rows(connection).records.is_empty());
    }

    assert!(world.document_of(&files[0]).is_none());
}

#[tokio::test]
async fn shortcuts_bring_what_they_lead_to() {
    let world = SyncWorld::new(
        9,
        DriveEvents {
            shortcuts: true,
            ..DriveEvents::default()
        },
    );
    let (outer, folder, files) = create_filled_folder(&world, 2);
    let outside = world.drive.lock().add_item(&outer, false);
    let (to_file, to_folder, to_inside) = {
        let mut drive = world.drive.lock();
        (
            drive.add_shortcut(&folder, &outside),
            drive.add_shortcut(&folder, &outer),
            drive.add_shortcut(&folder, &files[0]),
        )
    };

    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    assert_eq!(
        state(&world, &id, &to_folder),
        ItemState::Skipped {
            reason: SkipReason::Shortcut
        }
    );
    assert_eq!(world.document_of(&files[0]).unwrap().claims.len(), 2);
    world.drive.lock().edit_content(&outside);
    world.drive.lock().delete_item(&files[0]);
    world.run_until_settled(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
    assert_eq!(world.document_of(&outside).unwrap().content, "2");
    assert_eq!(
        state(&world, &id, &to_inside),
        ItemState::Skipped {
            reason: SkipReason::Shortcut
        }
    );
    assert_eq!(state(&world, &id, &to_file), ItemState::Filed);
    world
        .drive
        .lock()
        .change_item(&to_file, |link| link.target = Some(files[1].clone()));
    world.run_until_settled(&id).await;
    assert_eq!(
        (world.document_differences(&id), world.document_of(&outside)),
        (Vec::new(), None)
    );
}

#[tokio::test]
async fn selected_items_are_guarded_against_what_happens_above() {
    let world = SyncWorld::new(10, DriveEvents::default());
    let (outer, folder, _) = create_filled_folder(&world, 3);
    let id = world.add_connection(SyncScope::Selected, std::slice::from_ref(&folder));
    world.execute_run(&id).await;
    world.select_items(&id, &[folder.clone(), outer.clone()]);
    world.execute_run(&id).await;
    world.select_items(&id, std::slice::from_ref(&folder));
    world.execute_run(&id).await;

    // By now the engine knows that one folder is inside the other. A change of the outer folder
    // is out of scope.
    world.drive.lock().change_item(&outer, |_| {});
    world.run_until_settled(&id).await;
    assert_eq!(world.document_differences(&id), [""; 0]);
}
