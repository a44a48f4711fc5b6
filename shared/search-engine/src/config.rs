//! The parameters of ranking, all in one place.

/// The parameters of [`crate::search`].
///
/// They were measured by `examples/locomo` on the development half of LoCoMo: 5 conversations, and
/// 760 questions of categories 1 to 4 with evidence. A session is a document, a chunk is 5 turns
/// without overlap, and date and speakers are headings.
///
/// | setting | turn R@10 | tokens of 10 chunks | session R@10 | sessions in 10 chunks |
/// |---|---|---|---|---|
/// | defaults | .870 | 1,802 | .948 | .906 |
/// | k1 1.2, b .75 | .870 | 1,792 | .949 | .906 |
/// | no context | .857 | 1,810 | .943 | .929 |
/// | no context, words only | .840 | 1,789 | .936 | .918 |
/// | no context, vectors only | .663 | 1,625 | .838 | .801 |
///
/// The defaults were chosen from a wide plateau (.86 to .876) instead of its peak: settings tuned
/// on either half lie within .01 of the defaults on the other half. With chunks of this size, k1
/// and b have little effect (b .4: .864). Windows of 3, 4, 6 and 8 turns gave .845, .852, .882 and
/// .897 with 1,120, 1,470, 2,150 and 2,770 tokens. Overlap did not help: with 5 turns it gave .870
/// (one shared turn) and .853 (two) with the same number of tokens, and fewer sessions among the
/// ten chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingConfig {
    /// BM25: the saturation of repeated terms.
    pub k1: f32,
    /// BM25: the influence of a chunk's length.
    pub b: f32,
    /// The share of BM25 in a chunk's own score; the cosine has the rest. BM25 is first divided by
    /// the best BM25 of the query.
    pub lexical_weight: f32,
    /// The weight of the neighbours' own scores.
    pub neighbour_weight: f32,
    /// The number of chunks before and after that are neighbours.
    pub neighbour_reach: u32,
    /// The weight of the document's score, which is the mean of its best chunks' own scores.
    pub document_weight: f32,
    /// The number of a document's best chunks that make up its score.
    pub document_best: usize,
    /// The weight of a document's BM25 as one long text, computed from the best contribution of
    /// each term.
    pub coverage_weight: f32,
    /// The bonus on the own score of a chunk with a whole identifier of the query.
    pub identifier_bonus: f32,
    /// The weight of the terms that a short chunk has in other words.
    pub meaning_weight: f32,
    /// The number of best chunks that are searched for words of the same meaning.
    pub meaning_candidates: usize,
    /// The most words of a chunk that is searched for them.
    pub meaning_words: u16,
    /// The number of chunks from the lexical ranking that are scored in full.
    pub lexical_candidates: usize,
    /// The number of chunks from the vector ranking that are scored in full.
    pub vector_candidates: usize,
    /// The number of best documents of which every chunk is scored in full.
    pub expanded_documents: usize,
    /// The most chunks of a document that is scored whole. Larger documents are scored around their
    /// candidates only.
    pub expanded_chunks: u32,
    /// The number of live chunks of all parts from which segments are first scanned by sign bits. Parts
    /// with estimated cosines always are, unless chunks have vectors of a model of the query.
    pub prefilter_from: usize,
    /// The least number of rows of all parts that the sign bits leave, whose cosines are computed or
    /// estimated.
    pub prefilter_keep: usize,
    /// The sign bits leave at least as many rows as there are live chunks in all parts, divided by this.
    /// Of the hits of an exact scan, 99.6 % are then found at 1,000,000 chunks of `examples/latency`, and
    /// 98.1 % with 2,000 rows.
    pub prefilter_divisor: usize,
    /// The number of best chunks whose cosines are exact where the others are estimated.
    pub exact_candidates: usize,
    /// The calibration of scores to a similarity.
    pub calibration: SimilarityCalibration,
}

impl Default for RankingConfig {
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
            meaning_weight: 0.3,
            meaning_candidates: 16,
            meaning_words: 40,
            lexical_candidates: 300,
            vector_candidates: 300,
            expanded_documents: 24,
            expanded_chunks: 64,
            prefilter_from: 65_536,
            prefilter_keep: 2_000,
            prefilter_divisor: 64,
            exact_candidates: 32,
            calibration: SimilarityCalibration::default(),
        }
    }
}

/// A logistic function of the features of a query's best hits, and the relation of the other hits
/// to the best.
///
/// It lies between two fits: that of `examples/locomo … fit`, and one to short memories with everyday
/// questions about them. The share of queries with a hit of at least 0.6 under the defaults is .959
/// for LoCoMo questions in their own conversation, .988 for the same with one to five chunks as the
/// whole container, and .986 for questions about a few short notes. Without an answer in the
/// container it is 0 for gibberish, .017 for unrelated questions, .106 for questions about other
/// notes and .277 for questions of other conversations. The last rises to .523 when their names are
/// replaced by this conversation's, because term overlap and cosine cannot tell small talk about the
/// same subjects apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarityCalibration {
    /// The constant term.
    pub bias: f32,
    /// The weight of [`crate::HitFeatures::chunk_coverage`], the share of the query in one chunk.
    pub coverage: f32,
    /// The weight of the number of terms in one chunk. One common word of a short question is not
    /// yet an answer.
    pub terms: f32,
    /// The weight of the best cosine.
    pub cosine: f32,
    /// The weight of the logarithm of the number of chunks.
    pub log_chunks: f32,
    /// The probability from which a query counts as answered. It is mapped to a similarity of 0.6.
    pub accept_probability: f32,
    /// The share of the best score from which a hit still has 0.6, if the query counts as answered.
    pub floor_share: f32,
}

impl Default for SimilarityCalibration {
    fn default() -> Self {
        Self {
            bias: -4.07,
            coverage: 5.3,
            terms: 3.9,
            cosine: 5.1,
            log_chunks: -0.5,
            accept_probability: 0.29,
            floor_share: 0.5,
        }
    }
}
