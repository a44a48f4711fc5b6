//! Tests of fetching and exporting, against a server with scripted answers.

use domain::connection::SkipReason;
use domain::document::BodyForm;
use domain::ports::{ConnectorError, ConnectorResult, ItemContent, ItemKind, ProviderItem};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::stage::{ScriptedServer, TOKEN, test_access};
use super::{HTML, api_error, test_item};

const MEDIA: &str = "GET /drive/v3/files/f1?supportsAllDrives=true&alt=media";
const DOC: &str = "application/vnd.google-apps.document";
const SHEET: &str = "application/vnd.google-apps.spreadsheet";
const SLIDES: &str = "application/vnd.google-apps.presentation";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const LIMIT: usize = 1_000;

async fn fetch(server: &ScriptedServer, item: &ProviderItem) -> ConnectorResult<ItemContent> {
    server
        .drive_connector()
        .fetch_content(&test_access(), item, LIMIT)
        .await
}

fn skipped(fetched: ConnectorResult<ItemContent>) -> SkipReason {
    match fetched {
        Err(ConnectorError::Item(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn export(media_type: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(media_type.as_bytes()).collect();
    format!("GET /drive/v3/files/f1/export?mimeType={encoded}")
}

#[tokio::test]
async fn a_stored_file_comes_whole_or_not_at_all() {
    let server = ScriptedServer::open().await;
    let mut pdf = test_item("application/pdf");
    pdf.content_version = format!(
        "sha256:{}:7",
        Sha256::digest(b"content")
            .iter()
            .map(|b| format!("{b:02X}"))
            .collect::<String>()
    );
    server.script_answer(MEDIA, 200, "Content-Type: application/pdf\r\n", "content");
    let fetched = fetch(&server, &pdf).await.unwrap();
    let form = BodyForm::File {
        name: Some("file.pdf".into()),
        declared: Some("application/pdf".into()),
    };

    assert_eq!(
        (fetched.bytes.as_ref(), fetched.form),
        (b"content".as_slice(), form)
    );
    assert!(server.last_request().contains("acknowledgeAbuse=false"));
    server.script_answer(MEDIA, 200, "", "c0ntent");
    assert!(matches!(
        fetch(&server, &pdf).await,
        Err(ConnectorError::Unavailable(_))
    ));
    server.script_bytes(
        MEDIA,
        b"HTTP/1.1 200 X\r\nContent-Length: 7\r\nConnection: close\r\n\r\ncon".to_vec(),
    );
    assert!(matches!(
        fetch(&server, &pdf).await,
        Err(ConnectorError::Unavailable(_))
    ));
}

#[tokio::test]
async fn what_cannot_be_had_says_why() {
    let server = ScriptedServer::open().await;
    let pdf = test_item("application/pdf");
    let cases = [
        ("cannotDownloadAbusiveFile", SkipReason::FlaggedMalware),
        ("fileNotDownloadable", SkipReason::NotDownloadable),
        ("cannotDownloadFile", SkipReason::NotDownloadable),
    ];
    for (reason, expected) in cases {
        server.script_json(MEDIA, 403, &api_error(403, reason));
        assert_eq!(skipped(fetch(&server, &pdf).await), expected, "{reason}");
    }

    server.script_answer(MEDIA, 200, "", " \n");
    assert_eq!(skipped(fetch(&server, &pdf).await), SkipReason::Empty);
    server
        .script_json(MEDIA, 404, &api_error(404, "notFound"))
        .script_json("GET /drive/v3/files?", 200, &json!({"files": []}));
    assert!(matches!(
        fetch(&server, &pdf).await,
        Err(ConnectorError::Fault(_))
    ));
    let request_count = server.recorded_requests().len();
    let unreadable = ProviderItem {
        kind: ItemKind::Unreadable(SkipReason::Encrypted),
        ..test_item(DOC)
    };

    assert_eq!(
        skipped(fetch(&server, &unreadable).await),
        SkipReason::Encrypted
    );
    assert_eq!(server.recorded_requests().len(), request_count);
}

#[tokio::test]
async fn too_large_is_told_before_and_while_it_comes() {
    let server = ScriptedServer::open().await;
    let large = ProviderItem {
        size: Some(LIMIT as u64 + 1),
        ..test_item("application/pdf")
    };

    assert_eq!(skipped(fetch(&server, &large).await), SkipReason::TooLarge);
    assert!(server.recorded_requests().is_empty());
    server.script_answer(MEDIA, 200, "", vec![b'a'; LIMIT + 1]);
    assert_eq!(
        skipped(fetch(&server, &test_item("application/pdf")).await),
        SkipReason::TooLarge
    );
    let mut endless =
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".to_vec();
    for _ in 0..3 {
        endless.extend_from_slice(format!("190\r\n{}\r\n", "a".repeat(400)).as_bytes());
    }

    server.script_bytes(MEDIA, endless);
    assert_eq!(
        skipped(fetch(&server, &test_item("application/pdf")).await),
        SkipReason::TooLarge
    );
    server.script_answer(MEDIA, 200, "", vec![b'a'; LIMIT]);
    assert_eq!(
        fetch(&server, &test_item("application/pdf"))
            .await
            .unwrap()
            .bytes
            .len(),
        LIMIT
    );
}

#[tokio::test]
async fn a_document_comes_as_markdown_without_its_pictures() {
    let server = ScriptedServer::open().await;
    let text = "# Plan\n\n![][image1]\n\n[image1]: <data:image/png;base64,AAAA>\n";
    server.script_answer(
        &export("text/markdown"),
        200,
        "Content-Type: text/markdown\r\n",
        text,
    );
    let fetched = fetch(&server, &test_item(DOC)).await.unwrap();
    assert_eq!(fetched.bytes, "# Plan\n\n\n\n");
    assert!(matches!(fetched.form, BodyForm::File { name: Some(name), .. } if name == "file.md"));
    assert!(
        !server.last_request().contains("supportsAllDrives"),
        "export knows nothing of shared drives"
    );

    server.script_answer(&export("text/markdown"), 200, HTML, "<html>Sign in</html>");
    assert!(matches!(
        fetch(&server, &test_item(DOC)).await,
        Err(ConnectorError::Unavailable(_))
    ));
}

#[tokio::test]
async fn over_the_limit_a_lighter_form_does() {
    let server = ScriptedServer::open().await;
    let pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
    for (kind, media_type) in [(DOC, "text/markdown"), (SLIDES, pptx)] {
        server.script_json(
            &export(media_type),
            403,
            &api_error(403, "exportSizeLimitExceeded"),
        );
        server.script_answer(
            &export("text/plain"),
            200,
            "Content-Type: text/plain\r\n",
            "\u{feff}All of it",
        );
        let fetched = fetch(&server, &test_item(kind)).await.unwrap();
        assert_eq!(fetched.bytes, "All of it");
        assert!(
            matches!(fetched.form, BodyForm::File { name: Some(name), .. } if name == "file.txt")
        );
    }

    server.script_json(
        &export("text/markdown"),
        403,
        &api_error(403, "cannotExportFile"),
    );
    assert_eq!(
        skipped(fetch(&server, &test_item(DOC)).await),
        SkipReason::NotDownloadable
    );
}

#[tokio::test]
async fn over_the_callers_limit_no_content_is_left_out() {
    let server = ScriptedServer::open().await;
    let large = vec![b'a'; LIMIT + 1];
    for (kind, media_type) in [(DOC, "text/markdown"), (SHEET, XLSX)] {
        let header = format!("Content-Type: {media_type}\r\n");
        server.script_answer(&export(media_type), 200, &header, large.clone());
        let request_count = server.recorded_requests().len();
        assert_eq!(
            skipped(fetch(&server, &test_item(kind)).await),
            SkipReason::TooLarge
        );
        assert_eq!(server.recorded_requests().len(), request_count + 1);
    }
}

#[tokio::test]
async fn a_sheet_over_the_limit_is_downloaded_in_the_providers_own_time() {
    let server = ScriptedServer::open().await;
    let operation = json!({"name": "op-1", "done": true, "response": {"downloadUri": format!("{}/made/1", server.url)}});
    server.script_json(
        &export(XLSX),
        403,
        &api_error(403, "exportSizeLimitExceeded"),
    );
    server.script_json(
        "POST /drive/v3/files/f1/download?mimeType=",
        200,
        &json!({"name": "operations/op-1"}),
    );
    server.script_json("GET /drive/v3/operations/op-1 ", 200, &operation);
    server.script_answer(
        "GET /made/1 ",
        200,
        &format!("Content-Type: {XLSX}\r\n"),
        "PK sheet",
    );

    let fetched = fetch(&server, &test_item(SHEET)).await.unwrap();
    assert_eq!(fetched.bytes, "PK sheet");
    assert!(server.last_request().contains(TOKEN));
}

#[tokio::test]
async fn an_export_link_is_followed_to_the_providers_hosts_only() {
    let server = ScriptedServer::open().await;
    let refuse = || {
        server.script_json(
            &export(XLSX),
            403,
            &api_error(403, "exportSizeLimitExceeded"),
        );
        server.script_json(
            "POST /drive/v3/files/f1/download?",
            403,
            &api_error(403, "exportSizeLimitExceeded"),
        );
    };

    let links = |to: String| json!({"exportLinks": {XLSX: to}});
    let asks = "GET /drive/v3/files/f1?supportsAllDrives=true&fields=exportLinks";
    refuse();
    server.script_json(asks, 200, &links(format!("{}/link", server.url)));
    server.script_answer("GET /link ", 302, "Location: /there\r\n", "");
    server.script_answer(
        "GET /there ",
        200,
        &format!("Content-Type: {XLSX}\r\n"),
        "PK sheet",
    );
    assert_eq!(
        fetch(&server, &test_item(SHEET)).await.unwrap().bytes,
        "PK sheet"
    );
    refuse();
    server.script_json(asks, 200, &links(format!("{}/link", server.url)));
    server.script_answer("GET /link ", 200, HTML, "<html>Sign in</html>");
    assert!(matches!(
        fetch(&server, &test_item(SHEET)).await,
        Err(ConnectorError::Unavailable(_))
    ));
    // A foreign host is never contacted, so only the first table is left.
    let foreign_server = ScriptedServer::open().await;
    refuse();
    server.script_json(asks, 200, &links(format!("{}/link", server.url)));
    server.script_answer(
        "GET /link ",
        302,
        &format!("Location: {}/steal\r\n", foreign_server.url),
        "",
    );
    server.script_answer(
        &export("text/csv"),
        200,
        "Content-Type: text/csv\r\n",
        "a,b\n",
    );
    assert_eq!(
        fetch(&server, &test_item(SHEET)).await.unwrap().bytes,
        "a,b\n"
    );
    assert!(foreign_server.recorded_requests().is_empty());
    refuse();
    server.script_json(asks, 200, &links("https://127.0.0.1/x".into()));
    server.script_json(
        &export("text/csv"),
        403,
        &api_error(403, "exportSizeLimitExceeded"),
    );
    assert_eq!(
        skipped(fetch(&server, &test_item(SHEET)).await),
        SkipReason::TooLarge
    );
}

#[tokio::test]
async fn what_was_shared_by_its_link_alone_is_had_with_the_key_of_a_shortcut() {
    let to = json!({"targetId": "f1", "targetResourceKey": "0-key"});
    let shortcuts = json!({"files": [{"id": "s1", "shortcutDetails": to}]});
    let markdown = export("text/markdown");

    for (kind, asks) in [(DOC, markdown.as_str()), ("application/pdf", MEDIA)] {
        let server = ScriptedServer::open().await;
        server
            .script_json(asks, 404, &api_error(404, "notFound"))
            .script_json("GET /drive/v3/files?", 200, &shortcuts);
        server.script_answer(asks, 200, "", "Far away");
        assert_eq!(
            fetch(&server, &test_item(kind)).await.unwrap().bytes,
            "Far away"
        );
        assert!(
            server
                .last_request()
                .contains("x-goog-drive-resource-keys: f1/0-key"),
            "{}",
            server.last_request()
        );
        assert!(
            server.recorded_requests()[1].contains("q=shortcutDetails.targetId%3D%27f1%27"),
            "{}",
            server.recorded_requests()[1]
        );
    }
}
