//! Tests of all types of content in the fake drive.

use domain::connection::SkipReason;
use domain::document::{BodyForm, DocumentType};
use domain::ports::{ConnectorError, ConnectorResult, ItemContent, ItemKind, ProviderItem};
use fake_drive::{PlannedFault, Restrictions, SheetTable, Slide};

use crate::{DriveStage, OLE};

const LIMIT: usize = 50_000_000;

async fn fetch(stage: &DriveStage, id: &str) -> ConnectorResult<ItemContent> {
    stage
        .connector()
        .fetch_content(&stage.ida_access(), &stage.item_for_ida(id).await, LIMIT)
        .await
}

fn name(fetched: &ItemContent) -> &str {
    match &fetched.form {
        BodyForm::File {
            name: Some(name), ..
        } => name,
        other => panic!("{other:?}"),
    }
}

fn sheet(rows: usize) -> Vec<SheetTable> {
    let row = |number: usize| {
        vec![
            format!("Part {number}"),
            format!("{}", number * 7_919 % 1_000_003),
        ]
    };
    vec![SheetTable {
        name: "Stock".into(),
        rows: (0..rows).map(row).collect(),
    }]
}

#[tokio::test]
async fn what_exists_on_the_drive_only_is_exported() {
    let stage = DriveStage::open().await;
    let root = stage.root_id();
    let doc = stage
        .fake
        .add_doc(
            &root,
            "Plan",
            "# Plan\n\n![A map](data:image/png;base64,AAAA) leads there.",
        )
        .unwrap();
    let table = stage.fake.add_sheet(&root, "Stock", sheet(3)).unwrap();
    let slide = Slide {
        title: "Goals".into(),
        lines: vec!["Grow".into()],
        notes: "Slowly".into(),
    };

    let slides = stage.fake.add_slides(&root, "Talk", vec![slide]).unwrap();
    let cases = [
        (&doc, DocumentType::CloudDoc, "file.md"),
        (&table, DocumentType::CloudSheet, "file.xlsx"),
        (&slides, DocumentType::CloudSlide, "file.pptx"),
    ];

    for (id, kind, expected) in cases {
        assert_eq!(
            stage.item_for_ida(id).await.kind,
            ItemKind::File {
                document: Some(kind)
            }
        );
        let fetched = fetch(&stage, id).await.unwrap();
        assert_eq!(name(&fetched), expected);
        if expected == "file.md" {
            let text = std::str::from_utf8(&fetched.bytes).unwrap();
            assert!(
                text.contains("# Plan") && text.contains("leads there") && !text.contains("data:"),
                "{text}"
            );
        } else {
            assert!(fetched.bytes.starts_with(b"PK"));
        }
        stage.fake.rename_item(id, "Another name.pdf").unwrap();
        assert_eq!(
            fetch(&stage, id).await.unwrap(),
            fetched,
            "a rename changes no content"
        );
    }
}

