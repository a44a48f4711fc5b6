//! Ends a connection: releases or removes its documents, revokes its grant if no other connection
//! uses it, and deletes all its records.

use domain::connection::{
    DocumentClaim, DocumentIntent, Grant, ItemRecord, PendingRemoval, Run, RunTrigger, SyncQueue,
};
use domain::{DocumentId, Timestamp};
use futures::stream::{self, TryStreamExt};
use service::item_custom_id;
use tracing::warn;

use crate::limits::MAX_CONCURRENT_REQUESTS;
use crate::queue;
use crate::work::{StepState, TickError, TickFlow};

/// The seconds for which a revocation is attempted at the provider.
const REVOKE_SECONDS: i64 = 86_400;
const REVOKE_AGAIN_SECONDS: i64 = 600;
/// The most attempts to change or delete a record despite concurrent changes.
const MAX_ATTEMPTS: usize = 20;
/// The most records that are deleted in one request.
const RECORDS_PER_DELETE: usize = 1_000;

pub(crate) async fn delete_records(work: &mut StepState<'_>) -> Result<TickFlow, TickError> {
    let intents: Vec<DocumentIntent> = [
        std::mem::take(&mut work.state.fetching),
        std::mem::take(&mut work.state.releasing),
    ]
    .concat();
    for intent in &intents {
        let custom_id = item_custom_id(work.connection.provider, &intent.of);
        let desk = work.tools.desk;
        if let Some(document) = desk
            .document_id_of(work.tenant, &work.connection.tag, &custom_id)
            .await?
        {
            // The document may be one that another connection has left behind.
            let claim = DocumentClaim {
                connection: work.connection.id.clone(),
                item: intent.item.clone(),
            };
            if desk.owns_document(work.tenant, &document, &claim).await? {
                give_up_document(work, &document, &intent.item).await?;
            }
        }
    }

    if !intents.is_empty() || remove_nodes(work).await? || remove_leaving(work).await? {
        return Ok(TickFlow::On);
    }

    end_notifications(work).await;
    leave_grant(work).await?;
    let sync = work.tools.desk.sync();
    while sync
        .erase_records(work.tenant, &work.connection.id, RECORDS_PER_DELETE)
        .await?
    {}
    erase_record(work).await?;

    Ok(TickFlow::Ended)
}

/// Deletes the record of the connection. This comes last, because the deletion continues only while
/// the record exists.
async fn erase_record(work: &StepState<'_>) -> Result<(), TickError> {
    let connections = work.tools.desk.connections();
    for _ in 0..MAX_ATTEMPTS {
        let Some(connection) = connections.get(work.tenant, &work.connection.id).await? else {
            return Ok(());
        };
        if connections.delete(work.tenant, &connection).await? {
            return Ok(());
        }
    }
    Err(TickError::Pause(1))
}

/// Records the time at which the deletion began, and returns it. The first recorded time is kept.
pub(crate) fn record_deletion_start(work: &mut StepState<'_>) -> Timestamp {
    let now = work.now();
    let end = || Run::start(0, RunTrigger::Manual, now);
    let run = work
        .state
        .run
        .take()
        .filter(|run| run.number == 0)
        .unwrap_or_else(end);
    let since = run.started_at;
    work.state.run = Some(run);
    since
}

/// Removes a page of nodes, and returns whether there was one.
async fn remove_nodes(work: &mut StepState<'_>) -> Result<bool, TickError> {
    let (id, rows) = (&work.connection.id, work.tools.limits.rows);
    let page = work
        .tools
        .desk
        .sync()
        .list_items(work.tenant, id, None, rows)
        .await?;
    work.add_known_nodes(&page);
    give_up_documents(work, &page).await?;
    for node in &page {
        work.set_node(&node.id, None);
    }

    Ok(!page.is_empty())
}

