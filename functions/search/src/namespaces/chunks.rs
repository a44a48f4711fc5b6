//! `POST /ns/{namespace}/list/chunks`: lists the chunks of all documents.

use std::collections::BTreeMap;
use std::iter::zip;

use axum::extract::State;
use container_index::{IndexedChunks, read_attributes};
use domain::{
    ContainerTag, Error, Filter, IndexedDocument, Metadata, PortError, Result, Timestamp,
};
use edge::{
    ApiResult, Auth, CreatedAt, ItemPage, Json, NamespaceChunk, NoItem, Order, Pagination, Path,
    Query, ReadContent, deserialize_count, namespace_scope, public_id,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use search_engine::ChunkInput;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{GROUP, NAMESPACE};
use crate::SearchState;
use crate::engine::{find_physical_containers, load_document_chunks, open_chunks};

/// The number of chunks on a page if the request does not set a limit.
const DEFAULT_LIMIT: usize = 10;
/// The most chunks on a page. Part of the API.
const MAX_LIMIT: usize = 1100;

/// The page and the order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PageQuery {
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The number of chunks on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The field by which the list is sorted: a time of the document, or the position in it.
    #[schemars(extend("default" = "createdAt"))]
    sort: Option<ChunkSort>,
    /// The direction of the list. The default is `asc` for positions, and otherwise `desc`. The
    /// chunks of a document that is sorted by its time stay in the order of its text.
    order: Option<Order>,
}

/// The field by which chunks are sorted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum ChunkSort {
    /// The time of creation of the document.
    #[default]
    CreatedAt,
    /// The time of the last change of the document.
    UpdatedAt,
    /// The position in the document.
    Position,
}

/// The chunks to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ListNamespaceChunksRequest")]
pub(crate) struct ListRequest {
    /// Conditions on the metadata of the documents.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/FilterExpression"))]
    filter: Option<Value>,
}

/// A chunk in the list of a namespace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NamespaceChunkItem")]
pub(crate) struct ListedChunk {
    #[serde(flatten)]
    chunk: NamespaceChunk,
    /// The caller's own id of the document, or else that of the document.
    document_id: String,
}

pub(crate) async fn list_namespace_chunks(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
    Query(query): Query<PageQuery>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ItemPage<NoItem, ListedChunk, NoItem>>> {
    let scope = namespace_scope(&namespace)?;
    let (page, limit) = query.page_and_limit()?;
    let filter = Filter::parse_operators(request.filter.as_ref())?;

    let ids = find_physical_containers(&state.app.ctx, &tenant, &scope).await?;
    let indexed_chunks = open_chunks(&state, &tenant, &ids).await?;
    // The attributes of all documents are read.
    let views: Vec<_> = zip(&ids, &indexed_chunks).collect();
    let ctx = &state.app.ctx;
    let _large_read = state.chunks.fetch_all(ctx, &tenant, &views).await?;
    let documents = query.sort_documents(find_documents(&indexed_chunks, filter.as_ref())?);
    let total = documents.iter().map(|document| document.chunk_count).sum();

    let first = (page - 1).saturating_mul(limit);
    let places = match query.sort.unwrap_or_default() {
        ChunkSort::Position => select_by_position(&documents, query.is_ascending(), first, limit),
        ChunkSort::CreatedAt | ChunkSort::UpdatedAt => select_by_document(&documents, first, limit),
    };

    Ok(Json(ItemPage {
        documents: Vec::new(),
        chunks: load_chunks(&indexed_chunks, &documents, &places)?,
        memories: Vec::new(),
        pagination: Pagination::new(page, limit, total),
    }))
}

impl PageQuery {
    /// Checks the number and the size of the page.
    fn page_and_limit(&self) -> Result<(usize, usize)> {
        let (page, limit) = (self.page.unwrap_or(1), self.limit.unwrap_or(DEFAULT_LIMIT));
        if page == 0 {
            return Err(Error::invalid_field("page", "1 or more"));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")));
        }
        Ok((page, limit))
    }

    fn is_ascending(&self) -> bool {
        match self.order {
            Some(order) => order == Order::Asc,
            None => self.sort == Some(ChunkSort::Position),
        }
    }

    /// Sorts documents by the requested time, if there is one, and then by their ids.
    fn sort_documents(&self, mut documents: Vec<ChunkedDocument>) -> Vec<ChunkedDocument> {
        let field = self.sort.unwrap_or_default();
        documents.sort_by(|a, b| {
            let times = match field {
                ChunkSort::CreatedAt => a.created_at.cmp(&b.created_at),
                ChunkSort::UpdatedAt => a.updated_at.cmp(&b.updated_at),
                ChunkSort::Position => std::cmp::Ordering::Equal,
            };
            times.then_with(|| a.id.cmp(&b.id))
        });
        if !self.is_ascending() {
            documents.reverse();
        }
        documents
    }
}

/// A document that has chunks, with what the order of the list depends on.
#[derive(Debug, Clone, PartialEq)]
struct ChunkedDocument {
    /// The index of its container.
    container: usize,
    id: String,
    created_at: i64,
    updated_at: i64,
    chunk_count: usize,
}

/// The place of a listed chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ChunkPlace {
    /// The index of its document in the sorted list.
    document: usize,
    position: usize,
}

