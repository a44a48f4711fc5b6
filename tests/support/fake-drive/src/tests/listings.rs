//! Tests of listings and single items.

use super::*;

#[tokio::test]
async fn queries_choose() {
    let rig = DriveFixture::new().await;
    let (a, b) = (
        rig.add_folder(&rig.root, "Alpha"),
        rig.add_folder(&rig.root, "Beta"),
    );
    rig.add_doc(&a, "it's here");
    rig.add_doc(&b, "Boat plan");
    let gone = rig.add_doc(&b, "Boat bin");
    rig.drive.trash_item(&gone).unwrap();
    rig.drive
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
                rig.list_names(&format!("pageSize={size}&q={encoded}"))
                    .await,
                expected,
                "{q}"
            );
        }
    }

    rig.drive
        .set_quirks(|quirks| quirks.no_parent_groups = true);
    let encoded: String = url::form_urlencoded::byte_serialize(groups.as_bytes()).collect();
    assert!(rig.list_names(&format!("q={encoded}")).await.is_empty());
}

#[tokio::test]
async fn orders_hold_across_pages() {
    let rig = DriveFixture::new().await;
    for name in ["b", "C", "a"] {
        rig.add_doc(&rig.root, name);
    }

    rig.add_folder(&rig.root, "z");
    for (order, expected) in [
        ("name", ["a", "b", "C", "z"]),
        ("folder,name%20desc", ["z", "C", "b", "a"]),
        ("modifiedTime%20desc", ["z", "a", "C", "b"]),
        ("", ["b", "C", "a", "z"]),
    ] {
        assert_eq!(
            rig.list_names(&format!("pageSize=3&orderBy={order}")).await,
            expected,
            "{order}"
        );
    }
}

#[tokio::test]
async fn a_page_token_is_for_its_query_and_some_hours() {
    let rig = DriveFixture::new().await;
    for name in ["a", "b", "c"] {
        rig.add_doc(&rig.root, name);
    }

    let page = rig.get_ok("files?pageSize=1&fields=nextPageToken").await;
    let token = page["nextPageToken"].as_str().unwrap();
    rig.get_ok(&format!("files?pageSize=2&pageToken={token}"))
        .await;
    let other = format!("files?q=trashed%3Dfalse&pageToken={token}");
    assert_eq!(rig.get_error(&other).await, (400, "invalid".to_owned()));
    rig.drive.advance_clock(7 * 3600);
    assert_eq!(
        rig.get_error(&format!("files?pageToken={token}")).await.0,
        400
    );
}

#[tokio::test]
async fn shared_drives_are_found_only_by_those_who_ask_for_them() {
    let rig = DriveFixture::new().await;
    rig.add_doc(&rig.root, "mine");
    let drive = rig.drive.create_shared_drive("Team", &[ADA]);
    let folder = rig.add_folder(&drive, "plans");
    let doc = rig.add_doc(&folder, "ours");
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
        assert_eq!(rig.list_names(&query).await, expected, "{query}");
    }

    assert_eq!(rig.get(&format!("files/{doc}")).await.0, 404);
    let file = rig
        .get_ok(&format!(
            "files/{doc}?supportsAllDrives=true&fields=driveId,owners,parents"
        ))
        .await;
    assert_eq!(file, json!({ "driveId": drive, "parents": [folder] }));
    let root = rig
        .get_ok(&format!(
            "files/{drive}?supportsAllDrives=true&fields=name,parents"
        ))
        .await;
    assert_eq!(root, json!({ "name": "Drive" }));
    assert_eq!(
        rig.get_ok(&format!("drives/{drive}?fields=id,name")).await,
        json!({ "id": drive, "name": "Team" })
    );
    rig.drive.remove_member(&drive, ADA).unwrap();
    assert_eq!(
        rig.get_error(&format!("files?{in_drive}")).await,
        (404, "notFound".to_owned())
    );
    assert_eq!(
        rig.get_ok("drives?fields=drives(id)").await,
        json!({ "drives": [] })
    );
}

#[tokio::test]
async fn what_others_share_is_seen_as_long_as_they_do() {
    let rig = DriveFixture::new().await;
    let ben = rig.drive.get_or_create_account(BEN);
    let folder = rig.add_folder(ben.root(), "tours");
    let doc = rig.add_doc(&folder, "north");
    rig.add_doc(ben.root(), "secret");
    assert!(rig.list_names("").await.is_empty());

    rig.drive.share_item(&folder, ADA).unwrap();
    assert_eq!(rig.list_names("").await, ["tours", "north"]);
    assert_eq!(rig.list_names("q=sharedWithMe%3Dtrue").await, ["tours"]);

    let fields = "fields=parents,ownedByMe,owners(emailAddress)";
    let shared = rig.get_ok(&format!("files/{folder}?{fields}")).await;
    assert_eq!(
        shared,
        json!({ "ownedByMe": false, "owners": [{ "emailAddress": BEN }] })
    );
    assert_eq!(
        rig.get_ok(&format!("files/{doc}?{fields}")).await["parents"],
        json!([folder])
    );

    rig.drive
        .set_quirks(|quirks| quirks.shared_folders_only = true);
    rig.drive.hide_item(&doc, ADA).unwrap();
    assert_eq!(rig.get(&format!("files/{doc}")).await.0, 404);

    rig.drive.unhide_item(&doc, ADA).unwrap();
    rig.drive.unshare_item(&folder, ADA).unwrap();
    assert_eq!(rig.get(&format!("files/{doc}")).await.0, 404);
    assert!(rig.list_names("").await.is_empty());
}

#[tokio::test]
async fn a_link_needs_its_key() {
    let rig = DriveFixture::new().await;
    let doc = rig.add_doc(rig.drive.get_or_create_account(BEN).root(), "linked");
    rig.drive.share_by_link(&doc, "k-1").unwrap();
    let shortcut = rig.drive.add_shortcut(&rig.root, "to it", &doc).unwrap();
    let details = rig
        .get_ok(&format!(
            "files/{shortcut}?fields=shortcutDetails(targetId,targetResourceKey)"
        ))
        .await;
    assert_eq!(
        details["shortcutDetails"],
        json!({ "targetId": doc, "targetResourceKey": "k-1" })
    );
    rig.add_doc(&rig.root, "no shortcut");
    for (sign, expected) in [("=", vec!["to it"]), ("!=", vec!["no shortcut"])] {
        let query = format!("shortcutDetails.targetId{sign}'{doc}' and trashed=false");
        let encoded: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        assert_eq!(
            rig.list_names(&format!("q={encoded}")).await,
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
        let request = rig.request(Method::GET, &format!("files/{doc}"));
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
    let rig = DriveFixture::with(Quirks {
        page_cap: Some(2),
        repeats: true,
        ..Quirks::default()
    })
    .await;
    for name in ["a", "b", "c", "d"] {
        rig.add_doc(&rig.root, name);
    }

    assert_eq!(
        rig.list_names("pageSize=1000").await,
        ["a", "b", "b", "c", "c", "d"]
    );
    rig.drive.set_quirks(|quirks| {
        *quirks = Quirks {
            incomplete_all_drives: true,
            ..Quirks::default()
        }
    });

    let all = rig
        .get_ok(&format!(
            "files?corpora=allDrives&{DRIVES}&fields=incompleteSearch,files(name)"
        ))
        .await;
    assert_eq!(
        (
            all["incompleteSearch"].as_bool(),
            strings(&all["files"], "name")
        ),
        (Some(true), vec!["a".to_owned(), "c".to_owned()])
    );
}
