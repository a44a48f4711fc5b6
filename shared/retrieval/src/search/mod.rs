//! Finds the chunks that answer a query, over one or several containers at once.
//!
//! 1. Every living chunk gets a BM25 and a cosine (`lexical`, `vectors`); the best of both are candidates.
//! 2. Candidates, their neighbours and the other chunks of the best documents are scored in full (`candidates`):
//!    own score = share of BM25 and cosine, lifted by the neighbours' and the document's scores (`context`).
//! 3. What is known of the best hit says how likely the query is answered at all (`calibrate`).

mod admission;
mod calibrate;
mod candidates;
mod context;
mod lexical;
#[cfg(test)]
mod naive;
mod top;
mod vectors;

use bytes::Bytes;

pub use calibrate::Features;

use crate::analysis::{Languages, query_terms};
use crate::config::Config;
use crate::error::Error;
use crate::index::{ContainerIndex, DocumentView, Part};
use crate::vector::Vector;
use admission::Admission;
use candidates::Candidate;

/// What to look for.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The words.
    pub text: &'a str,
    /// Their vector, of the same embedder as the chunks'; [`Vector::ZERO`] searches by words alone.
    pub vector: Vector,
    /// At most this many hits.
    pub limit: usize,
    /// Which documents may be found; called at most once per document, and only for documents that could be hits.
    pub admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    /// Only chunks of the document with this id.
    pub only_document: Option<&'a str>,
    /// Ranking parameters.
    pub config: Config,
}

impl<'a> Query<'a> {
    /// A query over all documents for ten hits.
    #[must_use]
    pub fn new(text: &'a str, vector: Vector) -> Self {
        Self {
            text,
            vector,
            limit: 10,
            admit: None,
            only_document: None,
            config: Config::default(),
        }
    }
}

/// A found chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Place of the hit's container in the slice that was searched.
    pub container: usize,
    /// Id of the hit's document.
    pub document: String,
    /// The document's attributes.
    pub attributes: Bytes,
    /// The caller's number of the chunk.
    pub position: u32,
    /// The chunk's text.
    pub text: String,
    /// Its headings.
    pub headings: String,
    /// Where the text starts in its document.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// How the score came about.
    pub scores: Scores,
    /// 0..=1, at least 0.6 when this is likely an answer. Hits come sorted by it.
    pub similarity: f32,
}

/// The parts of a hit's score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scores {
    /// BM25.
    pub lexical: f32,
    /// Cosine, -1..=1.
    pub vector: f32,
    /// What neighbours and document added to the own score.
    pub context: f32,
    /// What the hits were sorted by.
    pub fused: f32,
}

/// The hits of a query and what is known about them as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Response {
    /// Best first.
    pub hits: Vec<Hit>,
    /// What the calibration saw of the best hits.
    pub features: Features,
}

/// Searches `containers` as if they were one.
///
/// # Errors
/// [`Error::Corrupt`] when the stored text of a hit cannot be read.
pub fn search(containers: &[&ContainerIndex], query: &Query<'_>) -> Result<Response, Error> {
    let scope = Scope::new(containers);
    if scope.chunks == 0 || query.limit == 0 {
        return Ok(Response::default());
    }

    let terms = query_terms(query.text, scope.languages);
    let lexical = lexical::Lexical::new(&scope, &terms, &query.config);
    let mut admission = Admission::new(&scope, query.admit);
    let found = match query.only_document {
        Some(id) => candidates::of_document(&scope, id, &mut admission),
        None => candidates::find(&scope, query, &lexical, &mut admission),
    };

    let mut scored = candidates::score(&scope, query, &lexical, &terms, found);
    context::apply(&mut scored, &lexical, &query.config);
    let features = calibrate::features(&scope, &scored, &lexical);
    scored
        .candidates
        .sort_by(|a, b| compare(&scope, (b.fused, b), (a.fused, a)));
    scored.candidates.truncate(query.limit);
    let best = scored
        .candidates
        .first()
        .map_or(0.0, |candidate| candidate.fused);
    let confidence = query.config.calibration.confidence(&features);
    let mut hits = Vec::with_capacity(scored.candidates.len());
    for candidate in &scored.candidates {
        let similarity = query
            .config
            .calibration
            .similarity(confidence, candidate.fused, best);
        hits.push(hit(&scope, candidate, similarity)?);
    }

    Ok(Response { hits, features })
}

fn hit(scope: &Scope<'_>, candidate: &Candidate, similarity: f32) -> Result<Hit, Error> {
    let part = scope.parts[candidate.part].1;
    let document = part.document_of(candidate.chunk);
    let chunk = part.chunk(candidate.chunk)?;

    Ok(Hit {
        container: scope.parts[candidate.part].0,
        document: part.id(document).to_owned(),
        attributes: part.attributes_of(document),
        position: chunk.position,
        text: chunk.text,
        headings: chunk.headings,
        start: chunk.start,
        end: chunk.end,
        scores: Scores {
            lexical: candidate.lexical,
            vector: candidate.cosine,
            context: candidate.fused - candidate.own,
            fused: candidate.fused,
        },
        similarity,
    })
}

/// The parts that are searched, with statistics over all of them.
pub(crate) struct Scope<'a> {
    /// Parts with the place of their container.
    parts: Vec<(usize, &'a Part)>,
    chunks: usize,
    mean_length: f32,
    languages: Languages,
}

impl<'a> Scope<'a> {
    fn new(containers: &[&'a ContainerIndex]) -> Self {
        let numbered = containers.iter().enumerate();
        let parts: Vec<(usize, &Part)> = numbered
            .flat_map(|(number, container)| container.parts().map(move |part| (number, part)))
            .filter(|(_, part)| part.live.chunks > 0)
            .collect();
        let chunks = parts
            .iter()
            .map(|(_, part)| part.live.chunks)
            .sum::<usize>();
        let length: u64 = parts.iter().map(|(_, part)| part.live.length).sum();
        let languages = parts.iter().fold(Languages::default(), |set, (_, part)| {
            Languages(set.0 | part.live.languages().0)
        });

        Self {
            parts,
            chunks,
            mean_length: (length as f32 / chunks.max(1) as f32).max(1.0),
            languages,
        }
    }
}

/// Anything with a place in a part.
pub(crate) trait Placed {
    fn part(&self) -> usize;
    fn chunk(&self) -> u32;
}

/// The order of scores with ties broken by container, document id and place in the document, whatever the layout.
/// Greater is better.
pub(crate) fn compare<T: Placed>(
    scope: &Scope<'_>,
    a: (f32, &T),
    b: (f32, &T),
) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then_with(|| {
        let key = |placed: &T| {
            let (container, part) = scope.parts[placed.part()];
            let document = part.document_of(placed.chunk());
            (
                container,
                part.id(document),
                placed.chunk() - part.chunks_of(document).start,
            )
        };
        key(b.1).cmp(&key(a.1))
    })
}
