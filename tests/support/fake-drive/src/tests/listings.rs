//! Tests of listings and single items.

use super::*;

#[tokio::test]
async fn queries_choose() {
    let fixture = DriveFixture::new().await;
    let (a, b) = (
        fixture.add_folder(&fixture.root, "Alpha"),
        fixture.add_folder(&fixture.root, "Beta"),
    );
    fixture.add_doc(&a, "it's here");
    fixture.add_doc(&b, "Boat plan");
    let trashed = fixture.add_doc(&b, "Boat bin");
    fixture.drive.trash_item(&trashed).unwrap();
    fixture
        .drive
        .add_file(&a, "boat.txt", "text/plain", "x")
        .unwrap();
    let groups = format!("'{a}' in parents or '{b}' in parents");
    for (q, expected) in [
        (format!("'{a}' in parents"), vec!["it's here", "boat.txt"]),
        ("'root' in parents".to_owned(), vec!["Alpha", "Beta"]),
        (
            format!("({groups}) and trashed = false"),
            vec!["it's here", "boat.txt", "Boat plan"],
        ),
        ("name = 'it\\'s here'".to_owned(), vec!["it's here"]),
        (
            "name contains 'boat' and trashed=false".to_owned(),
            vec!["Boat plan", "boat.txt"],
        ),
        ("trashed = true".to_owned(), vec!["Boat bin"]),
        ("mimeType = 'text/plain'".to_owned(), vec!["boat.txt"]),
        (
            "not mimeType contains 'application/'".to_owned(),
            vec!["boat.txt"],
        ),
        ("modifiedTime > '2027-01-01T00:00:00'".to_owned(), vec![]),
        ("sharedWithMe = true".to_owned(), vec![]),
    ] {
        let encoded: String = url::form_urlencoded::byte_serialize(q.as_bytes()).collect();
        for size in [1, 1000] {
            assert_eq!(
                fixture
                    .list_names(&format!("pageSize={size}&q={encoded}"))
                    .await,
                expected,
                "{q}"
            );
        }
    }

    fixture
        .drive
        .set_quirks(|quirks| quirks.no_parent_groups = true);
    let encoded: String = url::form_urlencoded::byte_serialize(groups.as_bytes()).collect();
    assert!(fixture.list_names(&format!("q={encoded}")).await.is_empty());
}

#[tokio::test]
async fn orders_hold_across_pages() {
    let fixture = DriveFixture::new().await;
    for name in ["b", "C", "a"] {
        fixture.add_doc(&fixture.root, name);
    }

    fixture.add_folder(&fixture.root, "z");
    for (order, expected) in [
        ("name", ["a", "b", "C", "z"]),
        ("folder,name%20desc", ["z", "C", "b", "a"]),
        ("modifiedTime%20desc", ["z", "a", "C", "b"]),
        ("", ["b", "C", "a", "z"]),
    ] {
        assert_eq!(
            fixture
                .list_names(&format!("pageSize=3&orderBy={order}"))
                .await,
            expected,
            "{order}"
        );
    }
}

