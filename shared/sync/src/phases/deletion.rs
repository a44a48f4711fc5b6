//! Deletes a connection: releases its documents, revokes its grant if no other connection
//! uses it, and deletes all its records.

use domain::connection::{
    DocumentIntent, Grant, ItemRecord, PendingRemoval, Run, RunTrigger, SyncQueue,
};
use domain::{DocumentId, Timestamp};
use futures::stream::{self, TryStreamExt};
use service::item_custom_id;
use tracing::warn;

use crate::limits::MAX_CONCURRENT_REQUESTS;
use crate::queue;
use crate::step_state::{StepState, TickError, TickFlow};

/// The seconds for which a revocation is attempted at the provider.
const REVOKE_SECONDS: i64 = 86_400;
const REVOKE_AGAIN_SECONDS: i64 = 600;
/// The most attempts to change or delete a record despite concurrent changes.
const MAX_ATTEMPTS: usize = 20;
/// The most records that are deleted in one request.
const RECORDS_PER_DELETE: usize = 1_000;

pub(crate) async fn delete_records(step: &mut StepState<'_>) -> Result<TickFlow, TickError> {
    let intents: Vec<DocumentIntent> = [
        std::mem::take(&mut step.state.fetching),
        std::mem::take(&mut step.state.releasing),
    ]
    .concat();
    for intent in &intents {
        let custom_id = item_custom_id(step.connection.provider, &intent.source_item);
        let service = step.context.service;
        let Some(document) = service
            .document_id_of(step.tenant, &step.connection.tag, &custom_id)
            .await?
        else {
            continue;
        };

        // The document may be one that another connection has left behind.
        let claim = step.claim_of(&intent.claiming_item);
        if service
            .owns_document(step.tenant, &document, &claim)
            .await?
        {
            detach_document(step, &document, &intent.claiming_item).await?;
        }
    }

    if !intents.is_empty() || remove_records(step).await? || remove_pending(step).await? {
        return Ok(TickFlow::On);
    }

    end_notifications(step).await;
    release_grant(step).await?;
    let sync = step.context.service.sync();
    while sync
        .erase_records(step.tenant, &step.connection.id, RECORDS_PER_DELETE)
        .await?
    {}
    erase_record(step).await?;

    Ok(TickFlow::Ended)
}

/// Deletes the record of the connection. This comes last, because the deletion continues only while
/// the record exists.
async fn erase_record(step: &StepState<'_>) -> Result<(), TickError> {
    let connections = step.context.service.connections();
    for _ in 0..MAX_ATTEMPTS {
        let Some(connection) = connections.get(step.tenant, &step.connection.id).await? else {
            return Ok(());
        };
        if connections.delete(step.tenant, &connection).await? {
            return Ok(());
        }
    }
    Err(TickError::Pause(1))
}

/// Records the time at which the deletion began, and returns it. The first recorded time is kept.
pub(crate) fn record_deletion_start(step: &mut StepState<'_>) -> Timestamp {
    let now = step.now();
    let end = || Run::start(0, RunTrigger::Manual, now);
    let run = step
        .state
        .run
        .take()
        .filter(|run| run.number == 0)
        .unwrap_or_else(end);
    let since = run.started_at;
    step.state.run = Some(run);
    since
}

/// Removes a page of records, and returns whether there was one.
async fn remove_records(step: &mut StepState<'_>) -> Result<bool, TickError> {
    let (id, rows) = (&step.connection.id, step.context.limits.rows);
    let page = step
        .context
        .service
        .sync()
        .list_items(step.tenant, id, None, rows)
        .await?;
    step.add_known_records(&page);
    detach_documents(step, &page).await?;
    for record in &page {
        step.set_record(&record.id, None);
    }

    Ok(!page.is_empty())
}

