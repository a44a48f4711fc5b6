//! Makes documents from the waiting files, several in each tick. The chosen files are stored first,
//! so that after a crash the next worker knows which documents may have been made.

mod one;

use domain::connection::{
    Filed, Intent, Node, NodeState, Phase, Queue, QueueEntry, SkipReason, Trigger,
};
use futures::stream::{self, StreamExt};

use crate::keys::{self, NEW, NEW_END, Waiting};
use crate::limits::{
    AT_ONCE, FILE_ATTEMPTS, FILE_WAITS_DOUBLED, FILE_WAITS_SECONDS, JUDGEMENTS, PATIENCE,
};
use crate::phases::leave;
use crate::step::in_time;
use crate::work::{Halt, Work};

use one::{Hands, Outcome};

pub(crate) async fn tick(work: &mut Work<'_>) -> Result<(), Halt> {
    let fetching = std::mem::take(&mut work.state.fetching);
    if !in_time(&work.state, work.now()) {
        work.state.fetching = fetching;
        return Ok(());
    }

    let halt = fetch(work, &fetching).await?;
    if let Some(halt) = halt {
        // The finished files are committed, and the others are tried again.
        work.commit().await?;
        return Err(halt);
    }

    work.state.fetching = choose(work).await?;
    if work.state.fetching.is_empty() && mark_limited(work).await? {
        work.left = None;
        leave::brake(work).await?;
        work.state.phase = Some(Phase::Leave);
    }

    Ok(())
}

