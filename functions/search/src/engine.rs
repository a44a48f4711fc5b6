//! Finds the chunks and memories that answer a question, over every container in scope.

use std::sync::Arc;
use std::time::Instant;

use container_index::{
    ContainerState, ContainerView, IndexedChunks, IndexedMemories, ViewCache, decode_attributes,
    read_attributes,
};
use domain::ports::PortResult;
use domain::{
    ContainerId, Error, Filter, IndexedDocument, Metadata, PortError, Result, Tenant, Timestamp,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use memory_model::Memory;
use search_engine::{
    ChunkInput, ContainerIndex, DocumentView, Embedder, QueryModel, SearchHit, SearchProgress,
    SearchQuery, StaticEmbedder, WiderLimit,
};
use service::Ctx;
use service::{ContainerScope, MAX_CONTAINERS_WITHOUT_TAG, find_first_containers, path_matches};

use crate::SearchState;
use crate::boosts::BOOST_CANDIDATES;

/// A question, and the restrictions on its answers.
#[derive(Debug, Clone)]
pub(crate) struct SearchQuestion<'a> {
    pub(crate) text: &'a str,
    /// Its vectors by chosen models, set when the containers are open.
    pub(crate) models: Arc<[QueryModel]>,
    pub(crate) filter: Option<Filter>,
    pub(crate) filepath: Option<String>,
    pub(crate) only_document: Option<&'a str>,
    pub(crate) limit: usize,
    /// The time of the question. Whatever has expired by then is not found.
    pub(crate) now: Timestamp,
    /// The system time to search, if it is in the past. Documents that were created later are not found.
    pub(crate) recorded_until: Option<Timestamp>,
    /// Includes forgotten memories.
    pub(crate) include_forgotten: bool,
}

impl SearchQuestion<'_> {
    /// Checks whether the question restricts the documents from which answers come.
    fn is_filtered(&self) -> bool {
        self.filter.is_some() || self.filepath.is_some() || self.recorded_until.is_some()
    }
}

/// A chunk with the index's record of its document.
#[derive(Clone)]
pub(crate) struct FoundChunk {
    pub(crate) hit: SearchHit,
    pub(crate) document: IndexedDocument,
}

/// A memory with its search hit.
#[derive(Clone)]
pub(crate) struct FoundMemory {
    pub(crate) hit: SearchHit,
    pub(crate) memory: Memory,
    /// True if the text of the memory is that of several memories about one subject.
    pub(crate) is_aggregated: bool,
}

impl FoundMemory {
    /// Checks whether both are about one subject and from one source. Statements of others are not
    /// mixed with those of the user.
    pub(crate) fn is_about_same(&self, other: &Self) -> bool {
        let subject = subject_of(&self.memory);
        subject.is_some()
            && subject == subject_of(&other.memory)
            && self.memory.attribution == other.memory.attribution
    }
}

/// Returns the subject of a memory, or else its speaker.
fn subject_of(memory: &Memory) -> Option<&str> {
    match &memory.topic_answer {
        Some(topic) => Some(&topic.subject),
        None => memory.speaker.as_deref(),
    }
}

/// Returns the milliseconds since a request began.
pub(crate) fn elapsed_millis(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Returns the sentence of a hint about results that the threshold in `field` hides. `result` is
/// the word for one of them. Returns `None` if nothing was found below the threshold either.
pub(crate) fn explain_threshold(
    result: &str,
    similarities: impl Iterator<Item = f32>,
    field: &str,
    threshold: f32,
) -> Option<String> {
    let best = similarities.fold(0.0, f32::max);
    (best > 0.0).then(|| {
        // Rounded, it could be as large as the threshold.
        let shown = (best * 100.0).floor() / 100.0;
        format!(
            "The best {result} has a similarity of {shown:.2}, below the `{field}` of \
             {threshold:.2}. Lower it to get the {result}."
        )
    })
}

/// Returns the physical containers of a scope.
///
/// # Errors
/// [`Error::Invalid`] if the scope names no container and there are more than
/// [`MAX_CONTAINERS_WITHOUT_TAG`], those of the ports, and of a tag that the key does not reach.
pub(crate) async fn find_physical_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Vec<ContainerId>> {
    let limit = MAX_CONTAINERS_WITHOUT_TAG + 1;
    let containers = find_first_containers(ctx, tenant, scope, limit).await?;
    let is_cut = containers.len() == limit;
    let mut ids = Vec::new();
    for container in containers {
        ids.extend(container.ids);
    }

    if scope.tags.is_empty() && (is_cut || ids.len() > MAX_CONTAINERS_WITHOUT_TAG) {
        return Err(Error::invalid(format!(
            "There are more than {MAX_CONTAINERS_WITHOUT_TAG} containers, which is the most that a search \
             without a container tag reaches. Name the containers to search."
        )));
    }
    Ok(ids)
}

/// The number of containers that are opened at the same time.
const PARALLEL_CONTAINERS: usize = 8;

/// The views that a search opens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededViews {
    pub(crate) memories: bool,
    pub(crate) chunks: bool,
    /// False if the views are only read.
    pub(crate) searches: bool,
}