/// Returns the documents that have chunks and satisfy the filter, in no order.
fn find_documents(
    indexed_chunks: &[IndexedChunks],
    filter: Option<&Filter>,
) -> Result<Vec<ChunkedDocument>> {
    let mut found = Vec::new();
    for (container, chunks) in indexed_chunks.iter().enumerate() {
        for view in chunks.index.documents() {
            let document = read_attributes(&view)?;
            let metadata = Metadata::from_stored(document.metadata);
            if view.chunks == 0 || filter.is_some_and(|filter| !filter.matches(&metadata)) {
                continue;
            }
            let id = view
                .id()
                .map_err(|error| PortError::Corrupt(error.to_string()))?;
            found.push(ChunkedDocument {
                container,
                id: id.into_owned(),
                created_at: document.created_at,
                updated_at: document.updated_at,
                chunk_count: view.chunks as usize,
            });
        }
    }

    Ok(found)
}

/// Returns the places of a page of a list in which the chunks of each document follow each other.
fn select_by_document(
    documents: &[ChunkedDocument],
    first: usize,
    limit: usize,
) -> Vec<ChunkPlace> {
    let mut places = Vec::new();
    let mut skipped = first;
    for (index, document) in documents.iter().enumerate() {
        for position in skipped.min(document.chunk_count)..document.chunk_count {
            if places.len() == limit {
                return places;
            }
            places.push(ChunkPlace {
                document: index,
                position,
            });
        }
        skipped = skipped.saturating_sub(document.chunk_count);
    }

    places
}

/// Returns the places of a page of a list in which the chunks with the same position follow each
/// other, in the order of their documents.
fn select_by_position(
    documents: &[ChunkedDocument],
    is_ascending: bool,
    first: usize,
    limit: usize,
) -> Vec<ChunkPlace> {
    let counts = count_by_position(documents);
    let mut positions: Vec<usize> = (0..counts.len()).collect();
    if !is_ascending {
        positions.reverse();
    }

    let mut places = Vec::new();
    let mut skipped = first;
    for position in positions {
        if skipped >= counts[position] {
            skipped -= counts[position];
            continue;
        }
        for (index, document) in documents.iter().enumerate() {
            if document.chunk_count <= position {
                continue;
            }
            if skipped > 0 {
                skipped -= 1;
                continue;
            }
            if places.len() == limit {
                return places;
            }
            places.push(ChunkPlace {
                document: index,
                position,
            });
        }
    }

    places
}

/// Returns the number of chunks at each position.
fn count_by_position(documents: &[ChunkedDocument]) -> Vec<usize> {
    let longest = documents.iter().map(|document| document.chunk_count).max();
    let mut counts = vec![0; longest.unwrap_or(0)];
    for document in documents {
        counts[document.chunk_count - 1] += 1;
    }

    // Now each document counts at its last position only.
    for position in (1..counts.len()).rev() {
        counts[position - 1] += counts[position];
    }

    counts
}

