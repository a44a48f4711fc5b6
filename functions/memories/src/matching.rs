//! `POST /v4/memories/forget-matching`: forgets the memories that a question finds, or many
//! memories by their ids.

use std::collections::BTreeMap;

use axum::extract::State;
use domain::{ContainerTag, Error, MemoryId, PortError, Result, Revision, Tenant, Timestamp};
use edge::{ApiResult, Auth, Json, MAX_ENTRIES, WriteContent, deserialize_bool, deserialize_count};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use search_engine::{ContainerIndex, Embedder, SearchQuery, StaticEmbedder};
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{find_existing_container, find_writable_container};

use crate::MemoriesState;
use crate::container_memories::{ContainerMemories, LocatedMemory};
use crate::fields::{MAX_REASON_CHARS, check_reason, resolve_container_tag};
use crate::forget::{MemoryToForget, forget_memories};

/// The most characters of a question. Part of the API.
pub(crate) const MAX_QUERY_CHARS: usize = 2_000;
/// The most ids of a request, and the most memories that a question forgets. Part of the API.
const MAX_MEMORIES: usize = 500;
/// The most memories that a question forgets if the request does not set a limit. Part of the API.
const DEFAULT_MEMORIES: usize = 100;
/// The lowest similarity of a match if the request does not set a threshold. Part of the API.
const DEFAULT_THRESHOLD: f32 = 0.5;

/// The memories to forget, by a question or by their ids. A misspelled `dryRun` is refused, because it must
/// not forget.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "ForgetMatchingRequest")]
pub(crate) struct MatchingRequest {
    /// The container tag.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
    /// A question. The memories that match it best are forgotten.
    #[schemars(length(min = 1, max = MAX_QUERY_CHARS))]
    query: Option<String>,
    /// The ids of memories.
    #[schemars(length(min = 1, max = MAX_MEMORIES))]
    ids: Option<Vec<String>>,
    /// True to report the memories and forget none.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    dry_run: bool,
    /// The lowest similarity to the question.
    #[schemars(range(min = 0, max = 1), extend("default" = DEFAULT_THRESHOLD))]
    threshold: Option<f32>,
    /// The most memories that a question forgets.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_MEMORIES>")]
    #[schemars(extend("default" = DEFAULT_MEMORIES))]
    max_forget: Option<usize>,
    /// The reason for forgetting it.
    #[schemars(length(max = MAX_REASON_CHARS))]
    reason: Option<String>,
}

/// The memories that were forgotten, or would be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForgetMatchingResponse")]
#[schemars(extend("oneOf" = [{"required": ["candidates"]}, {"required": ["forgotten"]}]))]
pub(crate) struct MatchingResponse {
    /// True if nothing was forgotten.
    dry_run: bool,
    /// The number of memories.
    count: usize,
    /// The id of what was forgotten together; null if nothing was.
    forget_batch_id: Option<Revision>,
    /// A sentence that says the same.
    summary: String,
    /// The memories that would be forgotten, the most similar first.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<ForgetCandidate>>,
    /// The memories that were forgotten, the most similar first.
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<Vec<ForgetCandidate>>,
}

/// A memory and its score, which is 1 for a memory that was named.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MatchingMemory")]
pub(crate) struct ForgetCandidate {
    /// Its id.
    pub(crate) id: MemoryId,
    /// The text of the memory.
    pub(crate) memory: String,
    /// The similarity to the question, or 1 if ids were given.
    #[schemars(range(min = 0, max = 1))]
    score: f32,
}

/// The checked target of a request.
pub(crate) enum MatchTarget<'a> {
    Query {
        text: &'a str,
        threshold: f32,
        limit: usize,
    },
    Ids(&'a [String]),
}

