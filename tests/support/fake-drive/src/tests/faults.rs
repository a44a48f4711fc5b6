//! Tests of planned faults, quota units and the log of requests.

use std::time::{Duration, Instant};

use super::*;
use crate::{FaultEffect, PlannedFault};

#[tokio::test]
async fn answers_are_replaced_as_planned() {
    let rig = DriveFixture::new().await;
    rig.drive.plan_fault(
        PlannedFault::api_error("/drive/v3/files$", 403, "userRateLimitExceeded")
            .after_requests(1)
            .repeat(2)
            .with_retry_after(7),
    );
    let mut statuses = Vec::new();

    for _ in 0..4 {
        let response = rig.request(Method::GET, "files").send().await.unwrap();
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

    rig.drive
        .plan_fault(PlannedFault::html_error("/drive", 502));
    let response = rig.request(Method::GET, "files").send().await.unwrap();
    assert_eq!(response.status().as_u16(), 502);
    assert!(response.text().await.unwrap().contains("<title>"));
}

#[tokio::test]
async fn answers_are_broken_and_slowed_as_planned() {
    let rig = DriveFixture::new().await;
    let file = rig
        .drive
        .add_file(&rig.root, "a", "text/plain", "x".repeat(100))
        .unwrap();
    let media = format!("files/{file}?alt=media");
    rig.drive.plan_fault(PlannedFault::for_path(
        "/drive",
        FaultEffect::Truncated { bytes: 10 },
    ));
    let mut response = rig.request(Method::GET, &media).send().await.unwrap();
    assert_eq!(response.content_length(), Some(100));
    let mut got = 0;
    let broken = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => got += chunk.len(),
            other => break other.is_err(),
        }
    };

    assert_eq!((got, broken), (10, true));
    for effect in [
        FaultEffect::Late { millis: 60 },
        FaultEffect::Trickle {
            bytes: 40,
            millis: 25,
        },
    ] {
        rig.drive
            .plan_fault(PlannedFault::for_path("/drive", effect));
        let begin = Instant::now();
        let response = rig.request(Method::GET, &media).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap().len(), 100);
        assert!(begin.elapsed() >= Duration::from_millis(55));
    }
}

#[tokio::test]
async fn listings_are_emptied_or_incomplete_as_planned() {
    let rig = DriveFixture::new().await;
    let token = rig.start("").await;
    for name in ["a", "b"] {
        rig.add_doc(&rig.root, name);
    }

    rig.drive.plan_fault(PlannedFault::for_path(
        "/drive/v3/files",
        FaultEffect::Emptied,
    ));
    assert!(rig.list_names("").await.is_empty());
    rig.drive.plan_fault(PlannedFault::for_path(
        "/drive/v3/changes",
        FaultEffect::Emptied,
    ));
    assert!(rig.list_changes(&token, "").await.0.is_empty());
    rig.drive.plan_fault(PlannedFault::for_path(
        "/drive/v3/files",
        FaultEffect::Incomplete,
    ));
    let list = rig
        .get_ok("files?fields=incompleteSearch,files(name)")
        .await;
    assert_eq!(
        (&list["incompleteSearch"], strings(&list["files"], "name")),
        (&json!(true), vec!["a".to_owned()])
    );
    assert_eq!(rig.list_names("").await, ["a", "b"]);
}

#[tokio::test]
async fn units_are_counted_and_may_run_out_for_a_minute() {
    let rig = DriveFixture::new().await;
    let doc = rig.add_doc(&rig.root, "a");
    for (path, units) in [
        ("files".to_owned(), 100),
        (format!("files/{doc}"), 5),
        (format!("files/{doc}/export?mimeType=text/plain"), 200),
        (format!("changes?pageToken={}", rig.start("").await), 100),
        ("files?pageSize=0".to_owned(), 0),
    ] {
        let before = rig.drive.quota_units(ADA);
        rig.get(&path).await;
        assert_eq!(rig.drive.quota_units(ADA) - before, units, "{path}");
    }

    rig.drive
        .set_quirks(|quirks| quirks.units_per_minute = Some(150));
    rig.drive.advance_clock(60);
    rig.get_ok("files").await;
    assert_eq!(
        rig.get_error("files").await,
        (403, "userRateLimitExceeded".to_owned())
    );
    rig.drive.advance_clock(60);
    rig.get_ok("files").await;
}

#[tokio::test]
async fn requests_are_remembered_without_secrets() {
    let rig = DriveFixture::new().await;
    let path = format!("files?pageSize=7&access_token={}", rig.token);
    rig.http
        .get(format!("{}/drive/v3/{path}", rig.drive.base_url()))
        .send()
        .await
        .unwrap();
    let seen = rig.drive.recorded_requests().pop().unwrap();

    assert_eq!(
        (seen.call.as_deref(), seen.account.as_deref(), seen.status),
        (Some("files.list"), Some(ADA), 200)
    );
    assert_eq!(
        (
            seen.query["pageSize"].as_str(),
            seen.query["access_token"].as_str()
        ),
        ("7", "***")
    );
}
