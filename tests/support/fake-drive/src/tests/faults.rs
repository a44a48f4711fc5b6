//! Tests of planned faults, quota units and the log of requests.

use std::time::{Duration, Instant};

use super::*;
use crate::{FaultEffect, PlannedFault};

#[tokio::test]
async fn answers_are_replaced_as_planned() {
    let fixture = DriveFixture::new().await;
    fixture.drive.plan_fault(
        PlannedFault::api_error("/drive/v3/files$", 403, "userRateLimitExceeded")
            .after_requests(1)
            .repeat(2)
            .with_retry_after(7),
    );
    let mut statuses = Vec::new();

    for _ in 0..4 {
        let response = fixture.request(Method::GET, "files").send().await.unwrap();
        let wait = response
            .headers()
            .get("retry-after")
            .map(|value| value.to_str().unwrap().to_owned());
        statuses.push((response.status().as_u16(), wait));
    }

    assert_eq!(
        statuses,
        [
            (200, None),
            (403, Some("7".to_owned())),
            (403, Some("7".to_owned())),
            (200, None)
        ]
    );

    fixture
        .drive
        .plan_fault(PlannedFault::html_error("/drive", 502));
    let response = fixture.request(Method::GET, "files").send().await.unwrap();
    assert_eq!(response.status().as_u16(), 502);
    assert!(response.text().await.unwrap().contains("<title>"));
}

#[tokio::test]
async fn answers_are_broken_and_slowed_as_planned() {
    let fixture = DriveFixture::new().await;
    let file = fixture
        .drive
        .add_file(&fixture.root, "a", "text/plain", "x".repeat(100))
        .unwrap();
    let media = format!("files/{file}?alt=media");
    fixture.drive.plan_fault(PlannedFault::for_path(
        "/drive",
        FaultEffect::Truncated { bytes: 10 },
    ));
    let mut response = fixture.request(Method::GET, &media).send().await.unwrap();
    assert_eq!(response.content_length(), Some(100));
    let mut got = 0;
    let is_broken = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => got += chunk.len(),
            other => break other.is_err(),
        }
    };

    assert_eq!((got, is_broken), (10, true));
    for effect in [
        FaultEffect::Late { millis: 60 },
        FaultEffect::Trickle {
            bytes: 40,
            millis: 25,
        },
    ] {
        fixture
            .drive
            .plan_fault(PlannedFault::for_path("/drive", effect));
        let begin = Instant::now();
        let response = fixture.request(Method::GET, &media).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap().len(), 100);
        assert!(begin.elapsed() >= Duration::from_millis(55));
    }
}

#[tokio::test]
async fn listings_are_emptied_or_incomplete_as_planned() {
    let fixture = DriveFixture::new().await;
    let token = fixture.start("").await;
    for name in ["a", "b"] {
        fixture.add_doc(&fixture.root, name);
    }

    fixture.drive.plan_fault(PlannedFault::for_path(
        "/drive/v3/files",
        FaultEffect::Emptied,
    ));
    assert!(fixture.list_names("").await.is_empty());
    fixture.drive.plan_fault(PlannedFault::for_path(
        "/drive/v3/changes",
        FaultEffect::Emptied,
    ));
    assert!(fixture.list_changes(&token, "").await.0.is_empty());
    fixture.drive.plan_fault(PlannedFault::for_path(
        "/drive/v3/files",
        FaultEffect::Incomplete,
    ));
    let list = fixture
        .get_ok("files?fields=incompleteSearch,files(name)")
        .await;
    assert_eq!(
        (&list["incompleteSearch"], strings(&list["files"], "name")),
        (&json!(true), vec!["a".to_owned()])
    );
    assert_eq!(fixture.list_names("").await, ["a", "b"]);
}

#[tokio::test]
async fn units_are_counted_and_may_run_out_for_a_minute() {
    let fixture = DriveFixture::new().await;
    let doc = fixture.add_doc(&fixture.root, "a");
    for (path, units) in [
        ("files".to_owned(), 100),
        (format!("files/{doc}"), 5),
        (format!("files/{doc}/export?mimeType=text/plain"), 200),
        (
            format!("changes?pageToken={}", fixture.start("").await),
            100,
        ),
        ("files?pageSize=0".to_owned(), 0),
    ] {
        let units_before = fixture.drive.quota_units(ADA);
        fixture.get(&path).await;
        assert_eq!(
            fixture.drive.quota_units(ADA) - units_before,
            units,
            "{path}"
        );
    }

    fixture
        .drive
        .set_quirks(|quirks| quirks.units_per_minute = Some(150));
    fixture.drive.advance_clock(60);
    fixture.get_ok("files").await;
    assert_eq!(
        fixture.get_error("files").await,
        (403, "userRateLimitExceeded".to_owned())
    );
    fixture.drive.advance_clock(60);
    fixture.get_ok("files").await;
}

#[tokio::test]
async fn requests_are_remembered_without_secrets() {
    let fixture = DriveFixture::new().await;
    let path = format!("files?pageSize=7&access_token={}", fixture.token);
    fixture
        .http
        .get(format!("{}/drive/v3/{path}", fixture.drive.base_url()))
        .send()
        .await
        .unwrap();
    let recorded = fixture.drive.recorded_requests().pop().unwrap();

    assert_eq!(
        (
            recorded.call.as_deref(),
            recorded.account.as_deref(),
            recorded.status
        ),
        (Some("files.list"), Some(ADA), 200)
    );
    assert_eq!(
        (
            recorded.query["pageSize"].as_str(),
            recorded.query["access_token"].as_str()
        ),
        ("7", "***")
    );
}
