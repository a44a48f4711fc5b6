//! Processes one file: decides whether it is accepted, fetches its content, and makes its document.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use domain::connection::{Connection, DocumentClaim, DocumentOrigin, ItemRecord, SkipReason};
use domain::ports::{
    Connector, ConnectorError, ItemContent, ItemKind, ProviderAccess, ProviderItem,
};
use domain::{DocumentId, Error, Tenant, Timestamp};
use service::{ItemDocument, item_custom_id};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use tracing::error;

use crate::context::StepContext;
use crate::decide::files::FetchOutcome;
use crate::item_filter::ItemFilter;
use crate::judge::{JudgeError, JudgedItem, text_beginning};
use crate::limits::{MAX_FILE_BYTES, MAX_MB_IN_FLIGHT, MAX_MODEL_QUESTIONS, UNKNOWN_SIZE_MB};
use crate::queue;
use crate::step_state::{StepState, TickError};

const MB: u64 = 1024 * 1024;
const LATE_MESSAGE: &str = "it took too long";
const FAULT_MESSAGE: &str = "The service could not take this file.";

/// The dependencies for fetching files, shared by the files of a tick.
pub(super) struct FileFetcher<'a> {
    context: &'a StepContext<'a>,
    tenant: &'a Tenant,
    connection: &'a Connection,
    connector: &'a dyn Connector,
    access: &'a ProviderAccess,
    filter: &'a ItemFilter,
    megabytes: Semaphore,
    requests: AtomicUsize,
    questions: AtomicU64,
    judged_before: u64,
    /// The time after which nothing is begun that no commit can undo.
    commit_deadline: Timestamp,
    /// The time after which no file is begun.
    fetch_deadline: Instant,
    /// The time after which no answer of the provider or the model is awaited.
    request_deadline: Instant,
}

/// The reason why the processing of a file ends early.
enum FetchEnd {
    /// The outcome for this file.
    Outcome(FetchOutcome),
    /// An error that concerns all files.
    Error(TickError),
}

impl From<FetchOutcome> for FetchEnd {
    fn from(outcome: FetchOutcome) -> Self {
        Self::Outcome(outcome)
    }
}

/// A value to continue with, or the reason why the processing ends.
type FetchResult<T> = Result<T, FetchEnd>;

impl<'a> FileFetcher<'a> {
    pub(super) fn of(step: &'a StepState<'_>) -> Self {
        Self {
            context: step.context,
            tenant: step.tenant,
            connection: &step.connection,
            connector: step.connector,
            access: &step.access,
            filter: &step.filter,
            megabytes: Semaphore::new(MAX_MB_IN_FLIGHT),
            requests: AtomicUsize::new(0),
            questions: AtomicU64::new(0),
            judged_before: step.state.judged,
            commit_deadline: step.irrevocable_deadline(),
            fetch_deadline: step.fetch_deadline(),
            request_deadline: step.request_deadline(),
        }
    }

    /// Returns the number of requests to the provider and of questions to the model.
    pub(super) fn request_counts(&self) -> (usize, u64) {
        (
            self.requests.load(Ordering::Relaxed),
            self.questions.load(Ordering::Relaxed),
        )
    }

    pub(super) async fn fetch_file(&self, record: &ItemRecord) -> Result<FetchOutcome, TickError> {
        match self.fetch_steps(record).await {
            Ok(outcome) | Err(FetchEnd::Outcome(outcome)) => Ok(outcome),
            Err(FetchEnd::Error(error)) => Err(error),
        }
    }

    async fn fetch_steps(&self, record: &ItemRecord) -> FetchResult<FetchOutcome> {
        if Instant::now() >= self.fetch_deadline {
            return Err(FetchOutcome::Wait.into());
        }

        let Some(item) = self
            .look_up_item(queue::source_item(record))
            .await?
            .filter(|item| !item.is_trashed)
        else {
            let outcome = match record.target {
                Some(_) => skip_file(SkipReason::Shortcut),
                None => FetchOutcome::Gone,
            };
            return Err(outcome.into());
        };

        let kind = match (&item.kind, &record.target) {
            (ItemKind::File { document }, _) => *document,
            (ItemKind::Unreadable(reason), _) => return Err(skip_file(*reason).into()),
            _ => return Err(skip_file(SkipReason::Shortcut).into()),
        };

        if item.size.is_some_and(|size| size > MAX_FILE_BYTES as u64) {
            return Err(skip_file(SkipReason::TooLarge).into());
        }

        let mut fresh = ItemRecord {
            content_version: item.content_version.clone(),
            ..record.clone()
        };

        let document = self.document_of(&fresh, &item, kind).await?;
        if self.filter.model_verdict(&fresh) == Some(true)
            && let Some(document) = self.convert_service_error(
                self.context
                    .service
                    .adopt_document(self.tenant, &document)
                    .await,
            )?
        {
            return Ok(synced_outcome(document, fresh));
        }

        let (fetched, _room) = self.fetch_content(&item).await?;
        if fetched.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(skip_file(SkipReason::Empty).into());
        }

