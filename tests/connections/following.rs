//! Documents follow the changes of their items.

use fake_drive::{SheetTable, Slide};
use serde_json::json;

use crate::client::{DriveClient, SeenDocument};

fn seen<'a>(
    all: &'a std::collections::BTreeMap<String, SeenDocument>,
    path: &str,
) -> &'a SeenDocument {
    all.get(path)
        .unwrap_or_else(|| panic!("{path} is not among {:?}", all.keys()))
}

#[tokio::test]
async fn every_kind_of_file_becomes_a_document_of_its_type() {
    let client = DriveClient::new().await;
    let folder = client.add_folder(&client.root_folder(), "Plans");
    client.add_doc(
        &folder,
        "Ferry",
        "# Ferry\n\nThe ferry leaves from quay seven.",
    );
    let rows = vec![
        vec!["boat".into(), "berth".into()],
        vec!["Albatross".into(), "C14".into()],
    ];
    let tables = vec![
        SheetTable {
            name: "Berths".into(),
            rows: rows.clone(),
        },
        SheetTable {
            name: "Crew".into(),
            rows,
        },
    ];
    client
        .drive
        .add_sheet(&folder, "Harbour", tables)
        .expect("room");
    let slides = vec![Slide {
        title: "Season".into(),
        lines: vec!["Opening in May".into()],
        notes: "Mention the new crane.".into(),
    }];
    client
        .drive
        .add_slides(&folder, "Talk", slides)
        .expect("room");
    client
        .drive
        .add_file(
            &folder,
            "notes.txt",
            "text/plain",
            "Herons nest at the old mill.",
        )
        .expect("room");
    client
        .drive
        .add_file(
            &folder,
            "photo.png",
            "image/png",
            vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10],
        )
        .expect("room");
    let id = client.connect_selected(&[&folder]).await;
    let all = client.list_documents().await;
    let kinds: Vec<(&str, &str, &str)> = all
        .iter()
        .map(|(path, one)| (path.as_str(), one.title.as_str(), one.kind.as_str()))
        .collect();
    let wanted = [
        ("/My Drive/Plans/Ferry", "Ferry", "cloud_doc"),
        ("/My Drive/Plans/Harbour", "Harbour", "cloud_sheet"),
        ("/My Drive/Plans/Talk", "Talk", "cloud_slide"),
        ("/My Drive/Plans/notes.txt", "notes.txt", "text"),
    ];
    assert_eq!(kinds, wanted);

    for text in ["quay seven", "Albatross", "new crane", "Herons nest"] {
        assert!(client.search_finds(text).await, "{text}");
    }
    // A skipped item shows the reason.
    let left = client
        .get(&format!("/v3/connections/{id}/items?state=skipped"))
        .await
        .body;
    assert_eq!(left["items"][0]["name"], "photo.png", "{left}");
    assert_eq!(left["items"][0]["reason"], "unsupported_type");
}

#[tokio::test]
async fn a_rename_and_a_move_are_no_new_content_and_an_edit_is() {
    let client = DriveClient::new().await;
    let folder = client.add_folder(&client.root_folder(), "Plans");
    let below = client.add_folder(&folder, "Old");
    let (kept, edited) = (
        client.add_doc(&below, "Ferry", "Quay seven."),
        client.add_doc(&folder, "Crane", "Yellow."),
    );
    let id = client.connect_selected(&[&folder]).await;
    let before = client.list_documents().await;
    client
        .drive
        .rename_item(&below, "Archive")
        .expect("a folder");
    client.drive.rename_item(&kept, "Ferries").expect("a file");
    client
        .drive
        .replace_content(
            &edited,
            fake_drive::FakeContent::Doc("The crane is green now.".into()),
        )
        .expect("a file");
    client.run_import(&id).await;
    let after = client.list_documents().await;
    let (old, new) = (
        seen(&before, "/My Drive/Plans/Old/Ferry"),
        seen(&after, "/My Drive/Plans/Archive/Ferries"),
    );
    assert_eq!(
        (&new.id, new.revision, new.title.as_str()),
        (&old.id, 1, "Ferries")
    );

    let (old, new) = (
        seen(&before, "/My Drive/Plans/Crane"),
        seen(&after, "/My Drive/Plans/Crane"),
    );
    assert_eq!((&new.id, new.revision), (&old.id, 2));
    assert_eq!(after.len(), 2);
    assert!(client.search_finds("crane is green").await);
}

