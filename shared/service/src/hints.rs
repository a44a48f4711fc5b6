//! Hints for callers who got an empty answer: why nothing was found, and what to do.

use crate::Ctx;
use crate::find::{ContainerScope, find_containers};
use domain::error::Result;
use domain::ids::ContainerId;
use domain::ports::DocumentListing;
use domain::tenant::Tenant;

/// The largest number of documents in a scope that a hint looks at. In larger containers,
/// unfinished documents are rarely the reason for an empty answer.
const MAX_DOCUMENTS: usize = 20;

/// Returns the hint beside an empty list of a scope, if there is a reason to give.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn explain_empty_list(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Option<String>> {
    let containers = find_containers(ctx, tenant, scope).await?;
    let ids: Vec<ContainerId> = containers
        .into_iter()
        .flat_map(|container| container.ids)
        .collect();
    let reasons = explain_empty_result(ctx, tenant, scope, &ids).await?;
    Ok(join_reasons(&reasons))
}

/// Joins the reasons of a hint. Returns `None` if there are none.
pub fn join_reasons(reasons: &[String]) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.join(" "))
}

/// Returns the reasons why a list or a search of a scope, which has these containers, may be empty:
/// there is no such container, it has no documents, or its documents are still processed. Each is
/// a sentence that says what to do. Returns none if it is none of these.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn explain_empty_result(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
    containers: &[ContainerId],
) -> Result<Vec<String>> {
    if containers.is_empty() {
        return Ok(vec![describe_missing_containers(scope)]);
    }

    let mut documents = Vec::new();
    for id in containers {
        let (page, next) = ctx
            .documents
            .list_page(
                tenant,
                id,
                DocumentListing::OldestFirst,
                None,
                MAX_DOCUMENTS + 1,
            )
            .await?;
        documents.extend(page);
        if documents.len() > MAX_DOCUMENTS || next.is_some() {
            return Ok(Vec::new());
        }
    }

    if documents.is_empty() {
        let reason = "There are no documents yet. Add one with POST /v3/documents.";
        return Ok(vec![reason.to_owned()]);
    }
    documents.retain(|document| !document.status.is_final());
    let subject = match documents.len() {
        0 => return Ok(Vec::new()),
        1 => "1 document is".to_owned(),
        count => format!("{count} documents are"),
    };

    Ok(vec![format!(
        "{subject} still being processed. Ask again when the status is `done` \
         (GET /v3/documents/processing)."
    )])
}

fn describe_missing_containers(scope: &ContainerScope) -> String {
    let tags: Vec<String> = scope.tags.iter().map(|tag| format!("`{tag}`")).collect();
    match tags.as_slice() {
        [] => "There are no containers yet. Add a document with POST /v3/documents.".to_owned(),
        [tag] => format!(
            "There is no container {tag}. GET /v3/container-tags/list has the tags that exist."
        ),
        tags => format!(
            "None of the containers {} exists. GET /v3/container-tags/list has the tags that \
             exist.",
            tags.join(", ")
        ),
    }
}