async fn remove_leaving(work: &mut StepState<'_>) -> Result<bool, TickError> {
    let page = work
        .first_entries(SyncQueue::Leave, None, work.tools.limits.rows)
        .await?;
    let mut nodes = Vec::with_capacity(page.len());
    for entry in &page {
        let leaving: PendingRemoval = queue::parse_value(entry)?;
        nodes.push(leaving.node);
    }

    give_up_documents(work, &nodes).await?;
    for entry in &page {
        work.batch.dequeue(SyncQueue::Leave, entry.key.clone());
    }

    work.handled_items += page.len();
    Ok(!page.is_empty())
}

async fn give_up_documents(work: &StepState<'_>, nodes: &[ItemRecord]) -> Result<(), TickError> {
    let filed: Vec<(DocumentId, String)> = nodes
        .iter()
        .filter_map(|node| Some((node.filed.as_ref()?.document.clone(), node.id.clone())))
        .collect();
    stream::iter(filed.into_iter().map(Ok::<_, TickError>))
        .try_for_each_concurrent(MAX_CONCURRENT_REQUESTS, |(document, item)| async move {
            give_up_document(work, &document, &item).await
        })
        .await
}

/// Gives up a document, which stays unless the user asked to delete the documents as well.
async fn give_up_document(
    work: &StepState<'_>,
    document: &DocumentId,
    item: &str,
) -> Result<(), TickError> {
    let claim = DocumentClaim {
        connection: work.connection.id.clone(),
        item: item.to_owned(),
    };
    let desk = work.tools.desk;
    if work.connection.delete_documents {
        desk.release_document(work.tenant, document, &claim).await?;
    } else {
        desk.unclaim_document(work.tenant, document, &claim).await?;
    }
    Ok(())
}

/// Ends the notifications if possible. Otherwise they end by themselves, and their ticket is no
/// longer valid.
async fn end_notifications(work: &mut StepState<'_>) {
    let access = work
        .tools
        .desk
        .access_for(work.connector, work.tenant, &work.connection)
        .await;
    let Ok(access) = access else {
        return;
    };

    for channel in work
        .state
        .feeds
        .values_mut()
        .filter_map(|feed| feed.channel.take())
    {
        work.connector
            .stop_watching(&access, &channel.id, &channel.resource)
            .await
            .ok();
    }
}

/// Removes the connection from its grant. The last connection revokes the grant at the provider. A
/// revocation that fails for a day is abandoned, and the permission ends by itself.
async fn leave_grant(work: &mut StepState<'_>) -> Result<(), TickError> {
    let Some(id) = work.connection.grant.clone() else {
        return Ok(());
    };

    let connections = work.tools.desk.connections();
    for _ in 0..MAX_ATTEMPTS {
        let Some(mut grant) = connections.get_grant(work.tenant, &id).await? else {
            return Ok(());
        };
        grant.connections.remove(&work.connection.id);
        if grant.connections.is_empty() {
            return revoke_grant(work, grant).await;
        }
        grant.rev += 1;
        if connections.save_grant(work.tenant, &grant).await? {
            return Ok(());
        }
    }

    Err(TickError::Pause(60))
}

async fn revoke_grant(work: &mut StepState<'_>, mut grant: Grant) -> Result<(), TickError> {
    let (desk, tenant) = (work.tools.desk, work.tenant);
    // After this write, nobody else considers the grant in use. If another connection joins
    // concurrently, its write comes first and this one fails.
    grant.rev += 1;
    if !desk.connections().save_grant(tenant, &grant).await? {
        return Err(TickError::Pause(1));
    }

    if let (Some(oauth), Some(tokens)) = (
        work.connector.oauth_flow(),
        desk.grant_tokens(tenant, &grant).await?,
    ) && let Err(error) = oauth.revoke_permission(&tokens).await
    {
        let since = record_deletion_start(work);
        if since.plus_seconds(REVOKE_SECONDS) > work.now() {
            return Err(TickError::Pause(REVOKE_AGAIN_SECONDS));
        }
        let id = &work.connection.id;
        warn!(connection.id = %id, error = &error as &dyn std::error::Error, "a permission was not ended");
    }

    // A connection that joins later stores its tokens under another name.
    desk.forget_tokens(tenant, &grant).await?;
    desk.connections().delete_grant(tenant, &grant).await?;

    Ok(())
}
