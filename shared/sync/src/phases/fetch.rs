//! Makes documents from the waiting files, several in each tick. The chosen files are stored first,
//! so that after a crash the next worker knows which documents may have been made.

mod file_fetcher;

use domain::connection::{
    DocumentIntent, ItemRecord, ItemState, NEW_FILES_END, NEW_FILES_START, RunPhase, SkipReason,
    SyncQueue, SyncQueueEntry,
};
use domain::ports::PortResult;
use futures::stream::{self, StreamExt};

use crate::decide::files::{self, FetchOutcome, FileCount, FileDecision};
use crate::limits::MAX_MODEL_QUESTIONS;
use crate::phases::removals;
use crate::queue::{self, FetchEntry, FileKey};
use crate::step_state::{StepState, TickError};

use file_fetcher::FileFetcher;

pub(crate) async fn fetch_files(step: &mut StepState<'_>) -> Result<(), TickError> {
    let fetching = std::mem::take(&mut step.state.fetching);
    if !step.is_before_deadline() {
        step.state.fetching = fetching;
        return Ok(());
    }

    if let Some(error) = fetch_chosen(step, &fetching).await? {
        // The finished files are committed, and the others are tried again.
        step.commit_tick().await?;
        return Err(error);
    }

    step.state.fetching = choose_files(step).await?;
    if step.state.fetching.is_empty() && mark_limited(step).await? {
        step.removal_position = None;
        removals::hold_back_removals(step).await?;
        step.state.phase = Some(RunPhase::Remove);
    }

    Ok(())
}

/// Fetches these files. Returns the error that stopped some of them; those are fetched again.
async fn fetch_chosen(
    step: &mut StepState<'_>,
    intents: &[DocumentIntent],
) -> Result<Option<TickError>, TickError> {
    if intents.is_empty() {
        return Ok(None);
    }

    let ids: Vec<String> = intents
        .iter()
        .map(|intent| intent.claiming_item.clone())
        .collect();
    step.load_records(&ids).await?;
    let mut todo = Vec::new();
    for intent in intents {
        match step
            .current_record(&intent.claiming_item)
            .await?
            .filter(|record| is_chosen(record, intent))
        {
            Some(record) => todo.push((intent.clone(), record)),
            None => removals::settle_intent(step, intent).await?,
        }
    }

    let fetcher = FileFetcher::of(step);
    let outcomes: Vec<(DocumentIntent, ItemRecord, Result<FetchOutcome, TickError>)> =
        stream::iter(todo)
            .map(|(intent, record)| {
                let fetcher = &fetcher;
                async move {
                    let outcome = fetcher.fetch_file(&record).await;
                    (intent, record, outcome)
                }
            })
            .buffered(step.connector.parallel_requests())
            .collect()
            .await;
    let (requests, judged) = fetcher.request_counts();
    step.count_requests(requests);
    step.state.judged += judged;

    record_outcomes(step, outcomes).await
}

/// Checks whether a file still waits with the source that was chosen. A shortcut that has another
/// target by now is chosen again, because an intent has to name the document that is made.
fn is_chosen(record: &ItemRecord, intent: &DocumentIntent) -> bool {
    queue::is_queued(record) && queue::source_item(record) == intent.source_item
}

async fn record_outcomes(
    step: &mut StepState<'_>,
    outcomes: Vec<(DocumentIntent, ItemRecord, Result<FetchOutcome, TickError>)>,
) -> Result<Option<TickError>, TickError> {
    let failing = outcomes
        .iter()
        .filter(|(_, _, outcome)| matches!(outcome, Ok(FetchOutcome::ProviderFailed(_))));
    let all_fail = files::blames_provider(failing.count(), outcomes.len(), step.state.attempts);
    let mut stopped_by = None;
    for (intent, record, outcome) in outcomes {
        match outcome {
            Ok(FetchOutcome::ProviderFailed(error)) if all_fail => {
                // The provider is at fault, not these files.
                step.state.fetching.push(intent);
                stopped_by = Some(TickError::Provider(
                    domain::ports::ConnectorError::Unavailable(error.into()),
                ));
            }
            Ok(outcome) => apply_outcome(step, &intent, record, outcome).await?,
            Err(error) => {
                step.state.fetching.push(intent);
                stopped_by = Some(error);
            }
        }
    }

    Ok(stopped_by)
}

async fn apply_outcome(
    step: &mut StepState<'_>,
    intent: &DocumentIntent,
    known: ItemRecord,
    outcome: FetchOutcome,
) -> Result<(), TickError> {
    let (run, now) = (step.run_number(), step.now());
    let stored = match files::decide_outcome(&known, outcome, run, now) {
        FileDecision::Store(stored) => *stored,
        FileDecision::RemoveItem => {
            step.remove_item(&known.id, false).await?;
            return removals::settle_intent(step, intent).await;
        }
    };

    step.state.documents += u64::from(stored.is_new_document);
    step.update_run(|run| match stored.counts {
        FileCount::None => {}
        FileCount::Processed => run.processed += 1,
        FileCount::Skipped => run.skipped += 1,
        FileCount::Failed => run.failed += 1,
    });
    if let Some(removal) = stored.removal {
        step.enqueue_removal(removal)?;
    }
    step.store_record(Some(&known), stored.record)?;
    if let Some((key, entry)) = stored.retry {
        let value = queue::to_value(&entry)?;
        step.writes
            .enqueue(SyncQueue::Fetch, key.to_string(), value);
    }

    if let Some(document) = stored.former_document {
        removals::release_stray_document(step, &document, &intent.claiming_item).await?;
    }
    if stored.may_have_stray {
        removals::settle_intent(step, intent).await?;
    }

    Ok(())
}

