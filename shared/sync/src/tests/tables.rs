//! Tests of the engine in single situations.

use domain::connection::{ConnectionStatus, NodeState, Queue, SkipReason, SyncScope};
use domain::settings::{ItemRules, Settings};

use super::drive::Life;
use super::world::{A_WHILE, World};
use crate::judge::JudgeError;

/// Creates a folder to select, with `files` files, inside another folder.
pub(super) fn filled(world: &World, files: usize) -> (String, String, Vec<String>) {
    let mut drive = world.drive.lock();
    let outer = drive.add("root", true);
    let folder = drive.add(&outer, true);
    let files = (0..files).map(|_| drive.add(&folder, false)).collect();
    (outer, folder, files)
}

fn state(world: &World, id: &domain::ConnectionId, item: &str) -> NodeState {
    world.node(id, item).unwrap().state
}

#[tokio::test]
async fn a_document_outlives_a_short_absence_of_its_item() {
    let world = World::new(1, Life::default());
    let (_, folder, files) = filled(&world, 3);
    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.run(&id).await;
    assert_eq!(world.faults(&id), [""; 0]);

    let fetched = world.drive.lock().fetched;
    world
        .drive
        .lock()
        .change(&files[0], |file| file.trashed = true);
    world.run(&id).await;
    assert!(world.doc(&files[0]).is_some() && world.node(&id, &files[0]).is_none());

    world
        .drive
        .lock()
        .change(&files[0], |file| file.trashed = false);
    world.run(&id).await;
    assert_eq!(state(&world, &id, &files[0]), NodeState::Filed);
    assert_eq!(
        (world.waiting(&id, Queue::Leave), world.drive.lock().fetched),
        (0, fetched)
    );

    world.drive.lock().delete(&files[0]);
    world.run(&id).await;
    let next = world.connection(&id).next_run_at.unwrap();
    assert!(
        next <= domain::Timestamp::from_millis(super::world::BEGIN).plus_seconds(900),
        "{next}"
    );

    world.pass(700);
    world.run(&id).await;
    assert!(world.doc(&files[0]).is_none() && world.doc(&files[1]).is_some());
    assert_eq!(world.rows(&id).state.documents, 2);
}

#[tokio::test]
async fn renames_and_moves_fetch_nothing() {
    let world = World::new(2, Life::default());
    let (outer, folder, files) = filled(&world, 4);
    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.run(&id).await;
    let fetched = world.drive.lock().fetched;

    world.drive.lock().rename(&files[0], "other");
    world.drive.lock().rename(&outer, "Elsewhere");
    world.run(&id).await;
    assert_eq!(
        (world.faults(&id), world.drive.lock().fetched),
        (Vec::new(), fetched)
    );
    assert!(
        world
            .doc(&files[0])
            .unwrap()
            .path
            .ends_with("/Elsewhere/n2/other")
    );

    world.drive.lock().edit(&files[1]);
    world.run(&id).await;
    assert_eq!(
        (world.faults(&id), world.drive.lock().fetched),
        (Vec::new(), fetched + 1)
    );
}

#[tokio::test]
async fn what_is_deselected_goes_at_once_however_much_it_is() {
    let world = World::new(3, Life::default());
    let (outer, folder, _) = filled(&world, 30);
    let other = world.drive.lock().add(&outer, true);
    let file = world.drive.lock().add(&other, false);
    let id = world.connect(SyncScope::Selected, &[folder.clone(), other.clone()]);
    world.run(&id).await;
    assert_eq!(world.office.docs.lock().unwrap().len(), 31);

    world.select(&id, std::slice::from_ref(&other));
    world.run(&id).await;
    assert_eq!(
        (world.faults(&id), world.rows(&id).state.documents),
        (Vec::new(), 1)
    );

    // Documents that another selected item contains stay.
    world.select(&id, &[outer.clone(), other.clone()]);
    world.run(&id).await;
    world.select(&id, std::slice::from_ref(&outer));
    world.run(&id).await;
    assert_eq!(world.faults(&id), [""; 0]);
    assert!(world.doc(&file).is_some());
}

