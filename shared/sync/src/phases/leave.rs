//! Removes documents whose items are gone. They are removed after a grace period, and many at once
//! only after a second examination.

use domain::connection::{Claim, Intent, Leaving, Phase, Queue, QueueEntry};
use domain::ports::Item;
use domain::usecase::custom_id_of;
use domain::{DocumentId, Timestamp};

use crate::keys;
use crate::limits::{BRAKE, BRAKE_FROM, BRAKE_PERCENT, GRACE_SECONDS};
use crate::scope::is_folder;
use crate::step::in_time;
use crate::work::{Halt, Work};

/// The most pages of waiting removals that one tick examines.
const PAGES: usize = 10;
/// The most items that one tick examines again.
const LOOKS: usize = 100;

/// Holds back the removals of this run if they are too many. Then only documents of deselected
/// items are removed.
pub(crate) async fn brake(work: &mut Work<'_>) -> Result<(), Halt> {
    if work.state.held_by_run.is_some() {
        return Ok(());
    }

    let (mut count, mut after) = (0, None);
    loop {
        let page = work
            .first(Queue::Leave, after.as_deref(), work.tools.limits.rows)
            .await?;
        count += page
            .iter()
            .filter_map(read)
            .filter(|leaving| !leaving.deselected)
            .count();
        after = page.last().map(|entry| entry.key.clone());
        if after.is_none() || count > BRAKE {
            break;
        }
    }

    let few = u64::try_from(count).unwrap_or(u64::MAX);
    let share = few >= BRAKE_FROM && few * 100 > work.state.documents * BRAKE_PERCENT;
    if count > BRAKE || share {
        work.state.held_by_run = Some(work.run_number());
    }

    Ok(())
}

pub(crate) async fn tick(work: &mut Work<'_>) -> Result<(), Halt> {
    let releasing = std::mem::take(&mut work.state.releasing);
    let keys: Vec<String> = releasing.iter().map(|intent| intent.item.clone()).collect();
    work.load_waits(Queue::Leave, keys.clone()).await?;
    work.load(&keys).await?;
    for intent in &releasing {
        if !in_time(&work.state, work.now()) {
            work.state.releasing.push(intent.clone());
            continue;
        }
        release(work, intent).await?;
    }

    let (next, more) = choose(work).await?;
    work.state.releasing.extend(next);
    if work.state.releasing.is_empty() && !more {
        end(work).await?;
    }

    Ok(())
}

/// Removes a document, or only this connection's claim if other claims remain.
async fn release(work: &mut Work<'_>, intent: &Intent) -> Result<(), Halt> {
    let Some(leaving) = work.leaving(&intent.item).await? else {
        // The item has reappeared after the removal began. Whatever the removal did stays, and the
        // document is made again.
        return settle(work, intent).await;
    };

    let node = work.node(&intent.item).await?;
    // A crash may have left this entry although the item has reappeared.
    let stays = node.and_then(|node| node.filed).map(|filed| filed.document);
    if let Some(filed) = leaving
        .node
        .filed
        .as_ref()
        .filter(|filed| stays.as_ref() != Some(&filed.document))
    {
        let claim = Claim {
            connection: work.connection.id.clone(),
            item: intent.item.clone(),
        };
        let removed = work
            .tools
            .desk
            .release(work.tenant, &filed.document, &claim)
            .await?;
        work.state.documents = work.state.documents.saturating_sub(1);
        work.count(|run| {
            run.processed += 1;
            run.removed += u64::from(removed);
        });
    }

    work.batch.dequeue(Queue::Leave, intent.item.clone());
    Ok(())
}

/// Gives up a document that may have been made or partly removed, unless the item's record refers
/// to it.
pub(crate) async fn settle(work: &mut Work<'_>, intent: &Intent) -> Result<(), Halt> {
    let custom_id = custom_id_of(work.connection.provider, &intent.of);
    let desk = work.tools.desk;
    let Some(document) = desk
        .document(work.tenant, &work.connection.tag, &custom_id)
        .await?
    else {
        return Ok(());
    };

    let node = work.node(&intent.item).await?;
    let filed = node
        .and_then(|node| node.filed)
        .is_some_and(|filed| filed.document == document);
    let leaving = work
        .leaving(&intent.item)
        .await?
        .and_then(|leaving| leaving.node.filed);
    if !filed && leaving.is_none_or(|filed| filed.document != document) {
        give_back(work, &document, &intent.item).await?;
    }

    Ok(())
}

