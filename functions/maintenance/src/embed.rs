//! Embedding of documents by the model that the operator chose, in the background.

use container_index::ChosenModel;
use domain::ports::DocumentListing;
use domain::{
    ContainerId, Document, DocumentId, Error, Job, JobMessage, Pack, PortError, Result, Tenant,
};
use service::{Ctx, find_served_document, replace_vectors};
use tracing::{error, info};

/// The number of documents of one step of a walk through a container.
const PAGE_SIZE: usize = 10;

/// Embeds documents of a container, or the next page of all of them, and sends the message of the
/// page after it.
///
/// # Errors
/// Those of the ports, and of the model if it may answer later. A repetition embeds only what has
/// no vectors of the model.
pub(crate) async fn embed_documents(
    ctx: &Ctx,
    model: &ChosenModel,
    tenant: &Tenant,
    container: &ContainerId,
    documents: &[DocumentId],
    after: Option<&str>,
) -> Result<()> {
    let (page, next) = if documents.is_empty() {
        let (page, next) = ctx
            .documents
            .list_page(
                tenant,
                container,
                DocumentListing::OldestFirst,
                after,
                PAGE_SIZE,
            )
            .await?;
        (page.into_iter().map(|document| document.id).collect(), next)
    } else {
        (documents.to_vec(), None)
    };

    for id in &page {
        if let Some(document) = find_served_document(ctx, tenant, id).await?
            && document.container == *container
            && !embed_document(ctx, model, tenant, &document).await?
        {
            return Ok(());
        }
    }

    if let Some(next) = next {
        let job = Job::EmbedV1 {
            container: container.clone(),
            documents: Vec::new(),
            after: Some(next),
        };
        ctx.jobs.send(&[JobMessage::new(tenant.org(), job)]).await?;
    }
    Ok(())
}

/// Embeds a document, unless that was done before. Returns `false` if the model refuses everything.
async fn embed_document(
    ctx: &Ctx,
    model: &ChosenModel,
    tenant: &Tenant,
    document: &Document,
) -> Result<bool> {
    let Some(indexed) = &document.indexed else {
        return Ok(true);
    };
    let stored = ctx.blobs.read_one(tenant, &indexed.pack).await?;
    // A pack that cannot be read is repaired by whoever reads it for a search.
    let Some(bytes) = stored.into_intact_bytes() else {
        return Ok(true);
    };
    let Ok(mut pack) = Pack::decode(&bytes) else {
        return Ok(true);
    };
    if model.has_embedded(&pack) {
        return Ok(true);
    }

    let id = &document.id;
    let embedded = match model.embed_pack(&mut pack, None).await {
        Ok(embedded) => embedded,
        Err(PortError::Internal(source)) => {
            error!(
                error = &*source as &dyn std::error::Error,
                "the chosen model refuses to embed texts; check its settings"
            );
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };

    match replace_vectors(ctx, tenant, document, &pack).await {
        Ok(true) => {
            info!(document.id = %id, embedded, "embedded {embedded} texts of document {id}");
            Ok(true)
        }
        // The document is being changed, or its container merged. Its next vectors are of the model.
        Ok(false) | Err(Error::Conflict(_)) => Ok(true),
        Err(error) => Err(error),
    }
}
