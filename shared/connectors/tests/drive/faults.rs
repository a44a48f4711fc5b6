//! Tests of the faults of the fake drive, by class.

use domain::ports::{ConnectorError, ItemPage, ProviderItem};
use fake_drive::{FaultEffect, PlannedFault};

use crate::DriveStage;

const FILES: &str = "/drive/v3/files";

async fn list_everything(stage: &DriveStage) -> Result<ItemPage, ConnectorError> {
    stage
        .connector()
        .list_feed(&stage.ida_access(), "user", None)
        .await
}

#[tokio::test]
async fn the_drives_faults_are_told_apart_and_pass() {
    let stage = DriveStage::open().await;
    stage
        .fake
        .add_doc(&stage.root_id(), "Plan", "Words")
        .unwrap();
    let token = stage.fake.get_or_create_account(crate::IDA).access_token();
    let answer = |status, body: &str| {
        let media_type = "application/json".to_owned();
        PlannedFault::for_path(
            FILES,
            FaultEffect::Answer {
                status,
                media_type,
                body: body.to_owned(),
            },
        )
    };
    let slow = PlannedFault {
        retry_after: Some(11),
        ..PlannedFault::api_error(FILES, 403, "userRateLimitExceeded")
    };
    let cases = [
        (slow, "Throttled { retry_after: Some(11) }"),
        (
            PlannedFault::api_error(FILES, 429, "rateLimitExceeded"),
            "Throttled",
        ),
        (
            PlannedFault::api_error(FILES, 403, "sharingRateLimitExceeded"),
            "Throttled",
        ),
        (
            PlannedFault::api_error(FILES, 403, "dailyLimitExceeded"),
            "QuotaExceeded",
        ),
        (
            PlannedFault::api_error(FILES, 401, "authError"),
            "Reauth(\"authError\")",
        ),
        (
            PlannedFault::api_error(FILES, 403, "insufficientPermissions"),
            "Reauth(",
        ),
        (
            PlannedFault::api_error(FILES, 403, "accessNotConfigured"),
            "App(",
        ),
        (
            PlannedFault::api_error(FILES, 403, "domainPolicy"),
            "Policy(",
        ),
        (
            PlannedFault::api_error(FILES, 500, "backendError"),
            "Unavailable(",
        ),
        (
            PlannedFault::api_error(FILES, 503, "backendError"),
            "Unavailable(",
        ),
        (PlannedFault::html_error(FILES, 502), "Unavailable("),
        (PlannedFault::html_error(FILES, 200), "Unavailable("),
        (
            PlannedFault::for_path(FILES, FaultEffect::Truncated { bytes: 40 }),
            "Unavailable(",
        ),
        (answer(200, "{\"files\": \"none\"}"), "Fault("),
    ];
    for (fault, expected) in cases {
        stage.fake.plan_fault(fault.clone());
        let failed = format!("{:?}", list_everything(&stage).await.unwrap_err());
        assert!(failed.starts_with(expected), "{fault:?}: {failed}");
        assert!(!failed.contains(&token), "{failed}");
    }

    stage
        .fake
        .plan_fault(PlannedFault::for_path(FILES, FaultEffect::Incomplete));
    assert!(list_everything(&stage).await.unwrap().is_incomplete);

    stage.fake.plan_fault(PlannedFault::for_path(
        FILES,
        FaultEffect::Trickle {
            bytes: 200,
            millis: 1,
        },
    ));
    assert_eq!(list_everything(&stage).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn content_that_breaks_off_is_no_content() {
    let stage = DriveStage::open().await;
    let id = stage
        .fake
        .add_file(
            &stage.root_id(),
            "a.txt",
            "text/plain",
            "Many words of text",
        )
        .unwrap();
    let doc = stage
        .fake
        .add_doc(&stage.root_id(), "Plan", "Many words of text")
        .unwrap();

    for id in [id, doc] {
        let item: ProviderItem = stage.item_for_ida(&id).await;
        stage.fake.plan_fault(PlannedFault::for_path(
            &format!("{FILES}/{id}"),
            FaultEffect::Truncated { bytes: 4 },
        ));
        let failed = stage
            .connector()
            .fetch_content(&stage.ida_access(), &item, 1_000)
            .await
            .unwrap_err();
        assert!(
            matches!(failed, ConnectorError::Unavailable(_)),
            "{failed:?}"
        );
        stage.fake.plan_fault(PlannedFault::for_path(
            &format!("{FILES}/{id}"),
            FaultEffect::Trickle {
                bytes: 2,
                millis: 1,
            },
        ));
        assert!(
            stage
                .connector()
                .fetch_content(&stage.ida_access(), &item, 1_000)
                .await
                .is_ok()
        );
    }
}
