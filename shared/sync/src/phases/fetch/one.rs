//! Processes one file: decides whether it is accepted, fetches its content, and makes its document.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use domain::connection::{Claim, Connection, Node, Origin, SkipReason};
use domain::ports::{Access, Connector, ConnectorError, Fetched, Item, ItemKind};
use domain::usecase::{ItemDocument, custom_id_of};
use domain::{DocumentId, Error, Tenant, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use tracing::error;

use crate::judge::{JudgeError, Judged, beginning};
use crate::limits::{FILE_BYTES, IN_FLIGHT_MB, JUDGEMENTS, UNKNOWN_MB};
use crate::rules::Filter;
use crate::step::{Tools, last_moment};
use crate::work::{Halt, Work};

const MB: u64 = 1024 * 1024;
const FAULT: &str = "The service could not take this file.";

/// The outcome of fetching one file.
pub(super) enum Outcome {
    /// The document exists, and the node is to be stored as given.
    Filed {
        document: DocumentId,
        fresh: Box<Node>,
    },
    /// The file is skipped.
    Skip {
        reason: SkipReason,
        verdict: Option<String>,
    },
    /// The file no longer exists.
    Gone,
    /// The file is fetched later.
    Wait,
    /// The attempt failed, with the reason, and is worth repeating.
    Again(String),
    /// The file failed for good, with the reason.
    Failed(String),
}

/// The dependencies for fetching files, shared by the files of a tick.
pub(super) struct Hands<'a> {
    tools: &'a Tools<'a>,
    tenant: &'a Tenant,
    connection: &'a Connection,
    connector: &'a dyn Connector,
    access: &'a Access,
    filter: &'a Filter,
    megabytes: Semaphore,
    requests: AtomicUsize,
    questions: AtomicU64,
    judged_before: u64,
    /// The time after which nothing is begun that no commit can undo.
    until: Timestamp,
    /// The time after which no answer of the provider or the model is awaited.
    asks_until: Instant,
}

/// A value to continue with, or the result that ends the processing of the file: an outcome for
/// this file, or a halt.
type Way<T> = Result<T, Result<Outcome, Halt>>;

impl<'a> Hands<'a> {
    pub(super) fn of(work: &'a Work<'_>) -> Self {
        Self {
            tools: work.tools,
            tenant: work.tenant,
            connection: &work.connection,
            connector: work.connector,
            access: &work.access,
            filter: &work.filter,
            megabytes: Semaphore::new(IN_FLIGHT_MB),
            requests: AtomicUsize::new(0),
            questions: AtomicU64::new(0),
            judged_before: work.state.judged,
            until: last_moment(&work.state, work.now()),
            asks_until: work.asks_until(),
        }
    }

    /// Returns the number of requests to the provider and of questions to the model.
    pub(super) fn counts(&self) -> (usize, u64) {
        (
            self.requests.load(Ordering::Relaxed),
            self.questions.load(Ordering::Relaxed),
        )
    }

    pub(super) async fn fetch(&self, node: &Node) -> Result<Outcome, Halt> {
        self.walk(node).await.unwrap_or_else(|end| end)
    }

