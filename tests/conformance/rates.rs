//! Conformance tests of [`domain::ports::Rates`].

use domain::{RateLimit, Tenant, Timestamp};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    of_many_at_the_same_time_exactly_as_many_are_admitted,
    the_same_request_asked_again_is_counted_once,
    a_request_is_counted_until_its_window_has_passed,
    limits_and_organizations_are_apart,
);

const WINDOW_MS: i64 = 60_000;

fn new_limit(max: u32) -> RateLimit {
    RateLimit {
        max,
        window_ms: WINDOW_MS,
    }
}

/// Requests admission under the limit `name`, with a unique request id.
async fn request_admission(
    setting: &PortFixture,
    tenant: &Tenant,
    name: &str,
    max: u32,
    now: Timestamp,
) -> Result<(), Timestamp> {
    let id = domain::Revision::random();
    ask_as(setting, (tenant, name), max, id.as_str(), now).await
}

async fn ask_as(
    setting: &PortFixture,
    (tenant, name): (&Tenant, &str),
    max: u32,
    id: &str,
    now: Timestamp,
) -> Result<(), Timestamp> {
    let admit = async || {
        setting
            .ctx()
            .rate_limits
            .admit(tenant, name, new_limit(max), id, now)
            .await
    };
    retry_unavailable(admit).await.expect("an answer")
}

async fn of_many_at_the_same_time_exactly_as_many_are_admitted(setting: &PortFixture) {
    if setting.is_calm() {
        // No call fails, but every call yields first, so that the requests run concurrently.
        setting.app.faults.set_rates(testkit::FaultRates {
            yields: 6,
            ..testkit::FaultRates::default()
        });
    }

    for (round, max) in [(0, 20), (1, 1), (2, 32)] {
        let (now, name) = (setting.now(), format!("round {round}"));
        let answers =
            join_all((0..32).map(|_| request_admission(setting, &setting.alpha, &name, max, now)))
                .await;
        let admitted = answers.iter().filter(|answer| answer.is_ok()).count();
        let room = now.plus_seconds(WINDOW_MS / 1000);
        assert!(
            answers
                .iter()
                .all(|answer| answer.is_ok() || *answer == Err(room)),
            "{answers:?}"
        );
        assert!(admitted <= max as usize, "{admitted} of {max}");
        // A request whose answer was lost may be forgotten before it asks again. It then counts
        // twice.
        assert!(
            !setting.is_calm() || admitted == max as usize,
            "{admitted} of {max}"
        );
    }
}

async fn the_same_request_asked_again_is_counted_once(setting: &PortFixture) {
    let (now, place) = (setting.now(), (&setting.alpha, "analytics"));
    for id in ["a", "a", "b", "a", "b"] {
        assert_eq!(ask_as(setting, place, 2, id, now).await, Ok(()), "{id}");
    }

    assert!(ask_as(setting, place, 2, "c", now).await.is_err());
    assert_eq!(
        ask_as(setting, place, 2, "b", now).await,
        Ok(()),
        "it was admitted"
    );
    assert!(
        ask_as(setting, place, 2, "c", now).await.is_err(),
        "refused again"
    );
}

async fn a_request_is_counted_until_its_window_has_passed(setting: &PortFixture) {
    let start = setting.now();
    let at = |ms: i64| Timestamp::from_millis(start.as_millis() + ms);
    let ask = async |ms| request_admission(setting, &setting.alpha, "analytics", 3, at(ms)).await;
    for ms in [0, 10, 20] {
        assert_eq!(ask(ms).await, Ok(()));
    }

    for ms in [20, 500, WINDOW_MS - 1] {
        assert_eq!(ask(ms).await, Err(at(WINDOW_MS)), "{ms}");
    }

    assert_eq!(ask(WINDOW_MS).await, Ok(()), "the first has left");
    assert_eq!(ask(WINDOW_MS).await, Err(at(WINDOW_MS + 10)));
    assert_eq!(ask(WINDOW_MS + 9).await, Err(at(WINDOW_MS + 10)));
    for _ in 0..2 {
        assert_eq!(ask(WINDOW_MS + 20).await, Ok(()), "two have left");
    }

    assert_eq!(ask(WINDOW_MS + 20).await, Err(at(2 * WINDOW_MS)));
    assert_eq!(ask(10 * WINDOW_MS).await, Ok(()), "all have left");
}

async fn limits_and_organizations_are_apart(setting: &PortFixture) {
    let now = setting.now();
    for tenant in [&setting.alpha, &setting.beta] {
        for name in ["analytics", "key k1", "key k1#", ""] {
            assert_eq!(
                request_admission(setting, tenant, name, 1, now).await,
                Ok(()),
                "{name}"
            );
        }
    }
    for tenant in [&setting.alpha, &setting.beta] {
        assert!(
            request_admission(setting, tenant, "key k1", 1, now)
                .await
                .is_err()
        );
    }
}
