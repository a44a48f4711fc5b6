//! Requests notifications of changes. They only make a run start earlier; polling remains the
//! reliable way to find changes.

use domain::Revision;
use domain::connection::{FeedState, NotificationChannel};
use domain::ports::ConnectorError;
use tracing::warn;

use crate::step_state::{StepState, TickError, TickFlow};

const DAY: i64 = 86_400;
/// The days for which a ticket is valid, which is longer than any subscription lasts.
const TICKET_DAYS: i64 = 31;
/// The number of feeds in one tick.
const FEEDS_PER_TICK: usize = 10;

pub(crate) async fn watch_feeds(step: &mut StepState<'_>) -> Result<TickFlow, TickError> {
    let base = step
        .context
        .notifications
        .filter(|base| base.starts_with("https://"));
    if let Some(base) = base.filter(|_| step.connector.reports_changes()) {
        let provider = step.connection.provider.as_str();
        let address = format!(
            "{}/v3/connections/{provider}/notifications",
            base.trim_end_matches('/')
        );
        let ends = step.now().plus_seconds(DAY);
        let wanting = |feed: &FeedState| {
            feed.channel
                .as_ref()
                .is_none_or(|channel| channel.expires_at < ends)
        };
        let is_next = |name: &String| {
            step.last_watched_feed
                .as_ref()
                .is_none_or(|last| name > last)
        };
        let mut feeds: Vec<String> = step
            .state
            .feeds
            .iter()
            .filter(|(name, feed)| is_next(name) && wanting(feed))
            .map(|(name, _)| name.clone())
            .collect();
        let more = feeds.len() > FEEDS_PER_TICK;
        feeds.truncate(FEEDS_PER_TICK);
        for feed in feeds {
            step.last_watched_feed = Some(feed.clone());
            if let Err(error) = renew_channel(step, &feed, &address).await? {
                let id = &step.connection.id;
                warn!(connection.id = %id, error = &error as &dyn std::error::Error, "no notifications");
                return Ok(TickFlow::Ended);
            }
        }
        if more {
            return Ok(TickFlow::On);
        }
    }

    Ok(TickFlow::Ended)
}

/// Opens a new notification channel for a feed, and then closes the old one.
async fn renew_channel(
    step: &mut StepState<'_>,
    name: &str,
    address: &str,
) -> Result<Result<(), ConnectorError>, TickError> {
    let Some(feed) = step.state.feeds.get(name).cloned() else {
        return Ok(Ok(()));
    };

    let Some(cursor) = feed.cursor else {
        return Ok(Ok(()));
    };

    let until = step.now().plus_seconds(TICKET_DAYS * DAY);
    let token = step
        .context
        .service
        .channel_token(step.tenant, &step.connection.id, until)
        .await?;
    let id = Revision::random().to_string();
    step.count_requests(1);
    let access = &step.access;
    let watched = step
        .connector
        .watch_feed(access, name, &cursor, &id, address, token.expose())
        .await;
    let watched = match watched {
        Ok(Some(watched)) => watched,
        Ok(None) => return Ok(Ok(())),
        Err(error) => return Ok(Err(error)),
    };

    if let Some(old) = &feed.channel {
        // If this fails, the old channel expires by itself.
        step.connector
            .stop_watching(access, &old.id, &old.resource)
            .await
            .ok();
        step.count_requests(1);
    }

    let channel = NotificationChannel {
        id,
        resource: watched.resource,
        expires_at: watched.expires_at,
    };

    if let Some(feed) = step.state.feeds.get_mut(name) {
        feed.channel = Some(channel);
    }

    Ok(Ok(()))
}
