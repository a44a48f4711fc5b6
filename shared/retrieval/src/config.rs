//! Every number that ranking depends on, in one place.

/// Parameters of [`crate::search`]. The defaults are the best found on the development half of LoCoMo
/// (`examples/locomo.rs` prints their figures and those of other settings).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// BM25: how fast repetitions of a term saturate.
    pub k1: f32,
    /// BM25: how much a chunk's length counts.
    pub b: f32,
    /// Share of BM25, divided by the best BM25 of the query, in a chunk's own score; the cosine has the rest.
    pub lexical_weight: f32,
    /// Weight of the neighbours' own scores.
    pub neighbour_weight: f32,
    /// How many chunks before and after are neighbours.
    pub neighbour_reach: u32,
    /// Weight of the document's score: the mean of its best chunks' own scores.
    pub document_weight: f32,
    /// How many of a document's best chunks make up its score.
    pub document_best: usize,
    /// Weight of a document's BM25, taken as one long text by the best contribution of each term.
    pub coverage_weight: f32,
    /// Added to the own score of a chunk that holds a whole identifier of the query.
    pub identifier_bonus: f32,
    /// Chunks taken over from the lexical ranking for the full score.
    pub lexical_candidates: usize,
    /// Chunks taken over from the vector ranking.
    pub vector_candidates: usize,
    /// Best documents of which every chunk is scored in full.
    pub expanded_documents: usize,
    /// Documents of more chunks are not scored whole: only around their candidates.
    pub expanded_chunks: u32,
    /// Parts with at least this many chunks are scanned by sign bits first.
    pub prefilter_from: usize,
    /// Rows that the sign bits leave for the exact cosine.
    pub prefilter_keep: usize,
    /// How scores become a similarity.
    pub calibration: Calibration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            k1: 0.9,
            b: 0.4,
            lexical_weight: 0.3,
            neighbour_weight: 0.3,
            neighbour_reach: 1,
            document_weight: 0.3,
            document_best: 2,
            coverage_weight: 0.05,
            identifier_bonus: 0.5,
            lexical_candidates: 300,
            vector_candidates: 300,
            expanded_documents: 24,
            expanded_chunks: 64,
            prefilter_from: 65_536,
            prefilter_keep: 2_000,
            calibration: Calibration::default(),
        }
    }
}

/// A logistic function of what is known of a query's best hits, and how the other hits relate to them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Constant term.
    pub bias: f32,
    /// Per unit of [`crate::Features::tight`]: how much of the query one chunk holds.
    pub coverage: f32,
    /// Per unit of the best cosine.
    pub cosine: f32,
    /// Probability at which a query counts as answered; it becomes a similarity of 0.6.
    pub accept: f32,
    /// A hit with this share of the best score still has 0.6 when the query counts as answered.
    pub floor: f32,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            bias: -5.0,
            coverage: 8.2,
            cosine: 3.2,
            accept: 0.25,
            floor: 0.25,
        }
    }
}
