//! Coordinate search for the ranking parameters, checked on halves of the data.

use search_engine::RankingConfig;

use crate::data::{ChunkingOptions, Conversation};
use crate::measure::{Corpus, measure};

type Setter = fn(&mut RankingConfig, f32);

const AXES: [(&str, Setter, &[f32]); 8] = [
    ("k1", |c, v| c.k1 = v, &[0.6, 0.9, 1.2, 1.6]),
    ("b", |c, v| c.b = v, &[0.0, 0.2, 0.4, 0.6, 0.75]),
    (
        "lexical_weight",
        |c, v| c.lexical_weight = v,
        &[0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6],
    ),
    (
        "neighbour_weight",
        |c, v| c.neighbour_weight = v,
        &[0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8],
    ),
    (
        "neighbour_reach",
        |c, v| c.neighbour_reach = v as u32,
        &[1.0, 2.0, 3.0],
    ),
    (
        "document_weight",
        |c, v| c.document_weight = v,
        &[0.0, 0.15, 0.3, 0.45, 0.6, 0.9, 1.2],
    ),
    (
        "document_best",
        |c, v| c.document_best = v as usize,
        &[1.0, 2.0, 3.0, 4.0, 6.0, 10.0],
    ),
    (
        "coverage_weight",
        |c, v| c.coverage_weight = v,
        &[0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6],
    ),
];

/// Returns the weighted sum of turn recall and session recall, the latter with half the weight.
fn weighted_recall(
    corpus: &Corpus<'_>,
    config: RankingConfig,
    is_chosen: impl Fn(usize) -> bool,
) -> f64 {
    let figures = measure(corpus, config, is_chosen);
    figures.turn_recall() + 0.5 * figures.session_recall()
}

fn climb_parameters(
    corpus: &Corpus<'_>,
    start: RankingConfig,
    is_chosen: impl Fn(usize) -> bool + Copy,
) -> RankingConfig {
    let mut best = (weighted_recall(corpus, start, is_chosen), start);
    for _ in 0..3 {
        let before = best.0;
        for (_, set, values) in AXES {
            for &value in values {
                let mut config = best.1;
                set(&mut config, value);
                let found = weighted_recall(corpus, config, is_chosen);
                if found > best.0 + 1e-4 {
                    best = (found, config);
                }
            }
        }
        if best.0 <= before {
            break;
        }
    }

    best.1
}

pub(crate) fn tune(conversations: &[Conversation], chunking: ChunkingOptions) {
    let corpus = Corpus::new(conversations, chunking);
    let start = RankingConfig::default();
    for half in 0..2 {
        let tuned = climb_parameters(&corpus, start, |number| number % 2 == half);
        println!("half {half}: {tuned:?}");
        println!(
            "  seen:   {}",
            measure(&corpus, tuned, |number| number % 2 == half).line()
        );
        println!(
            "  unseen: {}",
            measure(&corpus, tuned, |number| number % 2 != half).line()
        );
        println!(
            "  unseen, defaults: {}",
            measure(&corpus, start, |number| number % 2 != half).line()
        );
    }

    let tuned = climb_parameters(&corpus, start, |_| true);
    println!(
        "all: {tuned:#?}\n{}",
        measure(&corpus, tuned, |_| true).line()
    );
}