#[tokio::test]
async fn a_page_token_is_for_its_query_and_some_hours() {
    let fixture = DriveFixture::new().await;
    for name in ["a", "b", "c"] {
        fixture.add_doc(&fixture.root, name);
    }

    let page = fixture
        .get_ok("files?pageSize=1&fields=nextPageToken")
        .await;
    let token = page["nextPageToken"].as_str().unwrap();
    fixture
        .get_ok(&format!("files?pageSize=2&pageToken={token}"))
        .await;
    let other = format!("files?q=trashed%3Dfalse&pageToken={token}");
    assert_eq!(fixture.get_error(&other).await, (400, "invalid".to_owned()));
    fixture.drive.advance_clock(7 * 3600);
    assert_eq!(
        fixture
            .get_error(&format!("files?pageToken={token}"))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn shared_drives_are_found_only_by_those_who_ask_for_them() {
    let fixture = DriveFixture::new().await;
    fixture.add_doc(&fixture.root, "mine");
    let drive = fixture.drive.create_shared_drive("Team", &[ADA]);
    let folder = fixture.add_folder(&drive, "plans");
    let doc = fixture.add_doc(&folder, "ours");
    let in_drive = format!("corpora=drive&driveId={drive}&{DRIVES}");
    for (query, expected) in [
        (String::new(), vec!["mine"]),
        (DRIVES.to_owned(), vec!["mine"]),
        (in_drive.clone(), vec!["plans", "ours"]),
        (
            format!("corpora=allDrives&{DRIVES}"),
            vec!["mine", "plans", "ours"],
        ),
        (format!("{DRIVES}&q='{folder}'+in+parents"), vec!["ours"]),
        (format!("q='{folder}'+in+parents"), vec![]),
    ] {
        assert_eq!(fixture.list_names(&query).await, expected, "{query}");
    }

    assert_eq!(fixture.get(&format!("files/{doc}")).await.0, 404);
    let file = fixture
        .get_ok(&format!(
            "files/{doc}?supportsAllDrives=true&fields=driveId,owners,parents"
        ))
        .await;
    assert_eq!(file, json!({ "driveId": drive, "parents": [folder] }));
    let root = fixture
        .get_ok(&format!(
            "files/{drive}?supportsAllDrives=true&fields=name,parents"
        ))
        .await;
    assert_eq!(root, json!({ "name": "Drive" }));
    assert_eq!(
        fixture
            .get_ok(&format!("drives/{drive}?fields=id,name"))
            .await,
        json!({ "id": drive, "name": "Team" })
    );
    fixture.drive.remove_member(&drive, ADA).unwrap();
    assert_eq!(
        fixture.get_error(&format!("files?{in_drive}")).await,
        (404, "notFound".to_owned())
    );
    assert_eq!(
        fixture.get_ok("drives?fields=drives(id)").await,
        json!({ "drives": [] })
    );
}

#[tokio::test]
async fn what_others_share_is_seen_as_long_as_they_do() {
    let fixture = DriveFixture::new().await;
    let other_account = fixture.drive.get_or_create_account(BEN);
    let folder = fixture.add_folder(other_account.root(), "tours");
    let doc = fixture.add_doc(&folder, "north");
    fixture.add_doc(other_account.root(), "secret");
    assert!(fixture.list_names("").await.is_empty());

    fixture.drive.share_item(&folder, ADA).unwrap();
    assert_eq!(fixture.list_names("").await, ["tours", "north"]);
    assert_eq!(fixture.list_names("q=sharedWithMe%3Dtrue").await, ["tours"]);

    let fields = "fields=parents,ownedByMe,owners(emailAddress)";
    let shared = fixture.get_ok(&format!("files/{folder}?{fields}")).await;
    assert_eq!(
        shared,
        json!({ "ownedByMe": false, "owners": [{ "emailAddress": BEN }] })
    );
    assert_eq!(
        fixture.get_ok(&format!("files/{doc}?{fields}")).await["parents"],
        json!([folder])
    );

    fixture
        .drive
        .set_quirks(|quirks| quirks.shared_folders_only = true);
    fixture.drive.hide_item(&doc, ADA).unwrap();
    assert_eq!(fixture.get(&format!("files/{doc}")).await.0, 404);

    fixture.drive.unhide_item(&doc, ADA).unwrap();
    fixture.drive.unshare_item(&folder, ADA).unwrap();
    assert_eq!(fixture.get(&format!("files/{doc}")).await.0, 404);
    assert!(fixture.list_names("").await.is_empty());
}

#[tokio::test]
async fn a_link_needs_its_key() {
    let fixture = DriveFixture::new().await;
    let doc = fixture.add_doc(fixture.drive.get_or_create_account(BEN).root(), "linked");
    fixture.drive.share_by_link(&doc, "k-1").unwrap();
    let shortcut = fixture
        .drive
        .add_shortcut(&fixture.root, "to it", &doc)
        .unwrap();
    let details = fixture
        .get_ok(&format!(
            "files/{shortcut}?fields=shortcutDetails(targetId,targetResourceKey)"
        ))
        .await;
    assert_eq!(
        details["shortcutDetails"],
        json!({ "targetId": doc, "targetResourceKey": "k-1" })
    );
    fixture.add_doc(&fixture.root, "no shortcut");
    for (sign, expected) in [("=", vec!["to it"]), ("!=", vec!["no shortcut"])] {
        let query = format!("shortcutDetails.targetId{sign}'{doc}' and trashed=false");
        let encoded: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        assert_eq!(
            fixture.list_names(&format!("q={encoded}")).await,
            expected,
            "{query}"
        );
    }

    for (header, status) in [
        ("", 404),
        ("x/k-1", 404),
        (&format!("{doc}/k-2"), 404),
        (&format!("{doc}/k-1"), 200),
    ] {
        let request = fixture.request(Method::GET, &format!("files/{doc}"));
        let response = request
            .header("X-Goog-Drive-Resource-Keys", header)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), status, "{header}");
    }
}

#[tokio::test]
async fn listings_misbehave_as_set() {
    let fixture = DriveFixture::with(Quirks {
        page_cap: Some(2),
        repeats: true,
        ..Quirks::default()
    })
    .await;
    for name in ["a", "b", "c", "d"] {
        fixture.add_doc(&fixture.root, name);
    }

    assert_eq!(
        fixture.list_names("pageSize=1000").await,
        ["a", "b", "b", "c", "c", "d"]
    );
    fixture.drive.set_quirks(|quirks| {
        *quirks = Quirks {
            incomplete_all_drives: true,
            ..Quirks::default()
        }
    });

    let listing = fixture
        .get_ok(&format!(
            "files?corpora=allDrives&{DRIVES}&fields=incompleteSearch,files(name)"
        ))
        .await;
    assert_eq!(
        (
            listing["incompleteSearch"].as_bool(),
            strings(&listing["files"], "name")
        ),
        (Some(true), vec!["a".to_owned(), "c".to_owned()])
    );
}