/// Fetches these files. The returned halt is the error that prevented some of them, which remain to
/// be fetched.
async fn fetch(work: &mut Work<'_>, intents: &[Intent]) -> Result<Option<Halt>, Halt> {
    if intents.is_empty() {
        return Ok(None);
    }

    let ids: Vec<String> = intents.iter().map(|intent| intent.item.clone()).collect();
    work.load(&ids).await?;
    let mut todo = Vec::new();
    for intent in intents {
        match work.node(&intent.item).await?.filter(keys::is_queued) {
            Some(node) => todo.push((intent.clone(), node)),
            None => leave::settle(work, intent).await?,
        }
    }

    let hands = Hands::of(work);
    let outcomes: Vec<(Intent, Node, Result<Outcome, Halt>)> = stream::iter(todo)
        .map(|(intent, node)| {
            let hands = &hands;
            async move {
                let outcome = hands.fetch(&node).await;
                (intent, node, outcome)
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let (requests, judged) = hands.counts();
    work.asked(requests);
    work.state.judged += judged;

    record(work, outcomes).await
}

async fn record(
    work: &mut Work<'_>,
    outcomes: Vec<(Intent, Node, Result<Outcome, Halt>)>,
) -> Result<Option<Halt>, Halt> {
    let passing = outcomes
        .iter()
        .filter(|(_, _, outcome)| matches!(outcome, Ok(Outcome::Again(_))))
        .count();
    // After `PATIENCE` failures in a row, the files are to blame after all.
    let all_fail = passing >= 3 && passing == outcomes.len() && work.state.attempts < PATIENCE;
    let mut halt = None;
    for (intent, node, outcome) in outcomes {
        match outcome {
            Ok(Outcome::Again(error)) if all_fail => {
                // The provider is at fault, not these files.
                work.state.fetching.push(intent);
                halt = Some(Halt::Provider(domain::ports::ConnectorError::Unavailable(
                    error.into(),
                )));
            }
            Ok(outcome) => apply(work, &intent, node, outcome).await?,
            Err(error) => {
                work.state.fetching.push(intent);
                halt = Some(error);
            }
        }
    }

    Ok(halt)
}

async fn apply(
    work: &mut Work<'_>,
    intent: &Intent,
    old: Node,
    outcome: Outcome,
) -> Result<(), Halt> {
    let mut node = old.clone();
    match outcome {
        Outcome::Filed { document, fresh } => {
            node = *fresh;
            work.state.documents += u64::from(old.filed.is_none());
            let (mark, name, path) = (node.mark.clone(), node.name.clone(), node.path.clone());
            node.filed = Some(Filed {
                document,
                mark,
                name,
                path,
            });
            (node.state, node.attempts) = (NodeState::Filed, 0);
            work.count(|run| run.processed += 1);
            let before = old.filed.as_ref().map(|filed| filed.document.clone());
            let now = node.filed.as_ref().map(|filed| filed.document.clone());
            work.put(Some(&old), node);
            // A shortcut may have a new target, which makes another document.
            return match before.filter(|before| Some(before) != now.as_ref()) {
                Some(before) => leave::give_back(work, &before, &intent.item).await,
                None => Ok(()),
            };
        }
        Outcome::Skip { reason, verdict } => {
            node.verdict = verdict.or(node.verdict);
            node.state = NodeState::Skipped { reason };
            work.count(|run| run.skipped += 1);
            if reason != SkipReason::PendingFilter {
                work.let_go(&mut node, reason == SkipReason::FilteredOut);
            }
        }
        Outcome::Gone => {
            work.remove(&old.id, false).await?;
            return leave::settle(work, intent).await;
        }
        Outcome::Wait => {}
        Outcome::Again(reason) | Outcome::Failed(reason) if node.attempts + 1 >= FILE_ATTEMPTS => {
            node.attempts = FILE_ATTEMPTS;
            node.state = NodeState::Failed { reason };
            work.count(|run| run.failed += 1);
        }
        Outcome::Again(_) => node.attempts += 1,
        Outcome::Failed(reason) => {
            node.state = NodeState::Failed { reason };
            work.count(|run| run.failed += 1);
        }
    }

    let again = (node.attempts > old.attempts)
        .then(|| keys::fetch_key(&node))
        .flatten();
    let wait = FILE_WAITS_SECONDS << node.attempts.saturating_sub(1).min(FILE_WAITS_DOUBLED);
    let from = Some(work.now().plus_seconds(wait));
    let waiting = Waiting {
        run: work.run_number(),
        from,
        new: node.filed.is_none(),
    };

    work.put(Some(&old), node);
    if let Some(key) = again {
        work.batch.enqueue(Queue::Fetch, key, keys::text(&waiting));
    }

    // A document can exist only if it was made before a crash.
    leave::settle(work, intent).await
}

/// Chooses the next files. New files are chosen only as long as there is room for their documents
/// and, if a model decides, for questions.
async fn choose(work: &mut Work<'_>) -> Result<Vec<Intent>, Halt> {
    let limit = u64::from(work.connection.document_limit);
    let mut room = limit.saturating_sub(work.state.documents);
    let mut questions = match work.filter.prompt {
        Some(_) => JUDGEMENTS.saturating_sub(work.state.judged),
        None => u64::MAX,
    };

    let (number, now) = (work.run_number(), work.now());
    // A user who requests a run may have removed the cause of a failure.
    let asked_for = work
        .state
        .run
        .as_ref()
        .is_some_and(|run| run.trigger == Trigger::Manual);
    let rests = |entry: &QueueEntry| {
        let waiting: Waiting = keys::read(&entry.value);
        let is_early = !asked_for && waiting.from.is_some_and(|from| from > now);
        entry.key.starts_with('9') && (waiting.run == number || is_early)
    };

    let mut chosen: Vec<Intent> = Vec::new();
    let mut after: Option<String> = None;
    let most = work.tools.limits.files;
    // Without any questions left, nothing may be chosen, no matter how many files wait.
    while questions > 0 {
        let mut page = work.first(Queue::Fetch, after.as_deref(), most * 4).await?;
        let Some(last) = page.last() else {
            return Ok(chosen);
        };
        after = Some(last.key.clone());
        page.retain(|entry| !rests(entry));
        let ids: Vec<String> = page
            .iter()
            .map(|entry| keys::file_of(&entry.key).to_owned())
            .collect();
        work.load(&ids).await?;
        for entry in page {
            let waiting: Waiting = keys::read(&entry.value);
            let is_new = waiting.new || entry.key.starts_with(NEW);
            if (is_new && room == 0) || is_taken(work, &entry) {
                continue;
            }
            let id = keys::file_of(&entry.key);
            let Some(node) = current(work, &entry.key, id).await? else {
                work.batch.dequeue(Queue::Fetch, entry.key.clone());
                continue;
            };
            room -= u64::from(is_new);
            questions -= u64::from(work.filter.verdict(&node).is_none());
            let of = node.target.clone().unwrap_or_else(|| id.to_owned());
            chosen.push(Intent {
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
                .is_some_and(|key| (NEW..NEW_END).contains(&key));
        if skips {
            after = Some(NEW_END.to_owned());
        }
    }

    Ok(chosen)
}

/// Checks whether this tick has already handled an entry that is read as waiting.
fn is_taken(work: &Work<'_>, entry: &QueueEntry) -> bool {
    work.batch.waits(Queue::Fetch, &entry.key).is_some()
}

/// Returns the node that waits under a key, or `None` if it waits under another key or no longer
/// waits.
async fn current(work: &mut Work<'_>, key: &str, id: &str) -> Result<Option<Node>, Halt> {
    let node = work.node(id).await?;
    Ok(node.filter(|node| keys::fetch_key(node).as_deref() == Some(key)))
}

/// Marks a page of the waiting new files as over the limit, and returns whether all of them are
/// marked.
async fn mark_limited(work: &mut Work<'_>) -> Result<bool, Halt> {
    if !work.is_full() {
        work.state.limited = None;
        return Ok(true);
    }

    let after = work.state.limited.clone().unwrap_or_else(|| NEW.to_owned());
    let mut page = work
        .first(Queue::Fetch, Some(&after), work.tools.limits.rows)
        .await?;
    page.retain(|entry| entry.key.as_str() < NEW_END);
    let Some(last) = page.last() else {
        work.state.limited = Some(after);
        return Ok(true);
    };

    work.state.limited = Some(last.key.clone());
    let ids: Vec<String> = page
        .iter()
        .map(|entry| keys::file_of(&entry.key).to_owned())
        .collect();
    work.load(&ids).await?;
    for (entry, id) in page.iter().zip(&ids) {
        let Some(node) = current(work, &entry.key, id).await? else {
            continue;
        };
        if node.state == NodeState::Pending {
            let limited = Node {
                state: NodeState::Skipped {
                    reason: SkipReason::Limit,
                },
                ..node.clone()
            };
            work.count(|run| run.skipped += 1);
            work.put(Some(&node), limited);
        }
    }

    Ok(false)
}
