//! `DELETE /ns/{namespace}/memories` and `DELETE /ns/{namespace}/memories/semantic`: forgets
//! memories by their ids, or those that match a question.

use std::collections::HashSet;

use axum::extract::State;
use domain::{ContainerTag, Error, MemoryId, Result, Tenant};
use edge::{ApiResult, Auth, Json, Path, WriteContent, parse_namespace};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{GROUP, NAMESPACE};
use crate::MemoriesState;
use crate::container_memories::ContainerMemories;
use crate::forget::{MemoryToForget, forget_memories};
use crate::matching::{MAX_QUERY_CHARS, MatchTarget, forget_matches};

/// The most ids of a request. Part of the API.
const MAX_IDS: usize = 100;

/// The memories to forget.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ForgetNamespaceMemoriesRequest")]
pub(crate) struct ForgetRequest {
    /// The ids of memories.
    #[schemars(length(min = 1, max = MAX_IDS))]
    ids: Vec<String>,
}

/// A question about the memories to forget.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ForgetNamespaceMatchesRequest")]
pub(crate) struct ForgetMatchesRequest {
    /// A question. The memories that match it best are forgotten.
    #[schemars(length(min = 1, max = MAX_QUERY_CHARS))]
    query: String,
    /// True to report the memories and forget none.
    dry_run: bool,
}

/// The memories that were forgotten, or would be.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ForgetNamespaceMemoriesResponse")]
pub(crate) struct ForgetResponse {
    /// The number of memories that were forgotten.
    count: usize,
    /// The ids whose memories were not forgotten.
    errors: Vec<ForgetError>,
    /// The memories that were forgotten; with `dryRun`, those that would be. The most similar to
    /// the question come first.
    matches: Vec<ForgetMatch>,
}

/// An id whose memory was not forgotten.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct ForgetError {
    /// The id.
    id: String,
    /// The reason.
    error: String,
}

/// A memory that was forgotten, or would be.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct ForgetMatch {
    /// Its id.
    id: MemoryId,
    /// The text of the memory.
    memory: String,
}

pub(crate) async fn forget_by_ids(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(namespace): Path<String>,
    Json(request): Json<ForgetRequest>,
) -> ApiResult<Json<ForgetResponse>> {
    let tag = parse_namespace(&namespace)?;
    if !(1..=MAX_IDS).contains(&request.ids.len()) {
        return Err(Error::invalid_field("ids", format!("1 to {MAX_IDS} ids")).into());
    }

    let container_memories = open_if_exists(&state, &tenant, &tag).await?;
    let ctx = &state.app.ctx;
    let find = || find_targets(&container_memories, &request.ids);
    let (mut response, to_forget) = container_memories.read(ctx, &tenant, find).await?;
    forget_memories(&state, &tenant, &to_forget, None).await?;
    response.count = to_forget.len();
    Ok(Json(response))
}

/// Returns the memories with these ids, each once, with the answer about them.
fn find_targets(
    container_memories: &ContainerMemories,
    ids: &[String],
) -> (ForgetResponse, Vec<MemoryToForget>) {
    let mut response = ForgetResponse::default();
    let mut to_forget = Vec::new();
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            continue;
        }
        match container_memories.find_by_id(id) {
            Ok(located) => {
                to_forget.push(MemoryToForget::new(&located, container_memories.now));
                response.matches.push(ForgetMatch {
                    id: located.memory.id.clone(),
                    memory: located.memory.text.clone(),
                });
            }
            Err(error) => response.errors.push(ForgetError {
                id: id.clone(),
                error: error.to_string(),
            }),
        }
    }
    (response, to_forget)
}

/// Opens the memories of a namespace to change them. There are none if it does not exist.
async fn open_if_exists(
    state: &MemoriesState,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<ContainerMemories> {
    match ContainerMemories::open_to_write(state, tenant, tag).await {
        Err(Error::NotFound(_)) => {
            let now = state.app.ctx.clock.now();
            Ok(ContainerMemories::new(Vec::new(), now))
        }
        opened => opened,
    }
}

pub(crate) async fn forget_by_question(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(namespace): Path<String>,
    Json(request): Json<ForgetMatchesRequest>,
) -> ApiResult<Json<ForgetResponse>> {
    let tag = parse_namespace(&namespace)?;
    let target = MatchTarget::question(&request.query)?;
    let found = forget_matches(&state, &tenant, &tag, target, request.dry_run, None).await?;

    let mut response = ForgetResponse::default();
    if !request.dry_run {
        response.count = found.len();
    }
    for candidate in found {
        response.matches.push(ForgetMatch {
            id: candidate.id,
            memory: candidate.memory,
        });
    }
    Ok(Json(response))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    let example = json!({
        "count": 1,
        "errors": [],
        "matches": [
            {
                "id": "acxV5LHMEsG2hMSNb4umbn",
                "memory": "Mara counts the herons every spring.",
            },
        ],
    });

    vec![
        Operation::delete("/ns/{namespace}/memories", "forget_namespace_memories")
            .group(GROUP)
            .summary("Forget memories of a namespace.")
            .description(
                "No search that starts after the answer finds them. Ids of memories that are \
                 unknown or already forgotten are listed as errors, and the others are forgotten.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .body::<ForgetRequest>(json!({"ids": ["acxV5LHMEsG2hMSNb4umbn"]}))
            .answer::<ForgetResponse>("The memories that were forgotten.", example.clone())
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The namespace is being merged, or was changed at the same time. Send the request \
                 again later.",
            ),
        Operation::delete(
            "/ns/{namespace}/memories/semantic",
            "forget_namespace_matches",
        )
        .group(GROUP)
        .summary("Forget the memories of a namespace that match a question.")
        .description(
            "At most 100, with a similarity of at least 0.5. With `dryRun`, the answer lists the \
             memories and none is forgotten.",
        )
        .path_parameter::<ContainerTag>("namespace", NAMESPACE)
        .body::<ForgetMatchesRequest>(json!({
            "query": "Who counts the herons?",
            "dryRun": false,
        }))
        .answer::<ForgetResponse>("The memories that were forgotten, or would be.", example)
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, "There is no such namespace.")
        .error(
            ErrorAnswer::Conflict,
            "The namespace is being merged, or was changed at the same time. Send the request \
             again later.",
        ),
    ]
}
