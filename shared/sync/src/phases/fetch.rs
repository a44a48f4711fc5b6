//! Makes documents from the waiting files, several in each tick. The chosen files are stored first,
//! so that after a crash the next worker knows which documents may have been made.

mod one;

use domain::connection::{
    DocumentIntent, FiledItem, ItemRecord, ItemState, RunPhase, RunTrigger, SkipReason, SyncQueue,
    SyncQueueEntry,
};
use domain::ports::PortResult;
use futures::stream::{self, StreamExt};

use crate::limits::{
    FILE_RETRY_DOUBLINGS, FILE_RETRY_SECONDS, MAX_CONCURRENT_REQUESTS, MAX_FILE_ATTEMPTS,
    MAX_MODEL_QUESTIONS, PROVIDER_FAILURES,
};
use crate::phases::leave;
use crate::queue::{self, FetchEntry, FileKey, NEW_FILES_END, NEW_FILES_START};
use crate::step::is_before_deadline;
use crate::work::{StepState, TickError};

use one::{FetchOutcome, FileFetcher};

pub(crate) async fn fetch_files(work: &mut StepState<'_>) -> Result<(), TickError> {
    let fetching = std::mem::take(&mut work.state.fetching);
    if !is_before_deadline(&work.state, work.now()) {
        work.state.fetching = fetching;
        return Ok(());
    }

    let halt = fetch_chosen(work, &fetching).await?;
    if let Some(halt) = halt {
        // The finished files are committed, and the others are tried again.
        work.commit_tick().await?;
        return Err(halt);
    }

    work.state.fetching = choose_files(work).await?;
    if work.state.fetching.is_empty() && mark_limited(work).await? {
        work.leave_position = None;
        leave::hold_back_removals(work).await?;
        work.state.phase = Some(RunPhase::Leave);
    }

    Ok(())
}

/// Fetches these files. The returned halt is the error that prevented some of them, which remain to
/// be fetched.
async fn fetch_chosen(
    work: &mut StepState<'_>,
    intents: &[DocumentIntent],
) -> Result<Option<TickError>, TickError> {
    if intents.is_empty() {
        return Ok(None);
    }

    let ids: Vec<String> = intents.iter().map(|intent| intent.item.clone()).collect();
    work.load_nodes(&ids).await?;
    let mut todo = Vec::new();
    for intent in intents {
        match work
            .current_node(&intent.item)
            .await?
            .filter(queue::is_queued)
        {
            Some(node) => todo.push((intent.clone(), node)),
            None => leave::settle_intent(work, intent).await?,
        }
    }

    let hands = FileFetcher::of(work);
    let outcomes: Vec<(DocumentIntent, ItemRecord, Result<FetchOutcome, TickError>)> =
        stream::iter(todo)
            .map(|(intent, node)| {
                let hands = &hands;
                async move {
                    let outcome = hands.fetch_file(&node).await;
                    (intent, node, outcome)
                }
            })
            .buffered(MAX_CONCURRENT_REQUESTS)
            .collect()
            .await;
    let (requests, judged) = hands.request_counts();
    work.count_requests(requests);
    work.state.judged += judged;

    record_outcomes(work, outcomes).await
}

async fn record_outcomes(
    work: &mut StepState<'_>,
    outcomes: Vec<(DocumentIntent, ItemRecord, Result<FetchOutcome, TickError>)>,
) -> Result<Option<TickError>, TickError> {
    let passing = outcomes
        .iter()
        .filter(|(_, _, outcome)| matches!(outcome, Ok(FetchOutcome::Again(_))))
        .count();
    // After `PROVIDER_FAILURES` failures in a row, the files are to blame after all.
    let all_fail =
        passing >= 3 && passing == outcomes.len() && work.state.attempts < PROVIDER_FAILURES;
    let mut halt = None;
    for (intent, node, outcome) in outcomes {
        match outcome {
            Ok(FetchOutcome::Again(error)) if all_fail => {
                // The provider is at fault, not these files.
                work.state.fetching.push(intent);
                halt = Some(TickError::Provider(
                    domain::ports::ConnectorError::Unavailable(error.into()),
                ));
            }
            Ok(outcome) => apply_outcome(work, &intent, node, outcome).await?,
            Err(error) => {
                work.state.fetching.push(intent);
                halt = Some(error);
            }
        }
    }

    Ok(halt)
}

