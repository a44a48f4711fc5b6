//! Tests of listings, changes and browsing in the fake drive.

use std::collections::BTreeMap;

use domain::connection::SkipReason;
use domain::ports::{ConnectorError, ItemKind, PickerView};
use fake_drive::{FakeContent, Restrictions};

use crate::{DriveStage, IDA, OLE, item_names};

#[tokio::test]
async fn everything_and_the_children_of_a_folder_come_in_pages() {
    let stage = DriveStage::open().await;
    let (access, root) = (stage.ida_access(), stage.root_id());
    let folder = stage.fake.add_folder(&root, "Plans").unwrap();
    for number in 0..7 {
        stage
            .fake
            .add_doc(&folder, &format!("Plan {number}"), "Words")
            .unwrap();
    }

    let bin = stage.fake.add_doc(&root, "Old", "Words").unwrap();
    stage.fake.trash_item(&bin).unwrap();
    stage.fake.set_quirks(|quirks| quirks.page_cap = Some(3));
    let mut names = Vec::new();
    let (mut page, mut pages) = (None, 0);
    loop {
        let listed = stage
            .connector()
            .list_feed(&access, "user", page.as_deref())
            .await
            .unwrap();
        names.extend(item_names(&listed).into_iter().map(str::to_owned));
        pages += 1;
        page = listed.next;
        if page.is_none() {
            break;
        }
    }
    names.sort();
    assert_eq!(
        names,
        [
            "Plan 0", "Plan 1", "Plan 2", "Plan 3", "Plan 4", "Plan 5", "Plan 6", "Plans"
        ]
    );
    assert_eq!(pages, 3);

    let first = stage
        .connector()
        .list_children(&access, &folder, None, None)
        .await
        .unwrap();
    assert_eq!(first.items.len(), 3);
    assert!(
        first
            .items
            .iter()
            .all(|item| item.parent.as_deref() == Some(&folder))
    );

    let other = stage
        .connector()
        .list_children(&access, &root, None, first.next.as_deref())
        .await
        .unwrap_err();
    assert!(matches!(other, ConnectorError::PageLost), "{other:?}");
    assert!(
        stage
            .connector()
            .list_children(&access, "nowhere", None, None)
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn shared_drives_are_feeds_of_their_own_and_have_their_names() {
    let stage = DriveStage::open().await;
    let access = stage.ida_access();
    let sales = stage.fake.create_shared_drive("Sales", &[IDA, OLE]);
    let folder = stage.fake.add_folder(&sales, "Offers").unwrap();
    stage.fake.add_doc(&folder, "Offer", "Words").unwrap();
    assert_eq!(
        stage.connector().list_feeds(&access).await.unwrap(),
        ["user", sales.as_str()]
    );
    let top = stage.item_for_ida(&sales).await;
    assert_eq!(
        (top.name.as_str(), top.kind, top.parent),
        ("Sales", ItemKind::Folder, None)
    );
    assert_eq!(stage.item_for_ida("root").await.id, stage.root_id());
    let listed = stage
        .connector()
        .list_feed(&access, &sales, None)
        .await
        .unwrap();
    assert_eq!(item_names(&listed), ["Offers", "Offer"]);
    assert!(
        listed
            .items
            .iter()
            .all(|item| item.drive.as_ref() == Some(&sales))
    );
    let inside = stage
        .connector()
        .list_children(&access, &folder, Some(&sales), None)
        .await
        .unwrap();
    assert_eq!(item_names(&inside), ["Offer"]);

    let start = stage
        .connector()
        .current_cursor(&access, &sales)
        .await
        .unwrap();
    stage.fake.remove_member(&sales, IDA).unwrap();
    assert_eq!(
        stage.connector().list_feeds(&access).await.unwrap(),
        ["user"]
    );
    assert!(
        stage
            .connector()
            .list_feed(&access, &sales, None)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    assert_eq!(
        stage.connector().get_item(&access, &folder).await.unwrap(),
        None
    );
    let error = stage
        .connector()
        .list_changes(&access, &sales, &start)
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectorError::CursorLost), "{error:?}");
}

#[tokio::test]
async fn changes_tell_what_is_and_what_is_gone() {
    let stage = DriveStage::open().await;
    let (access, root) = (stage.ida_access(), stage.root_id());
    let doc = stage.fake.add_doc(&root, "Plan", "Words").unwrap();
    let pdf = stage
        .fake
        .add_file(&root, "a.pdf", "application/pdf", "%PDF")
        .unwrap();
    let old = stage.fake.add_doc(&root, "Old", "Words").unwrap();
    let item_before = stage.item_for_ida(&doc).await;
    let mut cursor = stage
        .connector()
        .current_cursor(&access, "user")
        .await
        .unwrap();
    stage.fake.rename_item(&doc, "The plan").unwrap();
    stage.fake.trash_item(&pdf).unwrap();
    stage.fake.delete_item(&old).unwrap();
    let sales = stage.fake.create_shared_drive("Sales", &[IDA]);
    stage.fake.set_quirks(|quirks| quirks.page_cap = Some(1));
    let (mut seen, mut feeds) = (BTreeMap::new(), false);
    loop {
        let changes = stage
            .connector()
            .list_changes(&access, "user", &cursor)
            .await
            .unwrap();
        feeds |= changes.feeds_changed;
        seen.extend(
            changes
                .changes
                .into_iter()
                .map(|changed| (changed.id, changed.item)),
        );
        cursor = changes.cursor;
        if !changes.has_more {
            break;
        }
    }
    let renamed = seen[&doc].clone().unwrap();
    assert_eq!(
        (renamed.name.as_str(), &renamed.content_version),
        ("The plan", &item_before.content_version)
    );
    assert_ne!(renamed.version, item_before.version);
    assert!(seen[&pdf].as_ref().unwrap().is_trashed && seen[&old].is_none() && feeds);

    let empty_page = stage
        .connector()
        .list_changes(&access, "user", &cursor)
        .await
        .unwrap();
    assert!(empty_page.changes.is_empty() && !empty_page.has_more);
    stage.fake.rename_drive(&sales, "More sales").unwrap();
    assert!(
        stage
            .connector()
            .list_changes(&access, "user", &empty_page.cursor)
            .await
            .unwrap()
            .feeds_changed
    );
    let error = stage
        .connector()
        .list_changes(&access, "user", "no such cursor")
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectorError::CursorLost), "{error:?}");
}