/// Gives up an item's claim on a document that is no longer its own. A document that this
/// connection never claimed is kept even without any claim: it may remain from a connection that
/// was deleted without its documents.
pub(crate) async fn give_back(
    work: &Work<'_>,
    document: &DocumentId,
    item: &str,
) -> Result<(), Halt> {
    let claim = Claim {
        connection: work.connection.id.clone(),
        item: item.to_owned(),
    };

    let desk = work.tools.desk;
    if desk.is_ours(work.tenant, document, &claim).await? {
        desk.release(work.tenant, document, &claim).await?;
    }

    Ok(())
}

/// Returns the next documents to remove, and whether more entries remain to be examined. Removals
/// that were held back are confirmed by examining each item again.
async fn choose(work: &mut Work<'_>) -> Result<(Vec<Intent>, bool), Halt> {
    let (now, number) = (work.now(), work.run_number());
    let held = work.state.held_by_run == Some(number);
    let confirms = work.state.held_by_run.is_some() && !held;
    let began = work.state.run.as_ref().map_or(now, |run| run.started_at);
    let mut chosen = Vec::new();
    for _ in 0..PAGES {
        let rows = if confirms {
            work.rows_to_look_at().min(LOOKS)
        } else {
            work.tools.limits.rows
        };
        let page = work.first(Queue::Leave, work.left.as_deref(), rows).await?;
        if page.is_empty() {
            return Ok((chosen, false));
        }
        if confirms {
            look_together(work, &page, began).await?;
        }
        for entry in page {
            if chosen.len() == work.tools.limits.files {
                return Ok((chosen, true));
            }
            work.left = Some(entry.key.clone());
            let Some(leaving) =
                read(&entry).filter(|_| work.batch.waits(Queue::Leave, &entry.key).is_none())
            else {
                continue;
            };
            let due = leaving.deselected || is_due(&leaving, now) && !held;
            let sure = leaving.deselected || !confirms || leaving.since < began;
            if due && sure && (leaving.deselected || !confirms || is_gone(work, &entry.key).await?)
            {
                let of = leaving.node.target.unwrap_or_else(|| entry.key.clone());
                chosen.push(Intent {
                    item: entry.key,
                    of,
                });
            }
        }
        if confirms {
            break;
        }
    }

    Ok((chosen, true))
}

/// Looks up all items of a page that [`is_gone`] will ask for.
async fn look_together(
    work: &mut Work<'_>,
    page: &[QueueEntry],
    began: Timestamp,
) -> Result<(), Halt> {
    let unsure = |leaving: &Leaving| !leaving.deselected && leaving.since < began;
    let ids = page
        .iter()
        .filter(|entry| read(entry).is_some_and(|leaving| unsure(&leaving)));
    let ids: Vec<String> = ids.map(|entry| entry.key.clone()).collect();
    work.load(&ids).await?;
    work.look_at(&ids).await
}

fn is_due(leaving: &Leaving, now: Timestamp) -> bool {
    leaving.since.plus_seconds(GRACE_SECONDS) <= now
}

fn read(entry: &QueueEntry) -> Option<Leaving> {
    serde_json::from_str(&entry.value).ok()
}

/// Checks with a new lookup whether an item is gone. An item that the provider does not show does
/// not count as gone.
async fn is_gone(work: &mut Work<'_>, id: &str) -> Result<bool, Halt> {
    match came_back(work, id).await {
        Err(Halt::Withheld) => Ok(false),
        back => Ok(!back?),
    }
}

/// Looks up an item again. If it exists after all, its record is restored and it keeps its
/// document.
async fn came_back(work: &mut Work<'_>, id: &str) -> Result<bool, Halt> {
    let item: Option<Item> = work.look(id).await?;
    if work.node(id).await?.is_some() || !work.in_scope(item.as_ref()).await? {
        return Ok(false);
    }

    let Some(item) = item else {
        return Ok(false);
    };

    let (path, stamp) = (work.place(&item).await?, work.stamp());
    work.upsert(&item, path, stamp).await?;
    if is_folder(&item) {
        work.walk(id, item.drive.as_deref(), stamp, true).await?;
    }

    // The cause of this removal may have removed other items as well.
    work.state.must_scan = true;
    Ok(true)
}

/// Ends the phase. If documents were removed, there may be room for files that wait because of the
/// limit.
async fn end(work: &mut Work<'_>) -> Result<(), Halt> {
    let number = work.run_number();
    if work.state.held_by_run.is_some_and(|held| held < number) {
        work.state.held_by_run = None;
    }
    let removed = work.state.run.as_ref().is_some_and(|run| run.removed > 0);
    let waits = work.first(Queue::Fetch, Some(keys::NEW), 1).await?;
    let waits = waits
        .first()
        .is_some_and(|entry| entry.key.as_str() < keys::NEW_END);
    let room = removed && waits && work.state.limited.is_some() && !work.is_full();
    work.state.phase = Some(if room { Phase::Fetch } else { Phase::Watch });
    Ok(())
}
