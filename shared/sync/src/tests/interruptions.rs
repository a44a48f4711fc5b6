//! Tests of a worker that is interrupted after it has made or released a document, and before the
//! record of the item says so. The item has changed when the run continues.

use domain::ConnectionId;
use domain::connection::{ItemState, SkipReason, SyncQueue};

use super::drive::SimulatedDrive;
use super::errors::{down, due, filled};
use super::fake_service::Interruption;
use super::sync_world::{AFTER_GRACE_SECONDS, SyncWorld};
use crate::context::NextStep;

const INTERRUPTIONS: [Interruption; 2] = [Interruption::Crash, Interruption::LostAnswer];

/// Executes steps of a scheduled run until one is interrupted, and ends its lease.
async fn run_until_interrupted(world: &SyncWorld, id: &ConnectionId, interruption: Interruption) {
    *world.service.interruption.lock().unwrap() = Some(interruption);
    due(world, id);
    while let Ok(next) = world.step(id).await {
        assert_eq!(next, NextStep::Again, "{interruption:?}");
    }

    world.service.memory.lock().dead = false;
    world.advance_time(100);
    let state = world.rows(id).state;
    assert!(state.run.is_some(), "the run continues");
    assert_eq!(state.fetching.len() + state.releasing.len(), 1, "an intent");
}

/// Selects the same items again, so that the run begins again with the feeds.
fn reselect(world: &SyncWorld, id: &ConnectionId) {
    let items = world.rows(id).selection.items;
    let selected: Vec<String> = items.into_iter().map(|item| item.id).collect();
    world.select_items(id, &selected);
}

fn folder_of(world: &SyncWorld, file: &str) -> String {
    world.drive.lock().things[file].parent.clone().unwrap()
}

/// Returns a connection with six documents whose run was interrupted after it had made the document
/// of a seventh file.
async fn interrupted_with_new_file(
    interruption: Interruption,
) -> (SyncWorld, ConnectionId, String) {
    let (world, id, files) = filled().await;
    let folder = folder_of(&world, &files[0]);
    let file = world.drive.lock().add_item(&folder, false);
    run_until_interrupted(&world, &id, interruption).await;

    assert!(world.document_of(&file).is_some(), "{interruption:?}");
    assert_eq!(world.record(&id, &file).unwrap().filed, None);
    (world, id, file)
}

/// Returns a connection whose run was interrupted after it had given the document of a file its new
/// content.
async fn interrupted_with_edited_file(
    interruption: Interruption,
) -> (SyncWorld, ConnectionId, String) {
    let (world, id, files) = filled().await;
    world.drive.lock().edit_content(&files[0]);
    run_until_interrupted(&world, &id, interruption).await;

    assert_eq!(world.document_of(&files[0]).unwrap().content, "2");
    let synced = world.record(&id, &files[0]).unwrap().filed.unwrap();
    assert_eq!(synced.content_version, "1");
    (world, id, files[0].clone())
}

#[tokio::test]
async fn the_document_of_an_item_that_has_gone_meanwhile_is_removed() {
    for interruption in INTERRUPTIONS {
        let (world, id, file) = interrupted_with_new_file(interruption).await;
        world.drive.lock().delete_item(&file);
        world.execute_run(&id).await;
        assert_eq!(world.document_of(&file), None, "{interruption:?}");
        assert_eq!(world.document_differences(&id), [""; 0]);
    }
}

#[tokio::test]
async fn the_document_of_an_item_whose_record_is_removed_meanwhile_is_removed() {
    let changes: [fn(&mut SimulatedDrive, &str); 2] = [
        |drive, file| drive.delete_item(file),
        |drive, file| drive.move_item(file, "root"),
    ];
    for interruption in INTERRUPTIONS {
        for change in changes {
            let (world, id, file) = interrupted_with_new_file(interruption).await;
            change(&mut world.drive.lock(), &file);
            reselect(&world, &id);
            world.execute_run(&id).await;
            assert_eq!(world.document_of(&file), None, "{interruption:?}");
            assert_eq!(world.document_differences(&id), [""; 0]);
        }
    }
}

