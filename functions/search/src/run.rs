//! A search over memories and chunks, whatever the form of the request and of the answer.

use std::iter::zip;
use std::panic::resume_unwind;
use std::thread;

use container_index::{IndexedChunks, IndexedMemories, partial_segments, read_until_fetched};
use domain::{ContainerId, Result, Tenant, Timestamp};
use memory_model::Memory;
use memory_model::asker::QuestionPeople;
use search_engine::{SearchHit, SearchProgress};
use service::{ContainerScope, Ctx, explain_empty_result, join_reasons};
use tracing::Instrument;

use crate::SearchState;
use crate::boosts::{Boosts, may_have_assistant, sort_by_people};
use crate::engine::{
    NeededViews, SearchQuestion, explain_threshold, find_chunks, find_memories,
    find_physical_containers, open_containers,
};
use crate::mask::{mask_found, may_be_forgotten};
use crate::rank::{
    Candidates, ResultRow, aggregate_by_subject, merge_answers, mix_rows, query_wordings,
    sort_reranked_rows, sort_rows,
};
use crate::rerank::{RERANK_CANDIDATES, rerank};
use crate::v4::SearchMode;

/// The number of chunks, and of memories, from which both are searched at the same time. To search so many
/// takes a millisecond, and to start a thread about a twentieth of it.
const PARALLEL_FROM: usize = 50_000;

/// A checked request.
#[derive(Clone)]
pub(crate) struct Search<'a> {
    pub(crate) mode: SearchMode,
    pub(crate) question: SearchQuestion<'a>,
    pub(crate) threshold: f32,
    /// The present time.
    pub(crate) now: Timestamp,
    /// True if the memories of the past are searched, as they were known at the system time of the question
    /// and true at its time.
    pub(crate) is_about_past: bool,
    /// Opens the chunks for the results, whatever the mode.
    pub(crate) includes_chunks: bool,
    /// Asks in several wordings.
    pub(crate) rewrites_query: bool,
    /// Chooses the results by a second look at the texts of more candidates.
    pub(crate) reranks: bool,
    /// Joins the memories about one subject.
    pub(crate) aggregates: bool,
}

/// The data to search: of every physical container in scope.
pub(crate) struct Sources {
    pub(crate) memories: Vec<IndexedMemories>,
    pub(crate) chunks: Vec<IndexedChunks>,
}

impl Sources {
    /// Runs `read`, which reads from these sources, until it lacks nothing, and fetches what it lacks.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn read<T>(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        read: impl FnMut() -> T,
    ) -> Result<T> {
        let mut partial = partial_segments(&self.memories);
        partial.extend(partial_segments(&self.chunks));
        Ok(read_until_fetched(ctx, tenant, &partial, read).await?)
    }

    /// Checks whether a search of both, of chunks and of memories, takes long enough to use two threads.
    fn are_large(&self) -> bool {
        let chunks = self.chunks.iter().map(|chunks| chunks.index.len_chunks());
        let memories = self.memories.iter();
        let memories = memories.map(|memories| memories.index().len_chunks());
        chunks.sum::<usize>().min(memories.sum()) >= PARALLEL_FROM
    }
}

/// The progress of the searches for one wording of the question.
#[derive(Default)]
struct WordingProgress {
    chunks: SearchProgress,
    memories: SearchProgress,
}

