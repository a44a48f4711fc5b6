//! Merging containers. Readers see the containers as one from the first moment. The task then finds
//! documents with equal customIds, of which the one with the newest content stays.

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::Ctx;
use crate::connections::move_connections;
use crate::find::read_active_documents;
use crate::remove::batches;
use crate::sharing::find_shared;
use crate::tasks::Next;
use crate::{Committed, ConflictRetry, commit_changes};
use domain::container::{Container, DocumentChange};
use domain::document::Document;
use domain::error::Result;
use domain::ids::{ContainerId, CustomId, TaskId};
use domain::ports::DocumentListing;
use domain::tag::ContainerTag;
use domain::task::{ContainerMerge, MergePhase};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of seconds for which requests that began before the merge may still write; their
/// writes must be found. After that time no reader holds the former containers of a tag, either.
/// Lambda ends requests after 29 seconds.
const REQUEST_SECONDS: i64 = 30;
/// The number of seconds to wait for documents that are still processed, before they are looked at
/// again.
const INGEST_SECONDS: i64 = 15;
/// The number of documents that one step looks at.
const PAGE_SIZE: usize = 50;
/// The number of customIds that are looked up in parallel.
const PARALLEL_READS: usize = 16;

/// Runs one step of the merge.
pub(super) async fn step(
    ctx: &Ctx,
    tenant: &Tenant,
    task: &TaskId,
    started_at: Timestamp,
    merge: &mut ContainerMerge,
) -> Result<Next> {
    match merge.phase {
        MergePhase::Queued => {
            move_source_connections(ctx, tenant, merge).await?;
            merge.phase = MergePhase::WaitingForIngest;
            let end = started_at.plus_seconds(REQUEST_SECONDS);
            return Ok(Next::Later(ctx.clock.now().seconds_until(end)));
        }
        MergePhase::WaitingForIngest => {
            merge.phase = MergePhase::CopyingVectors;
            (merge.source, merge.container, merge.cursor) = (0, 0, None);
            (merge.looked_at, merge.in_flight) = (0, 0);
        }
        MergePhase::CopyingVectors => return check_page(ctx, tenant, merge).await,
        MergePhase::DbCommitting => {
            // Connections that were created meanwhile are moved as well.
            move_source_connections(ctx, tenant, merge).await?;
            // The sources end before the target opens: a deletion of the target in between would
            // leave sources that read a deleted container.
            for (source, _) in &merge.sources {
                ctx.containers.end_merge_role(tenant, source, task).await?;
            }
            merge.phase = MergePhase::CleanupPending;
        }
        MergePhase::CleanupPending => {
            ctx.containers
                .end_merge_role(tenant, &merge.target, task)
                .await?;
            merge.phase = MergePhase::Completed;
            return Ok(Next::Ended);
        }
        MergePhase::Completed | MergePhase::Failed => return Ok(Next::Ended),
    }

    Ok(Next::Again)
}

/// Moves the connections of the sources to the target.
async fn move_source_connections(ctx: &Ctx, tenant: &Tenant, merge: &ContainerMerge) -> Result<()> {
    let sources: Vec<&ContainerTag> = merge.sources.iter().map(|(tag, _)| tag).collect();
    move_connections(ctx, tenant, &sources, &merge.target).await
}

/// Opens the tags again after a failed merge. The target has all documents, perhaps some with equal
/// customIds, and the sources are gone.
pub(super) async fn fail_merge(
    ctx: &Ctx,
    tenant: &Tenant,
    task: &TaskId,
    merge: &mut ContainerMerge,
) -> Result<()> {
    for (source, _) in &merge.sources {
        ctx.containers.end_merge_role(tenant, source, task).await?;
    }
    ctx.containers
        .end_merge_role(tenant, &merge.target, task)
        .await?;

    merge.phase = MergePhase::Failed;
    Ok(())
}

/// Looks at one page of the sources' documents.
async fn check_page(ctx: &Ctx, tenant: &Tenant, merge: &mut ContainerMerge) -> Result<Next> {
    let Some((_, containers)) = merge.sources.get(merge.source) else {
        if merge.in_flight > 0 {
            merge.phase = MergePhase::WaitingForIngest;
            return Ok(Next::Later(INGEST_SECONDS));
        }
        merge.phase = MergePhase::DbCommitting;
        return Ok(Next::Again);
    };

    let Some(container) = containers.get(merge.container) else {
        (merge.source, merge.container) = (merge.source + 1, 0);
        return Ok(Next::Again);
    };

    let (documents, next) = ctx
        .documents
        .list_page(
            tenant,
            container,
            DocumentListing::OldestFirst,
            merge.cursor.as_deref(),
            PAGE_SIZE,
        )
        .await?;
    let container_ids = merge.container_ids();
    let (mut losers, mut in_flight) = (Vec::new(), 0);
    for duplicates in find_duplicates(ctx, tenant, &container_ids, &documents).await? {
        if duplicates
            .iter()
            .any(|document| !document.status.is_final())
        {
            in_flight += 1;
            continue;
        }
        losers.extend(find_losers(duplicates));
    }

    // Other tags read from a shared container. What they find there stays.
    let mut loser_containers: Vec<ContainerId> = Vec::new();
    loser_containers.extend(losers.iter().map(|loser| loser.container.clone()));
    let shared = find_shared(ctx, tenant, loser_containers).await?;
    losers.retain(|loser| shared.iter().all(|shared| shared.id != loser.container));

    let outcome = supersede(ctx, tenant, losers).await?;
    merge.looked_at += documents.len() as u64;
    merge.in_flight += in_flight + outcome.changed;
    merge.superseded += outcome.superseded;
    if next.is_none() {
        merge.container += 1;
    }
    merge.cursor = next;
    Ok(Next::Again)
}

