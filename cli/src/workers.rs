//! Polls the queues and hands batches to the workers, as event source mappings and the schedule do
//! on AWS. Documents are processed fairly among organizations (`documents`).

mod documents;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use aws::layout::QueueLayout;
use aws::{QueueReceiver, ReceivedMessage, layout};
use domain::ports::{OverdueWork, PortResult};
use domain::{DeliveryOutcome, QueueDelivery, QueueWorker, Timestamp};
use maintenance::{MaintenanceWorker, OrphanWalk};
use processor::Processor;
use service::Ctx;
use synchronizer::SyncWorker;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use crate::external_services::ExternalServices;
use crate::processing_places::ProcessingPlaces;
use crate::system::LocalSystem;

/// The time for which a poll waits for a message. It is the longest that SQS allows, so that an
/// idle machine does almost nothing.
const POLL_WAIT: Duration = Duration::from_secs(20);
/// The pause after a queue did not answer.
const BACK_OFF: Duration = Duration::from_secs(1);
/// The pause after a batch of commits that was not full, while several documents are processed. The next
/// batch then has several commits, which costs little more than one.
const COMMIT_PAUSE: Duration = Duration::from_millis(30);
/// The interval at which unfinished work is picked up. The schedule in `template.yaml` has the same
/// interval.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// The time that a started batch has when its worker is to stop. On a full disk the SDK tries every
/// call three times, with pauses, which adds up over the messages of a batch.
const STOP_GRACE: Duration = Duration::from_secs(4);
/// The time for giving documents back that are not finished when their worker is to stop.
const GIVE_BACK_TIME: Duration = Duration::from_secs(1);
/// The number of sweeps between two deletions of expired records, which nobody reads any more.
const EXPIRE_EVERY_SWEEPS: u32 = 60;
/// The most pieces of unfinished work that are looked at to find out whether there is any.
const MAX_LISTED: usize = 1000;

/// The number of sweeps between two erasures of deleted data from the files.
const ERASE_EVERY_SWEEPS: u32 = 5;

/// The workers of one process. When this is dropped, they stop after the current batch.
pub struct Workers {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    processor: Arc<Processor>,
    /// Separate threads for documents, which take seconds of computation. The threads of the server
    /// answer requests meanwhile.
    threads: Option<Runtime>,
}

/// A queue and its worker.
#[derive(Clone)]
struct QueueSource {
    receiver: QueueReceiver,
    worker: Arc<dyn QueueWorker>,
    layout: QueueLayout,
    is_dead_letter_queue: bool,
}

impl Workers {
    /// Starts workers for every queue, and the sweep. The first sweep picks up everything
    /// unfinished, so that the documents of a killed process need not wait for its leases to end. The
    /// workers start after it, so that it ends none of their leases.
    ///
    /// # Errors
    /// Fails if a queue does not exist.
    pub async fn start(system: &LocalSystem, external_services: &ExternalServices) -> Result<Self> {
        // A process that was killed during a commit blocks the messages of the container.
        system.services.release_groups()?;
        let (stop, stopped) = watch::channel(false);
        let (swept, ready) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let threads = documents::document_threads()?;
        let places = ProcessingPlaces::new(documents::place_count());
        let processor = new_processor(system, external_services);
        for mut source in queue_sources(system, external_services, processor.clone()).await? {
            let mut ready = ready.clone();
            let stopped = stopped.clone();
            let (jobs, threads) = (system.ctx.jobs.clone(), threads.handle().clone());
            let places = places.clone();
            let has_documents =
                source.layout == layout::PROCESS_QUEUE && !source.is_dead_letter_queue;
            if source.layout.batch_size == 1 && !source.is_dead_letter_queue && !has_documents {
                source.receiver = source.receiver.one_at_a_time();
            }
            tasks.spawn(async move {
                ready.wait_for(|swept| *swept).await.ok();
                if has_documents {
                    documents::poll_documents(source, places, jobs, threads, stopped).await;
                } else {
                    poll_queue(source, &places, stopped).await;
                }
            });
        }

        tasks.spawn(sweep_regularly(system.clone(), stopped, swept));
        Ok(Self {
            tasks,
            stop,
            processor,
            threads: Some(threads),
        })
    }

