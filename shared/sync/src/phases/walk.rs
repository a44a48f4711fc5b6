//! Handles the queued folders: lists their children, or removes the records below them.

use domain::connection::{Node, Phase, Queue, QueueEntry, WalkEntry};
use domain::ports::{ConnectorError, Listing};

use crate::keys;
use crate::phases::feeds::follow;
use crate::scope::is_folder;
use crate::work::{Halt, Work};

/// The most pages of known children that one tick examines.
const PAGES: usize = 10;

pub(crate) async fn tick(work: &mut Work<'_>) -> Result<(), Halt> {
    let waiting = work
        .first(Queue::Walk, None, work.tools.limits.folders)
        .await?;
    if waiting.is_empty() {
        return end(work).await;
    }

    for entry in waiting {
        if work.batch.len() > work.tools.limits.writes || work.is_late() {
            break;
        }
        let (_, folder) = keys::folder_of(&entry.key);
        // An entry that this tick has replaced is handled in a later tick.
        if work.batch.waits(Queue::Walk, &entry.key).is_none() {
            match visit(work, folder, keys::read(&entry.value), &entry.key).await {
                // The records of the items in the folder stay.
                Err(Halt::Withheld) => work.batch.go_on(Queue::Walk, entry.key.clone(), None),
                visited => visited?,
            }
        }
    }

    Ok(())
}

/// Ends the phase when the queue is empty. The changes during the scan follow, or the phases after
/// all changes.
async fn end(work: &mut Work<'_>) -> Result<(), Halt> {
    let scanned = work.state.feeds.values().any(|feed| feed.pending.is_some());
    if scanned {
        follow(work).await?;
    }
    work.state.phase = Some(if scanned && work.connector.has_changes() {
        Phase::Changes { done: Vec::new() }
    } else if work.state.scanning_since.is_some() {
        Phase::Sweep { after: None }
    } else {
        Phase::Refilter { after: None }
    });
    Ok(())
}

/// Continues with a folder: lists its children, or examines those that the listing has not shown.
async fn visit(
    work: &mut Work<'_>,
    folder: &str,
    mut entry: WalkEntry,
    key: &str,
) -> Result<(), Halt> {
    let item = work.look(folder).await?;
    if !work.in_scope(item.as_ref()).await? {
        // The folder has gone since it was enqueued.
        work.batch.go_on(Queue::Walk, key.to_owned(), None);
        if !work.selected.contains(folder) {
            work.remove(folder, false).await?;
        }
        work.drop_below(folder, false);
        return Ok(());
    }

    if entry.since == 0 {
        entry.since = work.stamp();
    }

    if !entry.listed && !list(work, folder, &mut entry).await? {
        work.batch
            .go_on(Queue::Walk, key.to_owned(), Some(keys::text(&entry)));
        return Ok(());
    }

    let done = prune(work, folder, &mut entry).await?;
    let rest = (!done).then(|| keys::text(&entry));
    work.batch.go_on(Queue::Walk, key.to_owned(), rest);

    Ok(())
}

/// Records a page of a folder's listing, and returns whether it was the last one.
async fn list(work: &mut Work<'_>, folder: &str, entry: &mut WalkEntry) -> Result<bool, Halt> {
    work.asked(1);
    let (page, drive) = (entry.page.clone(), entry.drive.clone());
    let listed = work
        .connector
        .children(&work.access, folder, drive.as_deref(), page.as_deref())
        .await;
    let listed: Listing = match listed {
        Err(ConnectorError::PageLost) if page.is_some() => {
            entry.page = None;
            return Ok(false);
        }
        // Nothing is concluded from this: the known children are examined one by one.
        Err(ConnectorError::Item(_)) => Listing::default(),
        listed => listed?,
    };

    let items: Vec<_> = listed
        .items
        .into_iter()
        .filter(|item| !item.trashed)
        .collect();
    work.prepare(&items).await?;
    let stamp = work.stamp();
    for item in &items {
        let known = work.node(&item.id).await?;
        let path = work.place(item).await?;
        let walked = known
            .as_ref()
            .is_some_and(|known| known.seen >= entry.stamp && known.folder);
        let moved = known.as_ref().is_some_and(|known| known.path != path);
        work.upsert(item, path, stamp).await?;
        if is_folder(item) && (!walked || moved) {
            let stamp = if moved && walked { stamp } else { entry.stamp };
            work.walk(&item.id, item.drive.as_deref(), stamp, false)
                .await?;
        }
    }

    entry.page = listed.next;
    entry.listed = entry.page.is_none();

    Ok(entry.listed)
}

