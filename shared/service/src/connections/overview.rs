//! The callers' view of a connection's items.

use crate::Ctx;
use crate::find::ContainerScope;
use crate::list::{ListQuery, list_documents};
use domain::connection::{
    Connection, ItemRecord, ItemState, NEW_FILES_END, NEW_FILES_START, Provider, SyncQueue,
    SyncState,
};
use domain::document::Document;
use domain::error::Result;
use domain::tenant::Tenant;

/// The number of entries that are read at a time.
const PAGE_SIZE: usize = 500;
/// The number of items that one request looks at. They are read page by page, and few of them may
/// match. The description of the API and the console name it as well.
const MAX_EXAMINED: usize = 5_000;

/// Returns the number of items that the document limit leaves out, counted up to a bound.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn count_left_out_items(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    state: &SyncState,
) -> Result<u64> {
    // Below the limit, the items that wait are about to be fetched.
    if state.documents < u64::from(connection.document_limit) {
        return Ok(0);
    }

    let (mut count, mut after) = (0, Some(NEW_FILES_START.to_owned()));
    while count < MAX_EXAMINED {
        let entries = ctx
            .sync
            .list_queue(
                tenant,
                &connection.id,
                SyncQueue::Fetch,
                after.as_deref(),
                PAGE_SIZE,
            )
            .await?;
        let new_count = entries
            .iter()
            .filter(|entry| entry.key.as_str() < NEW_FILES_END)
            .count();
        count += new_count;
        match entries.last() {
            Some(last) if new_count == PAGE_SIZE => after = Some(last.key.clone()),
            _ => break,
        }
    }

    Ok(count as u64)
}

/// Returns a page of a connection's items in one state, in the order of their ids, starting after
/// `after`. The second part is the `after` of the next page, which may exist even if the page is
/// short, or `None` after the last page.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn list_items(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    state: Option<&str>,
    after: Option<String>,
    limit: usize,
) -> Result<(Vec<ItemRecord>, Option<String>)> {
    let (mut found, mut after, mut examined) = (Vec::new(), after, 0);
    while examined < MAX_EXAMINED {
        let page = ctx
            .sync
            .list_items(tenant, &connection.id, after.as_deref(), PAGE_SIZE)
            .await?;
        let is_last = page.len() < PAGE_SIZE;
        examined += page.len();
        for item in page {
            after = Some(item.id.clone());
            if state.is_none_or(|state| state == item_state_name(&item.state)) {
                found.push(item);
            }
            if found.len() == limit {
                return Ok((found, after));
            }
        }
        if is_last {
            return Ok((found, None));
        }
    }

    Ok((found, after))
}

/// Returns the name of a state on the wire.
pub const fn item_state_name(state: &ItemState) -> &'static str {
    match state {
        ItemState::Folder => "folder",
        ItemState::Pending => "pending",
        ItemState::Filed => "filed",
        ItemState::Skipped { .. } => "skipped",
        ItemState::Failed { .. } => "failed",
    }
}

/// The largest number of documents that are listed for a provider's items. The listing of documents
/// finds all of them, page by page.
const MAX_SYNCED: usize = 1_000;

/// Returns the documents of a provider's items in the containers of `scope`, newest first; of more
/// than 1,000, only the newest.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] for a named tag out of reach, and the errors of the ports.
pub async fn list_synced_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    provider: Provider,
    scope: ContainerScope,
) -> Result<Vec<Document>> {
    let providers = Some(vec![provider]);
    let query = ListQuery {
        providers,
        limit: MAX_SYNCED,
        ..ListQuery::all_documents(scope)
    };
    Ok(list_documents(ctx, tenant, &query, None).await?.documents)
}