    async fn walk(&self, node: &Node) -> Way<Result<Outcome, Halt>> {
        if Instant::now() >= self.asks_until {
            return Err(Ok(Outcome::Wait));
        }

        let of = node.target.as_deref().unwrap_or(&node.id);
        let Some(item) = self.look(of).await?.filter(|item| !item.trashed) else {
            return Err(Ok(match node.target {
                Some(_) => skip(SkipReason::Shortcut),
                None => Outcome::Gone,
            }));
        };

        let kind = match (&item.kind, &node.target) {
            (ItemKind::File { document }, _) => *document,
            (ItemKind::Unreadable(reason), _) => return Err(Ok(skip(*reason))),
            _ => return Err(Ok(skip(SkipReason::Shortcut))),
        };

        if item.size.is_some_and(|size| size > FILE_BYTES as u64) {
            return Err(Ok(skip(SkipReason::TooLarge)));
        }

        let mut fresh = Node {
            mark: item.mark.clone(),
            ..node.clone()
        };

        let document = self.document_of(&fresh, &item, kind).await?;
        if self.filter.verdict(&fresh) == Some(true)
            && let Some(document) =
                self.ours(self.tools.desk.refile(self.tenant, &document).await)?
        {
            return Ok(Ok(filed(document, fresh)));
        }

        let (fetched, _room) = self.content(&item).await?;
        if fetched.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Ok(skip(SkipReason::Empty)));
        }

        self.judge(&mut fresh, &item, &fetched).await?;
        if self.tools.desk.now() >= self.until {
            // Another worker may be processing the file by now. It will be fetched again.
            return Err(Ok(Outcome::Wait));
        }

        let made = self
            .tools
            .desk
            .file(self.tenant, document, fetched.bytes, fetched.form)
            .await;
        Ok(Ok(filed(self.ours(made)?, fresh)))
    }

    async fn look(&self, id: &str) -> Way<Option<Item>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match self.in_time(self.connector.stat(self.access, id)).await? {
            // The item exists, and may be shown on a later attempt.
            Err(error @ ConnectorError::Item(SkipReason::NotDownloadable)) => {
                Err(Ok(Outcome::Again(error.to_string())))
            }
            looked => looked.map_err(theirs),
        }
    }

    /// Fetches the content, and reserves the memory for it. A file that exceeds the expected size
    /// is fetched again with room for the largest possible file.
    async fn content(&self, item: &Item) -> Way<(Fetched, Option<SemaphorePermit<'_>>)> {
        let most = FILE_BYTES as u64 / MB;
        let expected = item
            .size
            .map_or(UNKNOWN_MB as u64, |size| size / MB + 1)
            .min(most);
        match self.content_within(item, expected).await {
            Err(Ok(Outcome::Skip {
                reason: SkipReason::TooLarge,
                ..
            })) if expected < most => self.content_within(item, most).await,
            fetched => fetched,
        }
    }

    async fn content_within(
        &self,
        item: &Item,
        megabytes: u64,
    ) -> Way<(Fetched, Option<SemaphorePermit<'_>>)> {
        let room = self
            .megabytes
            .acquire_many(u32::try_from(megabytes).unwrap_or(1));
        // No request was sent yet.
        let room = timeout_at(self.asks_until, room)
            .await
            .map_err(|_| Ok(Outcome::Wait))?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        let limit = usize::try_from(megabytes * MB).unwrap_or(FILE_BYTES);
        let fetched = self
            .in_time(self.connector.fetch(self.access, item, limit))
            .await?
            .map_err(theirs)?;

        Ok((fetched, room.ok()))
    }

    /// Waits for an answer. If it does not come within the time of the step, the attempt to fetch
    /// the file fails.
    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Way<T> {
        let late = |_| Ok(Outcome::Again("it took too long".into()));
        timeout_at(self.asks_until, answer).await.map_err(late)
    }

    /// Describes the document of an item. The document of a shortcut has the name of the target,
    /// and its path if that is known.
    async fn document_of(
        &self,
        node: &Node,
        item: &Item,
        kind: Option<domain::DocumentType>,
    ) -> Way<ItemDocument> {
        let (mut title, mut filepath) = (node.name.clone(), node.path.clone());
        if let Some(target) = &node.target {
            title.clone_from(&item.name);
            let sync = self.tools.desk.sync();
            let known = sync
                .nodes(
                    self.tenant,
                    &self.connection.id,
                    std::slice::from_ref(target),
                )
                .await;
            let known = self.ours(known.map_err(Error::from))?;
            if let Some(known) = known.into_iter().flatten().next() {
                filepath = known.path;
            }
        }

        let (provider, connection) = (self.connection.provider, self.connection.id.clone());
        Ok(ItemDocument {
            tag: self.connection.tag.clone(),
            custom_id: custom_id_of(provider, &item.id),
            origin: Origin {
                provider,
                connection: connection.clone(),
                title,
                kind,
                mark: item.mark.clone(),
            },
            url: item.url.clone(),
            filepath,
            claim: Claim {
                connection,
                item: node.id.clone(),
            },
        })
    }

    /// Asks the model, unless there is no prompt or the model has already decided about this
    /// content.
    async fn judge(&self, node: &mut Node, item: &Item, fetched: &Fetched) -> Way<()> {
        let (Some(prompt), None) = (&self.filter.prompt, self.filter.verdict(node)) else {
            return match self.filter.verdict(node) {
                Some(false) => Err(Ok(skip(SkipReason::FilteredOut))),
                _ => Ok(()),
            };
        };

        if self.judged_before + self.questions.fetch_add(1, Ordering::Relaxed) >= JUDGEMENTS {
            return Err(Ok(Outcome::Wait));
        }

        let judged = Judged {
            name: node.name.clone(),
            path: node.path.clone(),
            media_type: item.media_type.clone(),
            owner: item.owner.clone(),
            text: beginning(&fetched.bytes),
        };

        match self
            .in_time(self.tools.judge.judge(prompt, &judged))
            .await?
        {
            Ok(verdict) => {
                node.verdict = self
                    .filter
                    .remember(&node.mark, verdict.keep, &verdict.reason);
                if verdict.keep {
                    return Ok(());
                }
                let verdict = node.verdict.clone();
                Err(Ok(Outcome::Skip {
                    reason: SkipReason::FilteredOut,
                    verdict,
                }))
            }
            Err(JudgeError::NotConfigured) => Err(Ok(skip(SkipReason::PendingFilter))),
            Err(error) => Err(Ok(Outcome::Again(error.to_string()))),
        }
    }

    /// Converts an error of the service while it makes a document.
    fn ours<T>(&self, result: domain::Result<T>) -> Way<T> {
        result.map_err(|error| match error {
            Error::TooLarge(_) => Ok(skip(SkipReason::TooLarge)),
            Error::UnsupportedMedia(_) => Ok(skip(SkipReason::UnsupportedType)),
            Error::RateLimited { retry_after_seconds, .. } => {
                Err(Halt::Pause(i64::try_from(retry_after_seconds).unwrap_or(i64::MAX)))
            }
            Error::Unavailable(_) => Err(Halt::Ours(error)),
            Error::Internal(source) => {
                let id = &self.connection.id;
                error!(connection.id = %id, error = source.as_ref() as &dyn std::error::Error, "a file failed");
                Ok(Outcome::Again(FAULT.into()))
            }
            Error::Conflict(why) => Ok(Outcome::Again(why)),
            other => Ok(Outcome::Failed(other.to_string())),
        })
    }
}

fn filed(document: DocumentId, fresh: Node) -> Outcome {
    Outcome::Filed {
        document,
        fresh: Box::new(fresh),
    }
}

fn skip(reason: SkipReason) -> Outcome {
    Outcome::Skip {
        reason,
        verdict: None,
    }
}

/// Converts an error of the provider, which concerns one file or all of them.
fn theirs(error: ConnectorError) -> Result<Outcome, Halt> {
    use ConnectorError as E;
    match error {
        E::Item(reason) => Ok(skip(reason)),
        E::Unavailable(_) | E::Fault(_) | E::CursorLost | E::PageLost => {
            Ok(Outcome::Again(error.to_string()))
        }
        error => Err(Halt::Provider(error)),
    }
}
