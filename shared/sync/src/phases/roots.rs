//! Examines the selected items and the folders above them, whose changes are not reported for the
//! items below them.

use domain::connection::{Phase, RootState, Selected};

use crate::phases::feeds::after_roots;
use crate::scope::is_folder;
use crate::work::{Halt, Work};

/// The number of selected items in one tick. Each is examined with all folders above it.
const AT_A_TIME: usize = 25;

pub(crate) async fn tick(work: &mut Work<'_>, next: usize) -> Result<(), Halt> {
    if !work.tools.flags.roots && work.state.scanning_since.is_none() {
        work.state.phase = Some(after_roots(work));
        return Ok(());
    }

    if next == 0 {
        work.look_anew();
        work.state.roots_changed = false;
        if !give_up_deselected(work).await? {
            return Ok(());
        }
    }

    let items: Vec<Selected> = work
        .selection
        .items
        .iter()
        .skip(next)
        .take(AT_A_TIME)
        .cloned()
        .collect();
    let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
    work.look_at(&ids).await?;
    work.load(&ids).await?;
    for item in &items {
        match check(work, &item.id).await {
            // The records stay as they were: all lookups of an item precede its first write.
            Err(Halt::Withheld) => {}
            checked => checked?,
        }
    }

    let next = next + items.len();
    work.state.phase = Some(if next < work.selection.items.len() {
        Phase::Roots { next }
    } else {
        after_roots(work)
    });

    Ok(())
}

/// Removes items that are no longer selected, immediately, unless another selected item contains
/// them. One tick takes some of them; returns whether these are all.
async fn give_up_deselected(work: &mut Work<'_>) -> Result<bool, Halt> {
    let selected = &work.selected;
    let gone = work.state.roots.keys().filter(|id| !selected.contains(*id));
    let gone: Vec<String> = gone.take(AT_A_TIME + 1).cloned().collect();
    let now = &gone[..gone.len().min(AT_A_TIME)];
    work.look_at(now).await?;
    work.load(now).await?;
    for id in now {
        match give_up(work, id).await {
            // The next scan, which the new selection causes, examines the item again in its sweep.
            Err(Halt::Withheld) => {}
            done => done?,
        }
        work.state.roots.remove(id);
    }

    Ok(gone.len() == now.len())
}

async fn give_up(work: &mut Work<'_>, id: &str) -> Result<(), Halt> {
    let item = work.look(id).await?;
    if !work.in_scope(item.as_ref()).await? {
        work.remove(id, true).await?;
        work.drop_below(id, true);
    }
    Ok(())
}

/// Examines a selected item. An item that is new or has reappeared is walked. An item that is gone
/// is removed with everything below it.
async fn check(work: &mut Work<'_>, id: &str) -> Result<(), Halt> {
    let item = work.look(id).await?;
    let known = work.state.roots.get(id).cloned().unwrap_or_default();
    let row = work.node(id).await?;
    let Some(item) = item.filter(|item| !item.trashed) else {
        if known.active || row.is_some() || work.tools.flags.remove_unknown {
            work.remove(id, false).await?;
            work.drop_below(id, false);
        }
        work.state.roots.insert(
            id.to_owned(),
            RootState {
                active: false,
                ..known
            },
        );
        return Ok(());
    };

    let (chain, above) = work.above(&item).await?;
    let state = RootState {
        active: true,
        above,
        chain,
    };

    let moved = state.above != known.above || row.as_ref().is_some_and(|row| row.name != item.name);
    work.state.roots.insert(id.to_owned(), state);
    let path = work.place(&item).await?;
    let scanning = work.state.feeds.values().any(|feed| feed.pending.is_some());
    let walks = scanning || moved || !known.active || row.is_none();
    // `seen` means that a walk has reached the item, which this examination alone does not do.
    let seen = row.filter(|_| !walks).map_or(work.stamp(), |row| row.seen);
    work.upsert(&item, path, seen).await?;
    if walks && is_folder(&item) {
        let stamp = work
            .state
            .scanning_since
            .filter(|_| scanning)
            .unwrap_or(work.stamp());
        work.walk(id, item.drive.as_deref(), stamp, !scanning)
            .await?;
    }

    Ok(())
}