    /// Lets current batches finish, and stops. A batch that takes longer than four seconds is
    /// aborted as by a kill, and done again after the next start. That does not count as an attempt at its
    /// documents: a command that takes seconds would use up the attempts at a long recording.
    pub async fn stop(mut self) {
        self.stop.send(true).ok();
        let finished = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_GRACE, finished).await.is_err() {
            warn!("work under way is broken off; the next start does it again");
            let given_back = self.processor.give_back_documents();
            tokio::time::timeout(GIVE_BACK_TIME, given_back).await.ok();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            // Unfinished work may block, and stopping must not wait for it.
            threads.shutdown_background();
        }
    }
}

fn new_processor(system: &LocalSystem, external_services: &ExternalServices) -> Arc<Processor> {
    let readers = external_services.readers.clone();
    Arc::new(Processor::new(system.ctx.clone(), readers))
}

async fn queue_sources(
    system: &LocalSystem,
    external_services: &ExternalServices,
    processor: Arc<Processor>,
) -> Result<Vec<QueueSource>> {
    let processor: Arc<dyn QueueWorker> = processor;
    let maintenance: Arc<dyn QueueWorker> = Arc::new(
        MaintenanceWorker::new(system.ctx.clone(), system.compaction)
            .with_embedder(external_services.readers.embedder.clone()),
    );
    let synchronizer: Arc<dyn QueueWorker> =
        Arc::new(SyncWorker::new(external_services.sync_engine(&system.ctx)));
    let names = &system.names;
    let source =
        |queue: &str, worker: &Arc<dyn QueueWorker>, layout, is_dead_letter_queue| QueueSource {
            receiver: QueueReceiver::new(system.clients.sqs.clone(), queue.to_owned()),
            worker: worker.clone(),
            layout,
            is_dead_letter_queue,
        };

    let mut sources = vec![
        source(
            &names.process_queue,
            &processor,
            layout::PROCESS_QUEUE,
            false,
        ),
        source(&names.commit_queue, &processor, layout::COMMIT_QUEUE, false),
        source(
            &names.maintenance_queue,
            &maintenance,
            layout::MAINTENANCE_QUEUE,
            false,
        ),
        // Two connections are synchronized at a time.
        source(&names.sync_queue, &synchronizer, layout::SYNC_QUEUE, false),
        source(&names.sync_queue, &synchronizer, layout::SYNC_QUEUE, false),
    ];
    let dead_queues = aws::dead_letter_queue_urls(&system.clients).await?;
    // The dead letters of maintenance are left for a person, as on AWS. Connections that are due
    // are sent again in any case.
    let dead_queue_layouts = [layout::PROCESS_QUEUE, layout::COMMIT_QUEUE];
    for (queue, layout) in dead_queues.iter().zip(dead_queue_layouts) {
        sources.push(source(queue, &maintenance, layout, true));
    }

    Ok(sources)
}

async fn poll_queue(
    source: QueueSource,
    places: &ProcessingPlaces,
    mut stopped: watch::Receiver<bool>,
) {
    while !*stopped.borrow() {
        let received = tokio::select! {
            received = source.receiver.receive(POLL_WAIT) => received,
            _ = stopped.changed() => return,
        };
        match received {
            Ok(messages) => {
                handle_messages(&source, &messages).await;
                if expects_more_commits(&source, &messages, places) {
                    tokio::time::sleep(COMMIT_PAUSE).await;
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
}

/// Checks whether commits of other documents come soon after this batch.
fn expects_more_commits(
    source: &QueueSource,
    batch: &[ReceivedMessage],
    places: &ProcessingPlaces,
) -> bool {
    source.layout == layout::COMMIT_QUEUE
        && batch.len() < source.layout.batch_size as usize
        && places.count_messages() > 1
}

async fn handle_messages(source: &QueueSource, messages: &[ReceivedMessage]) {
    if messages.is_empty() {
        return;
    }

    let batch: Vec<QueueDelivery> = messages
        .iter()
        .map(|message| message.to_delivery(source.is_dead_letter_queue))
        .collect();
    let outcomes = source.worker.handle_batch(&batch).await;
    count_outcomes(source, &outcomes);

    let mut done = Vec::with_capacity(messages.len());
    for (message, outcome) in messages.iter().zip(outcomes) {
        match outcome {
            DeliveryOutcome::Done => done.push(message),
            // A dead letter that cannot be handled waits for the visibility time-out, because a
            // retry would not help.
            DeliveryOutcome::Retry if source.is_dead_letter_queue => {}
            DeliveryOutcome::Retry => {
                let receiver = &source.receiver;
                warn_of_repetition(receiver.retry_after(message, message.retry_delay()).await);
            }
        }
    }
    warn_of_repetition(source.receiver.delete(&done).await);
}

fn warn_of_repetition(result: PortResult<()>) {
    if let Err(error) = result {
        warn!(
            error = &error as &dyn std::error::Error,
            "a message will come again"
        );
    }
}

fn count_outcomes(source: &QueueSource, outcomes: &[DeliveryOutcome]) {
    let queue = if source.is_dead_letter_queue {
        source.layout.dead_letter_queue
    } else {
        source.layout.name
    };
    for outcome in outcomes {
        let outcome = match outcome {
            DeliveryOutcome::Done => "done",
            DeliveryOutcome::Retry => "retry",
        };
        metrics::counter!("recollect_queue_messages_total", "queue" => queue, "outcome" => outcome)
            .increment(1);
    }
}

async fn sweep_regularly(
    system: LocalSystem,
    mut stopped: watch::Receiver<bool>,
    swept: watch::Sender<bool>,
) {
    let mut cutoff = Timestamp::from_millis(i64::MAX);
    let orphan_walk = OrphanWalk::default();

    for sweep_number in 1u32.. {
        if let Err(error) = maintenance::sweep_overdue_work(&system.ctx, cutoff).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not look for unfinished work"
            );
        }
        swept.send(true).ok();
        if sweep_number.is_multiple_of(EXPIRE_EVERY_SWEEPS)
            && let Err(error) = system.services.sweep_expired()
        {
            warn!("could not delete expired records: {error:#}");
        }
        if let Err(error) = orphan_walk.examine_next_page(&system.ctx).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not look for orphans"
            );
        }
        if sweep_number.is_multiple_of(ERASE_EVERY_SWEEPS)
            && let Err(error) = erase_deleted(&system).await
        {
            warn!("could not take what was deleted out of the files: {error:#}");
        }
        tokio::select! {
            () = tokio::time::sleep(SWEEP_INTERVAL) => {}
            _ = stopped.changed() => return,
        }
        cutoff = system.ctx.clock.now();
    }
}