/// Chooses the next files. New files are chosen only as long as there is room for their documents
/// and, if a model decides, for questions.
async fn choose_files(step: &mut StepState<'_>) -> Result<Vec<DocumentIntent>, TickError> {
    let limit = u64::from(step.connection.document_limit);
    let mut room = limit.saturating_sub(step.state.documents);
    let mut questions = match step.filter.prompt {
        Some(_) => MAX_MODEL_QUESTIONS.saturating_sub(step.state.judged),
        None => u64::MAX,
    };

    let now = step.now();
    let mut chosen: Vec<DocumentIntent> = Vec::new();
    let mut after: Option<String> = None;
    let most = step.context.limits.files;
    // Without any questions left, nothing may be chosen, no matter how many files wait.
    while questions > 0 {
        let page = step
            .first_entries(SyncQueue::Fetch, after.as_deref(), most * 4)
            .await?;
        let Some(last) = page.last() else {
            return Ok(chosen);
        };
        after = Some(last.key.clone());

        let mut waiting = parse_page(&page)?;
        waiting.retain(|file| !files::is_too_early(&file.key, &file.entry, &step.state, now));
        let ids: Vec<String> = waiting.iter().map(|one| one.key.id().to_owned()).collect();
        step.load_records(&ids).await?;
        for WaitingFile { key, entry } in waiting {
            let is_new = entry.new || matches!(key, FileKey::New { .. });
            if (is_new && room == 0) || is_handled(step, &key) {
                continue;
            }
            let Some(record) = current_waiting_record(step, &key).await? else {
                step.writes.dequeue(SyncQueue::Fetch, key.to_string());
                continue;
            };
            room -= u64::from(is_new);
            questions -= u64::from(step.filter.model_verdict(&record).is_none());
            chosen.push(DocumentIntent {
                claiming_item: record.id.clone(),
                source_item: queue::source_item(&record).to_owned(),
            });
            if chosen.len() == most || questions == 0 {
                return Ok(chosen);
            }
        }
        // New files without room need not be read.
        let skips = room == 0
            && after
                .as_deref()
                .is_some_and(|key| (NEW_FILES_START..NEW_FILES_END).contains(&key));
        if skips {
            after = Some(NEW_FILES_END.to_owned());
        }
    }

    Ok(chosen)
}

/// A parsed entry of the queue of files.
struct WaitingFile {
    key: FileKey,
    entry: FetchEntry,
}

fn parse_page(page: &[SyncQueueEntry]) -> PortResult<Vec<WaitingFile>> {
    let parse = |entry: &SyncQueueEntry| {
        Ok(WaitingFile {
            key: FileKey::parse(&entry.key)?,
            entry: queue::parse_value(entry)?,
        })
    };
    page.iter().map(parse).collect()
}

/// Checks whether this tick has already handled an entry that is read as waiting.
fn is_handled(step: &StepState<'_>, key: &FileKey) -> bool {
    step.writes
        .touched_entry(SyncQueue::Fetch, &key.to_string())
        .is_some()
}

/// Returns the record that waits under a key, or `None` if it waits under another key or no longer
/// waits.
async fn current_waiting_record(
    step: &mut StepState<'_>,
    key: &FileKey,
) -> Result<Option<ItemRecord>, TickError> {
    let record = step.current_record(key.id()).await?;
    Ok(record.filter(|record| FileKey::of(record).as_ref() == Some(key)))
}

/// Marks a page of the waiting new files as over the limit, and returns whether all of them are
/// marked.
async fn mark_limited(step: &mut StepState<'_>) -> Result<bool, TickError> {
    if !step.is_full() {
        step.state.limited = None;
        return Ok(true);
    }

    let after = step
        .state
        .limited
        .clone()
        .unwrap_or_else(|| NEW_FILES_START.to_owned());
    let mut page = step
        .first_entries(SyncQueue::Fetch, Some(&after), step.context.limits.rows)
        .await?;
    page.retain(|entry| entry.key.as_str() < NEW_FILES_END);
    let Some(last) = page.last() else {
        step.state.limited = Some(after);
        return Ok(true);
    };

    step.state.limited = Some(last.key.clone());
    let waiting = parse_page(&page)?;
    let ids: Vec<String> = waiting.iter().map(|one| one.key.id().to_owned()).collect();
    step.load_records(&ids).await?;
    for WaitingFile { key, .. } in waiting {
        let Some(record) = current_waiting_record(step, &key).await? else {
            continue;
        };
        if record.state == ItemState::Pending {
            let limited = ItemRecord {
                state: ItemState::Skipped {
                    reason: SkipReason::Limit,
                },
                ..record.clone()
            };
            step.update_run(|run| run.skipped += 1);
            step.store_record(Some(&record), limited)?;
        }
    }

    Ok(false)
}
