//! `POST /v4/memories/forget-matching`: forgets the memories that a question finds, or many
//! memories by their ids.

use std::collections::BTreeMap;

use axum::extract::State;
use domain::usecase::{find_existing_container, find_writable_container};
use domain::{Error, MemoryId, PortError, Result, Revision, Timestamp};
use edge::{ApiResult, Auth, Json, WriteContent, deserialize_bool, deserialize_count};
use retrieval::{ContainerIndex, DocumentView, Embedder, SearchQuery, StaticEmbedder};
use serde::{Deserialize, Serialize};

use crate::MemoriesState;
use crate::fields::{check_reason, resolve_container_tag};
use crate::forget::{MemoryToForget, forget_memories};
use crate::room::{ContainerMemories, LocatedMemory};

/// The most characters of a question. Part of the API.
const MAX_QUERY_CHARS: usize = 2_000;
/// The most ids of a request, and the most memories that a question forgets. Part of the API.
const MAX_MEMORIES: usize = 500;
/// The most memories that a question forgets if the request does not set a limit. Part of the API.
const DEFAULT_MEMORIES: usize = 100;
/// The lowest similarity of a match if the request does not set a threshold. Part of the API.
const DEFAULT_THRESHOLD: f32 = 0.5;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MatchingRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    query: Option<String>,
    ids: Option<Vec<String>>,
    #[serde(deserialize_with = "deserialize_bool")]
    dry_run: bool,
    threshold: Option<f32>,
    #[serde(deserialize_with = "deserialize_count")]
    max_forget: Option<usize>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MatchingResponse {
    dry_run: bool,
    count: usize,
    forget_batch_id: Option<Revision>,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<ForgetCandidate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<Vec<ForgetCandidate>>,
}

/// A memory and its score, which is 1 for a memory that was named.
#[derive(Debug, Serialize)]
pub(crate) struct ForgetCandidate {
    id: MemoryId,
    memory: String,
    score: f32,
}

/// The checked target of a request.
enum MatchTarget<'a> {
    Query {
        text: &'a str,
        threshold: f32,
        most: usize,
    },
    Ids(&'a [String]),
}

pub(crate) async fn forget_matching(
    State(service): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Json(request): Json<MatchingRequest>,
) -> ApiResult<Json<MatchingResponse>> {
    let tag = resolve_container_tag(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let wanted = request.parse_target()?;
    let reason = check_reason("reason", request.reason.clone())?;
    let ctx = &service.app.ctx;
    let container = match request.dry_run {
        true => find_existing_container(ctx, &tenant, &tag).await?,
        false => find_writable_container(ctx, &tenant, &tag).await?,
    };

    let found: Vec<(ForgetCandidate, MemoryToForget)> = match wanted {
        MatchTarget::Ids(ids) => {
            let room = ContainerMemories::load_memories(
                &service.app,
                &service.ledgers,
                &tenant,
                container,
            )
            .await?;
            find_named(&room, ids)?
        }
        MatchTarget::Query {
            text,
            threshold,
            most,
        } => {
            let room = ContainerMemories::load_memories(
                &service.app,
                &service.searchable,
                &tenant,
                container,
            )
            .await?;
            find_similar(&room, text, threshold, most)?
        }
    };

    let (candidates, doomed): (Vec<ForgetCandidate>, Vec<MemoryToForget>) =
        found.into_iter().unzip();
    if !request.dry_run {
        forget_memories(&service, &tenant, &doomed, reason.as_deref()).await?;
    }

    Ok(Json(MatchingResponse::new(request.dry_run, candidates)))
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

        let most = self.max_forget.unwrap_or(DEFAULT_MEMORIES);
        if !(1..=MAX_MEMORIES).contains(&most) {
            return Err(Error::invalid_field(
                "maxForget",
                format!("1 to {MAX_MEMORIES}"),
            ));
        }

        Ok(MatchTarget::Query {
            text,
            threshold,
            most,
        })
    }
}

/// Returns the memories with these ids that are not forgotten, each once.
fn find_named(
    room: &ContainerMemories,
    ids: &[String],
) -> Result<Vec<(ForgetCandidate, MemoryToForget)>> {
    let known: BTreeMap<&MemoryId, LocatedMemory<'_>> = ids
        .iter()
        .filter_map(|id| room.get_memory(id))
        .map(|held| (&held.memory.id, held))
        .collect();
    if known.is_empty() {
        return Err(Error::NotFound("Memory"));
    }

    let live = known
        .into_values()
        .filter(|held| !held.memory.is_forgotten(room.now));
    let live: Vec<_> = live.map(|held| candidate_of(held, 1.0, room.now)).collect();
    if live.is_empty() {
        return Err(Error::Conflict(
            "all of these memories are already forgotten".into(),
        ));
    }

    Ok(live)
}

/// Returns the memories that a question finds, the most similar first.
fn find_similar(
    room: &ContainerMemories<ContainerIndex>,
    text: &str,
    threshold: f32,
    most: usize,
) -> Result<Vec<(ForgetCandidate, MemoryToForget)>> {
    let indexes: Vec<&ContainerIndex> = room
        .parts
        .iter()
        .map(|(_, memories)| memories.index())
        .collect();
    let admit = |view: &DocumentView<'_>| {
        room.get_memory(view.id)
            .is_some_and(|held| held.memory.is_live(room.now))
    };

    let query = SearchQuery {
        limit: most,
        admit: Some(&admit),
        ..SearchQuery::new(text, StaticEmbedder.embed(text))
    };

    let response = retrieval::search_containers(&indexes, &query)
        .map_err(|error| PortError::Corrupt(error.to_string()))?;
    let good = response
        .hits
        .iter()
        .filter(|hit| hit.similarity >= threshold);

    Ok(good
        .filter_map(|hit| {
            Some(candidate_of(
                room.get_memory(&hit.document)?,
                hit.similarity,
                room.now,
            ))
        })
        .collect())
}

fn candidate_of(
    held: LocatedMemory<'_>,
    score: f32,
    now: Timestamp,
) -> (ForgetCandidate, MemoryToForget) {
    let doomed = MemoryToForget::new(held, now);
    (
        ForgetCandidate {
            id: doomed.memory.clone(),
            memory: held.memory.text.clone(),
            score,
        },
        doomed,
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