#[tokio::test]
async fn a_mass_removal_waits_for_a_second_look() {
    let world = World::new(4, Life::default());
    let (_, folder, files) = filled(&world, 20);
    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.run(&id).await;
    for file in &files[..12] {
        world.drive.lock().change(file, |file| file.trashed = true);
    }

    world.run(&id).await;
    let connection = world.connection(&id);
    assert_eq!(connection.problem.unwrap().kind.as_str(), "removal_held");
    assert_eq!(
        connection.last_run.unwrap().error.unwrap().0.as_str(),
        "removal_held"
    );
    assert_eq!(world.office.docs.lock().unwrap().len(), 20);
    // One item reappears without a reported change.
    world
        .drive
        .lock()
        .things
        .get_mut(&files[0])
        .unwrap()
        .trashed = false;
    world.pass(A_WHILE);
    world.run(&id).await;
    assert_eq!(
        (world.faults(&id), world.connection(&id).problem),
        (Vec::new(), None)
    );
    assert_eq!(world.office.docs.lock().unwrap().len(), 9);
}

#[tokio::test]
async fn the_newest_come_first_and_others_follow_when_there_is_room() {
    let world = World::new(5, Life::default());
    let (_, folder, files) = filled(&world, 12);
    for (age, file) in files.iter().enumerate() {
        world.drive.lock().things.get_mut(file).unwrap().content = 100 - age as u64;
    }

    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.change(&id, |connection| connection.document_limit = 5);
    world.run(&id).await;
    let filed =
        |from: usize, to: usize| files[from..to].iter().all(|file| world.doc(file).is_some());
    let limited = || {
        files
            .iter()
            .filter(|file| {
                state(&world, &id, file)
                    == NodeState::Skipped {
                        reason: SkipReason::Limit,
                    }
            })
            .count()
    };

    assert!(filed(0, 5), "the newest");
    assert_eq!((world.office.docs.lock().unwrap().len(), limited()), (5, 7));
    world.drive.lock().delete(&files[0]);
    world.run(&id).await;
    world.pass(700);
    world.run(&id).await;
    assert!(world.doc(&files[0]).is_none() && filed(1, 6));
    world.change(&id, |connection| connection.document_limit = 8);
    world.run(&id).await;
    assert!(filed(1, 9) && world.rows(&id).state.documents == 8);
    // An update does not count against the limit.
    world.drive.lock().edit(&files[3]);
    world.run(&id).await;
    assert_eq!(world.rows(&id).state.documents, 8);
}