#[tokio::test]
async fn the_document_of_an_item_that_has_become_unreadable_is_removed() {
    for interruption in INTERRUPTIONS {
        let (world, id, file) = interrupted_with_new_file(interruption).await;
        world.drive.lock().rename_item(&file, "file.odd");
        world.execute_run(&id).await;
        let skipped = ItemState::Skipped {
            reason: SkipReason::UnsupportedType,
        };
        assert_eq!(world.record(&id, &file).unwrap().state, skipped);
        assert_eq!(world.document_of(&file), None, "{interruption:?}");
    }
}

/// A connection whose run was interrupted after it had made the document of the target of a
/// shortcut.
struct InterruptedShortcut {
    world: SyncWorld,
    id: ConnectionId,
    /// A file with a document of its own.
    file: String,
    shortcut: String,
    target: String,
}

impl InterruptedShortcut {
    /// The shortcut is new, or has the document of the file as well.
    async fn new(interruption: Interruption, has_document: bool) -> Self {
        let (world, id, files) = filled().await;
        let (folder, file) = (folder_of(&world, &files[0]), files[0].clone());
        let (shortcut, target) = {
            let mut drive = world.drive.lock();
            let target = drive.add_item("root", false);
            let first = if has_document { &file } else { &target };
            (drive.add_shortcut(&folder, first), target)
        };
        let interrupted = Self {
            world,
            id,
            file,
            shortcut,
            target,
        };
        if has_document {
            let world = &interrupted.world;
            world.drive.lock().edit_content(&interrupted.file);
            world.execute_run(&interrupted.id).await;
            interrupted.lead_to(&interrupted.target);
        }

        interrupted.interrupt(interruption).await;
        assert!(interrupted.has_document(&interrupted.target));
        interrupted
    }

    async fn interrupt(&self, interruption: Interruption) {
        run_until_interrupted(&self.world, &self.id, interruption).await;
    }

    fn lead_to(&self, target: &str) {
        let mut drive = self.world.drive.lock();
        drive.change_item(&self.shortcut, |link| link.target = Some(target.to_owned()));
    }

    /// Makes the shortcut lead to another file, and restarts the run. Returns the file.
    fn lead_elsewhere(&self) -> String {
        let target = self.world.drive.lock().add_item("root", false);
        self.lead_to(&target);
        reselect(&self.world, &self.id);
        target
    }

    /// Deletes the shortcut, and restarts the run.
    fn delete_shortcut(&self) {
        self.world.drive.lock().delete_item(&self.shortcut);
        reselect(&self.world, &self.id);
    }

    fn has_document(&self, file: &str) -> bool {
        self.world.document_of(file).is_some()
    }
}

#[tokio::test]
async fn the_document_of_the_former_target_of_a_shortcut_is_removed() {
    for interruption in INTERRUPTIONS {
        for has_document in [false, true] {
            let interrupted = InterruptedShortcut::new(interruption, has_document).await;
            let (world, id) = (&interrupted.world, &interrupted.id);
            let target = interrupted.lead_elsewhere();
            world.execute_run(id).await;
            assert!(!interrupted.has_document(&interrupted.target));
            assert!(interrupted.has_document(&target), "{interruption:?}");
            assert_eq!(world.document_differences(id), [""; 0]);
        }
    }
}

/// Another worker continues, and is interrupted twice: while it removes the document of the former
/// target, and after it has made that of the new one.
#[tokio::test]
async fn each_worker_is_known_to_have_made_its_document() {
    for interruption in INTERRUPTIONS {
        let interrupted = InterruptedShortcut::new(interruption, false).await;
        let (world, id) = (&interrupted.world, &interrupted.id);
        let target = interrupted.lead_elsewhere();
        interrupted.interrupt(interruption).await;
        interrupted.interrupt(interruption).await;
        assert!(!interrupted.has_document(&interrupted.target));
        assert!(interrupted.has_document(&target), "{interruption:?}");

        interrupted.delete_shortcut();
        world.execute_run(id).await;
        assert!(!interrupted.has_document(&target), "{interruption:?}");
        assert_eq!(world.document_differences(id), [""; 0]);
    }
}