async fn remove_pending(step: &mut StepState<'_>) -> Result<bool, TickError> {
    let page = step
        .first_entries(SyncQueue::Remove, None, step.context.limits.rows)
        .await?;
    let mut records = Vec::with_capacity(page.len());
    for entry in &page {
        let removal: PendingRemoval = queue::parse_value(entry)?;
        records.push(removal.record);
    }

    detach_documents(step, &records).await?;
    for entry in &page {
        step.writes.dequeue(SyncQueue::Remove, entry.key.clone());
    }

    step.handled_items += page.len();
    Ok(!page.is_empty())
}

async fn detach_documents(step: &StepState<'_>, records: &[ItemRecord]) -> Result<(), TickError> {
    let documents: Vec<(DocumentId, String)> = records
        .iter()
        .filter_map(|record| Some((record.filed.as_ref()?.document.clone(), record.id.clone())))
        .collect();
    stream::iter(documents.into_iter().map(Ok::<_, TickError>))
        .try_for_each_concurrent(MAX_CONCURRENT_REQUESTS, |(document, item)| async move {
            detach_document(step, &document, &item).await
        })
        .await
}

/// Releases the claim on a document, which stays unless the user asked to delete the documents as
/// well.
async fn detach_document(
    step: &StepState<'_>,
    document: &DocumentId,
    item: &str,
) -> Result<(), TickError> {
    let claim = step.claim_of(item);
    let service = step.context.service;
    if step.connection.delete_documents {
        service
            .release_document(step.tenant, document, &claim)
            .await?;
    } else {
        service.release_claim(step.tenant, document, &claim).await?;
    }
    Ok(())
}

/// Ends the notifications if possible. Otherwise they end by themselves, and their ticket is no
/// longer valid.
async fn end_notifications(step: &mut StepState<'_>) {
    let access = step
        .context
        .service
        .access_for(step.connector, step.tenant, &step.connection)
        .await;
    let Ok(access) = access else {
        return;
    };

    for channel in step
        .state
        .feeds
        .values_mut()
        .filter_map(|feed| feed.channel.take())
    {
        step.connector
            .stop_watching(&access, &channel.id, &channel.resource)
            .await
            .ok();
    }
}

/// Removes the connection from its grant. The last connection revokes the grant at the provider. A
/// revocation that fails for a day is abandoned, and the permission ends by itself.
async fn release_grant(step: &mut StepState<'_>) -> Result<(), TickError> {
    let Some(id) = step.connection.grant.clone() else {
        return Ok(());
    };

    let connections = step.context.service.connections();
    for _ in 0..MAX_ATTEMPTS {
        let Some(mut grant) = connections.get_grant(step.tenant, &id).await? else {
            return Ok(());
        };
        grant.connections.remove(&step.connection.id);
        if grant.connections.is_empty() {
            return revoke_grant(step, grant).await;
        }
        grant.rev += 1;
        if connections.save_grant(step.tenant, &grant).await? {
            return Ok(());
        }
    }

    Err(TickError::Pause(60))
}

async fn revoke_grant(step: &mut StepState<'_>, mut grant: Grant) -> Result<(), TickError> {
    let (service, tenant) = (step.context.service, step.tenant);
    // After this write, nobody else considers the grant in use. If another connection joins
    // concurrently, its write comes first and this one fails.
    grant.rev += 1;
    if !service.connections().save_grant(tenant, &grant).await? {
        return Err(TickError::Pause(1));
    }

    if let (Some(oauth), Some(tokens)) = (
        step.connector.oauth_flow(),
        service.grant_tokens(tenant, &grant).await?,
    ) && let Err(error) = oauth.revoke_permission(&tokens).await
    {
        let since = record_deletion_start(step);
        if since.plus_seconds(REVOKE_SECONDS) > step.now() {
            return Err(TickError::Pause(REVOKE_AGAIN_SECONDS));
        }
        let id = &step.connection.id;
        warn!(connection.id = %id, error = &error as &dyn std::error::Error, "a permission was not ended");
    }

    // A connection that joins later stores its tokens under another name.
    service.forget_tokens(tenant, &grant).await?;
    service.connections().delete_grant(tenant, &grant).await?;

    Ok(())
}