        self.ask_model(&mut fresh, &item, &fetched).await?;
        if self.context.service.clock().now() >= self.commit_deadline {
            // Another worker may be processing the file by now. It will be fetched again.
            return Err(FetchOutcome::Wait.into());
        }

        let made = self
            .context
            .service
            .make_document(self.tenant, document, fetched.bytes, fetched.form)
            .await;
        Ok(synced_outcome(self.convert_service_error(made)?, fresh))
    }

    async fn look_up_item(&self, id: &str) -> FetchResult<Option<ProviderItem>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match self
            .wait_for_provider(self.connector.get_item(self.access, id))
            .await?
        {
            // The item exists, and may be shown on a later attempt.
            Err(error @ ConnectorError::Item(SkipReason::NotDownloadable)) => {
                Err(FetchOutcome::ProviderFailed(error.to_string()).into())
            }
            looked => looked.map_err(convert_provider_error),
        }
    }

    /// Fetches the content, and reserves the memory for it. A file that exceeds the expected size
    /// is fetched again with room for the largest possible file.
    async fn fetch_content(
        &self,
        item: &ProviderItem,
    ) -> FetchResult<(ItemContent, Option<SemaphorePermit<'_>>)> {
        let most = MAX_FILE_BYTES as u64 / MB;
        let expected = item
            .size
            .map_or(UNKNOWN_SIZE_MB as u64, |size| size / MB + 1)
            .min(most);
        match self.fetch_content_within(item, expected).await {
            Err(FetchEnd::Outcome(FetchOutcome::Skip {
                reason: SkipReason::TooLarge,
                ..
            })) if expected < most => self.fetch_content_within(item, most).await,
            fetched => fetched,
        }
    }

    async fn fetch_content_within(
        &self,
        item: &ProviderItem,
        megabytes: u64,
    ) -> FetchResult<(ItemContent, Option<SemaphorePermit<'_>>)> {
        let room = self
            .megabytes
            .acquire_many(u32::try_from(megabytes).unwrap_or(1));
        // No request was sent yet.
        let room = timeout_at(self.request_deadline, room)
            .await
            .map_err(|_| FetchOutcome::Wait)?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        let limit = usize::try_from(megabytes * MB).unwrap_or(MAX_FILE_BYTES);
        let fetched = self
            .wait_for_provider(self.connector.fetch_content(self.access, item, limit))
            .await?
            .map_err(convert_provider_error)?;

        Ok((fetched, room.ok()))
    }

    /// Waits for an answer of the provider. If it does not come within the time of the step, the
    /// provider has failed.
    async fn wait_for_provider<T>(&self, answer: impl Future<Output = T>) -> FetchResult<T> {
        let late = |_| FetchOutcome::ProviderFailed(LATE_MESSAGE.into()).into();
        timeout_at(self.request_deadline, answer)
            .await
            .map_err(late)
    }

    /// Describes the document of an item. The document of a shortcut has the name of the target,
    /// and its path if that is known.
    async fn document_of(
        &self,
        record: &ItemRecord,
        item: &ProviderItem,
        kind: Option<domain::DocumentType>,
    ) -> FetchResult<ItemDocument> {
        let (mut title, mut filepath) = (record.name.clone(), record.path.clone());
        if let Some(target) = &record.target {
            title.clone_from(&item.name);
            let sync = self.context.service.sync();
            let known = sync
                .get_items(
                    self.tenant,
                    &self.connection.id,
                    std::slice::from_ref(target),
                )
                .await;
            let known = self.convert_service_error(known.map_err(Error::from))?;
            if let Some(known) = known.into_iter().flatten().next() {
                filepath = known.path;
            }
        }

        let (provider, connection) = (self.connection.provider, self.connection.id.clone());
        Ok(ItemDocument {
            tag: self.connection.tag.clone(),
            custom_id: item_custom_id(provider, &item.id),
            origin: DocumentOrigin {
                provider,
                connection: connection.clone(),
                title,
                kind,
                content_version: item.content_version.clone(),
            },
            url: item.url.clone(),
            filepath,
            claim: DocumentClaim {
                connection,
                item: record.id.clone(),
            },
        })
    }

    /// Asks the model, unless there is no prompt or the model has already decided about this
    /// content.
    async fn ask_model(
        &self,
        record: &mut ItemRecord,
        item: &ProviderItem,
        fetched: &ItemContent,
    ) -> FetchResult<()> {
        let (Some(prompt), None) = (&self.filter.prompt, self.filter.model_verdict(record)) else {
            return match self.filter.model_verdict(record) {
                Some(false) => Err(skip_file(SkipReason::FilteredOut).into()),
                _ => Ok(()),
            };
        };

        if self.judged_before + self.questions.fetch_add(1, Ordering::Relaxed)
            >= MAX_MODEL_QUESTIONS
        {
            return Err(FetchOutcome::Wait.into());
        }

        let judged = JudgedItem {
            name: record.name.clone(),
            path: record.path.clone(),
            media_type: item.media_type.clone(),
            owner: item.owner.clone(),
            text: text_beginning(&fetched.bytes),
        };

        let question = self.context.judge.judge_item(prompt, &judged);
        let answer = timeout_at(self.request_deadline, question)
            .await
            .map_err(|_| FetchOutcome::Retry(LATE_MESSAGE.into()))?;

        match answer {
            Ok(verdict) => {
                record.verdict = self.filter.format_verdict(
                    &record.content_version,
                    verdict.keep,
                    &verdict.reason,
                );
                if verdict.keep {
                    return Ok(());
                }
                let verdict = record.verdict.clone();
                let reason = SkipReason::FilteredOut;
                Err(FetchOutcome::Skip { reason, verdict }.into())
            }
            Err(JudgeError::NotConfigured) => Err(skip_file(SkipReason::PendingFilter).into()),
            Err(error) => Err(FetchOutcome::Retry(error.to_string()).into()),
        }
    }

    /// Converts an error of the service while it makes a document.
    fn convert_service_error<T>(&self, result: domain::Result<T>) -> FetchResult<T> {
        result.map_err(|error| match error {
            Error::TooLarge(_) => skip_file(SkipReason::TooLarge).into(),
            Error::UnsupportedMedia(_) => skip_file(SkipReason::UnsupportedType).into(),
            Error::RateLimited { retry_after_seconds, .. } => {
                let seconds = i64::try_from(retry_after_seconds).unwrap_or(i64::MAX);
                FetchEnd::Error(TickError::Pause(seconds))
            }
            Error::Unavailable(_) => FetchEnd::Error(TickError::Ours(error)),
            Error::Internal(source) => {
                let id = &self.connection.id;
                error!(connection.id = %id, error = source.as_ref() as &dyn std::error::Error, "a file failed");
                FetchOutcome::Retry(FAULT_MESSAGE.into()).into()
            }
            Error::Conflict(why) => FetchOutcome::Retry(why).into(),
            other => FetchOutcome::Failed(other.to_string()).into(),
        })
    }
}

fn synced_outcome(document: DocumentId, fresh: ItemRecord) -> FetchOutcome {
    FetchOutcome::Synced {
        document,
        record: Box::new(fresh),
    }
}

fn skip_file(reason: SkipReason) -> FetchOutcome {
    FetchOutcome::Skip {
        reason,
        verdict: None,
    }
}

/// Converts an error of the provider, which concerns one file or all of them.
fn convert_provider_error(error: ConnectorError) -> FetchEnd {
    use ConnectorError as E;
    match error {
        E::Item(reason) => skip_file(reason).into(),
        E::Unavailable(_) | E::Fault(_) | E::CursorLost | E::PageLost => {
            FetchOutcome::ProviderFailed(error.to_string()).into()
        }
        error => FetchEnd::Error(TickError::Provider(error)),
    }
}