#[tokio::test]
async fn of_two_documents_of_a_shortcut_only_the_recorded_one_waits_for_its_removal() {
    for interruption in INTERRUPTIONS {
        let interrupted = InterruptedShortcut::new(interruption, true).await;
        let (world, id) = (&interrupted.world, &interrupted.id);
        interrupted.delete_shortcut();
        world.execute_run(id).await;
        assert!(!interrupted.has_document(&interrupted.target));
        let claims = || world.document_of(&interrupted.file).unwrap().claims.len();
        assert_eq!(claims(), 2, "{interruption:?}: the file and the shortcut");

        world.advance_time(AFTER_GRACE_SECONDS);
        world.execute_run(id).await;
        assert_eq!(claims(), 1, "{interruption:?}");
        assert_eq!(world.document_differences(id), [""; 0]);
    }
}

#[tokio::test]
async fn a_document_to_which_the_record_refers_stays() {
    for interruption in INTERRUPTIONS {
        let (world, id, file) = interrupted_with_edited_file(interruption).await;
        {
            let mut drive = world.drive.lock();
            drive.edit_content(&file);
            drive.faults.insert("fetch", vec![down()]);
        }
        // The file cannot be fetched for now.
        due(&world, &id);
        while world.rows(&id).state.run.is_some() {
            world.step(&id).await.unwrap();
        }
        assert_eq!(world.record(&id, &file).unwrap().attempts, 1);
        let document = world.document_of(&file);
        assert_eq!(document.unwrap().content, "2", "{interruption:?}");

        world.execute_run(&id).await;
        assert_eq!(world.document_differences(&id), [""; 0]);
    }
}

#[tokio::test]
async fn a_document_that_waits_for_its_removal_stays_until_then() {
    for interruption in INTERRUPTIONS {
        let (world, id, file) = interrupted_with_edited_file(interruption).await;
        world.drive.lock().delete_item(&file);
        world.execute_run(&id).await;
        assert_eq!(world.record(&id, &file), None);
        assert_eq!(world.waiting(&id, SyncQueue::Remove), 1);
        assert!(world.document_of(&file).is_some(), "{interruption:?}");

        world.advance_time(AFTER_GRACE_SECONDS);
        world.execute_run(&id).await;
        assert_eq!(world.waiting(&id, SyncQueue::Remove), 0);
        assert_eq!(world.document_of(&file), None, "{interruption:?}");
        assert_eq!(world.document_differences(&id), [""; 0]);
    }
}

/// The removal of a document is interrupted halfway, and its item reappears: with room for the
/// document, or beyond the document limit.
#[tokio::test]
async fn an_interrupted_removal_is_completed_unless_the_document_is_made_again() {
    for interruption in INTERRUPTIONS {
        for document_limit in [5, 6] {
            let (world, id, files) = filled().await;
            let file = &files[0];
            let trash = |trashed| {
                let mut drive = world.drive.lock();
                drive.change_item(file, |file| file.trashed = trashed);
            };
            trash(true);
            world.execute_run(&id).await;
            world.advance_time(AFTER_GRACE_SECONDS);
            run_until_interrupted(&world, &id, interruption).await;
            let document = world.document_of(file).unwrap();
            assert!(document.claims.is_empty(), "it is half removed");

            trash(false);
            world.change(&id, |connection| connection.document_limit = document_limit);
            reselect(&world, &id);
            world.execute_run(&id).await;
            let count = world.service.docs.lock().unwrap().len();
            assert_eq!(count, document_limit as usize, "{interruption:?}");
            assert_eq!(world.document_of(file).is_some(), document_limit == 6);
            assert_eq!(world.rows(&id).state.documents, u64::from(document_limit));
        }
    }
}
