//! Tests of paged listings, against a server with scripted answers.

use domain::ports::{Connector, ConnectorError, ItemKind, PickerView};
use serde_json::{Value, json};

use super::stage::{ScriptedServer, TOKEN, test_access};
use super::{HTML, api_error, error_text};

const LIST: &str = "GET /drive/v3/files?";
const CHANGES: &str = "GET /drive/v3/changes?";

#[tokio::test]
async fn every_fault_is_one_of_those_that_callers_tell_apart() {
    let page = |status, body: &str| (status, HTML, body.to_owned(), "Unavailable");
    let api = |status, reason, expected| {
        (
            status,
            "Retry-After: 9\r\n",
            api_error(status, reason).to_string(),
            expected,
        )
    };
    let cases = [
        api(
            403,
            "userRateLimitExceeded",
            "Throttled { retry_after: Some(9) }",
        ),
        api(
            429,
            "rateLimitExceeded",
            "Throttled { retry_after: Some(9) }",
        ),
        api(401, "authError", "Reauth(\"authError\")"),
        api(403, "insufficientPermissions", "Reauth("),
        api(403, "dailyLimitExceeded", "QuotaExceeded"),
        api(403, "accessNotConfigured", "App("),
        api(403, "domainPolicy", "Policy("),
        api(400, "invalid", "Fault("),
        api(500, "backendError", "Unavailable"),
        page(200, "<html>Sign in</html>"),
        page(302, "<html>Moved</html>"),
        page(403, "<html>Sorry</html>"),
        page(404, "<html>No</html>"),
        page(502, "<html>Bad gateway</html>"),
        (200, "", "{\"files\": [{\"na".into(), "Unavailable"),
        (200, "", "{\"files\": 7}".into(), "Fault("),
        (
            429,
            "",
            "<html>slow</html>".into(),
            "Throttled { retry_after: None }",
        ),
    ];

    for (status, headers, body, expected) in cases {
        let server = ScriptedServer::open().await;
        server.script_answer(LIST, status, headers, &body);
        let failed = server
            .drive_connector()
            .list_feed(&test_access(), "user", None)
            .await
            .unwrap_err();
        let words = error_text(&failed);
        assert!(words.starts_with(expected), "{status} {body}: {words}");
        for secret in [TOKEN, "private", "Sign in"] {
            assert!(!words.contains(secret), "{words}");
        }
    }
}

#[tokio::test]
async fn a_broken_line_is_no_answer() {
    let broken_responses = [
        "",
        "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"files\":[]}",
    ];
    for answer in broken_responses {
        let server = ScriptedServer::open().await;
        server.script_bytes(LIST, answer.as_bytes().to_vec());
        let failed = server
            .drive_connector()
            .list_feed(&test_access(), "user", None)
            .await
            .unwrap_err();
        assert!(
            matches!(failed, ConnectorError::Unavailable(_)),
            "{failed:?}"
        );
    }

    let closed_server = ScriptedServer::open().await;
    let mut drive = closed_server.drive_connector();
    drive.addresses.api = "http://127.0.0.1:1".into();
    let failed = drive
        .list_feed(&test_access(), "user", None)
        .await
        .unwrap_err();
    assert!(
        matches!(failed, ConnectorError::Unavailable(_))
            && !error_text(&failed).contains("127.0.0.1:1/")
    );
}

#[tokio::test]
async fn a_listing_goes_page_by_page_and_says_when_a_page_is_lost() {
    let server = ScriptedServer::open().await;
    let drive = server.drive_connector();
    let page = json!({"nextPageToken": "p/2", "incompleteSearch": true, "files": [{"id": "a"}, {"id": "b"}]});
    server
        .script_json(LIST, 200, &page)
        .script_json(LIST, 400, &api_error(400, "invalid"))
        .script_json(LIST, 410, &api_error(410, "gone"));
    let first_page = drive.list_feed(&test_access(), "d9", None).await.unwrap();
    let ids: Vec<_> = first_page
        .items
        .iter()
        .map(|item| item.id.as_str())
        .collect();
    assert_eq!(
        (ids, first_page.next.as_deref(), first_page.is_incomplete),
        (vec!["a", "b"], Some("p/2"), true)
    );
    let last_request = server.last_request();
    for part in [
        "corpora=drive&driveId=d9",
        "supportsAllDrives=true",
        "includeItemsFromAllDrives=true",
        "pageSize=1000",
        "q=trashed%3Dfalse",
        "canAccessViaGenAi",
        &format!("authorization: Bearer {TOKEN}"),
    ] {
        assert!(last_request.contains(part), "{part}: {last_request}");
    }

    for _ in 0..2 {
        let error = drive
            .list_feed(&test_access(), "d9", Some("p/2"))
            .await
            .unwrap_err();
        assert!(matches!(error, ConnectorError::PageLost), "{error:?}");
    }

    assert!(server.last_request().contains("pageToken=p%2F2"));
}

