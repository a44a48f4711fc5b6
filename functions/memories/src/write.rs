//! `POST /v4/memories`: adds memories in a client's own words.

use std::sync::Arc;

use axum::extract::State;
use container_index::{ContainerView, read_until_fetched};
use domain::{
    ContainerTag, DocumentId, Error, MemoryId, Metadata, PortError, Result, Statement, Timestamp,
};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, WriteContent, deserialize_bool, deserialize_optional_object,
};
use http::StatusCode;
use memory_model::{DocumentStatements, Ledger, Memory, statement_from_client};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::{open_container, write_memories};

use crate::MemoriesState;
use crate::fields::{
    MAX_REASON_CHARS, TemporalContext, check_content, check_reason, parse_forget_after,
    resolve_container_tag,
};

/// The most memories of one request. Part of the API.
const MAX_MEMORIES: usize = 100;
/// The time in seconds within which the same memories may be a client's retry: 2 minutes. Part of
/// the API.
const REPEAT_SECONDS: i64 = 120;

/// The memories to write.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "CreateMemoriesRequest", extend("required" = ["memories"]))]
pub(crate) struct CreateRequest {
    /// The container tag. The first memory or document with a tag creates it.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
    /// The memories. Equal ones count once.
    #[schemars(length(min = 1, max = MAX_MEMORIES))]
    memories: Vec<NewMemory>,
}

/// A memory to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NewMemory {
    /// The text of the memory.
    #[schemars(length(min = 1, max = 10000))]
    content: String,
    /// True if it is lasting: a trait rather than an episode.
    #[serde(default, deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    is_static: bool,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The day or the time, in the future, from which it counts as forgotten.
    forget_after: Option<String>,
    /// The reason for forgetting it.
    #[schemars(length(max = MAX_REASON_CHARS))]
    forget_reason: Option<String>,
    /// The time of the statement, and the time of the event that it describes.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    temporal_context: Option<TemporalContext>,
}

/// The memories that were written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CreateMemoriesResponse")]
pub(crate) struct CreateResponse {
    /// The id of the document that holds the memories.
    document_id: DocumentId,
    memories: Vec<CreatedMemory>,
}

/// A memory after the request. If it repeats an existing memory, it has the id and the text of that
/// one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreatedMemory {
    /// Its id.
    id: MemoryId,
    /// The text of the memory.
    memory: String,
    /// True if it is lasting.
    is_static: bool,
    /// The time of creation.
    created_at: Timestamp,
    /// The time from which it counts as forgotten; null means never.
    forget_after: Option<Timestamp>,
    /// The reason for forgetting it.
    #[schemars(length(max = MAX_REASON_CHARS))]
    forget_reason: Option<String>,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
}

