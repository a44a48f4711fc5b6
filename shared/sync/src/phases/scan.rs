//! Scans everything: the flat listings of a whole account. A selection is scanned by walks, which
//! were enqueued when the selected items were examined.

use domain::connection::RunPhase;
use domain::ports::{ConnectorError, ItemPage};

use crate::item_paths::{is_folder, join_path};
use crate::step_state::{StepState, TickError};

pub(crate) async fn scan_feed(
    step: &mut StepState<'_>,
    feed: Option<String>,
    page: Option<String>,
) -> Result<(), TickError> {
    if step.is_selective() {
        step.state.phase = Some(RunPhase::Walk);
        return Ok(());
    }

    let is_next = |name: &&String| feed.as_ref().is_none_or(|feed| feed <= *name);
    let Some(feed) = step.state.feeds.keys().find(is_next).cloned() else {
        step.state.phase = Some(RunPhase::Walk);
        return Ok(());
    };

    step.count_requests(1);
    let listed = match step
        .connector
        .list_feed(&step.access, &feed, page.as_deref())
        .await
    {
        Err(ConnectorError::PageLost) if page.is_some() => {
            step.state.phase = Some(RunPhase::Scan {
                feed: Some(feed),
                page: None,
            });
            return Ok(());
        }
        listed => listed?,
    };

    let next = listed.next.clone();
    record_listing(step, listed).await?;
    step.state.phase = Some(match next {
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
/// folder is listed after its items, the phase `unseen_items` corrects their paths.
async fn record_listing(step: &mut StepState<'_>, listed: ItemPage) -> Result<(), TickError> {
    let mut items = listed.items;
    items.retain(|item| !item.is_trashed);
    items.sort_by_key(|item| !is_folder(item));
    step.load_for_items(&items).await?;
    let parents: Vec<String> = items
        .iter()
        .filter_map(|item| item.parent.clone())
        .collect();
    step.load_records(&parents).await?;
    let stamp = step.step_number();
    for item in &items {
        let known = match &item.parent {
            Some(parent) => step.current_record(parent).await?,
            None => None,
        };
        let path = join_path(
            &known.map(|folder| folder.path).unwrap_or_default(),
            &item.name,
        );
        step.record_item(item, path, stamp).await?;
    }

    Ok(())
}
