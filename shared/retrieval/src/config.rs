//! Every number that ranking depends on, in one place.

/// Parameters of [`crate::search`].
///
/// Measured by `examples/locomo` on the development half of LoCoMo (5 conversations, 760 questions of categories 1 to 4
/// with evidence; a session is a document, a chunk is 5 turns without overlap, date and speakers are headings):
///
/// | setting | turn R@10 | tokens of 10 chunks | session R@10 | sessions in 10 chunks |
/// |---|---|---|---|---|
/// | defaults | .870 | 1,802 | .948 | .906 |
/// | k1 1.2, b .75 | .870 | 1,792 | .949 | .906 |
/// | no context | .857 | 1,810 | .943 | .929 |
/// | no context, words only | .840 | 1,789 | .936 | .918 |
/// | no context, vectors only | .663 | 1,625 | .838 | .801 |
///
/// Chosen from a wide plateau (.86 to .876), not the peak: settings tuned on either half lie within .01 of the defaults
/// on the other half. With chunks of this size k1 and b hardly matter (b .4: .864). Windows of 3, 4, 6
/// and 8 turns gave .845, .852, .882 and .897 with 1,120, 1,470, 2,150 and 2,770 tokens. Overlap did not help: with
/// 5 turns .870 (one shared turn) and .853 (two) at the same tokens, and fewer sessions among the ten chunks.
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
            b: 0.75,
            lexical_weight: 0.3,
            neighbour_weight: 0.3,
            neighbour_reach: 1,
            document_weight: 0.15,
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
///
/// Fitted by `examples/locomo … fit`; share of queries with a hit of at least 0.6 under the defaults: LoCoMo questions
/// in their own conversation .958, the same with one to five chunks as the whole container .942, questions about a few
/// short notes .917; without an answer in the container: gibberish 0, unrelated questions .017, questions about other
/// notes .011, questions of other conversations .31 (.56 when their names are replaced by this conversation's: small
/// talk about the same subjects, which term overlap and cosine cannot tell apart).
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
            floor: 0.5,
        }
    }
}
