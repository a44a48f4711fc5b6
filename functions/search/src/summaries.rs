//! The summaries of the documents of an answer. The index does not have them: they are read from
//! the records of the documents, all in one batch.

use std::collections::{HashMap, HashSet};

use domain::{ContainerId, Document, DocumentId, Result, Tenant};
use schemars::{Schema, SchemaGenerator, json_schema};
use service::Ctx;

/// The most documents whose summaries are read for one answer, in the order of the results. A
/// memory that many documents state has all of them.
const MAX_DOCUMENTS: usize = 500;

/// Returns the summaries of those of the documents that have one and are still in one of
/// `containers`, which the caller reaches.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn load_summaries(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[ContainerId],
    ids: impl Iterator<Item = &DocumentId>,
) -> Result<HashMap<DocumentId, String>> {
    let mut known = HashSet::new();
    let mut unique_ids = Vec::new();
    for id in ids {
        if unique_ids.len() == MAX_DOCUMENTS {
            break;
        }
        if known.insert(id) {
            unique_ids.push(id.clone());
        }
    }

    let mut summaries = HashMap::new();
    if unique_ids.is_empty() {
        return Ok(summaries);
    }
    for document in ctx.documents.get(tenant, &unique_ids).await? {
        if let Some(document) = document
            && let Some(summary) = summary_within(&document, containers)
        {
            summaries.insert(document.id.clone(), summary);
        }
    }

    Ok(summaries)
}

/// Returns the schema of a summary that is absent unless the request asks for it, and then may be
/// null.
pub(crate) fn summary_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"oneOf": [{"type": "string"}, {"type": "null"}]})
}

/// Returns the summary of a document, unless it [is elsewhere](is_within) by now.
fn summary_within(document: &Document, containers: &[ContainerId]) -> Option<String> {
    if !is_within(document, containers) {
        return None;
    }

    document.summary().map(str::to_owned)
}

/// Checks whether a document is still in one of the containers in which the index had it: it has neither
/// been superseded nor moved elsewhere since the index was read.
pub(crate) fn is_within(document: &Document, containers: &[ContainerId]) -> bool {
    document.superseded_by.is_none() && containers.contains(&document.container)
}
