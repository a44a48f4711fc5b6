//! Conformance tests of [`domain::ports::Tickets`].

use domain::Timestamp;
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_ticket_may_be_looked_at_often_and_redeemed_once,
    of_many_who_redeem_a_ticket_one_gets_it,
    a_ticket_ends_to_the_millisecond,
    no_ticket_works_as_another_kind,
);

async fn issue_ticket(
    setting: &PortFixture,
    kind: &str,
    digest: &str,
    text: &str,
    until: Timestamp,
) {
    let call = async || setting.ctx().tickets.issue(kind, digest, text, until).await;
    retry_unavailable(call).await.expect("a ticket");
}

async fn look_up_ticket(
    setting: &PortFixture,
    kind: &str,
    digest: &str,
    now: Timestamp,
) -> Option<String> {
    retry_unavailable(async || {
        setting
            .ctx()
            .tickets
            .look_up_ticket(kind, digest, now)
            .await
    })
    .await
    .expect("an answer")
}

async fn redeem_ticket(
    setting: &PortFixture,
    kind: &str,
    digest: &str,
    now: Timestamp,
) -> Option<String> {
    retry_unavailable(async || setting.ctx().tickets.redeem(kind, digest, now).await)
        .await
        .expect("an answer")
}

/// Checks that exactly one caller redeemed the ticket. If answers are lost, possibly none did.
fn redeemed_once(setting: &PortFixture, got: &[Option<String>], text: &str) -> bool {
    let got: Vec<&String> = got.iter().flatten().collect();
    got == [text] || got.is_empty() && !setting.is_calm()
}

async fn a_ticket_may_be_looked_at_often_and_redeemed_once(setting: &PortFixture) {
    let now = setting.now();
    let text = r#"{"org":"alpha","connection":"örter#1"}"#;
    assert_eq!(look_up_ticket(setting, "link", "d1", now).await, None);
    assert_eq!(redeem_ticket(setting, "link", "d1", now).await, None);

    issue_ticket(setting, "link", "d1", text, now.plus_seconds(60)).await;
    for _ in 0..3 {
        assert_eq!(
            look_up_ticket(setting, "link", "d1", now).await.as_deref(),
            Some(text)
        );
    }

    let first = redeem_ticket(setting, "link", "d1", now).await;
    assert!(redeemed_once(setting, &[first], text));
    assert_eq!(redeem_ticket(setting, "link", "d1", now).await, None);
    assert_eq!(look_up_ticket(setting, "link", "d1", now).await, None);

    issue_ticket(setting, "link", "d1", "another", now.plus_seconds(60)).await;
    issue_ticket(setting, "link", "d1", "the last one", now.plus_seconds(60)).await;
    assert_eq!(
        look_up_ticket(setting, "link", "d1", now).await.as_deref(),
        Some("the last one")
    );
}

async fn of_many_who_redeem_a_ticket_one_gets_it(setting: &PortFixture) {
    let now = setting.now();
    for round in 0..5 {
        let digest = format!("d{round}");
        issue_ticket(setting, "state", &digest, "flow", now.plus_seconds(600)).await;
        let got = join_all((0..16).map(|_| redeem_ticket(setting, "state", &digest, now))).await;
        assert!(redeemed_once(setting, &got, "flow"), "{got:?}");
    }
}

async fn a_ticket_ends_to_the_millisecond(setting: &PortFixture) {
    let (until, last) = (
        Timestamp::from_millis(1_000_000_500),
        Timestamp::from_millis(1_000_000_499),
    );
    issue_ticket(setting, "picker", "d", "text", until).await;
    assert_eq!(
        look_up_ticket(setting, "picker", "d", last)
            .await
            .as_deref(),
        Some("text")
    );

    for over in [until, until.plus_seconds(1)] {
        assert_eq!(look_up_ticket(setting, "picker", "d", over).await, None);
    }
    let got = redeem_ticket(setting, "picker", "d", last).await;
    assert!(redeemed_once(setting, &[got], "text"));

    issue_ticket(setting, "picker", "d", "text", until).await;
    assert_eq!(
        redeem_ticket(setting, "picker", "d", until).await,
        None,
        "it has expired"
    );
}

async fn no_ticket_works_as_another_kind(setting: &PortFixture) {
    let now = setting.now();
    let kinds = ["link", "state", "picker", "session", "channel"];
    for kind in kinds {
        issue_ticket(setting, kind, "d", kind, now.plus_seconds(60)).await;
    }
    issue_ticket(setting, "link", "other", "other", now.plus_seconds(60)).await;

    for kind in kinds {
        assert_eq!(
            look_up_ticket(setting, kind, "d", now).await.as_deref(),
            Some(kind)
        );
        let got = redeem_ticket(setting, kind, "d", now).await;
        assert!(redeemed_once(setting, &[got], kind));
    }

    assert_eq!(
        look_up_ticket(setting, "link", "other", now)
            .await
            .as_deref(),
        Some("other")
    );

    let keys = retry_unavailable(async || setting.ctx().keys.list(&setting.alpha).await)
        .await
        .expect("a list");
    assert!(keys.is_empty(), "a ticket is no key");
}
