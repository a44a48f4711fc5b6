//! Decides how a run reacts to errors of the provider. None of the reactions removes a document.

use domain::Timestamp;
use domain::connection::{Connection, ConnectionErrorKind, ConnectionProblem, ConnectionStatus};
use domain::ports::ConnectorError;

pub(crate) const MINUTE: i64 = 60;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;
/// The number of consecutive failures after which a run is abandoned.
pub(crate) const MAX_ATTEMPTS: u32 = 8;
/// The number of consecutive failures from which users see the problem.
pub(crate) const SHOWN_AFTER_FAILURES: u32 = 3;
/// The longest pause of a run.
pub(crate) const MAX_PAUSE_SECONDS: i64 = HOUR;
/// The first pause when the provider asks to slow down without naming a time.
const THROTTLED_SECONDS: i64 = 30;
/// The number of times that this pause is doubled. It also caps the count of these failures,
/// because the provider does answer.
const MAX_DOUBLINGS: u32 = 6;
/// The seconds after which a run that was abandoned because of a failure is tried again.
const RETRY_SECONDS: i64 = 30 * MINUTE;
/// The pauses before a lost permission is tried again. The user may have restored it at the
/// provider.
const PERMISSION_PROBE_SECONDS: [i64; 3] = [HOUR, 6 * HOUR, DAY];

const SERVICE_ERROR_MESSAGE: &str =
    "This service had an internal error. It tries again in half an hour.";
const SLOWED_MESSAGE: &str =
    "The provider limits the number of requests. Synchronization continues more slowly.";
const QUOTA_MESSAGE: &str = "A quota of the provider is used up; synchronization goes on tomorrow.";
const REAUTH_MESSAGE: &str =
    "The permission has ended: connect the account again. Documents stay as they are.";
const FAULT_MESSAGE: &str =
    "The provider gave an answer that could not be read; it is tried again in half an hour.";

/// The reaction to an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// The run continues after a pause.
    Pause {
        /// The seconds of the pause.
        seconds: i64,
        /// `true` if all connections of the account pause.
        throttles_grant: bool,
        /// The problem that users see meanwhile.
        shown: Option<(ConnectionErrorKind, String)>,
    },
    /// The run ends with an error.
    Abandon(Failure),
}

/// The end of a run with an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The kind of the problem.
    pub(crate) kind: ConnectionErrorKind,
    /// The message for users.
    pub(crate) message: String,
    /// The seconds until the next run, or `None` to try after each of [`PERMISSION_PROBE_SECONDS`].
    pub(crate) retry_seconds: Option<i64>,
    /// The new status of the connection.
    pub(crate) status: Option<ConnectionStatus>,
}

impl Failure {
    fn new(kind: ConnectionErrorKind, message: &str, retry_seconds: i64) -> Self {
        Self {
            kind,
            message: message.to_owned(),
            retry_seconds: Some(retry_seconds),
            status: None,
        }
    }

    fn suspended(kind: ConnectionErrorKind, message: &str) -> Self {
        Self {
            status: Some(ConnectionStatus::Suspended),
            ..Self::new(kind, message, DAY)
        }
    }

    /// The failure of the service itself.
    pub(crate) fn of_service() -> Self {
        Self::new(
            ConnectionErrorKind::Internal,
            SERVICE_ERROR_MESSAGE,
            RETRY_SECONDS,
        )
    }
}

/// Decides the reaction to an error of the provider. Counts the failure in `attempts`.
/// `run_started_at` is the beginning of the run.
pub(crate) fn react_to_provider(
    error: &ConnectorError,
    attempts: &mut u32,
    run_started_at: Timestamp,
    now: Timestamp,
) -> Reaction {
    use ConnectionErrorKind as Kind;
    use ConnectorError as E;

    match error {
        E::Throttled { retry_after } => {
            react_to_throttling(*retry_after, attempts, run_started_at, now)
        }
        // A listing can start again after a lost page, but elsewhere a lost page is a failure.
        E::Unavailable(_) | E::PageLost | E::Item(_) => {
            react_to_unavailability(&error.to_string(), attempts)
        }
        // The cursor was lost for the second time in this run.
        E::CursorLost => Reaction::Abandon(Failure::new(
            Kind::ProviderUnavailable,
            &error.to_string(),
            RETRY_SECONDS,
        )),
        E::QuotaExceeded => {
            Reaction::Abandon(Failure::new(Kind::QuotaExceeded, QUOTA_MESSAGE, DAY))
        }
        E::Reauth(_) => Reaction::Abandon(Failure {
            kind: Kind::ReauthRequired,
            message: REAUTH_MESSAGE.to_owned(),
            retry_seconds: None,
            status: Some(ConnectionStatus::Expired),
        }),
        E::App(message) => Reaction::Abandon(Failure::suspended(Kind::AppMisconfigured, message)),
        E::Policy(message) => Reaction::Abandon(Failure::suspended(Kind::AdminPolicy, message)),
        E::Fault(_) => {
            Reaction::Abandon(Failure::new(Kind::Internal, FAULT_MESSAGE, RETRY_SECONDS))
        }
    }
}