/// Erases deleted data from the files. This waits for the disk.
async fn erase_deleted(system: &LocalSystem) -> Result<()> {
    let services = system.services.clone();
    tokio::task::spawn_blocking(move || services.erase_deleted()).await??;
    Ok(())
}

/// All queues, polled by hand, for programs that end and for tests.
pub struct QueueSet {
    sources: Vec<QueueSource>,
}

impl QueueSet {
    /// Opens the queues of a system with their workers.
    ///
    /// # Errors
    /// Fails if a queue does not exist.
    pub async fn open(system: &LocalSystem, external_services: &ExternalServices) -> Result<Self> {
        let processor = new_processor(system, external_services);
        Ok(Self {
            sources: queue_sources(system, external_services, processor).await?,
        })
    }

    /// Takes no more messages of a queue at a time than a function on AWS does.
    #[must_use]
    pub fn with_batches_of_aws(mut self) -> Self {
        for source in &mut self.sources {
            if source.layout.batch_size == 1 {
                source.receiver = source.receiver.clone().one_at_a_time();
            }
        }
        self
    }

    /// Replaces each worker. `map` is called with the queue, whether the worker handles its dead letters, and
    /// the worker.
    #[must_use]
    pub fn map_workers(
        mut self,
        map: impl Fn(&QueueLayout, bool, Arc<dyn QueueWorker>) -> Arc<dyn QueueWorker>,
    ) -> Self {
        for source in &mut self.sources {
            let worker = source.worker.clone();
            source.worker = map(&source.layout, source.is_dead_letter_queue, worker);
        }
        self
    }

    /// Handles one batch of each queue. Returns the number of messages.
    ///
    /// # Errors
    /// Fails if a queue does not answer.
    pub async fn handle_one_batch_each(&self) -> Result<usize> {
        let mut handled = 0;
        for source in &self.sources {
            let messages = source.receiver.receive(Duration::ZERO).await?;
            handled += messages.len();
            handle_messages(source, &messages).await;
        }
        Ok(handled)
    }
}