/// Returns, for each listed document with a customId, all current documents with that customId in
/// any of the containers, if there are several.
async fn find_duplicates(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[ContainerId],
    documents: &[Document],
) -> Result<Vec<Vec<Document>>> {
    let mut custom_ids = Vec::new();
    for document in documents {
        custom_ids.extend(document.custom_id.clone());
    }

    let read_group = |custom_id: CustomId| async move {
        read_active_documents(ctx, tenant, containers, &custom_id).await
    };
    let groups = stream::iter(custom_ids)
        .map(read_group)
        .buffered(PARALLEL_READS);

    let mut duplicates: Vec<Vec<Document>> = groups.try_collect().await?;
    duplicates.retain(|group| group.len() > 1);
    Ok(duplicates)
}

/// Returns all but the document with the newest content, each naming that document as its
/// successor.
fn find_losers(mut duplicates: Vec<Document>) -> Vec<Document> {
    duplicates.sort_by_key(Document::content_order);
    let Some(winner) = duplicates.pop() else {
        return Vec::new();
    };
    for document in &mut duplicates {
        document.superseded_by = Some(winner.id.clone());
    }

    duplicates
}

/// The outcome of superseding documents.
#[derive(Default)]
struct SupersedeOutcome {
    superseded: u64,
    /// Documents whose content has changed since they were looked at. Another pass is needed.
    changed: u64,
}

/// Removes documents from the index and from listings.
async fn supersede(ctx: &Ctx, tenant: &Tenant, losers: Vec<Document>) -> Result<SupersedeOutcome> {
    let mut outcome = SupersedeOutcome::default();
    for (container, batch) in batches(losers) {
        supersede_batch(ctx, tenant, &container, batch, &mut outcome).await?;
    }
    Ok(outcome)
}

/// Copies the claims of documents made from items to the documents that supersede them. This
/// happens before the commit, so that the claims exist once it takes effect; a claim that is added
/// meanwhile comes with an edit, which makes the commit fail.
async fn pass_claims_on(ctx: &Ctx, tenant: &Tenant, losers: &[Document]) -> Result<()> {
    for loser in losers {
        let Some(winner) = &loser.superseded_by else {
            continue;
        };
        if loser.origin.is_none() {
            continue;
        }
        for claim in ctx.connections.list_claims(tenant, &loser.id).await? {
            ctx.connections
                .claim_document(tenant, winner, &claim)
                .await?;
        }
    }
    Ok(())
}

async fn supersede_batch(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    mut losers: Vec<Document>,
    outcome: &mut SupersedeOutcome,
) -> Result<()> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        if losers.is_empty() {
            return Ok(());
        }

        pass_claims_on(ctx, tenant, &losers).await?;
        let changes: Vec<DocumentChange> = losers
            .iter()
            .map(|document| DocumentChange::Supersede(Box::new(document.clone())))
            .collect();

        if commit_changes(ctx, tenant, container, &changes, None).await? == Committed::Done {
            outcome.superseded += changes.len() as u64;
            return Ok(());
        }

        let ids: Vec<_> = losers.iter().map(|document| document.id.clone()).collect();
        let current = ctx.documents.get(tenant, &ids).await?;
        let mut remaining = Vec::with_capacity(losers.len());
        for (loser, current) in losers.into_iter().zip(current) {
            let Some(current) = current else {
                continue;
            };
            if current.superseded_by.is_some() {
                continue;
            }
            if current.is_newest_revision(&loser.revision) {
                remaining.push(Document {
                    superseded_by: loser.superseded_by,
                    ..current
                });
            } else {
                outcome.changed += 1;
            }
        }
        losers = remaining;

        retry.wait().await?;
    }
}

/// The result of previewing a merge for one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOverlap {
    /// The tag of the source.
    pub tag: ContainerTag,
    /// The number of its documents.
    pub documents: u64,
    /// The number of its documents whose customId others have as well.
    pub equal_custom_ids: u64,
    /// The number of its documents that a newer one would supersede.
    pub superseded: u64,
}

/// Previews a merge without changing anything.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn preview_merge(
    ctx: &Ctx,
    tenant: &Tenant,
    target: &Container,
    sources: &[Container],
) -> Result<Vec<MergeOverlap>> {
    let mut container_ids = target.ids.clone();
    for source in sources {
        container_ids.extend_from_slice(&source.ids);
    }

    let mut overlaps = Vec::with_capacity(sources.len());
    for source in sources {
        let mut overlap = MergeOverlap {
            tag: source.tag.clone(),
            documents: 0,
            equal_custom_ids: 0,
            superseded: 0,
        };
        for container in &source.ids {
            preview(ctx, tenant, &container_ids, container, &mut overlap).await?;
        }
        overlaps.push(overlap);
    }

    Ok(overlaps)
}

async fn preview(
    ctx: &Ctx,
    tenant: &Tenant,
    container_ids: &[ContainerId],
    container: &ContainerId,
    overlap: &mut MergeOverlap,
) -> Result<()> {
    let mut cursor: Option<String> = None;
    loop {
        let (documents, next) = ctx
            .documents
            .list_page(
                tenant,
                container,
                DocumentListing::OldestFirst,
                cursor.as_deref(),
                PAGE_SIZE,
            )
            .await?;

        overlap.documents += documents.len() as u64;
        for duplicates in find_duplicates(ctx, tenant, container_ids, &documents).await? {
            overlap.equal_custom_ids += 1;
            let is_superseded = find_losers(duplicates)
                .iter()
                .any(|loser| loser.container == *container);
            overlap.superseded += u64::from(is_superseded);
        }

        if next.is_none() {
            return Ok(());
        }
        cursor = next;
    }
}