impl NeededViews {
    const CHUNKS: Self = Self {
        memories: false,
        chunks: true,
        searches: true,
    };
    /// Needs the memories, which are searched or only read.
    fn memories(searches: bool) -> Self {
        Self {
            memories: true,
            chunks: false,
            searches,
        }
    }
}

/// Opens these containers. A view that is not needed is empty.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn open_containers(
    state: &SearchState,
    tenant: &Tenant,
    ids: &[ContainerId],
    needed: NeededViews,
) -> Result<(Vec<IndexedMemories>, Vec<IndexedChunks>)> {
    let mut opening = Vec::with_capacity(ids.len());
    for id in ids {
        opening.push(open_container(state, tenant, id, needed));
    }
    let opened: Vec<_> = stream::iter(opening)
        .buffered(PARALLEL_CONTAINERS)
        .try_collect()
        .await?;
    Ok(opened.into_iter().unzip())
}

/// Opens one container, from one read of its head.
async fn open_container(
    state: &SearchState,
    tenant: &Tenant,
    id: &ContainerId,
    needed: NeededViews,
) -> Result<(IndexedMemories, IndexedChunks)> {
    let ctx = &state.app.ctx;
    let are_warm = (!needed.memories || state.memories.is_warm(tenant, id))
        && (!needed.chunks || state.chunks.is_warm(tenant, id));
    let current = ContainerState::read(ctx, tenant, id, are_warm).await?;

    let memories = needed.memories.then_some(&*state.memories);
    let chunks = needed.chunks.then_some(&*state.chunks);
    Ok(tokio::try_join!(
        open_view(memories, ctx, tenant, id, &current, needed.searches),
        open_view(chunks, ctx, tenant, id, &current, needed.searches),
    )?)
}

/// Opens a view of a container in its cache. Without a cache, the view is empty.
async fn open_view<V: ContainerView>(
    cache: Option<&ViewCache<V>>,
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    current: &ContainerState,
    searches: bool,
) -> PortResult<V> {
    let current = current.clone();
    match cache {
        Some(cache) => cache.open_for(ctx, tenant, id, current, searches).await,
        None => Ok(V::empty(id)),
    }
}

/// Opens the chunks of these containers.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn open_chunks(
    state: &SearchState,
    tenant: &Tenant,
    ids: &[ContainerId],
) -> Result<Vec<IndexedChunks>> {
    let (_, chunks) = open_containers(state, tenant, ids, NeededViews::CHUNKS).await?;
    Ok(chunks)
}

/// Opens the memories of these containers, which are searched or only read.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn open_memories(
    state: &SearchState,
    tenant: &Tenant,
    ids: &[ContainerId],
    searches: bool,
) -> Result<Vec<IndexedMemories>> {
    let needed = NeededViews::memories(searches);
    let (memories, _) = open_containers(state, tenant, ids, needed).await?;
    Ok(memories)
}

