//! Hints for callers who got an empty answer: why nothing was found, and what to do.

use crate::Ctx;
use crate::find::{ContainerScope, find_containers};
use domain::error::Result;
use domain::tenant::Tenant;

/// The largest number of documents of a container that a hint looks at. Nobody wonders about an
/// empty answer of a large container because of its first documents.
const MAX_DOCUMENTS: usize = 20;

/// Returns the hint beside an empty list of a scope: the reasons of [`explain_emptiness`], if there
/// are any.
///
/// # Errors
/// Returns the errors of [`explain_emptiness`].
pub async fn explain_empty_list(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Option<String>> {
    let reasons = explain_emptiness(ctx, tenant, scope).await?;
    Ok((!reasons.is_empty()).then(|| reasons.join(" ")))
}

/// Returns the reasons why a list or a search of a scope may be empty: there is no such container,
/// it has no documents, or its documents are still processed. Each is a sentence that says what to
/// do. Returns none if it is none of these.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn explain_emptiness(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Vec<String>> {
    let containers = find_containers(ctx, tenant, scope).await?;
    if containers.is_empty() {
        return Ok(vec![describe_missing_containers(scope)]);
    }

    let (mut documents, mut unfinished) = (0, 0);
    for id in containers.iter().flat_map(|container| &container.ids) {
        let count = ctx.documents.count(tenant, id, MAX_DOCUMENTS).await?;
        if count.is_none_or(|count| documents + count > MAX_DOCUMENTS) {
            return Ok(Vec::new());
        }

        let (page, _) = ctx
            .documents
            .list_page(tenant, id, false, None, MAX_DOCUMENTS)
            .await?;
        documents += page.len();
        let is_unfinished = |status: domain::DocumentStatus| !status.is_final();
        unfinished += page
            .iter()
            .filter(|document| is_unfinished(document.status))
            .count();
    }

    let mut reasons = Vec::new();
    if documents == 0 {
        reasons.push("There are no documents yet. Add one with POST /v3/documents.".to_owned());
    } else if unfinished > 0 {
        let subject = match unfinished {
            1 => "1 document is".to_owned(),
            count => format!("{count} documents are"),
        };
        reasons.push(format!(
            "{subject} still being processed. Ask again when the status is `done` \
             (GET /v3/documents/processing)."
        ));
    }

    Ok(reasons)
}

fn describe_missing_containers(scope: &ContainerScope) -> String {
    let tags: Vec<String> = scope.tags.iter().map(|tag| format!("`{tag}`")).collect();
    match tags.as_slice() {
        [] => "There are no containers yet. Add a document with POST /v3/documents.".to_owned(),
        [tag] => format!(
            "There is no container {tag}. GET /v3/container-tags/list has the tags that exist."
        ),
        tags => format!(
            "There is none of the containers {}. GET /v3/container-tags/list has the tags that \
             exist.",
            tags.join(", ")
        ),
    }
}
