//! Failures during synchronization: each is reported by name, removes no document and does not stop
//! other files.

use fake_drive::{ConsentDecision, PlannedFault};
use serde_json::{Value, json};
use testkit::{Browser, DRIVE_ACCOUNT};

use crate::client::{DriveClient, TAG};

async fn refused(client: &DriveClient) -> (Value, String) {
    let made = client
        .post("/v3/connections/cloud-drive", json!({"containerTag": TAG}))
        .await
        .body;
    let link = made["authLink"].as_str().expect("a link");
    let shown = Browser::default()
        .follow(&client.app, link)
        .await
        .expect("a page");
    let id = made["id"].as_str().expect("an id");

    (
        client.get(&format!("/v3/connections/{id}")).await.body,
        shown.text,
    )
}

#[tokio::test]
async fn every_refusal_of_permission_is_told_apart() {
    let client = DriveClient::new().await;
    let email = || DRIVE_ACCOUNT.to_owned();
    for (consent, kind) in [
        (ConsentDecision::Deny, "access_denied"),
        (ConsentDecision::Untick { email: email() }, "scope_denied"),
    ] {
        client.drive.plan_consent(consent);
        let (told, page) = refused(&client).await;
        assert_eq!(
            (&told["status"], &told["errorKind"]),
            (&json!("pending_oauth"), &json!(kind)),
            "{told}"
        );
        assert!(page.contains("<h1"), "a page for a person: {page}");
    }

    client.drive.withhold_refresh_tokens(1);
    let (told, _) = refused(&client).await;
    assert_eq!(told["errorKind"], "missing_refresh_token", "{told}");
    client
        .drive
        .plan_fault(PlannedFault::html_error("/token", 502).repeat(9));
    let (told, _) = refused(&client).await;
    assert_eq!(told["errorKind"], "provider_unavailable", "{told}");
}

#[tokio::test]
async fn an_answer_counts_once_and_in_the_browser_that_asked() {
    let client = DriveClient::new().await;
    let made = client
        .post("/v3/connections/cloud-drive", json!({"containerTag": TAG}))
        .await
        .body;
    let link = made["authLink"].as_str().expect("a link");
    let mut browser = Browser::default();
    let mut url = link.to_owned();

    // This loop ends at the provider's answer.
    let callback = loop {
        let shown = browser.get(&client.app, &url).await.expect("a page");
        let next = shown.redirect_target().or_else(|| {
            let rest = shown
                .text
                .split("class=\"button primary\" href=\"")
                .nth(1)?;
            Some(rest.split('"').next()?.replace("&amp;", "&"))
        });
        url = next.expect("somewhere to go");
        if url.contains("/callback/") {
            break url;
        }
    };
    let stranger = Browser::default()
        .get(&client.app, &callback)
        .await
        .expect("a page");
    assert!(stranger.status.is_client_error(), "{}", stranger.status);

    let first = browser.get(&client.app, &callback).await.expect("a page");
    assert_eq!(
        first.redirect_target().as_deref(),
        Some("http://recollect.test/picker"),
        "{}",
        first.text
    );

    let second = browser.get(&client.app, &callback).await.expect("a page");
    assert!(second.status.is_client_error(), "{}", second.status);
    let wrong = browser
        .get(&client.app, &format!("{callback}x"))
        .await
        .expect("a page");
    assert!(wrong.status.is_client_error(), "{}", wrong.status);

    client.app.environment.clock.advance_seconds(3700);
    let late = Browser::default()
        .get(&client.app, link)
        .await
        .expect("a page");
    assert!(late.status.is_client_error(), "{}", late.status);
}

#[tokio::test]
async fn a_revoked_permission_keeps_documents_and_is_given_again() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    let id = client.connect_all().await;
    let before = client.list_documents().await;
    client.drive.revoke_permissions(DRIVE_ACCOUNT);
    client.app.environment.clock.advance_seconds(3700);
    let told = client.run_import(&id).await;
    assert_eq!(
        (&told["status"], &told["errorKind"]),
        (&json!("expired"), &json!("reauth_required")),
        "{told}"
    );
    assert_eq!(told["lastSyncRun"]["errorCode"], "auth_expired", "{told}");
    assert_eq!(client.list_documents().await, before);

    let again = client
        .post(&format!("/v3/connections/{id}/reconnect"), json!({}))
        .await
        .body;
    Browser::default()
        .follow(&client.app, again["authLink"].as_str().expect("a link"))
        .await
        .expect("a page");
    client.add_doc(&client.root_folder(), "Crane", "Yellow.");
    let told = client.run_import(&id).await;
    assert_eq!(
        (&told["status"], &told["errorKind"]),
        (&json!("active"), &Value::Null),
        "{told}"
    );
    assert_eq!(client.list_documents().await.len(), 2);
}