#[tokio::test]
async fn rules_are_applied_to_what_is_known_without_a_listing() {
    let world = World::new(6, Life::default());
    let (_, folder, files) = filled(&world, 6);
    world.drive.lock().rename(&files[0], "lunch.txt");
    world.drive.lock().rename(&files[1], "b.tmp");
    world.drive.lock().rename(&files[2], "c.odd");
    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.run(&id).await;
    assert_eq!(world.office.docs.lock().unwrap().len(), 5);
    let rules = ItemRules {
        patterns: vec!["*.tmp".into()],
        folders: Vec::new(),
    };

    let prompt = Some("no lunch".to_owned());
    let settings = Settings {
        should_llm_filter: Some(true),
        exclude_items: Some(rules),
        filter_prompt: prompt,
        ..Settings::default()
    };

    *world.office.settings.lock().unwrap() = settings;
    world.drive.lock().faults.insert(
        "children",
        vec![domain::ports::ConnectorError::Fault("listed".into())],
    );
    world.run(&id).await;
    let reason = |file: &str| match state(&world, &id, file) {
        NodeState::Skipped { reason } => Some(reason.as_str()),
        _ => None,
    };

    assert_eq!(reason(&files[0]), Some("filtered_out"));
    assert_eq!(reason(&files[1]), Some("excluded"));
    assert_eq!(reason(&files[2]), Some("unsupported_type"));
    assert!(
        world.doc(&files[0]).is_none()
            && world.doc(&files[1]).is_none()
            && world.doc(&files[3]).is_some()
    );
    let asked = *world.judge.0.lock().unwrap();
    world.drive.lock().rename(&files[3], "another name");
    world.run(&id).await;
    assert_eq!(
        *world.judge.0.lock().unwrap(),
        asked,
        "a model is asked once about a content"
    );
    *world.office.settings.lock().unwrap() = Settings::default();
    world.run(&id).await;
    assert_eq!(world.office.docs.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn without_a_model_what_it_is_to_filter_waits() {
    let world = World::new(7, Life::default());
    let (_, folder, files) = filled(&world, 2);
    *world.judge.0.lock().unwrap() = Err(JudgeError::NotConfigured);
    let prompt = Some("no lunch".to_owned());
    *world.office.settings.lock().unwrap() = Settings {
        should_llm_filter: Some(true),
        filter_prompt: prompt,
        ..Settings::default()
    };

    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.run(&id).await;
    assert_eq!(
        state(&world, &id, &files[0]),
        NodeState::Skipped {
            reason: SkipReason::PendingFilter
        }
    );
    *world.judge.0.lock().unwrap() = Ok(0);
    world.run(&id).await;
    assert_eq!(world.faults(&id), [""; 0]);
}

#[tokio::test]
async fn two_connections_share_a_document_and_the_last_one_takes_it_along() {
    let world = World::new(8, Life::default());
    let (outer, folder, files) = filled(&world, 3);
    let one = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    let two = world.connect(SyncScope::Selected, std::slice::from_ref(&outer));
    world.run(&one).await;
    let fetched = world.drive.lock().fetched;
    world.run(&two).await;
    assert_eq!(
        (
            world.faults(&one),
            world.faults(&two),
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
        assert!(!world.has(connection));
        assert_eq!(world.office.docs.lock().unwrap().len(), left);
        assert!(world.rows(connection).nodes.is_empty());
    }

    assert!(world.doc(&files[0]).is_none());
}

#[tokio::test]
async fn shortcuts_bring_what_they_lead_to() {
    let world = World::new(
        9,
        Life {
            shortcuts: true,
            ..Life::default()
        },
    );
    let (outer, folder, files) = filled(&world, 2);
    let outside = world.drive.lock().add(&outer, false);
    let (to_file, to_folder, to_inside) = {
        let mut drive = world.drive.lock();
        (
            drive.link(&folder, &outside),
            drive.link(&folder, &outer),
            drive.link(&folder, &files[0]),
        )
    };

    let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
    world.run(&id).await;
    assert_eq!(world.faults(&id), [""; 0]);
    assert_eq!(
        state(&world, &id, &to_folder),
        NodeState::Skipped {
            reason: SkipReason::Shortcut
        }
    );
    assert_eq!(world.doc(&files[0]).unwrap().claims.len(), 2);
    world.drive.lock().edit(&outside);
    world.drive.lock().delete(&files[0]);
    world.settle(&id).await;
    assert_eq!(world.faults(&id), [""; 0]);
    assert_eq!(world.doc(&outside).unwrap().content, "2");
    assert_eq!(
        state(&world, &id, &to_inside),
        NodeState::Skipped {
            reason: SkipReason::Shortcut
        }
    );
    assert_eq!(state(&world, &id, &to_file), NodeState::Filed);
    world
        .drive
        .lock()
        .change(&to_file, |link| link.target = Some(files[1].clone()));
    world.settle(&id).await;
    assert_eq!((world.faults(&id), world.doc(&outside)), (Vec::new(), None));
}

#[tokio::test]
async fn selected_items_are_guarded_against_what_happens_above() {
    for (guarded, faults) in [(true, 0), (false, 3)] {
        let mut world = World::new(10, Life::default());
        let (outer, folder, _) = filled(&world, 3);
        let id = world.connect(SyncScope::Selected, std::slice::from_ref(&folder));
        (world.flags.roots, world.flags.root_guard) = (false, guarded);
        world.run(&id).await;
        world.select(&id, &[folder.clone(), outer.clone()]);
        world.run(&id).await;
        world.select(&id, std::slice::from_ref(&folder));
        world.run(&id).await;

        // By now the engine knows that one folder is inside the other. A change of the outer folder
        // is out of scope.
        world.drive.lock().change(&outer, |_| {});
        world.settle(&id).await;
        assert_eq!(world.faults(&id).len(), faults, "{guarded}");
    }
}
