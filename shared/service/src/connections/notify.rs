//! Notifications of providers.

use super::change::{change_connection, request_at, send_sync_job_later};
use super::tickets::{TicketKind, read_ticket};
use crate::Ctx;
use domain::connection::{Connection, RunTrigger};
use domain::error::Result;
use domain::time::Timestamp;

/// Handles a provider's notification of a change, which carries the token of its channel. Returns
/// `false` when there is no such channel.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn handle_notification(ctx: &Ctx, token: &str) -> Result<bool> {
    let Some(ticket_value) = read_ticket(ctx, TicketKind::Channel, token).await? else {
        return Ok(false);
    };

    let (tenant, now) = (ticket_value.tenant(), ctx.clock.now());
    let Some(connection) = ctx
        .connections
        .get(&tenant, &ticket_value.connection)
        .await?
    else {
        return Ok(false);
    };

    // Bursts of notifications end here, without a write.
    if due_after_event(&connection, now).is_none() {
        return Ok(connection.status.is_visible());
    }

    let mut due = None;
    change_connection(ctx, &tenant, &ticket_value.connection, |connection| {
        due = due_after_event(connection, now);
        match due {
            Some(at) => Ok(request_at(connection, RunTrigger::Event, at)),
            None => Ok(false),
        }
    })
    .await?;
    if let Some(at) = due {
        send_sync_job_later(
            ctx,
            &tenant,
            &ticket_value.connection,
            now.seconds_until(at),
        )
        .await;
    }

    Ok(true)
}

/// Returns the time at which the run that a notification asks for is to begin, or `None` when a run
/// is due by then in any case.
fn due_after_event(connection: &Connection, now: Timestamp) -> Option<Timestamp> {
    if !connection.can_run() {
        return None;
    }

    let at = match &connection.last_run {
        Some(run) => run.next_event_run_at().max(now),
        None => now,
    };
    match connection.next_run_at {
        Some(next) if next <= at => None,
        _ => Some(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::connection::{ConnectionStatus, Provider, Run, RunState};
    use domain::tag::ContainerTag;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn active() -> Connection {
        let mut connection =
            Connection::new(Provider::CloudDrive, ContainerTag::default_tag(), NOW);
        connection.status = ConnectionStatus::Active;
        connection
    }

    fn run_started(seconds_ago: i64) -> Run {
        let started_at = NOW.plus_seconds(-seconds_ago);
        Run {
            state: RunState::Completed,
            ..Run::start(1, RunTrigger::Cron, started_at)
        }
    }

    #[test]
    fn a_notification_begins_a_run_and_a_storm_of_them_no_more() {
        let due_seconds = |last: Option<i64>, next: Option<i64>| {
            let mut connection = active();
            connection.last_run = last.map(run_started);
            connection.next_run_at = next.map(|seconds| NOW.plus_seconds(seconds));
            due_after_event(&connection, NOW).map(|at| NOW.seconds_until(at))
        };

        assert_eq!(due_seconds(None, None), Some(0));
        assert_eq!(due_seconds(Some(3600), Some(3600)), Some(0));
        assert_eq!(due_seconds(Some(10), Some(3600)), Some(20));
        assert_eq!(due_seconds(Some(10), Some(20)), None);
        assert_eq!(due_seconds(Some(3600), Some(-5)), None);
        let mut connection = active();
        connection.status = ConnectionStatus::Expired;
        assert_eq!(due_after_event(&connection, NOW), None);
        let mut connection = active();
        connection.last_run = Some(run_started(10));
        let at = due_after_event(&connection, NOW).unwrap();
        assert!(request_at(&mut connection, RunTrigger::Event, at));
        assert_eq!(due_after_event(&connection, NOW), None);
        assert_eq!(connection.requested, Some(RunTrigger::Event));
    }

    #[test]
    fn a_wish_that_is_due_already_is_not_written_again() {
        let mut connection = active();
        assert!(request_at(&mut connection, RunTrigger::Manual, NOW));
        assert!(!request_at(
            &mut connection,
            RunTrigger::Manual,
            NOW.plus_seconds(5)
        ));
        // A later request is brought forward.
        connection.next_run_at = Some(NOW.plus_seconds(60));
        assert!(request_at(&mut connection, RunTrigger::Manual, NOW));
    }

    #[test]
    fn a_request_by_a_user_counts_beside_those_of_a_provider() {
        let mut connection = active();
        assert!(request_at(&mut connection, RunTrigger::Event, NOW));
        assert!(!request_at(&mut connection, RunTrigger::Event, NOW));
        assert!(request_at(&mut connection, RunTrigger::Manual, NOW));
        assert_eq!(connection.requested, Some(RunTrigger::Manual));

        for trigger in [RunTrigger::Event, RunTrigger::Cron] {
            assert!(!request_at(&mut connection, trigger, NOW));
        }
        // During a run, the next run is due later.
        connection.next_run_at = Some(NOW.plus_seconds(180));
        assert!(request_at(&mut connection, RunTrigger::Event, NOW));
        assert_eq!(connection.requested, Some(RunTrigger::Manual));
        assert_eq!(connection.next_run_at, Some(NOW));
    }
}