#[tokio::test]
async fn one_bad_file_stops_no_other_and_throttling_only_waits() {
    let client = DriveClient::new().await;
    let root = client.root_folder();
    let bad = client.add_doc(&root, "Bad", "Never fetched.");
    let large = client.add_doc(&root, "Large", "Exported in another way.");
    client.add_doc(&root, "Good", "The good one.");
    client.drive.plan_fault(
        PlannedFault::html_error(&format!("/drive/v3/files/{bad}/export"), 500).repeat(1000),
    );
    let too_large = PlannedFault::api_error(
        &format!("/drive/v3/files/{large}/export"),
        403,
        "exportSizeLimitExceeded",
    );
    client.drive.plan_fault(too_large.repeat(1));
    client.drive.plan_fault(
        PlannedFault::api_error("/drive/v3/files", 403, "userRateLimitExceeded")
            .repeat(2)
            .with_retry_after(3),
    );
    let id = client.connect_all().await;
    for _ in 0..20 {
        client.run_import(&id).await;
    }

    assert_eq!(
        client.list_paths().await,
        ["/My Drive/Good", "/My Drive/Large"]
    );
    let failed = client
        .get(&format!("/v3/connections/{id}/items?state=failed"))
        .await
        .body;
    assert_eq!(failed["items"][0]["name"], "Bad", "{failed}");
    client.drive.clear_planned_faults();
    client
        .drive
        .replace_content(
            &bad,
            fake_drive::FakeContent::Doc("Fetched after all.".into()),
        )
        .expect("a file");
    client.run_import(&id).await;
    assert_eq!(client.list_documents().await.len(), 3);
}

#[tokio::test]
async fn a_provider_that_is_down_or_shows_nothing_takes_no_document_away() {
    let client = DriveClient::new().await;
    let files: Vec<String> = (0..12)
        .map(|n| client.add_doc(&client.root_folder(), &format!("Note {n}"), "Text."))
        .collect();
    let id = client.connect_all().await;
    client
        .drive
        .plan_fault(PlannedFault::html_error("/drive/v3", 502).repeat(10_000));
    let told = client.run_import(&id).await;
    assert_eq!(told["errorKind"], "provider_unavailable", "{told}");
    assert_eq!(client.list_documents().await.len(), 12);
    client.drive.clear_planned_faults();
    // A removal of this many documents at once needs a confirmation.
    for file in &files[..11] {
        client.drive.hide_item(file, DRIVE_ACCOUNT).expect("a file");
    }

    client.app.environment.clock.advance_seconds(3600);
    let told = client.run_import(&id).await;
    assert_eq!(told["errorKind"], "removal_held", "{told}");
    assert_eq!(client.list_documents().await.len(), 12);
    for file in &files[..11] {
        client
            .drive
            .unhide_item(file, DRIVE_ACCOUNT)
            .expect("a file");
    }

    client.run_import_twice(&id).await;
    assert_eq!(client.list_documents().await.len(), 12);
}

#[tokio::test]
async fn what_is_not_supported_says_what_is() {
    let client = DriveClient::new().await;
    for provider in ["notion", "onedrive", "something"] {
        let answer = client
            .post(
                &format!("/v3/connections/{provider}"),
                json!({"containerTag": TAG}),
            )
            .await;
        assert_eq!(answer.status, 501, "{}", answer.body);
        assert_eq!(answer.headers["x-should-retry"], "false");
        assert!(
            answer.body["error"]
                .as_str()
                .is_some_and(|text| text.contains("cloud-drive")),
            "{}",
            answer.body
        );
    }

    let site = json!({"containerTag": TAG, "metadata": {"startUrl": "https://site.example/"}});
    let site = client.post("/v3/connections/web-crawler", site).await.body;
    let id = site["id"].as_str().expect("a site's connection");
    let picker = client
        .post(
            &format!("/v3/connections/{id}/cloud-drive/hosted-picker"),
            json!({}),
        )
        .await;
    assert_eq!(picker.status, 501, "{}", picker.body);

    for state in ["pending", "filed", "skipped", "failed", "folder"] {
        let listed = client
            .get(&format!("/v3/connections/{id}/items?state={state}"))
            .await;
        assert_eq!(listed.body["items"], json!([]), "{state}");
    }

    let metadata = json!({"crm": {"ids": [1, {"deal": null}]}, "startUrl": "https://a.example/"});
    let nested = json!({"containerTag": TAG, "metadata": metadata});
    let nested = client.post("/v3/connections/web-crawler", nested).await;
    let id = nested.body["id"].as_str().expect("a connection");
    let connection = client.get(&format!("/v3/connections/{id}")).await.body;
    assert_eq!(connection["metadata"], metadata);

    for bad in [
        "http://app.example/x",
        "javascript:alert(1)",
        "https://u:p@app.example/",
        "//app.example",
        "https:a.example",
    ] {
        let body = json!({"containerTag": TAG, "redirectUrl": bad});
        let answer = client.post("/v3/connections/cloud-drive", body).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
    }
}