/// Runs both, the first in a thread of its own if both take long.
fn run_both<A: Send, B>(
    are_long: bool,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if !are_long {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        match first.join() {
            Ok(first) => (first, second),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// The rows that a search found, the most similar first.
pub(crate) struct SearchOutcome {
    pub(crate) rows: Vec<ResultRow>,
    pub(crate) sources: Sources,
    /// The physical containers that were searched.
    pub(crate) containers: Vec<ContainerId>,
    /// The reason why there are no rows, and what to do.
    pub(crate) hint: Option<String>,
}

impl Search<'_> {
    /// Searches the containers of a scope.
    ///
    /// # Errors
    /// Those of the ports, and of a tag that the key does not reach.
    pub(crate) async fn run(
        &self,
        state: &SearchState,
        tenant: &Tenant,
        scope: &ContainerScope,
    ) -> Result<SearchOutcome> {
        let ids = find_physical_containers(&state.app.ctx, tenant, scope).await?;
        let opening = self.open_sources(state, tenant, &ids);
        let sources = spans::trace(spans::step_span("open containers"), opening).await?;
        let models = state
            .questions
            .embed_question(
                &state.app.ctx,
                tenant,
                &ids,
                &sources.chunks,
                self.question.text,
            )
            .await;
        let embedded = Search {
            question: SearchQuestion {
                models,
                ..self.question.clone()
            },
            ..self.clone()
        };
        embedded.run_in(state, tenant, scope, ids, sources).await
    }

    /// Searches these containers.
    async fn run_in(
        &self,
        state: &SearchState,
        tenant: &Tenant,
        scope: &ContainerScope,
        ids: Vec<ContainerId>,
        sources: Sources,
    ) -> Result<SearchOutcome> {
        let ctx = &state.app.ctx;
        let ranking = spans::step_span("rank");
        let mut progress = Vec::new();
        let mut candidates = sources
            .read(ctx, tenant, || {
                ranking.in_scope(|| self.find_candidates(&sources, &mut progress))
            })
            .await??;
        if self.reranks {
            rerank(&*state.reranker, self.question.text, &mut candidates)
                .instrument(spans::step_span("rerank"))
                .await;
        }
        let mut rows = mix_rows(candidates, self.question.limit);
        if self.reranks {
            sort_reranked_rows(&mut rows);
        } else {
            sort_rows(&mut rows);
        }
        if self.aggregates {
            rows = aggregate_by_subject(rows);
        }

        let hint = match rows.is_empty() {
            true => {
                self.explain_empty_results(state, tenant, scope, &ids, &sources)
                    .await?
            }
            false => None,
        };
        Ok(SearchOutcome {
            rows,
            sources,
            containers: ids,
            hint,
        })
    }

    /// Opens the data that the search and its results need, as of the requested time.
    async fn open_sources(
        &self,
        state: &SearchState,
        tenant: &Tenant,
        ids: &[ContainerId],
    ) -> Result<Sources> {
        let needed = NeededViews {
            memories: self.mode != SearchMode::Documents,
            chunks: self.mode != SearchMode::Memories || self.includes_chunks,
            searches: true,
        };
        let (mut memories, chunks) = open_containers(state, tenant, ids, needed).await?;
        if self.is_about_past {
            let views: Vec<_> = zip(ids, &memories).collect();
            let ctx = &state.app.ctx;
            let _large_read = state.memories.fetch_all(ctx, tenant, &views).await?;
            let recorded_until = self.question.recorded_until.unwrap_or(self.now);
            for memories in &mut memories {
                *memories = memories.as_of(recorded_until, self.question.now);
            }
        }

        Ok(Sources { memories, chunks })
    }

    /// Finds the rows that reach the threshold, by the question or by several wordings of it if the
    /// request asks for that. A reranker sees more of them than the answer has.
    fn find_candidates(
        &self,
        sources: &Sources,
        progress: &mut Vec<WordingProgress>,
    ) -> Result<Candidates> {
        let wordings = match self.rewrites_query {
            true => query_wordings(self.question.text),
            false => vec![self.question.text.to_owned()],
        };
        let limit = match self.reranks {
            true => self.question.limit.max(RERANK_CANDIDATES),
            false => self.question.limit,
        };

        let boosts = Boosts::new(self.question.text, self.question.now);
        let (mut chunks, mut memories) = (Vec::new(), Vec::new());
        progress.resize_with(wordings.len(), WordingProgress::default);
        for (text, progress) in zip(&wordings, progress) {
            let question = SearchQuestion {
                text,
                limit: boosts.candidate_limit(limit),
                ..self.question.clone()
            };
            // Both are searched before one fails, so that what both lack is fetched at once.
            let (chunk_rows, memory_rows) = run_both(
                sources.are_large(),
                || self.find_chunk_rows(&question, sources, &mut progress.chunks),
                || self.find_memory_rows(&question, sources, &mut progress.memories),
            );
            let (mut chunk_rows, mut memory_rows) = (chunk_rows?, memory_rows?);
            boosts.apply(&mut chunk_rows, limit);
            chunks.push(chunk_rows);
            boosts.apply(&mut memory_rows, limit);
            memories.push(memory_rows);
        }

        Ok(Candidates {
            chunks: merge_answers(chunks, limit),
            memories: merge_answers(memories, limit),
        })
    }

    fn find_chunk_rows(
        &self,
        question: &SearchQuestion<'_>,
        sources: &Sources,
        progress: &mut SearchProgress,
    ) -> Result<Vec<ResultRow>> {
        if self.mode == SearchMode::Memories {
            return Ok(Vec::new());
        }

        // The chunks of a document may be left out because what they say is forgotten.
        let needs_more =
            |hit: &SearchHit| may_have_assistant(hit) || may_be_forgotten(hit, &sources.memories);
        let mut chunks = find_chunks(&sources.chunks, question, &needs_more, progress)?;
        chunks.retain(|found| found.hit.similarity >= self.threshold);
        mask_found(&mut chunks, &sources.memories);

        let rows = chunks.into_iter().map(Box::new).map(ResultRow::Chunk);
        Ok(rows.collect())
    }

    fn find_memory_rows(
        &self,
        question: &SearchQuestion<'_>,
        sources: &Sources,
        progress: &mut SearchProgress,
    ) -> Result<Vec<ResultRow>> {
        // Another wording of the question may lack the words for the asker.
        let people = QuestionPeople::find(self.question.text);
        let differs = |memory: Memory| people.differ_from(&memory);
        let needs_more = |hit: &SearchHit| {
            people.may_differ() && Memory::from_record(&hit.attributes).is_some_and(differs)
        };
        let memories = find_memories(&sources.memories, question, &needs_more, progress)?;

        let rows = memories.into_iter().map(Box::new).map(ResultRow::Memory);
        let mut rows: Vec<ResultRow> = rows.collect();
        sort_by_people(&mut rows, &people);
        rows.retain(|row| row.similarity() >= self.threshold);
        rows.truncate(question.limit);
        Ok(rows)
    }

    /// Returns the reason why there are no results, and what to do.
    async fn explain_empty_results(
        &self,
        state: &SearchState,
        tenant: &Tenant,
        scope: &ContainerScope,
        ids: &[ContainerId],
        sources: &Sources,
    ) -> Result<Option<String>> {
        let mut reasons = explain_empty_result(&state.app.ctx, tenant, scope, ids).await?;

        let without_threshold = Search {
            threshold: 0.0,
            ..self.clone()
        };
        let mut progress = Vec::new();
        let candidates = sources
            .read(&state.app.ctx, tenant, || {
                without_threshold.find_candidates(sources, &mut progress)
            })
            .await??;
        let rows = candidates.chunks.iter().chain(&candidates.memories);
        let similarities = rows.map(ResultRow::similarity);
        reasons.extend(explain_threshold(
            "result",
            similarities,
            "threshold",
            self.threshold,
        ));

        // Every latest memory has a chunk, also a forgotten one.
        let mut indexes = sources.memories.iter().map(IndexedMemories::index);
        let has_memories = indexes.any(|index| index.len_chunks() > 0);
        if self.mode == SearchMode::Memories && !sources.memories.is_empty() && !has_memories {
            reasons.push(
                "No memories were found in the documents. `searchMode`: `hybrid` searches their \
                 text as well."
                    .to_owned(),
            );
        }

        Ok(join_reasons(&reasons))
    }
}