async fn apply_outcome(
    work: &mut StepState<'_>,
    intent: &DocumentIntent,
    old: ItemRecord,
    outcome: FetchOutcome,
) -> Result<(), TickError> {
    let mut node = old.clone();
    match outcome {
        FetchOutcome::Filed { document, fresh } => {
            node = *fresh;
            work.state.documents += u64::from(old.filed.is_none());
            let (mark, name, path) = (node.mark.clone(), node.name.clone(), node.path.clone());
            node.filed = Some(FiledItem {
                document,
                mark,
                name,
                path,
            });
            (node.state, node.attempts) = (ItemState::Filed, 0);
            work.update_run(|run| run.processed += 1);
            let before = old.filed.as_ref().map(|filed| filed.document.clone());
            let now = node.filed.as_ref().map(|filed| filed.document.clone());
            work.store_node(Some(&old), node)?;
            // A shortcut may have a new target, which makes another document.
            return match before.filter(|before| Some(before) != now.as_ref()) {
                Some(before) => leave::release_stray_claim(work, &before, &intent.item).await,
                None => Ok(()),
            };
        }
        FetchOutcome::Skip { reason, verdict } => {
            node.verdict = verdict.or(node.verdict);
            node.state = ItemState::Skipped { reason };
            work.update_run(|run| run.skipped += 1);
            if reason != SkipReason::PendingFilter {
                work.enqueue_removal(&mut node, reason == SkipReason::FilteredOut)?;
            }
        }
        FetchOutcome::Gone => {
            work.remove_item(&old.id, false).await?;
            return leave::settle_intent(work, intent).await;
        }
        FetchOutcome::Wait => {}
        FetchOutcome::Again(reason) | FetchOutcome::Failed(reason)
            if node.attempts + 1 >= MAX_FILE_ATTEMPTS =>
        {
            node.attempts = MAX_FILE_ATTEMPTS;
            node.state = ItemState::Failed { reason };
            work.update_run(|run| run.failed += 1);
        }
        FetchOutcome::Again(_) => node.attempts += 1,
        FetchOutcome::Failed(reason) => {
            node.state = ItemState::Failed { reason };
            work.update_run(|run| run.failed += 1);
        }
    }

    let again = (node.attempts > old.attempts)
        .then(|| FileKey::of(&node))
        .flatten();
    let wait = FILE_RETRY_SECONDS << node.attempts.saturating_sub(1).min(FILE_RETRY_DOUBLINGS);
    let from = Some(work.now().plus_seconds(wait));
    let waiting = FetchEntry {
        run: work.run_number(),
        from,
        new: node.filed.is_none(),
    };

    work.store_node(Some(&old), node)?;
    if let Some(key) = again {
        let value = queue::to_value(&waiting)?;
        work.batch.enqueue(SyncQueue::Fetch, key.to_string(), value);
    }

    // A document can exist only if it was made before a crash.
    leave::settle_intent(work, intent).await
}