/// Pauses for as long as the provider asks, or twice as long each time. Users see that a run is
/// slow if it has lasted for an hour and was slowed down more than once in a row.
fn react_to_throttling(
    retry_after: Option<u64>,
    attempts: &mut u32,
    run_started_at: Timestamp,
    now: Timestamp,
) -> Reaction {
    let requested = retry_after.and_then(|seconds| i64::try_from(seconds).ok());
    let seconds = requested.unwrap_or(THROTTLED_SECONDS << (*attempts).min(MAX_DOUBLINGS));
    *attempts = (*attempts + 1).min(MAX_DOUBLINGS);

    let is_slow = *attempts >= 2 && run_started_at.plus_seconds(HOUR) <= now;
    Reaction::Pause {
        seconds: seconds.clamp(1, MAX_PAUSE_SECONDS),
        throttles_grant: true,
        shown: is_slow.then(|| (ConnectionErrorKind::RateLimited, SLOWED_MESSAGE.to_owned())),
    }
}

/// Pauses twice as long after each failure, and abandons the run after [`MAX_ATTEMPTS`].
pub(crate) fn react_to_unavailability(message: &str, attempts: &mut u32) -> Reaction {
    let kind = ConnectionErrorKind::ProviderUnavailable;
    *attempts += 1;
    if *attempts >= MAX_ATTEMPTS {
        *attempts = 0;
        return Reaction::Abandon(Failure::new(kind, message, RETRY_SECONDS));
    }

    let is_shown = *attempts >= SHOWN_AFTER_FAILURES;
    Reaction::Pause {
        seconds: 1 << *attempts,
        throttles_grant: false,
        shown: is_shown.then(|| (kind, message.to_owned())),
    }
}

/// Returns the problem to record. It keeps the time and the count of the previous problem if that
/// is of the same kind.
pub(crate) fn new_problem(
    kind: ConnectionErrorKind,
    message: &str,
    now: Timestamp,
    before: Option<&ConnectionProblem>,
) -> ConnectionProblem {
    let (since, attempts) = match before {
        Some(before) if before.kind == kind => (before.since, before.attempts),
        _ => (now, 0),
    };

    ConnectionProblem {
        kind,
        message: message.to_owned(),
        since,
        attempts: attempts + 1,
    }
}

/// Records a failure in the connection. `is_requested` says whether a user has requested a run
/// since the failed one began, which is tried at once.
pub(crate) fn record_failure(
    connection: &mut Connection,
    failure: &Failure,
    is_requested: bool,
    now: Timestamp,
) {
    let known = connection.problem.as_ref();
    let problem = new_problem(failure.kind, &failure.message, now, known);
    connection.next_run_at = if is_requested {
        Some(now)
    } else {
        next_attempt_at(&problem, failure.retry_seconds, now)
    };

    if let Some(status) = failure.status {
        if status == ConnectionStatus::Expired && connection.status != status {
            connection.expires_at = Some(now);
        }
        connection.status = status;
    }
    connection.problem = Some(problem);
}

fn next_attempt_at(
    problem: &ConnectionProblem,
    retry_seconds: Option<i64>,
    now: Timestamp,
) -> Option<Timestamp> {
    let probe = usize::try_from(problem.attempts.saturating_sub(1)).ok()?;
    let seconds = retry_seconds.or_else(|| PERMISSION_PROBE_SECONDS.get(probe).copied())?;
    Some(now.plus_seconds(seconds))
}