/// Examines known children that the listing has not shown, because a listing does not prove that an
/// item is gone. Returns whether all of them were examined.
async fn prune(work: &mut Work<'_>, folder: &str, entry: &mut WalkEntry) -> Result<bool, Halt> {
    for _ in 0..PAGES {
        let rows = work.rows_to_look_at();
        let (known, next) = children(work, folder, entry.page.as_deref(), rows).await?;
        let mut unseen = Vec::new();
        for child in known {
            // An earlier part of this tick may have changed it.
            let now = work.node(&child.id).await?;
            unseen.extend(
                now.filter(|now| now.seen < entry.since && now.parent.as_deref() == Some(folder)),
            );
        }
        verify(work, &unseen).await?;
        entry.page = next;
        if entry.page.is_none() {
            return Ok(true);
        }
        if work.is_late() {
            break;
        }
    }

    Ok(false)
}

/// Looks up nodes one by one: updates those in scope, and removes the others. A node that the
/// provider does not show, for whatever reason, stays as it is.
pub(crate) async fn verify(work: &mut Work<'_>, nodes: &[Node]) -> Result<(), Halt> {
    let ids: Vec<String> = nodes.iter().map(|node| node.id.clone()).collect();
    work.look_at(&ids).await?;
    for node in nodes {
        if work.selected.contains(&node.id) {
            continue;
        }
        // All lookups of a node precede its first write.
        match check(work, node).await {
            Err(Halt::Withheld) => {}
            checked => checked?,
        }
    }

    Ok(())
}

async fn check(work: &mut Work<'_>, node: &Node) -> Result<(), Halt> {
    let item = work.look(&node.id).await?;
    if !work.in_scope(item.as_ref()).await? {
        work.remove(&node.id, false).await?;
        work.drop_below(&node.id, false);
    } else if let Some(item) = item {
        let (path, stamp) = (work.place(&item).await?, work.stamp());
        let moved = path != node.path || item.parent != node.parent;
        work.upsert(&item, path, stamp).await?;
        if is_folder(&item) && moved {
            work.walk(&item.id, item.drive.as_deref(), stamp, true)
                .await?;
        }
    }

    Ok(())
}

async fn children(
    work: &mut Work<'_>,
    folder: &str,
    after: Option<&str>,
    rows: usize,
) -> Result<(Vec<Node>, Option<String>), Halt> {
    let (sync, id) = (work.tools.desk.sync(), &work.connection.id);
    let (known, next) = sync.children(work.tenant, id, folder, after, rows).await?;
    work.know(&known);
    Ok((known, next))
}

/// Removes the records below the first folder that waits for this, and returns whether there was
/// one.
pub(crate) async fn forget_below(work: &mut Work<'_>) -> Result<bool, Halt> {
    let first = work.first(Queue::Walk, None, 1).await?;
    let Some(QueueEntry { key, value }) = first
        .into_iter()
        .find(|entry| keys::folder_of(&entry.key).0)
    else {
        work.dropping = false;
        return Ok(false);
    };

    let (_, folder) = keys::folder_of(&key);
    let mut entry: WalkEntry = keys::read(&value);
    let mut done = false;
    while !done && work.batch.len() <= work.tools.limits.writes {
        let rows = work.tools.limits.rows;
        let (known, next) = children(work, folder, entry.page.as_deref(), rows).await?;
        for child in known {
            let guarded = work.tools.flags.root_guard && work.selected.contains(&child.id);
            if guarded || child.parent.as_deref() != Some(folder) {
                continue;
            }
            work.remove(&child.id, entry.deselected).await?;
            if child.folder {
                work.drop_below(&child.id, entry.deselected);
            }
        }
        done = next.is_none();
        entry.page = next;
    }

    work.batch.go_on(
        Queue::Walk,
        key.clone(),
        (!done).then(|| keys::text(&entry)),
    );
    Ok(true)
}