/// Chooses the next files. New files are chosen only as long as there is room for their documents
/// and, if a model decides, for questions.
async fn choose_files(work: &mut StepState<'_>) -> Result<Vec<DocumentIntent>, TickError> {
    let limit = u64::from(work.connection.document_limit);
    let mut room = limit.saturating_sub(work.state.documents);
    let mut questions = match work.filter.prompt {
        Some(_) => MAX_MODEL_QUESTIONS.saturating_sub(work.state.judged),
        None => u64::MAX,
    };

    let (number, now) = (work.run_number(), work.now());
    // A user who requests a run may have removed the cause of a failure.
    let asked_for = work
        .state
        .run
        .as_ref()
        .is_some_and(|run| run.trigger == RunTrigger::Manual);
    let is_too_early = |waiting: &WaitingFile| {
        let later = waiting.entry.from.is_some_and(|from| from > now);
        waiting.key.is_retry() && (waiting.entry.run == number || (later && !asked_for))
    };

    let mut chosen: Vec<DocumentIntent> = Vec::new();
    let mut after: Option<String> = None;
    let most = work.tools.limits.files;
    // Without any questions left, nothing may be chosen, no matter how many files wait.
    while questions > 0 {
        let page = work
            .first_entries(SyncQueue::Fetch, after.as_deref(), most * 4)
            .await?;
        let Some(last) = page.last() else {
            return Ok(chosen);
        };
        after = Some(last.key.clone());

        let mut waiting = parse_page(&page)?;
        waiting.retain(|waiting| !is_too_early(waiting));
        let ids: Vec<String> = waiting.iter().map(|one| one.key.id().to_owned()).collect();
        work.load_nodes(&ids).await?;
        for WaitingFile { key, entry } in waiting {
            let is_new = entry.new || matches!(key, FileKey::New { .. });
            if (is_new && room == 0) || is_handled(work, &key) {
                continue;
            }
            let id = key.id();
            let Some(node) = current_waiting_node(work, &key).await? else {
                work.batch.dequeue(SyncQueue::Fetch, key.to_string());
                continue;
            };
            room -= u64::from(is_new);
            questions -= u64::from(work.filter.model_verdict(&node).is_none());
            let of = node.target.clone().unwrap_or_else(|| id.to_owned());
            chosen.push(DocumentIntent {
                item: id.to_owned(),
                of,
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
fn is_handled(work: &StepState<'_>, key: &FileKey) -> bool {
    work.batch
        .touched_entry(SyncQueue::Fetch, &key.to_string())
        .is_some()
}

/// Returns the node that waits under a key, or `None` if it waits under another key or no longer
/// waits.
async fn current_waiting_node(
    work: &mut StepState<'_>,
    key: &FileKey,
) -> Result<Option<ItemRecord>, TickError> {
    let node = work.current_node(key.id()).await?;
    Ok(node.filter(|node| FileKey::of(node).as_ref() == Some(key)))
}

/// Marks a page of the waiting new files as over the limit, and returns whether all of them are
/// marked.
async fn mark_limited(work: &mut StepState<'_>) -> Result<bool, TickError> {
    if !work.is_full() {
        work.state.limited = None;
        return Ok(true);
    }

    let after = work
        .state
        .limited
        .clone()
        .unwrap_or_else(|| NEW_FILES_START.to_owned());
    let mut page = work
        .first_entries(SyncQueue::Fetch, Some(&after), work.tools.limits.rows)
        .await?;
    page.retain(|entry| entry.key.as_str() < NEW_FILES_END);
    let Some(last) = page.last() else {
        work.state.limited = Some(after);
        return Ok(true);
    };

    work.state.limited = Some(last.key.clone());
    let waiting = parse_page(&page)?;
    let ids: Vec<String> = waiting.iter().map(|one| one.key.id().to_owned()).collect();
    work.load_nodes(&ids).await?;
    for WaitingFile { key, .. } in waiting {
        let Some(node) = current_waiting_node(work, &key).await? else {
            continue;
        };
        if node.state == ItemState::Pending {
            let limited = ItemRecord {
                state: ItemState::Skipped {
                    reason: SkipReason::Limit,
                },
                ..node.clone()
            };
            work.update_run(|run| run.skipped += 1);
            work.store_node(Some(&node), limited)?;
        }
    }

    Ok(false)
}
