//! Scans everything: the flat listings of a whole account. A selection is scanned by walks, which
//! were enqueued when the selected items were examined.

use domain::connection::Phase;
use domain::ports::{ConnectorError, Listing};

use crate::scope::{below, is_folder};
use crate::work::{Halt, Work};

pub(crate) async fn tick(
    work: &mut Work<'_>,
    feed: Option<String>,
    page: Option<String>,
) -> Result<(), Halt> {
    if work.is_selective() {
        work.state.phase = Some(Phase::Walk);
        return Ok(());
    }

    let is_next = |name: &&String| feed.as_ref().is_none_or(|feed| feed <= *name);
    let Some(feed) = work.state.feeds.keys().find(is_next).cloned() else {
        work.state.phase = Some(Phase::Walk);
        return Ok(());
    };

    work.asked(1);
    let listed = match work
        .connector
        .everything(&work.access, &feed, page.as_deref())
        .await
    {
        Err(ConnectorError::PageLost) if page.is_some() => {
            work.state.phase = Some(Phase::Scan {
                feed: Some(feed),
                page: None,
            });
            return Ok(());
        }
        listed => listed?,
    };

    let next = listed.next.clone();
    record(work, listed).await?;
    work.state.phase = Some(match next {
        Some(page) => Phase::Scan {
            feed: Some(feed),
            page: Some(page),
        },
        // This is the smallest name after the current one.
        None => Phase::Scan {
            feed: Some(format!("{feed}\0")),
            page: None,
        },
    });

    Ok(())
}

/// Records a page of a listing, folders first, so that the items in them find their paths. If a
/// folder is listed after its items, the sweep corrects their paths.
async fn record(work: &mut Work<'_>, listed: Listing) -> Result<(), Halt> {
    let mut items = listed.items;
    items.retain(|item| !item.trashed);
    items.sort_by_key(|item| !is_folder(item));
    work.prepare(&items).await?;
    let parents: Vec<String> = items
        .iter()
        .filter_map(|item| item.parent.clone())
        .collect();
    work.load(&parents).await?;
    let stamp = work.stamp();
    for item in &items {
        let known = match &item.parent {
            Some(parent) => work.node(parent).await?,
            None => None,
        };
        let path = below(
            &known.map(|folder| folder.path).unwrap_or_default(),
            &item.name,
        );
        work.upsert(item, path, stamp).await?;
    }

    Ok(())
}
