//! Reads the changes since the cursors. A cursor advances in the commit that stores all effects of
//! its page.

use std::collections::HashSet;

use domain::connection::Phase;
use domain::ports::{Changed, Changes, ConnectorError, Item};

use crate::scope::is_folder;
use crate::work::{Halt, Work};

pub(crate) async fn tick(work: &mut Work<'_>, mut done: Vec<String>) -> Result<(), Halt> {
    let next = work
        .state
        .feeds
        .iter()
        .find(|(name, _)| !done.contains(name));
    let Some((name, feed)) = next.map(|(name, feed)| (name.clone(), feed.clone())) else {
        return end(work);
    };

    let Some(cursor) = feed.cursor else {
        return lost(work, &name).await;
    };

    // All lookups for this page have to be newer than the page.
    work.look_anew();
    work.asked(1);
    let page = match work.connector.changes(&work.access, &name, &cursor).await {
        Err(ConnectorError::CursorLost) => return lost(work, &name).await,
        page => page?,
    };

    let Changes {
        changes,
        cursor,
        more,
        feeds_changed,
    } = page;

    apply(work, &latest(changes)).await?;
    if let Some(feed) = work.state.feeds.get_mut(&name) {
        feed.cursor = Some(cursor);
    }

    if !more {
        done.push(name);
    }

    work.state.phase = Some(if feeds_changed {
        Phase::Feeds
    } else {
        Phase::Changes { done }
    });

    Ok(())
}

/// Ends the phase. The selected items are examined again if one of them, or a folder above one, has
/// changed, because the changes of the items below do not show that.
fn end(work: &mut Work<'_>) -> Result<(), Halt> {
    work.state.phase = Some(if work.state.roots_changed && work.tools.flags.roots {
        Phase::Roots { next: 0 }
    } else {
        Phase::Walk
    });
    Ok(())
}

/// Handles a lost cursor: the changes are unknown, so everything is scanned again. If this happens
/// twice in a run, the provider does not behave as documented, and the scan is left to the next
/// run.
async fn lost(work: &mut Work<'_>, feed: &str) -> Result<(), Halt> {
    let again = work.state.scanning_since.is_some();
    if let Some(feed) = work.state.feeds.get_mut(feed) {
        feed.cursor = None;
    }

    work.state.must_scan = true;
    work.state.scanning_since = None;
    work.state.phase = Some(Phase::Feeds);
    if again {
        // The halt discards what is not committed, and the next run would continue with the same
        // lost cursor.
        work.commit().await?;
        return Err(Halt::Provider(ConnectorError::CursorLost));
    }

    Ok(())
}

/// Keeps only the last change of each item.
fn latest(changes: Vec<Changed>) -> Vec<Changed> {
    let mut seen = HashSet::new();
    let mut latest: Vec<Changed> = changes
        .into_iter()
        .rev()
        .filter(|change| seen.insert(change.id.clone()))
        .collect();
    latest.reverse();
    latest
}

async fn apply(work: &mut Work<'_>, changes: &[Changed]) -> Result<(), Halt> {
    let items: Vec<Item> = changes
        .iter()
        .filter_map(|change| change.item.clone())
        .collect();
    work.prepare(&items).await?;
    let parents: Vec<String> = items
        .iter()
        .filter_map(|item| item.parent.clone())
        .collect();
    let gone = changes.iter().filter(|change| change.item.is_none());
    let gone: Vec<String> = gone.map(|change| change.id.clone()).collect();
    work.load(&gone).await?;
    // An item that is gone from one feed may have moved to another one.
    work.look_at(&[parents, gone].concat()).await?;
    let above: HashSet<String> = work
        .state
        .roots
        .values()
        .flat_map(|root| root.chain.iter().cloned())
        .collect();
    for change in changes {
        work.state.roots_changed |=
            work.selected.contains(&change.id) || above.contains(&change.id);
        match one(work, change).await {
            // The record stays until the next scan, and the other changes continue.
            Err(Halt::Withheld) => {}
            done => done?,
        }
    }

    Ok(())
}

async fn one(work: &mut Work<'_>, change: &Changed) -> Result<(), Halt> {
    let flags = work.tools.flags;
    if change.item.is_none() && !flags.tombstones {
        return Ok(());
    }

    let item = match change.item.clone() {
        Some(item) => Some(item),
        None => work.look(&change.id).await?,
    };

    if work.in_scope(item.as_ref()).await? {
        return match item {
            Some(item) => present(work, &item).await,
            None => Ok(()),
        };
    }

    // Selected items are added and removed as a whole when the roots are examined.
    let guarded = flags.root_guard && work.selected.contains(&change.id);
    if !guarded && (flags.remove_unknown || work.node(&change.id).await?.is_some()) {
        work.remove(&change.id, false).await?;
        if flags.subtree {
            work.drop_below(&change.id, false);
        }
    }

    work.shortcuts_to(&change.id).await
}

/// Handles a change of an item in scope. A folder may have brought along everything below it
/// without any further change.
async fn present(work: &mut Work<'_>, item: &Item) -> Result<(), Halt> {
    let flags = work.tools.flags;
    let stamp = work.stamp();
    if flags.ancestors && !work.selected.contains(&item.id) {
        for folder in work.unknown_above(item).await? {
            let path = work.place(&folder).await?;
            work.upsert(&folder, path, stamp).await?;
            // A folder without a parent may be a whole account. If such a folder is new, its own
            // change follows.
            if work.is_selective() || folder.parent.is_some() {
                work.walk(&folder.id, folder.drive.as_deref(), stamp, true)
                    .await?;
            }
        }
    }

    let known = work.node(&item.id).await?.is_some();
    let path = work.place(item).await?;
    work.upsert(item, path, stamp).await?;
    if is_folder(item) && flags.subtree && (!known || flags.rewalk) {
        work.walk(&item.id, item.drive.as_deref(), stamp, true)
            .await?;
    }

    Ok(())
}
