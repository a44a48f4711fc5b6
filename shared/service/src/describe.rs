//! Changing the description of a document while its content stays.

use crate::ConflictRetry;
use crate::Ctx;
use crate::find::read_document;
use crate::{Committed, commit_changes};
use domain::container::DocumentChange;
use domain::document::Document;
use domain::error::Result;
use domain::metadata::Metadata;
use domain::patch::Patch;
use domain::tenant::Tenant;

/// The caller's description of a document, beside its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocumentDescription {
    /// The metadata, replaced as a whole.
    pub metadata: Patch<Metadata>,
    /// The caller's path.
    pub filepath: Patch<String>,
    /// The metadata that other documents must have for their memories to be considered together
    /// with this one's.
    pub filter_by_metadata: Patch<Metadata>,
}

impl DocumentDescription {
    /// Applies the description to the document. Returns whether that changed anything.
    pub(crate) fn apply(&self, document: &mut Document) -> bool {
        let mut metadata = Some(document.metadata.clone()).filter(|metadata| !metadata.is_empty());
        let changed = [
            self.metadata.apply(&mut metadata),
            self.filepath.apply(&mut document.filepath),
            self.filter_by_metadata
                .apply(&mut document.filter_by_metadata),
        ];
        document.metadata = metadata.unwrap_or_default();
        changed.contains(&true)
    }
}

/// Changes a document's description in place: its record and, if search serves the document, its
/// entry in the index, in one transaction. Nothing is processed again. Returns the document after
/// the change, or `None` when it was deleted or superseded meanwhile, or has other content; the
/// caller then decides again.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn describe(
    ctx: &Ctx,
    tenant: &Tenant,
    mut document: Document,
    description: &DocumentDescription,
) -> Result<Option<Document>> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let mut changed = document.clone();
        if !description.apply(&mut changed) {
            return Ok(Some(document));
        }

        changed.description_changes += 1;
        changed.updated_at = ctx.clock.now();
        if write_description(ctx, tenant, &changed).await? {
            return Ok(Some(changed));
        }

        match read_document(ctx, tenant, &document.id).await? {
            Some(newer)
                if newer.is_newest_revision(&document.revision)
                    && newer.superseded_by.is_none() =>
            {
                document = newer;
            }
            _ => return Ok(None),
        }

        retry.wait().await?;
    }
}

/// Writes a changed description, whose change is already counted. Returns `false` when the document
/// is no longer as it was read.
pub(crate) async fn write_description(
    ctx: &Ctx,
    tenant: &Tenant,
    changed: &Document,
) -> Result<bool> {
    if changed.indexed.is_none() {
        return Ok(ctx
            .documents
            .update_description(tenant, changed, changed.updated_at)
            .await?);
    }

    let change = [DocumentChange::Describe(Box::new(changed.clone()))];
    let at = Some(changed.updated_at);
    let committed = commit_changes(ctx, tenant, &changed.container, &change, at).await?;
    Ok(committed == Committed::Done)
}