/// Finds the chunks that answer a question, the best first. There are at least [`BOOST_CANDIDATES`] if
/// `needs_more` holds for a hit within the limit, and the index has so many.
///
/// # Errors
/// [`PortError::Corrupt`] if stored data cannot be read.
pub(crate) fn find_chunks(
    indexed_chunks: &[IndexedChunks],
    question: &SearchQuestion<'_>,
    needs_more: &dyn Fn(&SearchHit) -> bool,
    progress: &mut SearchProgress,
) -> Result<Vec<FoundChunk>> {
    let admit = |view: &DocumentView<'_>| admits_document(question, view);
    let indexes: Vec<&ContainerIndex> = indexed_chunks.iter().map(|chunks| &chunks.index).collect();
    let hits = search_index(
        &indexes,
        question,
        question.is_filtered().then_some(&admit as &Admission<'_>),
        Some(WiderLimit {
            limit: BOOST_CANDIDATES,
            is_wanted: needs_more,
        }),
        progress,
    )?;
    let mut found = Vec::with_capacity(hits.len());
    for hit in hits {
        found.push(FoundChunk {
            document: decode_attributes(&hit.attributes)?,
            hit,
        });
    }

    Ok(found)
}

/// Returns the stored chunks of a document in reading order, or none if the index lacks it.
///
/// # Errors
/// [`PortError::Corrupt`] if they cannot be read.
pub(crate) fn load_document_chunks(index: &ContainerIndex, id: &str) -> Result<Vec<ChunkInput>> {
    match index.load_document(id) {
        Ok(Some(document)) => Ok(document.chunks),
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(PortError::Corrupt(error.to_string()).into()),
    }
}

/// Finds the present memories that answer a question, the best first. There are at least
/// [`BOOST_CANDIDATES`] if `needs_more` holds for a hit within the limit, and there are so many.
///
/// # Errors
/// [`PortError::Corrupt`] if stored data cannot be read.
pub(crate) fn find_memories(
    indexed_memories: &[IndexedMemories],
    question: &SearchQuestion<'_>,
    needs_more: &dyn Fn(&SearchHit) -> bool,
    progress: &mut SearchProgress,
) -> Result<Vec<FoundMemory>> {
    let admit = |view: &DocumentView<'_>| admits_memory(question, indexed_memories, view);
    let indexes: Vec<&ContainerIndex> = indexed_memories
        .iter()
        .map(IndexedMemories::index)
        .collect();
    let admit = question.is_filtered().then_some(&admit as &Admission<'_>);
    let wider = WiderLimit {
        limit: BOOST_CANDIDATES,
        is_wanted: needs_more,
    };
    let hits = search_index(&indexes, question, admit, Some(wider), progress)?;
    let mut found = Vec::with_capacity(hits.len());
    for hit in hits {
        let Some(memory) = Memory::from_record(&hit.attributes) else {
            return Err(PortError::Corrupt("a memory in the index".into()).into());
        };
        found.push(FoundMemory {
            memory,
            hit,
            is_aggregated: false,
        });
    }

    Ok(found)
}

/// A filter of documents.
type Admission<'a> = dyn Fn(&DocumentView<'_>) -> bool + 'a;

fn search_index(
    indexes: &[&ContainerIndex],
    question: &SearchQuestion<'_>,
    admit: Option<&Admission<'_>>,
    wider: Option<WiderLimit<'_>>,
    progress: &mut SearchProgress,
) -> Result<Vec<SearchHit>> {
    let query = SearchQuery {
        limit: question.limit,
        wider,
        admit,
        live_at: (!question.include_forgotten).then_some(question.now.as_millis()),
        models: &question.models,
        only_document: question.only_document,
        ..SearchQuery::new(question.text, StaticEmbedder.embed(question.text))
    };

    match search_engine::continue_search(indexes, &query, progress) {
        Ok(response) => Ok(response.hits),
        Err(error) => Err(PortError::Corrupt(error.to_string()).into()),
    }
}

fn admits_document(question: &SearchQuestion<'_>, view: &DocumentView<'_>) -> bool {
    // A document whose attributes cannot be read is left out, because it might not pass the filter.
    let Ok(document) = read_attributes(view) else {
        return false;
    };
    let recorded_until = question.recorded_until;
    if recorded_until.is_some_and(|time| document.created_at > time.as_millis()) {
        return false;
    }
    if let Some(filepath) = &question.filepath
        && !path_matches(filepath, document.filepath.as_deref())
    {
        return false;
    }
    match &question.filter {
        Some(filter) => filter.matches(&Metadata::from_stored(document.metadata)),
        None => true,
    }
}

/// Checks whether a memory passes the filters of a question.
fn admits_memory(
    question: &SearchQuestion<'_>,
    indexed_memories: &[IndexedMemories],
    view: &DocumentView<'_>,
) -> bool {
    // A memory that cannot be read is left out, because it might not pass the filter.
    let record = view.attributes().ok();
    let Some(memory) = record.and_then(|record| Memory::from_record(&record)) else {
        return false;
    };
    let mut ledgers = indexed_memories.iter().map(IndexedMemories::ledger);
    let Some(ledger) = ledgers.find(|ledger| ledger.has_memory(&memory.id)) else {
        return false;
    };
    if let Some(filepath) = &question.filepath {
        let has_path = ledger
            .documents_of(&memory)
            .iter()
            .any(|document| path_matches(filepath, document.filepath.as_deref()));
        if !has_path {
            return false;
        }
    }

    match &question.filter {
        Some(filter) => ledger.matches_filter(filter, &memory),
        None => true,
    }
}
