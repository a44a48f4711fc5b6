//! Comparison of the engine with a plain implementation of the same formulas.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{SearchQuery, search_containers};
use crate::analysis::{LatinStemmer, StemmerSet, index_terms, query_terms};
use crate::{ChunkInput, ContainerIndex, Document, Embedder, RankingConfig, StaticEmbedder};

const WORDS: [&str; 14] = [
    "painting",
    "dog",
    "paris",
    "order",
    "E0382",
    "camping",
    "running",
    "the",
    "coffee",
    "train",
    "green",
    "piano",
    "東京都",
    "ORD-2024-00017",
];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..12)
        .prop_map(|words| words.join(" "))
}

fn document(id: usize, texts: &[String]) -> Document {
    let chunk = |(position, text): (usize, &String)| ChunkInput {
        text: text.clone(),
        vector: StaticEmbedder.embed(text),
        position: position as u32,
        ..ChunkInput::default()
    };
    Document {
        id: format!("d{id}"),
        chunks: texts.iter().enumerate().map(chunk).collect(),
        ..Document::default()
    }
}

/// Returns the frequencies of a text's terms, and its length.
fn count_terms(text: &str) -> (HashMap<String, f32>, f32) {
    let (mut terms, mut length) = (HashMap::<String, f32>::new(), 0.0);
    index_terms(text, LatinStemmer::English, &mut |term, counted| {
        *terms.entry(term.to_owned()).or_default() += 1.0;
        length += f32::from(u8::from(counted));
    });
    (terms, length)
}

/// Returns the own score of every chunk, without context, by document id and position.
fn naive_scores(
    documents: &[Document],
    query: &str,
    config: &RankingConfig,
) -> HashMap<(String, u32), f32> {
    let chunks: Vec<_> = documents
        .iter()
        .flat_map(|d| {
            d.chunks
                .iter()
                .map(|c| ((d.id.clone(), c.position), count_terms(&c.text), c.vector))
        })
        .collect();
    let total = chunks.len() as f32;
    let mean = chunks.iter().map(|(_, (_, length), _)| length).sum::<f32>() / total;
    let terms = query_terms(query, StemmerSet::default().with(LatinStemmer::English));
    let vector = StaticEmbedder.embed(query);
    let bm25: Vec<f32> = chunks
        .iter()
        .map(|(_, (frequencies, length), _)| {
            let of_term = |term: &crate::analysis::QueryTerm| {
                let term = &term.variants[0];
                let df = chunks
                    .iter()
                    .filter(|(_, (f, _), _)| f.contains_key(term))
                    .count() as f32;
                let tf = frequencies.get(term).copied().unwrap_or(0.0);
                let idf = (1.0 + (total - df + 0.5) / (df + 0.5)).ln();
                idf * tf * (config.k1 + 1.0)
                    / (tf + config.k1 * (1.0 - config.b + config.b * length / mean))
            };
            terms.iter().map(of_term).sum()
        })
        .collect();
    let best = bm25.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let fuse = |lexical: f32, cosine: f32| {
        config.lexical_weight * lexical / best + (1.0 - config.lexical_weight) * cosine
    };

    let scores = chunks
        .iter()
        .zip(&bm25)
        .map(|((key, _, chunk_vector), lexical)| {
            (
                key.clone(),
                fuse(*lexical, plain_cosine(chunk_vector, &vector)),
            )
        });
    scores.collect()
}

fn plain_cosine(a: &crate::QuantizedVector, b: &crate::QuantizedVector) -> f32 {
    let dot = |a: &crate::QuantizedVector, b: &crate::QuantizedVector| -> f32 {
        let pairs = a.0.iter().zip(&b.0);
        pairs.map(|(&a, &b)| f32::from(a) * f32::from(b)).sum()
    };
    match dot(a, a) * dot(b, b) {
        0.0 => 0.0,
        squares => dot(a, b) / squares.sqrt(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scores_equal_those_of_plain_formulas(
        texts in proptest::collection::vec(proptest::collection::vec(text(), 1..5), 1..12),
        query in text(),
    ) {
        let config = RankingConfig {
            neighbour_weight: 0.0,
            document_weight: 0.0,
            coverage_weight: 0.0,
            identifier_bonus: 0.0,
            meaning_weight: 0.0,
            ..RankingConfig::default()
        };

        let documents: Vec<Document> = texts.iter().enumerate().map(|(id, texts)| document(id, texts)).collect();
        let mut index = ContainerIndex::new();
        documents.iter().for_each(|d| index.upsert_document(d.clone()));
        let expected = naive_scores(&documents, &query, &config);
        let query = SearchQuery { limit: 1_000, config, ..SearchQuery::new(&query, StaticEmbedder.embed(&query)) };
        let hits = search_containers(&[&index], &query).unwrap().hits;
        prop_assert!(hits.is_sorted_by(|a, b| a.scores.fused >= b.scores.fused));
        prop_assert!(hits.is_sorted_by(|a, b| a.similarity >= b.similarity));
        for hit in &hits {
            let wanted = expected[&(hit.document.clone(), hit.position)];
            prop_assert!((hit.scores.fused - wanted).abs() < 1e-3, "{} != {wanted}", hit.scores.fused);
        }

        let left_out = expected.len() - hits.len();
        let positive = expected.values().filter(|&&score| score > 1e-3).count();
        prop_assert!(hits.len() >= positive, "{left_out} left out");
    }
}