/// Returns the chunks at these places. Each document is read once, and one at a time.
fn load_chunks(
    indexed_chunks: &[IndexedChunks],
    documents: &[ChunkedDocument],
    places: &[ChunkPlace],
) -> Result<Vec<ListedChunk>> {
    let mut ranks_by_document: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (rank, place) in places.iter().enumerate() {
        ranks_by_document
            .entry(place.document)
            .or_default()
            .push(rank);
    }

    let mut listed: BTreeMap<usize, ListedChunk> = BTreeMap::new();
    for (index, ranks) in ranks_by_document {
        let document = &documents[index];
        let container = &indexed_chunks[document.container].index;
        let Some(view) = container.document(&document.id) else {
            return Err(PortError::Corrupt("a document of the index".into()).into());
        };
        let attributes = read_attributes(&view)?;
        let chunks = load_document_chunks(container, &document.id)?;
        for rank in ranks {
            if let Some(chunk) = chunks.get(places[rank].position) {
                listed.insert(rank, ListedChunk::new(chunk, &attributes));
            }
        }
    }

    Ok(listed.into_values().collect())
}

impl ListedChunk {
    fn new(chunk: &ChunkInput, document: &IndexedDocument) -> Self {
        let mut headings = Vec::new();
        for heading in chunk.headings.split('\n').filter(|text| !text.is_empty()) {
            headings.push(heading.to_owned());
        }
        let position = chunk.position as usize;

        Self {
            chunk: NamespaceChunk {
                id: document.id.chunk_id(position),
                position,
                content: chunk.text.clone(),
                r#type: "text",
                metadata: NamespaceChunk::place(
                    chunk.start as usize,
                    chunk.end as usize,
                    &headings,
                ),
                system: CreatedAt {
                    created_at: Timestamp::from_millis(document.updated_at),
                },
            },
            document_id: public_id(&document.id, document.custom_id.as_ref()),
        }
    }
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/list/chunks", "list_namespace_chunks")
            .group(GROUP)
            .summary("List the chunks of a namespace, those of the newest document first.")
            .description(
                "Chunks that search can find. The headings begin with the title of the document. \
                 The lists of documents and memories are empty.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<PageQuery>()
            .optional_body::<ListRequest>(json!({
                "filter": {"field": "year", "operator": "gte", "value": 2020},
            }))
            .answer::<ItemPage<NoItem, ListedChunk, NoItem>>(
                "A page of chunks.",
                json!({
                    "documents": [],
                    "chunks": [{
                        "id": "acxV5LHMEsG2hMSNb4umbn-0",
                        "position": 0,
                        "content": "The heron waits in the reeds of the north bank.",
                        "type": "text",
                        "metadata": {"start": 0, "end": 47, "headings": ["Birds"]},
                        "system": {"createdAt": "2026-03-01T09:30:02.120Z"},
                        "documentId": "note-17",
                    }],
                    "memories": [],
                    "pagination": {
                        "currentPage": 1,
                        "limit": 10,
                        "totalItems": 1,
                        "totalPages": 1,
                    },
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(chunk_counts: &[usize]) -> Vec<ChunkedDocument> {
        let document = |(index, count): (usize, &usize)| ChunkedDocument {
            container: 0,
            id: index.to_string(),
            created_at: 0,
            updated_at: 0,
            chunk_count: *count,
        };
        chunk_counts.iter().enumerate().map(document).collect()
    }

    fn pairs(places: Vec<ChunkPlace>) -> Vec<(usize, usize)> {
        let pair = |place: ChunkPlace| (place.document, place.position);
        places.into_iter().map(pair).collect()
    }

    #[test]
    fn pages_of_every_order_are_parts_of_the_whole_list() {
        let documents = documents(&[2, 1, 3]);
        let by_document = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)];
        let ascending = [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (2, 2)];
        let descending = [(2, 2), (0, 1), (2, 1), (0, 0), (1, 0), (2, 0)];
        for limit in 1..=7 {
            for first in 0..=7 {
                let end = (first + limit).min(6);
                let range = first.min(6)..end;
                let found = select_by_document(&documents, first, limit);
                assert_eq!(pairs(found), by_document[range.clone()]);
                let found = select_by_position(&documents, true, first, limit);
                assert_eq!(pairs(found), ascending[range.clone()]);
                let found = select_by_position(&documents, false, first, limit);
                assert_eq!(pairs(found), descending[range]);
            }
        }
        assert!(select_by_position(&[], true, 0, 10).is_empty());
    }
}
