//! Processes documents so that an organization with many or slow ones does not hold up the others.
//!
//! The queue serves organizations in turns, so the message of a quiet one is always among the next. What it needs is
//! somebody who takes it: messages are taken one at a time, each gets one of a few places, and [`Places`] leaves room
//! beside whoever has most. A message for which its organization has no place left is sent again and comes a little
//! later; meanwhile the next one is looked at.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;
use aws::Message;
use domain::ports::{Jobs, PortResult};
use domain::{Envelope, OrgId};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use super::{BACK_OFF, Source, WAIT, handle};
use crate::places::{Place, Places};

/// The fewest places: room for a flood of two, another of one, and somebody else.
const MIN_PLACES: usize = 4;
/// How long a message waits in hand for a place: longer than a usual document takes, so that a flood of those is never
/// sent again.
const PATIENCE: Duration = Duration::from_millis(250);
/// When a message comes again that waited in vain. With the wait before it, some ten are on their way at a time, however
/// many are queued.
const AGAIN_SECONDS: u32 = 2;

/// How many documents are processed at a time. One organization gets half of them, a core for each; a parser's time is
/// limited by the wall clock, so it must not share its core with many others.
fn places() -> usize {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    MIN_PLACES.max(2 * cores)
}

/// The threads that process documents.
pub(super) fn threads() -> Result<Runtime> {
    let threads = Builder::new_multi_thread()
        .worker_threads(places())
        .thread_name("documents")
        .enable_all()
        .build();
    Ok(threads?)
}

/// Works off the queue of documents until it is stopped, and then ends what it has begun.
pub(super) async fn poll(
    source: Source,
    jobs: Arc<dyn Jobs>,
    threads: Handle,
    mut stopped: watch::Receiver<bool>,
) {
    let places = Places::new(places());
    let mut running = JoinSet::new();
    while !*stopped.borrow() {
        let received = tokio::select! {
            received = async { places.one_is_free().await; source.receiver.receive(WAIT).await } => received,
            _ = stopped.changed() => break,
        };
        while running.try_join_next().is_some() {}
        match received {
            Ok(messages) => {
                for message in messages {
                    match seat(&places, &message).await {
                        Seat::Taken(place) => {
                            let source = source.clone();
                            let work = async move { process(&source, message, place).await };
                            running.spawn_on(work, &threads);
                        }
                        Seat::NoneFor(envelope) => {
                            send_again(&source, jobs.as_ref(), &envelope, &message).await
                        }
                    }
                }
            }
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "a queue did not answer"
                );
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }
    while running.join_next().await.is_some() {}
}

/// Whether a message can be worked on.
enum Seat {
    /// It can, in this place; what is no message of ours needs none.
    Taken(Option<Place>),
    /// Its organization has no place left.
    NoneFor(Box<Envelope>),
}

async fn seat(places: &Arc<Places>, message: &Message) -> Seat {
    let Some(envelope) = Envelope::parse(&message.body) else {
        return Seat::Taken(None);
    };
    let org: &OrgId = &envelope.org;
    match places.take(org, PATIENCE).await {
        Some(place) => Seat::Taken(Some(place)),
        None => Seat::NoneFor(Box::new(envelope)),
    }
}

/// Processes one document and leaves its place.
async fn process(source: &Source, message: Message, place: Option<Place>) {
    handle(source, &[message]).await;
    drop(place);
}

/// Puts a message at the end of its organization's line. Sent before it is deleted, it comes twice at worst, which its
/// handler bears; and what is sent anew was never received, so waiting does not count as failing.
async fn send_again(source: &Source, jobs: &dyn Jobs, envelope: &Envelope, message: &Message) {
    let moved: PortResult<()> = async {
        jobs.send_later(envelope, AGAIN_SECONDS).await?;
        source.receiver.delete(message).await
    }
    .await;
    if let Err(error) = moved {
        warn!(
            error = &error as &dyn std::error::Error,
            "a message waits longer for its turn"
        );
    }
}
