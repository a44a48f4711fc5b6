//! Processes documents so that an organization with many or slow documents does not delay the
//! others.
//!
//! The queue serves organizations in turn, so the message of a quiet one is always among the next.
//! It only has to be taken: usually messages are taken one at a time, each gets one or two of a few
//! places, and [`ProcessingPlaces`] leaves room beside the organization that has the most. A message whose
//! organization may have no further places is sent again and arrives a little later. Meanwhile the
//! next message is handled.
//!
//! Short texts are processed so fast that several messages are taken at a time while they come. Those of
//! an organization are then processed together.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use aws::ReceivedMessage;
use domain::ports::{JobQueue, PortResult};
use domain::{Job, JobMessage, OrgId};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use super::{BACK_OFF, POLL_WAIT, QueueSource, handle_messages};
use crate::processing_places::{DOCUMENT_PLACES, ProcessingPlaces, SHORT_TEXT_PLACES, TakenPlaces};

/// The fewest places, for documents of two places each: two for an organization that floods the queue, one
/// for another such organization, and one for anybody else.
const MIN_PLACES: usize = 4 * DOCUMENT_PLACES;
/// The time for which received messages wait for places. It is longer than a usual document takes, so
/// that a flood of usual documents is never sent again.
const PLACE_WAIT: Duration = Duration::from_millis(250);
/// The seconds after which a message is delivered again if it has found no place. Together with the
/// wait before it, some ten messages are in transit at a time, however many are queued, or some ten
/// groups of short texts.
const RESEND_SECONDS: u32 = 2;

/// Returns the number of places. One organization gets half of them: as many as documents on all cores
/// take. The time of a parser is limited by the wall clock, so it must not share its core with many
/// others.
pub(super) fn place_count() -> usize {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    MIN_PLACES.max(2 * cores * DOCUMENT_PLACES)
}

/// Returns the threads that process documents. Short texts in the places of one document share a thread.
pub(super) fn document_threads() -> anyhow::Result<Runtime> {
    let threads = Builder::new_multi_thread()
        .worker_threads(place_count() / DOCUMENT_PLACES)
        .thread_name("documents")
        .enable_all()
        .build();
    Ok(threads?)
}

/// Messages that are handled together: those about short texts of an organization, or any other one.
struct MessageGroup {
    messages: Vec<ReceivedMessage>,
    /// The contents of the messages. A message that cannot be parsed has none, and needs no places.
    requests: Vec<JobMessage>,
    /// True for single short texts, to which others of their organization can be added.
    is_of_short_texts: bool,
}