#[tokio::test]
async fn the_feeds_are_the_accounts_own_and_its_shared_drives() {
    let server = ScriptedServer::open().await;
    let drives = |ids: &[&str], next: Option<&str>| {
        let drives: Vec<_> = ids
            .iter()
            .map(|id| json!({"id": id, "name": "D"}))
            .collect();
        json!({"drives": drives, "nextPageToken": next})
    };

    server.script_json(
        "GET /drive/v3/drives?",
        200,
        &drives(&["d1", "d2"], Some("2")),
    );
    server.script_json("GET /drive/v3/drives?", 200, &drives(&["d2", "d3"], None));

    assert_eq!(
        server
            .drive_connector()
            .list_feeds(&test_access())
            .await
            .unwrap(),
        ["user", "d1", "d2", "d3"]
    );
}

#[tokio::test]
async fn a_folder_out_of_a_foreign_drive_is_listed_as_the_accounts_own() {
    let server = ScriptedServer::open().await;
    let not_a_member = api_error(403, "teamDriveMembershipRequired");
    for page in [None, Some("p2")] {
        server.script_json(LIST, 403, &not_a_member).script_json(
            LIST,
            200,
            &json!({"files": [{"id": "a"}], "nextPageToken": "p2"}),
        );
        let listed = server
            .drive_connector()
            .list_children(&test_access(), "it's", Some("d9"), page)
            .await
            .unwrap();
        assert_eq!(
            (listed.items.len(), listed.next.as_deref()),
            (1, Some("p2"))
        );
        assert_eq!(
            server.last_request().contains("pageToken=p2"),
            page.is_some()
        );
    }

    assert!(
        server.last_request().contains("corpora=user")
            && server
                .last_request()
                .contains("q=%27it%5C%27s%27+in+parents")
    );

    server.script_json(LIST, 404, &api_error(404, "notFound"));
    assert!(
        server
            .drive_connector()
            .list_children(&test_access(), "f", None, None)
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn changes_lead_on_and_a_lost_cursor_is_told() {
    let server = ScriptedServer::open().await;
    let drive = server.drive_connector();
    let log = json!({"nextPageToken": "13", "changes": [
        {"changeType": "file", "removed": true, "fileId": "gone"},
        {"changeType": "file", "removed": false, "fileId": "a", "file": {"id": "a", "name": "A", "trashed": true}},
        {"changeType": "drive", "removed": false, "driveId": "d1", "drive": {"id": "d1", "name": "D"}},
        {"changeType": "file", "fileId": "hidden"},
    ]});
    server.script_json(CHANGES, 200, &log).script_json(
        "GET /drive/v3/files/hidden?",
        200,
        &json!({"id": "hidden"}),
    );
    let changes = drive
        .list_changes(&test_access(), "user", "12")
        .await
        .unwrap();
    assert_eq!(
        (
            changes.cursor.as_str(),
            changes.has_more,
            changes.feeds_changed
        ),
        ("13", true, true)
    );

    let items: Vec<_> = changes
        .changes
        .iter()
        .map(|c| (c.id.as_str(), c.item.as_ref().map(|i| i.is_trashed)))
        .collect();
    assert_eq!(
        items,
        [("gone", None), ("a", Some(true)), ("hidden", Some(false))]
    );

    server.script_json(CHANGES, 200, &json!({"newStartPageToken": "14"}));
    let last_page = drive
        .list_changes(&test_access(), "d1", "13")
        .await
        .unwrap();
    assert_eq!(
        (
            last_page.cursor.as_str(),
            last_page.has_more,
            last_page.feeds_changed
        ),
        ("14", false, false)
    );
    assert!(
        server.last_request().contains("driveId=d1")
            && server.last_request().contains("includeRemoved=true")
    );

    for (status, reason) in [
        (400, "invalid"),
        (404, "notFound"),
        (410, "gone"),
        (403, "teamDriveMembershipRequired"),
    ] {
        server.script_json(CHANGES, status, &api_error(status, reason));
        let error = drive
            .list_changes(&test_access(), "user", "14")
            .await
            .unwrap_err();
        assert!(
            matches!(error, ConnectorError::CursorLost),
            "{status}: {error:?}"
        );
    }

    server.script_json(CHANGES, 403, &api_error(403, "userRateLimitExceeded"));
    let throttled_error = drive
        .list_changes(&test_access(), "user", "14")
        .await
        .unwrap_err();
    assert!(
        matches!(throttled_error, ConnectorError::Throttled { .. }),
        "{throttled_error:?}"
    );
}

#[tokio::test]
async fn the_top_of_a_shared_drive_has_the_drives_name() {
    let server = ScriptedServer::open().await;
    let folder = "application/vnd.google-apps.folder";
    server.script_json(
        "GET /drive/v3/files/d1?",
        200,
        &json!({"id": "d1", "driveId": "d1", "name": "Drive", "mimeType": folder}),
    );
    server.script_json(
        "GET /drive/v3/drives/d1?",
        200,
        &json!({"id": "d1", "name": "Sales"}),
    );
    let top = server
        .drive_connector()
        .get_item(&test_access(), "d1")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((top.name.as_str(), top.kind), ("Sales", ItemKind::Folder));
}

#[tokio::test]
async fn what_is_not_seen_is_none_unless_a_shortcut_keeps_its_key() {
    let server = ScriptedServer::open().await;
    let drive = server.drive_connector();
    let file = "GET /drive/v3/files/t1?";
    server
        .script_json(file, 404, &api_error(404, "notFound"))
        .script_json(LIST, 200, &json!({"files": []}));
    assert_eq!(drive.get_item(&test_access(), "t1").await.unwrap(), None);

    let to =
        json!({"targetId": "t1", "targetMimeType": "text/plain", "targetResourceKey": "0-key"});
    let shortcuts: Value = json!({"files": [{"id": "s1", "shortcutDetails": to}]});
    server
        .script_json(file, 404, &api_error(404, "notFound"))
        .script_json(LIST, 200, &shortcuts)
        .script_json(file, 200, &json!({"id": "t1"}));
    assert_eq!(
        drive
            .get_item(&test_access(), "t1")
            .await
            .unwrap()
            .unwrap()
            .id,
        "t1"
    );
    assert!(
        server
            .last_request()
            .contains("x-goog-drive-resource-keys: t1/0-key"),
        "{}",
        server.last_request()
    );

    // No request is sent for an invalid id.
    let requests_before = server.recorded_requests().len();
    server.script_json(LIST, 200, &json!({}));
    assert_eq!(drive.get_item(&test_access(), "..").await.unwrap(), None);
    assert!(
        server.recorded_requests()[requests_before..]
            .iter()
            .all(|asked| asked.starts_with(LIST))
    );

    server
        .script_json(
            "GET /drive/v3/files/..%2Fabout?",
            404,
            &api_error(404, "notFound"),
        )
        .script_json(LIST, 200, &json!({}));
    assert_eq!(
        drive.get_item(&test_access(), "../about").await.unwrap(),
        None
    );
}

#[tokio::test]
async fn the_picker_is_offered_what_documents_can_be_made_of() {
    let server = ScriptedServer::open().await;
    let native = |name: &str| format!("application/vnd.google-apps.{name}");
    let files = json!({"files": [
        {"id": "folder", "mimeType": native("folder")},
        {"id": "doc", "mimeType": native("document"), "driveId": "d1"},
        {"id": "pdf", "mimeType": "application/pdf"},
        {"id": "form", "mimeType": native("form")},
        {"id": "cut", "mimeType": native("shortcut"), "shortcutDetails": {"targetId": "x"}},
        {"id": "locked", "mimeType": "application/pdf", "capabilities": {"canDownload": false}},
    ]});
    let drive = server.drive_connector();
    let ids = |listing: domain::ports::ItemPage| {
        listing.items.into_iter().map(|i| i.id).collect::<Vec<_>>()
    };
    server.script_json(LIST, 200, &files);
    let own_items = drive
        .list_selectable(&test_access(), &PickerView::My, None, None, None)
        .await
        .unwrap();
    assert_eq!(ids(own_items), ["folder", "doc", "pdf"]);
    assert!(
        server.last_request().contains("orderBy=folder%2Cname"),
        "{}",
        server.last_request()
    );

    server.script_json(LIST, 200, &files);
    let found = drive
        .list_selectable(&test_access(), &PickerView::Drives, None, Some("x"), None)
        .await
        .unwrap();
    assert_eq!(ids(found), ["doc"]);

    server.script_json(
        "GET /drive/v3/drives?",
        200,
        &json!({"drives": [{"id": "d1", "name": "Sales"}]}),
    );
    assert_eq!(
        ids(drive
            .list_selectable(&test_access(), &PickerView::Drives, None, None, None)
            .await
            .unwrap()),
        ["d1"]
    );

    server
        .script_json(
            "GET /drive/v3/files/f7?",
            200,
            &json!({"id": "f7", "driveId": "d1"}),
        )
        .script_json(LIST, 200, &files);
    drive
        .list_selectable(&test_access(), &PickerView::Drives, Some("f7"), None, None)
        .await
        .unwrap();
    assert!(
        server.last_request().contains("corpora=drive&driveId=d1"),
        "{}",
        server.last_request()
    );
}
