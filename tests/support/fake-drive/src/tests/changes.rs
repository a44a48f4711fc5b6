//! Tests of the change feeds.

use super::*;
use crate::Descendants;

/// Returns the id of each entry's item and whether the entry reports a removal.
fn entries(changes: &[Value]) -> Vec<(String, bool)> {
    let entry = |change: &Value| {
        (
            change["fileId"].as_str().unwrap_or_default().to_owned(),
            change["removed"] == true,
        )
    };
    changes.iter().map(entry).collect()
}

#[tokio::test]
async fn an_entry_is_the_state_of_the_moment_and_comes_once() {
    let rig = DriveFixture::new().await;
    let (a, b) = (rig.add_doc(&rig.root, "a"), rig.add_doc(&rig.root, "b"));
    let token = rig.start("").await;
    assert!(rig.list_changes(&token, "").await.0.is_empty());

    rig.drive.rename_item(&a, "a2").unwrap();
    rig.drive.trash_item(&b).unwrap();
    rig.drive.record_view(&a, ADA).unwrap();
    let (changes, head) = rig.list_changes(&token, "pageSize=1").await;
    assert_eq!(entries(&changes), [(b.clone(), false), (a.clone(), false)]);
    assert_eq!(
        (&changes[0]["file"]["trashed"], &changes[1]["file"]["name"]),
        (&json!(true), &json!("a2"))
    );

    rig.drive.delete_item(&b).unwrap();
    let (changes, _) = rig.list_changes(&head, "").await;
    assert_eq!(entries(&changes), [(b, true)]);
    assert!(changes[0].get("file").is_none());
    assert!(
        rig.list_changes(&head, "includeRemoved=false")
            .await
            .0
            .is_empty()
    );
}

#[tokio::test]
async fn folders_speak_for_what_lies_in_them_only_as_set() {
    for (descendants, expected) in [(Descendants::None, 1), (Descendants::All, 4)] {
        let rig = DriveFixture::with(Quirks {
            descendants,
            ..Quirks::default()
        })
        .await;
        let (a, b) = (
            rig.add_folder(&rig.root, "a"),
            rig.add_folder(&rig.root, "b"),
        );
        let inner = rig.add_folder(&a, "inner");
        let docs = [rig.add_doc(&inner, "one"), rig.add_doc(&a, "two")];
        let token = rig.start("").await;
        rig.drive.move_item(&a, &b).unwrap();
        let (changes, token) = rig.list_changes(&token, "").await;
        assert_eq!(changes.len(), expected);

        rig.drive.trash_item(&b).unwrap();
        let trashed = rig
            .get_ok(&format!(
                "files/{}?fields=trashed,explicitlyTrashed",
                docs[0]
            ))
            .await;
        assert_eq!(
            trashed,
            json!({ "trashed": true, "explicitlyTrashed": false })
        );

        rig.drive.restore_item(&b).unwrap();
        let (changes, token) = rig.list_changes(&token, "").await;
        assert_eq!(changes.len(), if expected == 1 { 1 } else { 5 });

        rig.drive.delete_item(&b).unwrap();
        let (changes, _) = rig.list_changes(&token, "").await;
        assert!(changes.iter().all(|change| change["removed"] == true));
        assert_eq!(changes.len(), if expected == 1 { 1 } else { 5 });
    }
}

#[tokio::test]
async fn losing_sight_looks_like_removal() {
    let rig = DriveFixture::new().await;
    let ben = rig.drive.get_or_create_account(BEN);
    let doc = rig.add_doc(ben.root(), "ben's");
    let token = rig.start("").await;
    rig.drive.rename_item(&doc, "still ben's").unwrap();
    assert!(rig.list_changes(&token, "").await.0.is_empty());
    rig.drive.share_item(&doc, ADA).unwrap();
    let (changes, token) = rig.list_changes(&token, "").await;
    assert_eq!(entries(&changes), [(doc.clone(), false)]);
    rig.drive.unshare_item(&doc, ADA).unwrap();
    assert_eq!(
        entries(&rig.list_changes(&token, "").await.0),
        [(doc, true)]
    );
}

#[tokio::test]
async fn a_shared_drive_has_a_log_of_its_own() {
    let rig = DriveFixture::new().await;
    let user = rig.start("").await;
    let drive = rig.drive.create_shared_drive("Team", &[ADA]);
    let feed = format!("driveId={drive}");
    let token = rig.start(&feed).await;
    let doc = rig.add_doc(&drive, "ours");
    let (joined, user) = rig.list_changes(&user, "").await;
    assert_eq!(joined.len(), 1);
    assert_eq!(
        (&joined[0]["changeType"], &joined[0]["drive"]["name"]),
        (&json!("drive"), &json!("Team"))
    );

    let (changes, token) = rig.list_changes(&token, &feed).await;
    assert_eq!(entries(&changes), [(doc.clone(), false)]);
    rig.drive.move_item(&doc, &rig.root).unwrap();
    assert_eq!(
        entries(&rig.list_changes(&token, &feed).await.0),
        [(doc.clone(), true)]
    );

    let (changes, user) = rig.list_changes(&user, "").await;
    assert_eq!(entries(&changes), [(doc, false)]);
    rig.drive.remove_member(&drive, ADA).unwrap();
    let (left, _) = rig.list_changes(&user, "").await;
    assert_eq!(
        (&left[0]["driveId"], &left[0]["removed"]),
        (&json!(drive), &json!(true))
    );

    let path = format!("changes?{DRIVES}&pageToken={token}&{feed}");
    assert_eq!(rig.get_error(&path).await, (404, "notFound".to_owned()));
}

#[tokio::test]
async fn entries_come_twice_if_set() {
    let rig = DriveFixture::with(Quirks {
        duplicates: true,
        ..Quirks::default()
    })
    .await;
    let token = rig.start("").await;
    let doc = rig.add_doc(&rig.root, "a");
    assert_eq!(
        entries(&rig.list_changes(&token, "").await.0),
        [(doc.clone(), false), (doc, false)]
    );
}

#[tokio::test]
async fn an_old_upload_keeps_its_time_and_moves_keep_it_too() {
    let rig = DriveFixture::new().await;
    let doc = rig.add_doc(&rig.root, "old");
    rig.drive
        .set_modified_time(&doc, 1_000_000_000_000)
        .unwrap();
    let before = rig
        .get_ok(&format!("files/{doc}?fields=version,modifiedTime"))
        .await;
    assert_eq!(before["modifiedTime"], "2001-09-09T01:46:40.000Z");

    let folder = rig.add_folder(&rig.root, "f");
    rig.drive.move_item(&doc, &folder).unwrap();
    let after = rig
        .get_ok(&format!("files/{doc}?fields=version,modifiedTime"))
        .await;
    assert_eq!(after["modifiedTime"], before["modifiedTime"]);
    assert_ne!(after["version"], before["version"]);
    assert!(rig.drive.move_item(&folder, &folder).is_err());
    assert!(rig.drive.move_item(&rig.root, &folder).is_err());
}
