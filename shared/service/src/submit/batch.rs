//! Accepting many documents at once, which share reads and writes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures::stream::{self, StreamExt};

use super::{Acceptance, NewDocument, NextStep, accept, check_content, plan, write};
use crate::Ctx;
use crate::jobs::send_jobs;
use crate::open::open_shared_container;
use crate::revise::{AcceptedDocument, store_texts};
use domain::container::Container;
use domain::document::Document;
use domain::error::Result;
use domain::ids::CustomId;
use domain::job::JobMessage;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// The number of documents of a batch that are accepted in parallel.
const PARALLEL_LANES: usize = 16;
/// The number of documents whose contents are stored together: as many items as DynamoDB writes in one
/// request. All of them are in memory, and what is added to an existing text may have 8 MB.
const GROUP_SIZE: usize = 25;

/// The position of a document in a batch, and the document.
type Member = (usize, NewDocument);
/// The tags and the context with which the container of a document is opened.
type ContainerKey = (Vec<ContainerTag>, Option<String>);

/// A group of documents of a batch that are accepted one after another.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// The documents with the same customId.
    SameCustomId(CustomId),
    /// A single document, by its position in the batch.
    Independent(usize),
}

/// Accepts many documents. Each has its own result, in the order given, and an error of one does
/// not affect the others. Documents with the same customId are accepted in their order. Documents
/// are queued for processing by document date, oldest first; those without a date come last.
///
/// # Errors
/// Returns [`Error::RateLimited`](domain::Error::RateLimited) when the organization has too many
/// unfinished documents; no document is accepted then.
pub async fn submit_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: Vec<NewDocument>,
) -> Result<Vec<Result<AcceptedDocument>>> {
    ctx.backlog
        .admit_documents(ctx, tenant, documents.len())
        .await?;

    let dates: Vec<_> = documents.iter().map(|new| new.document_date).collect();
    let (mut results, mut queued) = (Vec::new(), Vec::new());
    for (position, result) in accept_all(ctx, tenant, documents).await {
        match result {
            Ok(acceptance) => {
                if let Some(document) = acceptance.queued {
                    let date = dates[position];
                    queued.push(((date.is_none(), date, position), document));
                }
                results.push((position, Ok(acceptance.document)));
            }
            Err(error) => results.push((position, Err(error))),
        }
    }

    queued.sort_by_key(|(order, _)| *order);
    let queued: Vec<Document> = queued.into_iter().map(|(_, document)| document).collect();
    send_jobs(ctx, &JobMessage::process_documents(tenant.org(), &queued)).await;

    results.sort_by_key(|(position, _)| *position);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Accepts documents. Returns the position of each with its result. The order is not that of the
/// request.
async fn accept_all(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: Vec<NewDocument>,
) -> Vec<(usize, Result<Acceptance>)> {
    let mut lanes: BTreeMap<Lane, VecDeque<Member>> = BTreeMap::new();
    for (position, new) in documents.into_iter().enumerate() {
        let lane = match &new.custom_id {
            Some(custom_id) => Lane::SameCustomId(custom_id.clone()),
            None => Lane::Independent(position),
        };
        lanes.entry(lane).or_default().push_back((position, new));
    }

    let mut results = Vec::new();
    let mut lanes: Vec<VecDeque<Member>> = lanes.into_values().collect();
    for group in lanes.chunks_mut(GROUP_SIZE) {
        let first_members: Vec<&NewDocument> = group.iter().map(|lane| &lane[0].1).collect();
        let accepted = accept_together(ctx, tenant, &first_members).await;
        for (lane, accepted) in group.iter_mut().zip(accepted) {
            if let Some(result) = accepted
                && let Some((position, _)) = lane.pop_front()
            {
                results.push((position, result));
            }
        }
    }

    let accept_lane = |lane: VecDeque<Member>| async move {
        let mut accepted = Vec::with_capacity(lane.len());
        for (position, new) in lane {
            accepted.push((position, accept(ctx, tenant, new).await));
        }
        accepted
    };
    let accepted = stream::iter(lanes).map(accept_lane);
    let mut accepted = accepted.buffer_unordered(PARALLEL_LANES);
    while let Some(lane_results) = accepted.next().await {
        results.extend(lane_results);
    }
    results
}

/// Makes one attempt to accept documents that do not depend on each other. Each container is opened
/// once, and the bytes of texts share requests. Returns `None` for each document that has to be accepted
/// alone, because another writer was first or its container cannot be opened.
async fn accept_together(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: &[&NewDocument],
) -> Vec<Option<Result<Acceptance>>> {
    let containers = &open_containers(ctx, tenant, documents).await;
    let planning = stream::iter(0..documents.len()).map(|index| async move {
        let new = documents[index];
        if let Err(error) = check_content(new) {
            return Some(Err(error));
        }
        let container = containers.get(&container_key(new))?;
        Some(plan(ctx, tenant, container, new).await)
    });
    let mut steps: Vec<Option<Result<NextStep>>> =
        planning.buffered(PARALLEL_LANES).collect().await;

    let planned = steps.iter_mut().filter_map(|step| match step {
        Some(Ok(NextStep::Write(planned))) => {
            let planned = &mut **planned;
            Some((&planned.location, &mut planned.body))
        }
        _ => None,
    });
    store_texts(ctx, tenant, planned.collect()).await;

    let writing = stream::iter(steps.into_iter().enumerate());
    let writing = writing.map(|(index, step)| async move {
        let new = documents[index];
        match step? {
            Ok(NextStep::Accepted(document)) => Some(Ok(Acceptance::without_processing(document))),
            Ok(NextStep::Write(planned)) => {
                let container = containers.get(&container_key(new))?;
                write(ctx, tenant, container, new, *planned)
                    .await
                    .transpose()
            }
            Ok(NextStep::Repeat) => None,
            Err(error) => Some(Err(error)),
        }
    });
    writing.buffered(PARALLEL_LANES).collect().await
}

/// Opens the containers of documents with content. Leaves out those that cannot be opened.
async fn open_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: &[&NewDocument],
) -> BTreeMap<ContainerKey, Container> {
    let valid = documents.iter().filter(|new| check_content(new).is_ok());
    let keys: BTreeSet<ContainerKey> = valid.map(|new| container_key(new)).collect();
    let opening = stream::iter(keys).map(|(tags, context)| async move {
        let opened = open_shared_container(ctx, tenant, &tags, context.as_deref()).await;
        Some(((tags, context), opened.ok()?))
    });
    let opened = opening.buffer_unordered(PARALLEL_LANES);
    opened.filter_map(std::future::ready).collect().await
}

fn container_key(new: &NewDocument) -> ContainerKey {
    (new.tags.clone(), new.entity_context.clone())
}