pub(crate) async fn create_memories(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Json(request): Json<CreateRequest>,
) -> ApiResult<(StatusCode, Json<CreateResponse>)> {
    let ctx = &state.app.ctx;
    let tag = resolve_container_tag(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let sent = SentMemories::parse_memories(&request.memories, ctx.clock.now())?;
    let container = open_container(ctx, &tenant, Some(tag), None).await?;
    let memories_before = state
        .ledgers
        .open(ctx, &tenant, container.primary_id())
        .await?;
    let find_repeated = || sent.find_repeated_document(memories_before.ledger());
    let partial = memories_before.partial_segments();
    let repeated = read_until_fetched(ctx, &tenant, partial, find_repeated).await?;
    let statements = match repeated {
        Some(document_statements) => document_statements.statements.clone(),
        None => sent.statements.clone(),
    };

    let document = write_memories(ctx, &tenant, &container, statements).await?;
    let memories_after = state
        .ledgers
        .open(ctx, &tenant, &document.container)
        .await?;
    let read_written = || -> Option<Vec<CreatedMemory>> {
        let written = sent.statement_indices.iter().map(|index| {
            let start = sent.statements[*index].start;
            let memory = memory_stated_at(memories_after.ledger(), &document.id, start)?;
            Some(CreatedMemory::new(&memory))
        });
        written.collect()
    };
    let partial = memories_after.partial_segments();
    let written = read_until_fetched(ctx, &tenant, partial, read_written).await?;
    // A memory has just been deleted.
    let memories = written.ok_or(PortError::Conflict)?;
    Ok((
        StatusCode::CREATED,
        Json(CreateResponse {
            document_id: document.id,
            memories,
        }),
    ))
}

/// The memories of a request.
struct SentMemories {
    /// The statements, each once.
    statements: Vec<Statement>,
    /// Set for each statement whose time the request gives.
    has_said_at: Vec<bool>,
    /// The index of the statement for each memory of the request.
    statement_indices: Vec<usize>,
    now: Timestamp,
}

impl SentMemories {
    fn parse_memories(memories: &[NewMemory], now: Timestamp) -> Result<Self> {
        if !(1..=MAX_MEMORIES).contains(&memories.len()) {
            return Err(Error::invalid_field(
                "memories",
                format!("1 to {MAX_MEMORIES} memories"),
            ));
        }

        let mut sent = Self {
            statements: Vec::new(),
            has_said_at: Vec::new(),
            statement_indices: Vec::new(),
            now,
        };

        // The memories form the text of their document, one after the other with a line break
        // between them.
        let mut start = 0;
        for (index, new) in memories.iter().enumerate() {
            let mut statement = new
                .build_statement(now)
                .map_err(|error| with_memory_position(index, error))?;
            let existing = sent
                .statements
                .iter()
                .position(|existing| existing.text == statement.text);
            sent.statement_indices
                .push(existing.unwrap_or(sent.statements.len()));
            if existing.is_none() {
                statement.start += start;
                statement.end += start;
                start = statement.end + 1;
                sent.statements.push(statement);
                sent.has_said_at.push(new.parse_said_at()?.is_some());
            }
        }

        Ok(sent)
    }

    /// Returns the recent document with the same memories, if all of them still exist. This
    /// recognizes a retry, even though memories without a date have an earlier time in the first
    /// request.
    fn find_repeated_document(&self, ledger: &Ledger) -> Option<Arc<DocumentStatements>> {
        let since = self.now.plus_seconds(-REPEAT_SECONDS);
        let first = self.statements.first()?;
        ledger
            .documents_on_topic_of(first, since.min(first.said_at))
            .into_iter()
            .filter(|document_statements| {
                document_statements.document.created_at >= since.as_millis()
            })
            .find(|document_statements| {
                let mut pairs = self
                    .statements
                    .iter()
                    .zip(&self.has_said_at)
                    .zip(&document_statements.statements);
                document_statements.statements.len() == self.statements.len()
                    && pairs.all(|((new, has_said_at), old)| {
                        let said_at = if *has_said_at {
                            new.said_at
                        } else {
                            old.said_at
                        };
                        Statement {
                            said_at,
                            ..new.clone()
                        } == *old
                    })
                    && ledger
                        .memories_of_document(&document_statements.document.id)
                        .iter()
                        .all(|memory| memory.is_live(self.now))
            })
    }
}

impl NewMemory {
    fn parse_said_at(&self) -> Result<Option<Timestamp>> {
        Ok(self
            .temporal_context
            .as_ref()
            .map(TemporalContext::parse_said_at)
            .transpose()?
            .flatten())
    }

    fn build_statement(&self, now: Timestamp) -> Result<Statement> {
        let text = check_content("content", &self.content)?;
        let context = self.temporal_context.clone().unwrap_or_default();
        let metadata = Metadata::parse(self.metadata.clone().unwrap_or_default())?;
        let forget_after = self
            .forget_after
            .as_deref()
            .map(|forget_after| parse_forget_after(forget_after, now))
            .transpose()?;

        Ok(Statement {
            is_static: self.is_static,
            event: context.parse_event()?,
            forget_after,
            forget_reason: check_reason("forgetReason", self.forget_reason.clone())?,
            metadata: metadata.as_object().clone(),
            ..statement_from_client(text, self.parse_said_at()?.unwrap_or(now))
        })
    }
}

/// Adds the position of the memory in the request to an error.
fn with_memory_position(index: usize, error: Error) -> Error {
    let Error::Invalid {
        message,
        mut issues,
    } = error
    else {
        return error;
    };

    for issue in &mut issues {
        issue
            .path
            .splice(0..0, ["memories".to_owned(), index.to_string()]);
    }

    Error::Invalid {
        message: format!("memories[{index}].{message}"),
        issues,
    }
}

/// Returns the memory that contains this statement of a document.
fn memory_stated_at(ledger: &Ledger, document: &DocumentId, start: usize) -> Option<Arc<Memory>> {
    let stated = ledger.stated_memories(document).into_iter();
    let mut at_start = stated.filter(|(span, _)| span.start == start);
    at_start.next().map(|(_, memory)| memory)
}

impl CreatedMemory {
    fn new(memory: &Memory) -> Self {
        Self {
            id: memory.id.clone(),
            memory: memory.text.clone(),
            is_static: memory.is_static,
            created_at: memory.created_at,
            forget_after: memory.forget_after,
            forget_reason: memory.forget_reason.clone(),
            metadata: (!memory.metadata.is_empty()).then(|| memory.metadata.clone()),
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v4/memories", "create_memories")
            .group("Ingest")
            .summary("Write memories in the caller's own words.")
            .description(
                "They can be found at once, and belong to a document of their own. A plain \
                 sentence that answers a topic replaces the earlier answer. The same memories \
                 within two minutes are the same document.",
            )
            .body::<CreateRequest>(json!({
                "containerTag": "user_42",
                "memories": [
                    {
                        "content": "Mara counts the herons every spring.",
                        "metadata": {"source": "diary"},
                        "temporalContext": {
                            "documentDate": "2026-03-01",
                            "eventDate": ["2026-03-20", "2026-03-22"],
                        },
                    },
                    {"content": "Answer in one sentence.", "isStatic": true},
                ],
            }))
            .answer_with::<CreateResponse>(
                201,
                "The memories, in the order of the request.",
                json!({
                    "documentId": "5Hd1p8aGkT9mYwqZrLcXv2",
                    "memories": [
                        {
                            "id": "acxV5LHMEsG2hMSNb4umbn",
                            "memory": "Mara counts the herons every spring.",
                            "isStatic": false,
                            "createdAt": "2026-03-01T09:30:00.000Z",
                            "forgetAfter": null,
                            "forgetReason": null,
                            "metadata": {"source": "diary"},
                        },
                    ],
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The container is being merged, or was changed at the same time. Send the request \
                 again later.",
            ),
    ]
}
