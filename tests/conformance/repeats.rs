//! Conformance tests of [`domain::ports::Repeats`].

use domain::ports::RememberedRequest;
use domain::{DocumentId, Tenant, Timestamp};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    the_first_is_remembered_until_it_expires,
    what_is_stale_is_replaced_once,
    of_many_at_the_same_time_one_is_remembered,
    keys_and_organizations_are_apart,
);

fn repeat(digest: &str) -> RememberedRequest {
    RememberedRequest {
        document: DocumentId::random(),
        request_digest: digest.to_owned(),
        created_document: None,
    }
}

async fn remember(
    setting: &PortFixture,
    tenant: &Tenant,
    key: &str,
    new: &RememberedRequest,
    now: Timestamp,
) -> RememberedRequest {
    let until = now.plus_seconds(120);
    let remember = async || {
        setting
            .ctx()
            .idempotency
            .remember(tenant, key, new.clone(), None, now, until)
            .await
    };
    retry_unavailable(remember).await.expect("an answer")
}

async fn the_first_is_remembered_until_it_expires(setting: &PortFixture) {
    let (first, second, now) = (repeat("one"), repeat("two"), setting.now());
    let ask = async |new: &RememberedRequest, seconds| {
        remember(setting, &setting.alpha, "k", new, now.plus_seconds(seconds)).await
    };
    assert_eq!(ask(&first, 0).await, first);
    assert_eq!(ask(&second, 0).await, first);
    assert_eq!(ask(&second, 119).await, first);
    assert_eq!(
        ask(&second, 120).await,
        second,
        "expired exactly at its time"
    );
    assert_eq!(ask(&first, 121).await, second);
}

async fn what_is_stale_is_replaced_once(setting: &PortFixture) {
    let now = setting.now();
    let (old, first, second) = (repeat("d"), repeat("d"), repeat("d"));
    assert_eq!(
        remember(setting, &setting.alpha, "stale", &old, now).await,
        old
    );

    let instead = async |new: &RememberedRequest| {
        let until = now.plus_seconds(120);
        let remember = async || {
            let repeats = &setting.ctx().idempotency;
            repeats
                .remember(
                    &setting.alpha,
                    "stale",
                    new.clone(),
                    Some(&old.document),
                    now,
                    until,
                )
                .await
        };
        retry_unavailable(remember).await.expect("an answer")
    };
    assert_eq!(instead(&first).await, first);
    assert_eq!(
        instead(&second).await,
        first,
        "the stale one is gone already"
    );
}

async fn of_many_at_the_same_time_one_is_remembered(setting: &PortFixture) {
    let now = setting.now();
    let all: Vec<RememberedRequest> = (0..20).map(|i| repeat(&i.to_string())).collect();
    let answers = join_all(
        all.iter()
            .map(|new| remember(setting, &setting.alpha, "k", new, now)),
    )
    .await;
    assert!(all.contains(&answers[0]));
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

async fn keys_and_organizations_are_apart(setting: &PortFixture) {
    let now = setting.now();
    let mut seen = Vec::new();
    for tenant in [&setting.alpha, &setting.beta] {
        for key in ["k", "K", "k#", "k#1", ""] {
            let new = repeat(key);
            assert_eq!(remember(setting, tenant, key, &new, now).await, new);
            seen.push((tenant, key, new));
        }
    }

    for (tenant, key, first) in seen {
        assert_eq!(
            remember(setting, tenant, key, &repeat("later"), now).await,
            first
        );
    }
}
