//! Decisions about the reactions to errors.

use domain::ContainerTag;
use domain::connection::{
    Connection, ConnectionErrorKind as Kind, ConnectionStatus, Provider, SkipReason,
};
use domain::ports::ConnectorError;

use super::after;
use crate::decide::failures::*;

fn react(error: &ConnectorError, attempts: &mut u32, run_age: i64) -> Reaction {
    react_to_provider(error, attempts, after(-run_age), after(0))
}

fn throttled(retry_after: Option<u64>) -> ConnectorError {
    ConnectorError::Throttled { retry_after }
}

#[test]
fn throttling_pauses_the_account_for_as_long_as_asked() {
    let pause = |retry_after, before: u32, run_age| {
        let mut attempts = before;
        let reaction = react(&throttled(retry_after), &mut attempts, run_age);
        let Reaction::Pause {
            seconds,
            throttles_grant: true,
            shown,
        } = reaction
        else {
            panic!("{reaction:?}");
        };
        (seconds, attempts, shown.map(|(kind, _)| kind))
    };
    assert_eq!(pause(Some(7), 0, 0), (7, 1, None));
    assert_eq!(pause(Some(0), 0, 0), (1, 1, None));
    assert_eq!(pause(Some(u64::MAX), 0, 0), (30, 1, None));
    assert_eq!(pause(Some(9_999), 0, 0), (3600, 1, None));
    assert_eq!(pause(None, 1, 0), (60, 2, None));
    assert_eq!(pause(None, 6, 0), (1920, 6, None), "capped");
    let shown = Some(Kind::RateLimited);
    assert_eq!(pause(Some(7), 1, HOUR), (7, 2, shown));
    assert_eq!(pause(Some(7), 1, HOUR - 1), (7, 2, None));
    assert_eq!(pause(Some(7), 0, HOUR), (7, 1, None));
}

#[test]
fn an_unavailable_provider_is_shown_then_left_alone() {
    let mut attempts = 0;
    for (failure, seconds, is_shown) in [
        (1, 2, false),
        (2, 4, false),
        (3, 8, true),
        (4, 16, true),
        (5, 32, true),
        (6, 64, true),
        (7, 128, true),
    ] {
        let error = ConnectorError::Unavailable("down".into());
        let reaction = react(&error, &mut attempts, 0);
        assert_eq!(attempts, failure);
        let shown = is_shown.then(|| (Kind::ProviderUnavailable, error.to_string()));
        let expected = Reaction::Pause {
            seconds,
            throttles_grant: false,
            shown,
        };
        assert_eq!(reaction, expected);
    }

    let Reaction::Abandon(failure) = react(&ConnectorError::PageLost, &mut attempts, 0) else {
        panic!("it goes on");
    };
    assert_eq!(failure.kind, Kind::ProviderUnavailable);
    assert_eq!(failure.retry_seconds, Some(30 * MINUTE));
    assert_eq!(attempts, 0);

    let item = ConnectorError::Item(SkipReason::NotDownloadable);
    let reaction = react(&item, &mut attempts, 0);
    assert!(matches!(reaction, Reaction::Pause { seconds: 2, .. }));
}

#[test]
fn other_errors_end_the_run() {
    use ConnectorError as E;
    let suspended = Some(ConnectionStatus::Suspended);
    let cases = [
        (
            E::CursorLost,
            Kind::ProviderUnavailable,
            Some(30 * MINUTE),
            None,
        ),
        (E::QuotaExceeded, Kind::QuotaExceeded, Some(86_400), None),
        (
            E::Reauth("ended".into()),
            Kind::ReauthRequired,
            None,
            Some(ConnectionStatus::Expired),
        ),
        (
            E::App("app".into()),
            Kind::AppMisconfigured,
            Some(DAY),
            suspended,
        ),
        (
            E::Policy("policy".into()),
            Kind::AdminPolicy,
            Some(DAY),
            suspended,
        ),
        (
            E::Fault("fault".into()),
            Kind::Internal,
            Some(30 * MINUTE),
            None,
        ),
    ];
    for (error, kind, retry_seconds, status) in cases {
        let mut attempts = 2;
        let Reaction::Abandon(failure) = react(&error, &mut attempts, 0) else {
            panic!("{error} goes on");
        };
        assert_eq!(attempts, 2);
        assert_eq!(failure.kind, kind);
        assert_eq!(failure.retry_seconds, retry_seconds, "{error}");
        assert_eq!(failure.status, status, "{error}");
        assert!(!failure.message.is_empty());
    }
    assert_eq!(Failure::of_service().kind, Kind::Internal);
}

#[test]
fn a_problem_counts_its_attempts_as_long_as_it_is_the_same() {
    let first = new_problem(Kind::Internal, "a", after(0), None);
    assert_eq!((first.since, first.attempts), (after(0), 1));
    let second = new_problem(Kind::Internal, "b", after(9), Some(&first));
    assert_eq!((second.since, second.attempts), (after(0), 2));
    assert_eq!(second.message, "b");
    let other = new_problem(Kind::AdminPolicy, "c", after(9), Some(&first));
    assert_eq!((other.since, other.attempts), (after(9), 1));
}

fn connection() -> Connection {
    let tag = ContainerTag::default_tag();
    let mut connection = Connection::new(Provider::CloudDrive, tag, after(0));
    connection.status = ConnectionStatus::Active;
    connection
}

fn failure(retry_seconds: Option<i64>, status: Option<ConnectionStatus>) -> Failure {
    Failure {
        kind: Kind::ReauthRequired,
        message: "ended".into(),
        retry_seconds,
        status,
    }
}

#[test]
fn a_lost_permission_is_tried_three_times() {
    let mut connection = connection();
    let lost = failure(None, Some(ConnectionStatus::Expired));
    for (seconds, at) in [(HOUR, 0), (6 * HOUR, 5), (DAY, 9)] {
        record_failure(&mut connection, &lost, false, after(at));
        assert_eq!(connection.next_run_at, Some(after(at + seconds)));
        assert_eq!(connection.status, ConnectionStatus::Expired);
        assert_eq!(connection.expires_at, Some(after(0)), "the first time");
    }
    record_failure(&mut connection, &lost, false, after(10));
    assert_eq!(connection.next_run_at, None);
    assert_eq!(connection.problem.unwrap().attempts, 4);
}

#[test]
fn a_failure_keeps_the_status_and_a_request_is_tried_at_once() {
    let mut connection = connection();
    record_failure(&mut connection, &failure(Some(60), None), false, after(1));
    assert_eq!(connection.next_run_at, Some(after(61)));
    assert_eq!(connection.status, ConnectionStatus::Active);
    assert_eq!(connection.expires_at, None);

    let suspended = failure(Some(60), Some(ConnectionStatus::Suspended));
    record_failure(&mut connection, &suspended, true, after(2));
    assert_eq!(connection.next_run_at, Some(after(2)));
    assert_eq!(connection.status, ConnectionStatus::Suspended);
    assert_eq!(connection.expires_at, None);
}