pub(crate) async fn forget_matching(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Json(request): Json<MatchingRequest>,
) -> ApiResult<Json<MatchingResponse>> {
    let tag = resolve_container_tag(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let target = request.parse_target()?;
    let reason = check_reason("reason", request.reason.clone())?;
    let found = forget_matches(&state, &tenant, &tag, target, request.dry_run, reason).await?;
    Ok(Json(MatchingResponse::new(request.dry_run, found)))
}

/// Returns the memories that match, and forgets them unless this is a dry run.
///
/// # Errors
/// [`Error::NotFound`] for a container that does not exist, or if none of the ids names a memory;
/// [`Error::Conflict`] if all of them are forgotten already, or while the container is merged; and
/// the errors of the ports.
pub(crate) async fn forget_matches(
    state: &MemoriesState,
    tenant: &Tenant,
    tag: &ContainerTag,
    target: MatchTarget<'_>,
    is_dry_run: bool,
    reason: Option<String>,
) -> Result<Vec<ForgetCandidate>> {
    let ctx = &state.app.ctx;
    let container = match is_dry_run {
        true => find_existing_container(ctx, tenant, tag).await?,
        false => find_writable_container(ctx, tenant, tag).await?,
    };

    let found: Vec<(ForgetCandidate, MemoryToForget)> = match target {
        MatchTarget::Ids(ids) => {
            let container_memories =
                ContainerMemories::load_memories(&state.app, &state.ledgers, tenant, container)
                    .await?;
            let find = || find_named(&container_memories, ids);
            container_memories.read(ctx, tenant, find).await??
        }
        MatchTarget::Query {
            text,
            threshold,
            limit,
        } => {
            let container_memories =
                ContainerMemories::load_memories(&state.app, &state.searchable, tenant, container)
                    .await?;
            let find = || find_similar(&container_memories, text, threshold, limit);
            container_memories.read(ctx, tenant, find).await??
        }
    };

    let (candidates, to_forget): (Vec<ForgetCandidate>, Vec<MemoryToForget>) =
        found.into_iter().unzip();
    if !is_dry_run {
        forget_memories(state, tenant, &to_forget, reason.as_deref()).await?;
    }

    Ok(candidates)
}

impl<'a> MatchTarget<'a> {
    /// Returns the memories that a question finds, with the defaults of a request.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a question that is blank or too long.
    pub(crate) fn question(text: &'a str) -> Result<Self> {
        MatchingRequest::default().check_question(text)
    }
}

impl MatchingRequest {
    fn parse_target(&self) -> Result<MatchTarget<'_>> {
        match (self.query.as_deref(), self.ids.as_deref()) {
            (Some(_), Some(_)) => Err(Error::invalid("send either query or ids, not both")),
            (None, None) => Err(Error::invalid("send a query, or the ids of memories")),
            (None, Some(ids)) if (1..=MAX_MEMORIES).contains(&ids.len()) => {
                Ok(MatchTarget::Ids(ids))
            }
            (None, Some(_)) => Err(Error::invalid_field(
                "ids",
                format!("1 to {MAX_MEMORIES} ids"),
            )),
            (Some(text), None) => self.check_question(text),
        }
    }

    fn check_question<'a>(&self, text: &'a str) -> Result<MatchTarget<'a>> {
        if text.trim().is_empty() || text.chars().count() > MAX_QUERY_CHARS {
            return Err(Error::invalid_field(
                "query",
                format!("1 to {MAX_QUERY_CHARS} characters"),
            ));
        }

        let threshold = self.threshold.unwrap_or(DEFAULT_THRESHOLD);
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Error::invalid_field("threshold", "a number from 0 to 1"));
        }

        let limit = self.max_forget.unwrap_or(DEFAULT_MEMORIES);
        if !(1..=MAX_MEMORIES).contains(&limit) {
            return Err(Error::invalid_field(
                "maxForget",
                format!("1 to {MAX_MEMORIES}"),
            ));
        }

        Ok(MatchTarget::Query {
            text,
            threshold,
            limit,
        })
    }
}