/// Handles the queue of documents until it is stopped, and then finishes the documents that it has
/// started.
pub(super) async fn poll_documents(
    source: QueueSource,
    places: Arc<ProcessingPlaces>,
    jobs: Arc<dyn JobQueue>,
    threads: Handle,
    mut stopped: watch::Receiver<bool>,
) {
    let mut running = JoinSet::new();
    let several = source.receiver.clone();
    let single = several.clone().one_at_a_time();
    let mut expects_short_texts = false;

    while !*stopped.borrow() {
        let receiver = if expects_short_texts {
            &several
        } else {
            &single
        };
        let received = tokio::select! {
            received = async { places.wait_for_free_place().await; receiver.receive(POLL_WAIT).await } => received,
            _ = stopped.changed() => break,
        };
        while running.try_join_next().is_some() {}

        match received {
            Ok(messages) => {
                let groups = group_messages(messages);
                expects_short_texts =
                    !groups.is_empty() && groups.iter().all(|group| group.is_of_short_texts);
                let deadline = Instant::now() + PLACE_WAIT;
                for group in groups {
                    match group.take_places(&places, deadline).await {
                        Ok(taken) => {
                            let source = source.clone();
                            let work = async move {
                                handle_messages(&source, &group.messages).await;
                                drop(taken);
                            };
                            running.spawn_on(work, &threads);
                        }
                        Err(NoPlaces) => send_again(&source, jobs.as_ref(), &group).await,
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

/// Groups messages in the order of their arrival.
fn group_messages(messages: Vec<ReceivedMessage>) -> Vec<MessageGroup> {
    let mut groups: Vec<MessageGroup> = Vec::with_capacity(messages.len());
    for message in messages {
        let request = JobMessage::parse(&message.body);
        let is_of_short_texts = request.as_ref().is_some_and(is_about_short_text);
        let org = request.as_ref().map(|request| &request.org);
        let group = groups
            .iter_mut()
            .find(|group| is_of_short_texts && group.is_of_short_texts && group.org() == org);
        match group {
            Some(group) => {
                group.messages.push(message);
                group.requests.extend(request);
            }
            None => groups.push(MessageGroup {
                messages: vec![message],
                requests: Vec::from_iter(request),
                is_of_short_texts,
            }),
        }
    }
    groups
}

fn is_about_short_text(request: &JobMessage) -> bool {
    match request.job {
        Job::ProcessV1 { is_short_text, .. } => is_short_text,
        _ => false,
    }
}

/// The organization of messages may not have as many places now.
struct NoPlaces;

impl MessageGroup {
    fn org(&self) -> Option<&OrgId> {
        self.requests.first().map(|request| &request.org)
    }

    /// Takes the places that the messages need, if they need any. Waits for them until `deadline`.
    async fn take_places(
        &self,
        places: &Arc<ProcessingPlaces>,
        deadline: Instant,
    ) -> Result<Option<TakenPlaces>, NoPlaces> {
        let Some(org) = self.org() else {
            return Ok(None);
        };
        let count = match self.messages.len() {
            1 if self.is_of_short_texts => SHORT_TEXT_PLACES,
            _ => DOCUMENT_PLACES,
        };
        let max_wait = deadline.saturating_duration_since(Instant::now());
        let taken = places.take_places(org, count, max_wait).await;
        taken.map(Some).ok_or(NoPlaces)
    }
}

/// Moves messages to the end of their organization's line. They are sent before they are deleted, so at
/// worst they arrive twice, which their handler tolerates. A new message has never been received, so
/// waiting does not count as a failure.
async fn send_again(source: &QueueSource, jobs: &dyn JobQueue, group: &MessageGroup) {
    let result: PortResult<()> = async {
        for request in &group.requests {
            jobs.send_delayed(request, RESEND_SECONDS).await?;
        }
        let messages: Vec<&ReceivedMessage> = group.messages.iter().collect();
        source.receiver.delete(&messages).await
    }
    .await;
    if let Err(error) = result {
        warn!(
            error = &error as &dyn std::error::Error,
            "a message waits longer for its turn"
        );
    }
}

#[cfg(test)]
mod tests {
    use domain::{DocumentId, Revision};

    use super::*;

    fn message(org: &str, is_short_text: bool) -> ReceivedMessage {
        let job = Job::ProcessV1 {
            document: DocumentId::parse("1111111111111111111111").expect("an id"),
            revision: Revision::random(),
            is_short_text,
        };
        let org = OrgId::parse(org).expect("a name");
        ReceivedMessage::from_event(JobMessage { org, job }.to_json(), String::new(), 1, None)
    }

    #[test]
    fn only_short_texts_of_the_same_organization_are_handled_together() {
        let mut messages = vec![
            message("a", true),
            message("b", true),
            message("a", false),
            message("a", true),
            message("a", false),
        ];
        let mut unreadable = message("a", true);
        unreadable.body = "{}".to_owned();
        messages.extend([unreadable.clone(), unreadable]);

        let groups = group_messages(messages);
        let summary = groups
            .iter()
            .map(|group| {
                let org = group.org().map(OrgId::as_str);
                (org, group.is_of_short_texts, group.messages.len())
            })
            .collect::<Vec<_>>();
        assert_eq!(
            summary,
            [
                (Some("a"), true, 2),
                (Some("b"), true, 1),
                (Some("a"), false, 1),
                (Some("a"), false, 1),
                (None, false, 1),
                (None, false, 1),
            ]
        );
    }
}