/// Handles messages until every queue is empty and no document is unfinished, but for those whose file has yet to
/// be uploaded. What was not picked up at first, because there was too much or because its message was lost, is
/// picked up when it is due.
///
/// # Errors
/// Fails if a queue does not answer.
pub(crate) async fn work_until_idle(
    system: &LocalSystem,
    external_services: &ExternalServices,
) -> Result<()> {
    /// The pause after a round that found no message while something unfinished waits for its
    /// retry.
    const PAUSE: Duration = Duration::from_millis(200);
    /// The time between two sweeps while there is no message.
    const SWEEP_PAUSE: Duration = Duration::from_secs(2);
    let ctx = &system.ctx;
    let queues = QueueSet::open(system, external_services).await?;
    maintenance::sweep_overdue_work(ctx, Timestamp::from_millis(i64::MAX)).await?;
    let mut swept = Instant::now();

    loop {
        if queues.handle_one_batch_each().await? > 0 {
            continue;
        }
        if !has_unfinished_documents(ctx).await? {
            return Ok(());
        }
        if swept.elapsed() >= SWEEP_PAUSE {
            maintenance::sweep_overdue_work(ctx, ctx.clock.now()).await?;
            swept = Instant::now();
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Checks whether a document is unfinished that does not wait for the upload of its file. The other unfinished
/// work may be a purge, which waits a minute on purpose and is left to a later sweep.
async fn has_unfinished_documents(ctx: &Ctx) -> PortResult<bool> {
    let now = ctx.clock.now();
    let all = Timestamp::from_millis(i64::MAX);
    for work in ctx.documents.list_overdue(all, MAX_LISTED).await? {
        let OverdueWork::Document(_, id) = &work else {
            continue;
        };
        // The index may be slightly outdated.
        let Some(document) = ctx.documents.get_one(&work.tenant(), id).await? else {
            continue;
        };
        if document.body.awaited_until.is_none_or(|until| until <= now) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use clap::Parser;
    use domain::ports::CreationConditions;
    use domain::{BodyForm, Document, DocumentId, DocumentStatus, OrgId, Tenant};
    use embedded::Durability;
    use service::{Content, NewDocument, begin_upload};

    use super::*;
    use crate::arguments::{Cli, Command};

    /// The time in which little work is done.
    const TIME_LIMIT: Duration = Duration::from_secs(60);

    fn tenant() -> Tenant {
        Tenant::for_operator(OrgId::parse("local").unwrap())
    }

    fn external_services() -> ExternalServices {
        let line = ["recollect", "work"];
        let Some(Command::Work(work)) = Cli::try_parse_from(line).unwrap().command else {
            panic!("a command that works");
        };
        let readers = work.models.readers().unwrap();
        let pages = readers.pages_and_files.clone();
        ExternalServices {
            connectors: connectors::all_connectors(&work.drive.settings(), pages).unwrap(),
            readers,
            public_url: None,
        }
    }

    /// Creates a document whose file has yet to be uploaded.
    async fn await_upload(ctx: &Ctx) -> Document {
        let content = Content::Complete {
            bytes: Bytes::new(),
            form: BodyForm::Text,
        };
        let upload = begin_upload(ctx, &tenant(), NewDocument::new(content), 1000).await;
        let id = upload.unwrap().accepted.id;
        read(ctx, &id).await
    }

    async fn read(ctx: &Ctx, id: &DocumentId) -> Document {
        let document = ctx.documents.get_one(&tenant(), id).await;
        document.unwrap().unwrap()
    }

    async fn work(system: &LocalSystem) {
        let services = external_services();
        let worked = work_until_idle(system, &services);
        let worked = tokio::time::timeout(TIME_LIMIT, worked).await;
        worked.expect("it ends").unwrap();
    }

    #[tokio::test]
    async fn work_does_not_wait_for_an_upload() {
        let folder = tempfile::tempdir().unwrap();
        let system = LocalSystem::open(folder.path(), Durability::Process, None);
        let system = system.await.unwrap();
        let document = await_upload(&system.ctx).await;
        work(&system).await;
        let status = read(&system.ctx, &document.id).await.status;
        assert_eq!(status, DocumentStatus::Queued);
    }

    #[tokio::test]
    async fn work_ends_after_more_documents_than_a_sweep_picks_up() {
        let folder = tempfile::tempdir().unwrap();
        let system = LocalSystem::open(folder.path(), Durability::Process, None);
        let system = system.await.unwrap();
        let ctx = &system.ctx;
        let mut document = await_upload(ctx).await;
        // Files that did not arrive in time need no message, and are quickly done.
        document.body.awaited_until = Some(Timestamp::from_millis(0));
        let mut ids = Vec::new();
        for _ in 0..501 {
            document.id = DocumentId::random();
            let conditions = CreationConditions::default();
            let created = ctx
                .documents
                .create(&tenant(), &document, &conditions)
                .await;
            created.unwrap();
            ids.push(document.id.clone());
        }
        work(&system).await;
        for id in ids {
            assert_eq!(read(ctx, &id).await.status, DocumentStatus::Failed);
        }
    }
}