/// Returns the memories with these ids that are not forgotten, each once.
fn find_named(
    container_memories: &ContainerMemories,
    ids: &[String],
) -> Result<Vec<(ForgetCandidate, MemoryToForget)>> {
    let memories_by_id: BTreeMap<MemoryId, LocatedMemory<'_>> = ids
        .iter()
        .filter_map(|id| container_memories.get_memory(id))
        .map(|located| (located.memory.id.clone(), located))
        .collect();
    if memories_by_id.is_empty() {
        return Err(Error::NotFound("Memory"));
    }

    let live = memories_by_id
        .into_values()
        .filter(|located| !located.memory.is_forgotten(container_memories.now));
    let live: Vec<_> = live
        .map(|located| candidate_of(&located, 1.0, container_memories.now))
        .collect();
    if live.is_empty() {
        return Err(Error::Conflict(
            "all of these memories are already forgotten".into(),
        ));
    }

    Ok(live)
}

/// Returns the memories that a question finds, the most similar first.
fn find_similar(
    container_memories: &ContainerMemories<ContainerIndex>,
    text: &str,
    threshold: f32,
    limit: usize,
) -> Result<Vec<(ForgetCandidate, MemoryToForget)>> {
    let indexes: Vec<&ContainerIndex> = container_memories
        .containers
        .iter()
        .map(|(_, memories)| memories.index())
        .collect();
    let query = SearchQuery {
        limit,
        live_at: Some(container_memories.now.as_millis()),
        ..SearchQuery::new(text, StaticEmbedder.embed(text))
    };

    let response = search_engine::search_containers(&indexes, &query)
        .map_err(|error| PortError::Corrupt(error.to_string()))?;
    let similar = response
        .hits
        .iter()
        .filter(|hit| hit.similarity >= threshold);

    Ok(similar
        .filter_map(|hit| {
            Some(candidate_of(
                &container_memories.get_memory(&hit.document)?,
                hit.similarity,
                container_memories.now,
            ))
        })
        .collect())
}

fn candidate_of(
    located: &LocatedMemory<'_>,
    score: f32,
    now: Timestamp,
) -> (ForgetCandidate, MemoryToForget) {
    let to_forget = MemoryToForget::new(located, now);
    (
        ForgetCandidate {
            id: to_forget.memory.clone(),
            memory: located.memory.text.clone(),
            score,
        },
        to_forget,
    )
}

impl MatchingResponse {
    fn new(dry_run: bool, found: Vec<ForgetCandidate>) -> Self {
        let count = found.len();
        let memories = if count == 1 { "memory" } else { "memories" };
        let summary = match (count, dry_run) {
            (0, _) => "No memory matches; nothing was forgotten.".to_owned(),
            (_, true) => format!("{count} {memories} would be forgotten."),
            (_, false) => format!("{count} {memories} forgotten."),
        };

        let forget_batch_id = (!dry_run && count > 0).then(Revision::random);
        let (candidates, forgotten) = if dry_run {
            (Some(found), None)
        } else {
            (None, Some(found))
        };

        Self {
            dry_run,
            count,
            forget_batch_id,
            summary,
            candidates,
            forgotten,
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v4/memories/forget-matching", "forget_matching")
            .group("Content Management")
            .summary("Forget the memories that match a question, or those with given ids.")
            .description(
                "With `dryRun`, the answer lists the memories and none is forgotten. Ids that are \
                 unknown or already forgotten are ignored.",
            )
            .body::<MatchingRequest>(json!({
                "containerTag": "user_42",
                "query": "Who counts the herons?",
                "dryRun": true,
            }))
            .answer::<MatchingResponse>(
                "The memories that were forgotten, or would be.",
                json!({
                    "dryRun": true,
                    "count": 1,
                    "forgetBatchId": null,
                    "summary": "1 memory would be forgotten.",
                    "candidates": [
                        {
                            "id": "acxV5LHMEsG2hMSNb4umbn",
                            "memory": "Mara counts the herons every spring.",
                            "score": 0.82,
                        },
                    ],
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "There is no such container tag or memory.",
            )
            .error(
                ErrorAnswer::Conflict,
                "The container is being merged, or was changed at the same time. Send the request \
                 again later.",
            ),
    ]
}