#[tokio::test]
async fn items_say_what_they_are_and_why_they_cannot_be_read() {
    let stage = DriveStage::open().await;
    let root = stage.root_id();
    let pdf = |name: &str| {
        stage
            .fake
            .add_file(&root, name, "application/pdf", "%PDF-1.7")
            .unwrap()
    };

    let restricted = |name: &str, restrictions: Restrictions| {
        let id = pdf(name);
        stage.fake.set_restrictions(&id, restrictions).unwrap();
        id
    };

    let target = pdf("real.pdf");
    let unreadable = ItemKind::Unreadable;
    let no_restrictions = Restrictions::default;
    let cases = [
        (target.clone(), ItemKind::File { document: None }),
        (
            stage.fake.add_shortcut(&root, "cut", &target).unwrap(),
            ItemKind::Shortcut {
                target: target.clone(),
            },
        ),
        (
            restricted(
                "a",
                Restrictions {
                    no_download: true,
                    ..no_restrictions()
                },
            ),
            unreadable(SkipReason::NotDownloadable),
        ),
        (
            restricted(
                "b",
                Restrictions {
                    no_gen_ai: true,
                    ..no_restrictions()
                },
            ),
            unreadable(SkipReason::GenaiRestricted),
        ),
        (
            restricted(
                "c",
                Restrictions {
                    encrypted: true,
                    ..no_restrictions()
                },
            ),
            unreadable(SkipReason::Encrypted),
        ),
        (
            stage
                .fake
                .add_file(&root, "x.png", "image/png", "png")
                .unwrap(),
            unreadable(SkipReason::UnsupportedType),
        ),
    ];
    for (id, expected) in cases {
        let item = stage.item_for_ida(&id).await;
        assert_eq!(item.kind, expected, "{}", item.name);
        assert_eq!(item.parent.as_ref(), Some(&root));
    }

    let item = stage.item_for_ida(&target).await;
    assert_eq!((item.size, item.owner.as_deref()), (Some(8), Some(IDA)));
    assert!(item.content_version.starts_with("sha256:") && item.url.is_some() && !item.is_trashed);
    stage
        .fake
        .replace_content(
            &target,
            FakeContent::Bytes {
                media_type: item.media_type.clone(),
                bytes: "%PDF-2".into(),
            },
        )
        .unwrap();
    assert_ne!(
        stage.item_for_ida(&target).await.content_version,
        item.content_version
    );
    stage.fake.hide_item(&target, IDA).unwrap();
    assert_eq!(
        stage
            .connector()
            .get_item(&stage.ida_access(), &target)
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn the_picker_looks_through_all_views() {
    let stage = DriveStage::open().await;
    let (access, root) = (stage.ida_access(), stage.root_id());
    stage.fake.add_doc(&root, "b doc", "Words").unwrap();
    stage.fake.add_doc(&root, "Ida's plan", "Words").unwrap();
    let folder = stage.fake.add_folder(&root, "z folder").unwrap();
    stage
        .fake
        .add_file(&folder, "in.pdf", "application/pdf", "%PDF")
        .unwrap();
    // More than a page of items that are never offered precedes the first one that is.
    for number in 0..101 {
        stage
            .fake
            .add_file(&root, &format!("a{number}.png"), "image/png", "png")
            .unwrap();
    }

    stage
        .fake
        .add_file(&root, "a.mp4", "video/mp4", "mp4")
        .unwrap();
    let ole_root = stage.fake.get_or_create_account(OLE).root().to_owned();
    let given = stage.fake.add_folder(&ole_root, "Given").unwrap();
    stage.fake.add_doc(&given, "Gift", "Words").unwrap();
    stage.fake.share_item(&given, IDA).unwrap();
    let sales = stage.fake.create_shared_drive("Sales", &[IDA]);
    let offers = stage.fake.add_folder(&sales, "Offers").unwrap();
    stage.fake.add_doc(&offers, "Offer", "Words").unwrap();
    let cases = [
        (
            PickerView::My,
            None,
            None,
            vec!["z folder", "b doc", "Ida's plan"],
        ),
        (PickerView::My, Some(folder.as_str()), None, vec!["in.pdf"]),
        (PickerView::My, None, Some(" ida's "), vec!["Ida's plan"]),
        (
            PickerView::My,
            None,
            Some("' or name contains 'b"),
            Vec::new(),
        ),
        (PickerView::Shared, None, None, vec!["Given"]),
        (PickerView::Shared, Some(given.as_str()), None, vec!["Gift"]),
        (PickerView::Drives, None, None, vec!["Sales"]),
        (
            PickerView::Drives,
            Some(offers.as_str()),
            None,
            vec!["Offer"],
        ),
        (
            PickerView::Drives,
            None,
            Some("off"),
            vec!["Offers", "Offer"],
        ),
    ];
    for (view, parent, query, expected) in cases {
        let listed = stage
            .connector()
            .list_selectable(&access, &view, parent, query, None)
            .await
            .unwrap();
        assert_eq!(
            item_names(&listed),
            expected,
            "{view:?} {parent:?} {query:?}"
        );
    }
}

#[tokio::test]
async fn notifications_are_asked_for_and_stopped() {
    let stage = DriveStage::open().await;
    let access = stage.ida_access();
    let cursor = stage
        .connector()
        .current_cursor(&access, "user")
        .await
        .unwrap();
    let watch = |address: &'static str| {
        let (drive, access, cursor) = (stage.connector(), &access, &cursor);
        async move {
            drive
                .watch_feed(access, "user", cursor, "channel-1", address, "a token")
                .await
                .unwrap()
        }
    };
    assert_eq!(watch("http://api.example/hook").await, None);

    let watched = watch("http://127.0.0.1:1/hook").await.unwrap();
    let seconds = (watched.expires_at.as_millis() - stage.fake.now_millis()) / 1000;
    assert!(
        (7 * 24 * 3600 - 120..7 * 24 * 3600).contains(&seconds),
        "a week by the clock of the drive: {seconds}"
    );
    assert_eq!(stage.fake.open_channel_ids(), ["channel-1"]);

    stage
        .connector()
        .stop_watching(&access, "channel-1", &watched.resource)
        .await
        .unwrap();
    assert!(stage.fake.open_channel_ids().is_empty());

    stage
        .connector()
        .stop_watching(&access, "channel-1", &watched.resource)
        .await
        .unwrap();
}
