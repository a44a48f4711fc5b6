//! Scans everything: the flat listings of a whole account. A selection is scanned by walks, which
//! were enqueued when the selected items were examined.

use domain::connection::RunPhase;
use domain::ports::{ConnectorError, ItemPage};

use crate::scope::{is_folder, join_path};
use crate::work::{StepState, TickError};

pub(crate) async fn scan_feed(
    work: &mut StepState<'_>,
    feed: Option<String>,
    page: Option<String>,
) -> Result<(), TickError> {
    if work.is_selective() {
        work.state.phase = Some(RunPhase::Walk);
        return Ok(());
    }

    let is_next = |name: &&String| feed.as_ref().is_none_or(|feed| feed <= *name);
    let Some(feed) = work.state.feeds.keys().find(is_next).cloned() else {
        work.state.phase = Some(RunPhase::Walk);
        return Ok(());
    };

    work.count_requests(1);
    let listed = match work
        .connector
        .list_feed(&work.access, &feed, page.as_deref())
        .await
    {
        Err(ConnectorError::PageLost) if page.is_some() => {
            work.state.phase = Some(RunPhase::Scan {
                feed: Some(feed),
                page: None,
            });
            return Ok(());
        }
        listed => listed?,
    };

    let next = listed.next.clone();
    record_listing(work, listed).await?;
    work.state.phase = Some(match next {
        Some(page) => RunPhase::Scan {
            feed: Some(feed),
            page: Some(page),
        },
        // This is the smallest name after the current one.
        None => RunPhase::Scan {
            feed: Some(format!("{feed}\0")),
            page: None,
        },
    });

    Ok(())
}

/// Records a page of a listing, folders first, so that the items in them find their paths. If a
/// folder is listed after its items, the sweep corrects their paths.
async fn record_listing(work: &mut StepState<'_>, listed: ItemPage) -> Result<(), TickError> {
    let mut items = listed.items;
    items.retain(|item| !item.is_trashed);
    items.sort_by_key(|item| !is_folder(item));
    work.load_for_items(&items).await?;
    let parents: Vec<String> = items
        .iter()
        .filter_map(|item| item.parent.clone())
        .collect();
    work.load_nodes(&parents).await?;
    let stamp = work.step_number();
    for item in &items {
        let known = match &item.parent {
            Some(parent) => work.current_node(parent).await?,
            None => None,
        };
        let path = join_path(
            &known.map(|folder| folder.path).unwrap_or_default(),
            &item.name,
        );
        work.record_item(item, path, stamp).await?;
    }

    Ok(())
}
