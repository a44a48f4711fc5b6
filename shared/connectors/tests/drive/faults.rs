//! Tests of the faults of the fake drive, by class.

use domain::ports::{ConnectorError, Item, Listing};
use fake_drive::{Effect, Fault};

use crate::Stage;

const FILES: &str = "/drive/v3/files";

async fn everything(stage: &Stage) -> Result<Listing, ConnectorError> {
    stage.drive().everything(&stage.ida(), "user", None).await
}

#[tokio::test]
async fn the_drives_faults_are_told_apart_and_pass() {
    let stage = Stage::open().await;
    stage.fake.add_doc(&stage.root(), "Plan", "Words").unwrap();
    let token = stage.fake.account(crate::IDA).access_token();
    let answer = |status, body: &str| {
        let media_type = "application/json".to_owned();
        Fault::on(
            FILES,
            Effect::Answer {
                status,
                media_type,
                body: body.to_owned(),
            },
        )
    };
    let slow = Fault {
        retry_after: Some(11),
        ..Fault::reason(FILES, 403, "userRateLimitExceeded")
    };
    let cases = [
        (slow, "Throttled { retry_after: Some(11) }"),
        (Fault::reason(FILES, 429, "rateLimitExceeded"), "Throttled"),
        (
            Fault::reason(FILES, 403, "sharingRateLimitExceeded"),
            "Throttled",
        ),
        (
            Fault::reason(FILES, 403, "dailyLimitExceeded"),
            "QuotaExceeded",
        ),
        (
            Fault::reason(FILES, 401, "authError"),
            "Reauth(\"authError\")",
        ),
        (
            Fault::reason(FILES, 403, "insufficientPermissions"),
            "Reauth(",
        ),
        (Fault::reason(FILES, 403, "accessNotConfigured"), "App("),
        (Fault::reason(FILES, 403, "domainPolicy"), "Policy("),
        (Fault::reason(FILES, 500, "backendError"), "Unavailable("),
        (Fault::reason(FILES, 503, "backendError"), "Unavailable("),
        (Fault::html(FILES, 502), "Unavailable("),
        (Fault::html(FILES, 200), "Unavailable("),
        (
            Fault::on(FILES, Effect::Truncated { bytes: 40 }),
            "Unavailable(",
        ),
        (answer(200, "{\"files\": \"none\"}"), "Fault("),
    ];
    for (fault, wanted) in cases {
        stage.fake.plan(fault.clone());
        let failed = format!("{:?}", everything(&stage).await.unwrap_err());
        assert!(failed.starts_with(wanted), "{fault:?}: {failed}");
        assert!(!failed.contains(&token), "{failed}");
    }

    stage.fake.plan(Fault::on(FILES, Effect::Incomplete));
    assert!(everything(&stage).await.unwrap().incomplete);

    stage.fake.plan(Fault::on(
        FILES,
        Effect::Trickle {
            bytes: 200,
            millis: 1,
        },
    ));
    assert_eq!(everything(&stage).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn content_that_breaks_off_is_no_content() {
    let stage = Stage::open().await;
    let id = stage
        .fake
        .add_file(&stage.root(), "a.txt", "text/plain", "Many words of text")
        .unwrap();
    let doc = stage
        .fake
        .add_doc(&stage.root(), "Plan", "Many words of text")
        .unwrap();

    for id in [id, doc] {
        let item: Item = stage.item(&id).await;
        stage.fake.plan(Fault::on(
            &format!("{FILES}/{id}"),
            Effect::Truncated { bytes: 4 },
        ));
        let failed = stage
            .drive()
            .fetch(&stage.ida(), &item, 1_000)
            .await
            .unwrap_err();
        assert!(
            matches!(failed, ConnectorError::Unavailable(_)),
            "{failed:?}"
        );
        stage.fake.plan(Fault::on(
            &format!("{FILES}/{id}"),
            Effect::Trickle {
                bytes: 2,
                millis: 1,
            },
        ));
        assert!(
            stage
                .drive()
                .fetch(&stage.ida(), &item, 1_000)
                .await
                .is_ok()
        );
    }
}