#[tokio::test]
async fn a_file_comes_as_it_was_uploaded() {
    let stage = DriveStage::open().await;
    let id = stage
        .fake
        .add_file(&stage.root_id(), "Notes.md", "text/markdown", "# Notes\n")
        .unwrap();
    let fetched = fetch(&stage, &id).await.unwrap();
    assert_eq!(
        (fetched.bytes.as_ref(), name(&fetched)),
        (b"# Notes\n".as_slice(), "file.md")
    );
    let short = stage
        .connector()
        .fetch_content(&stage.ida_access(), &stage.item_for_ida(&id).await, 3)
        .await
        .unwrap_err();
    assert!(
        matches!(short, ConnectorError::Item(SkipReason::TooLarge)),
        "{short:?}"
    );
    stage
        .fake
        .set_restrictions(
            &id,
            Restrictions {
                abusive: true,
                ..Restrictions::default()
            },
        )
        .unwrap();
    let flagged = fetch(&stage, &id).await.unwrap_err();
    assert!(
        matches!(flagged, ConnectorError::Item(SkipReason::FlaggedMalware)),
        "{flagged:?}"
    );
    // The item was listed before access to it was forbidden.
    let listed = ProviderItem {
        kind: ItemKind::File { document: None },
        ..stage.item_for_ida(&id).await
    };

    stage
        .fake
        .set_restrictions(
            &id,
            Restrictions {
                no_download: true,
                ..Restrictions::default()
            },
        )
        .unwrap();
    let error = stage
        .connector()
        .fetch_content(&stage.ida_access(), &listed, LIMIT)
        .await
        .unwrap_err();
    assert!(
        matches!(error, ConnectorError::Item(SkipReason::NotDownloadable)),
        "{error:?}"
    );
    let empty = stage
        .fake
        .add_file(&stage.root_id(), "e.txt", "text/plain", "")
        .unwrap();
    assert!(matches!(
        fetch(&stage, &empty).await,
        Err(ConnectorError::Item(SkipReason::Empty))
    ));
}

#[tokio::test]
async fn what_is_too_large_to_be_exported_comes_another_way() {
    let stage = DriveStage::open().await;
    let picture = "A".repeat(11_000_000);
    let text = format!("# Plan\n\n![A map](data:image/png;base64,{picture})\n\nIt leads there.");
    let doc = stage.fake.add_doc(&stage.root_id(), "Plan", &text).unwrap();
    let fetched = fetch(&stage, &doc).await.unwrap();
    let text = String::from_utf8_lossy(&fetched.bytes).into_owned();
    assert!(
        text.len() < 1_000 && text.contains("leads there"),
        "{} bytes",
        text.len()
    );
    let attempts = |stage: &DriveStage| {
        let calls = ["export", "download", "operations"];
        let call = |path: &str| {
            calls
                .iter()
                .find(|call| path.split('/').any(|part| part == **call))
                .copied()
        };
        let seen = stage.fake.recorded_requests().into_iter();
        seen.filter_map(|seen| Some((call(&seen.path)?, seen.status)))
            .collect::<Vec<_>>()
    };

    let attempts_made = attempts(&stage);
    assert_eq!(
        attempts_made[..2],
        [("export", 403), ("export", 200)],
        "{attempts_made:?}"
    );

    let table = stage
        .fake
        .add_sheet(&stage.root_id(), "Stock", sheet(3))
        .unwrap();
    stage.fake.clear_requests();
    stage.fake.plan_fault(PlannedFault::api_error(
        &format!("/drive/v3/files/{table}/export"),
        403,
        "exportSizeLimitExceeded",
    ));
    let fetched = fetch(&stage, &table).await.unwrap();
    assert!(fetched.bytes.starts_with(b"PK") && name(&fetched) == "file.xlsx");
    let attempts_made = attempts(&stage);
    let expected = [("export", 403), ("download", 200), ("operations", 200)];
    assert_eq!(attempts_made[..3], expected, "{attempts_made:?}");
}

#[tokio::test]
async fn what_was_shared_by_its_link_is_had_with_the_key_that_a_shortcut_keeps() {
    let stage = DriveStage::open().await;
    let linked = stage
        .fake
        .add_doc(
            stage.fake.get_or_create_account(OLE).root(),
            "Linked",
            "# Linked",
        )
        .unwrap();
    stage.fake.share_by_link(&linked, "k-1").unwrap();
    assert_eq!(
        stage
            .connector()
            .get_item(&stage.ida_access(), &linked)
            .await
            .unwrap(),
        None
    );

    stage
        .fake
        .add_shortcut(&stage.root_id(), "to it", &linked)
        .unwrap();
    assert_eq!(stage.item_for_ida(&linked).await.name, "Linked");

    let bytes = fetch(&stage, &linked).await.unwrap().bytes;
    assert!(String::from_utf8_lossy(&bytes).contains("# Linked"));
}
