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
    let fixture = DriveFixture::new().await;
    let (a, b) = (
        fixture.add_doc(&fixture.root, "a"),
        fixture.add_doc(&fixture.root, "b"),
    );
    let token = fixture.start("").await;
    assert!(fixture.list_changes(&token, "").await.0.is_empty());

    fixture.drive.rename_item(&a, "a2").unwrap();
    fixture.drive.trash_item(&b).unwrap();
    fixture.drive.record_view(&a, ADA).unwrap();
    let (changes, head) = fixture.list_changes(&token, "pageSize=1").await;
    assert_eq!(entries(&changes), [(b.clone(), false), (a.clone(), false)]);
    assert_eq!(
        (&changes[0]["file"]["trashed"], &changes[1]["file"]["name"]),
        (&json!(true), &json!("a2"))
    );

    fixture.drive.delete_item(&b).unwrap();
    let (changes, _) = fixture.list_changes(&head, "").await;
    assert_eq!(entries(&changes), [(b, true)]);
    assert!(changes[0].get("file").is_none());
    assert!(
        fixture
            .list_changes(&head, "includeRemoved=false")
            .await
            .0
            .is_empty()
    );
}

#[tokio::test]
async fn folders_speak_for_what_lies_in_them_only_as_set() {
    for (descendants, expected) in [(Descendants::None, 1), (Descendants::All, 4)] {
        let fixture = DriveFixture::with(Quirks {
            descendants,
            ..Quirks::default()
        })
        .await;
        let (a, b) = (
            fixture.add_folder(&fixture.root, "a"),
            fixture.add_folder(&fixture.root, "b"),
        );
        let inner = fixture.add_folder(&a, "inner");
        let docs = [fixture.add_doc(&inner, "one"), fixture.add_doc(&a, "two")];
        let token = fixture.start("").await;
        fixture.drive.move_item(&a, &b).unwrap();
        let (changes, token) = fixture.list_changes(&token, "").await;
        assert_eq!(changes.len(), expected);

        fixture.drive.trash_item(&b).unwrap();
        let trashed = fixture
            .get_ok(&format!(
                "files/{}?fields=trashed,explicitlyTrashed",
                docs[0]
            ))
            .await;
        assert_eq!(
            trashed,
            json!({ "trashed": true, "explicitlyTrashed": false })
        );

        fixture.drive.restore_item(&b).unwrap();
        let (changes, token) = fixture.list_changes(&token, "").await;
        assert_eq!(changes.len(), if expected == 1 { 1 } else { 5 });

        fixture.drive.delete_item(&b).unwrap();
        let (changes, _) = fixture.list_changes(&token, "").await;
        assert!(changes.iter().all(|change| change["removed"] == true));
        assert_eq!(changes.len(), if expected == 1 { 1 } else { 5 });
    }
}

#[tokio::test]
async fn losing_sight_looks_like_removal() {
    let fixture = DriveFixture::new().await;
    let other_account = fixture.drive.get_or_create_account(BEN);
    let doc = fixture.add_doc(other_account.root(), "ben's");
    let token = fixture.start("").await;
    fixture.drive.rename_item(&doc, "still ben's").unwrap();
    assert!(fixture.list_changes(&token, "").await.0.is_empty());
    fixture.drive.share_item(&doc, ADA).unwrap();
    let (changes, token) = fixture.list_changes(&token, "").await;
    assert_eq!(entries(&changes), [(doc.clone(), false)]);
    fixture.drive.unshare_item(&doc, ADA).unwrap();
    assert_eq!(
        entries(&fixture.list_changes(&token, "").await.0),
        [(doc, true)]
    );
}

#[tokio::test]
async fn a_shared_drive_has_a_log_of_its_own() {
    let fixture = DriveFixture::new().await;
    let user = fixture.start("").await;
    let drive = fixture.drive.create_shared_drive("Team", &[ADA]);
    let feed = format!("driveId={drive}");
    let token = fixture.start(&feed).await;
    let doc = fixture.add_doc(&drive, "ours");
    let (joined, user) = fixture.list_changes(&user, "").await;
    assert_eq!(joined.len(), 1);
    assert_eq!(
        (&joined[0]["changeType"], &joined[0]["drive"]["name"]),
        (&json!("drive"), &json!("Team"))
    );

    let (changes, token) = fixture.list_changes(&token, &feed).await;
    assert_eq!(entries(&changes), [(doc.clone(), false)]);
    fixture.drive.move_item(&doc, &fixture.root).unwrap();
    assert_eq!(
        entries(&fixture.list_changes(&token, &feed).await.0),
        [(doc.clone(), true)]
    );

    let (changes, user) = fixture.list_changes(&user, "").await;
    assert_eq!(entries(&changes), [(doc, false)]);
    fixture.drive.remove_member(&drive, ADA).unwrap();
    let (remaining_changes, _) = fixture.list_changes(&user, "").await;
    assert_eq!(
        (
            &remaining_changes[0]["driveId"],
            &remaining_changes[0]["removed"]
        ),
        (&json!(drive), &json!(true))
    );

    let path = format!("changes?{DRIVES}&pageToken={token}&{feed}");
    assert_eq!(fixture.get_error(&path).await, (404, "notFound".to_owned()));
}

#[tokio::test]
async fn entries_come_twice_if_set() {
    let fixture = DriveFixture::with(Quirks {
        duplicates: true,
        ..Quirks::default()
    })
    .await;
    let token = fixture.start("").await;
    let doc = fixture.add_doc(&fixture.root, "a");
    assert_eq!(
        entries(&fixture.list_changes(&token, "").await.0),
        [(doc.clone(), false), (doc, false)]
    );
}

#[tokio::test]
async fn an_old_upload_keeps_its_time_and_moves_keep_it_too() {
    let fixture = DriveFixture::new().await;
    let doc = fixture.add_doc(&fixture.root, "old");
    fixture
        .drive
        .set_modified_time(&doc, 1_000_000_000_000)
        .unwrap();
    let before = fixture
        .get_ok(&format!("files/{doc}?fields=version,modifiedTime"))
        .await;
    assert_eq!(before["modifiedTime"], "2001-09-09T01:46:40.000Z");

    let folder = fixture.add_folder(&fixture.root, "f");
    fixture.drive.move_item(&doc, &folder).unwrap();
    let after = fixture
        .get_ok(&format!("files/{doc}?fields=version,modifiedTime"))
        .await;
    assert_eq!(after["modifiedTime"], before["modifiedTime"]);
    assert_ne!(after["version"], before["version"]);
    assert!(fixture.drive.move_item(&folder, &folder).is_err());
    assert!(fixture.drive.move_item(&fixture.root, &folder).is_err());
}