#[tokio::test]
async fn what_leaves_goes_after_a_while_and_what_comes_back_is_the_same() {
    let client = DriveClient::new().await;
    let (folder, elsewhere) = (
        client.add_folder(&client.root_folder(), "Plans"),
        client.add_folder(&client.root_folder(), "Private"),
    );
    let below = client.add_folder(&folder, "Ferries");
    client.add_doc(&below, "Ferry", "Quay seven.");
    let moved = client.add_doc(&folder, "Crane", "Yellow.");
    let stays = client.add_doc(&folder, "Mill", "Herons.");
    let id = client.connect_selected(&[&folder]).await;
    let before = client.list_documents().await;

    // The change feed reports only the trashed folder, not the items in it.
    client.drive.trash_item(&below).expect("a folder");
    client.drive.move_item(&moved, &elsewhere).expect("a file");
    client.run_import(&id).await;
    assert_eq!(
        client.list_documents().await.len(),
        3,
        "they wait for ten minutes"
    );

    client.drive.restore_item(&below).expect("a folder");
    client.app.environment.clock.advance_seconds(660);
    client.run_import(&id).await;
    assert_eq!(
        client.list_paths().await,
        ["/My Drive/Plans/Ferries/Ferry", "/My Drive/Plans/Mill"]
    );

    client.drive.move_item(&moved, &below).expect("a file");
    client.run_import(&id).await;
    let after = client.list_documents().await;
    assert_eq!(
        seen(&after, "/My Drive/Plans/Ferries/Ferry"),
        seen(&before, "/My Drive/Plans/Ferries/Ferry")
    );
    assert_eq!(seen(&after, "/My Drive/Plans/Ferries/Crane").revision, 1);

    client.drive.delete_item(&stays).expect("a file");
    client
        .drive
        .hide_item(&folder, testkit::DRIVE_ACCOUNT)
        .expect("a folder");
    client.run_import_twice(&id).await;
    assert_eq!(client.list_paths().await, [""; 0]);
}

#[tokio::test]
async fn a_poll_without_changes_asks_once_for_each_feed() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    let id = client.connect_all().await;
    client.run_import(&id).await;
    client.drive.clear_requests();
    let after = client.run_import(&id).await;
    assert_eq!(after["lastSyncRun"]["status"], "completed", "{after}");

    let asked: Vec<String> = client
        .drive
        .recorded_requests()
        .into_iter()
        .map(|seen| format!("{} {}", seen.method, seen.path))
        .collect();
    assert_eq!(
        asked
            .iter()
            .filter(|line| line.contains("/changes"))
            .count(),
        1,
        "{asked:?}"
    );
    assert!(asked.len() <= 2, "{asked:?}");
}

#[tokio::test]
async fn runs_and_documents_are_listed() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    let id = client.connect_all().await;
    let runs = client
        .get(&format!("/v3/connections/{id}/sync-runs"))
        .await
        .body;
    assert_eq!(runs[0]["status"], "completed", "{runs}");
    assert_eq!(runs[0]["itemsProcessed"], 1, "{runs}");

    let body = json!({"containerTags": ["team"]});
    let documents = client
        .post("/v3/connections/google-drive/documents", body.clone())
        .await
        .body;
    assert_eq!(documents[0]["title"], "Ferry", "{documents}");

    let listed = client.post("/v3/connections/list", body).await.body;
    assert_eq!(listed[0]["email"], testkit::DRIVE_ACCOUNT, "{listed}");
    assert_eq!(listed[0]["documentCount"], 1, "{listed}");
}
