//! Fitting of the calibration: questions with an answer in the container against questions without
//! one.

use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, HitFeatures, RankingConfig, SearchQuery,
    SimilarityCalibration, StaticEmbedder, search_containers,
};

use crate::data::{Conversation, Question};
use crate::demo::{NOTES, QUESTIONS};
use crate::measure::Corpus;

struct Sample {
    features: HitFeatures,
    kind: usize,
}

/// The kinds of samples. Those from [`FIRST_NEGATIVE`] on have no answer.
const KINDS: [&str; 9] = [
    "own question",
    "own question, 1-5 documents",
    "question about a few notes",
    "question of another conversation",
    "the same with this one's names",
    "unrelated question",
    "gibberish",
    "another's question, this one's names, 1-5 documents",
    "question about other notes, or unrelated",
];
const FIRST_NEGATIVE: usize = 3;

const UNRELATED: [&str; 24] = [
    "What is the capital of Mongolia?",
    "How do I configure a reverse proxy with nginx?",
    "quarterly revenue of the semiconductor division",
    "Which enzyme breaks down lactose?",
    "error E0382 borrow of moved value",
    "When was the Treaty of Westphalia signed?",
    "boiling point of ethanol in kelvin",
    "How many moons does Neptune have?",
    "terraform state lock timeout",
    "Who wrote the Brothers Karamazov?",
    "invoice number 2024-00017",
    "What is the refund policy for enterprise customers?",
    "kubernetes pod stuck in CrashLoopBackOff",
    "What is the tensile strength of titanium?",
    "SELECT count(*) FROM orders GROUP BY region",
    "Which parliament passed the Enabling Act?",
    "How is the gradient of a softmax computed?",
    "deploy the staging cluster to eu-west-1",
    "What does the warranty of the dishwasher cover?",
    "minimum wage in Luxembourg 2021",
    "latency of the payment gateway at the 99th percentile",
    "How does photosynthesis store energy?",
    "Wie hoch ist die Mehrwertsteuer in Österreich?",
    "¿Cuál es la población de Paraguay?",
];

const GIBBERISH: [&str; 8] = [
    "asdf qwer zxcv",
    "xkjhg wqpoi zzmnb",
    "flurbo grantiv mox",
    "qqqq",
    "blorptang zig nadoo wex",
    "lkjsdf8907 sdf",
    "aaaaaa bbbbb ccccc",
    "hjkl yuio vbnm dfgh",
];

/// A small generator of reproducible numbers (an LCG with Knuth's constants).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn ask(index: &ContainerIndex, text: &str, kind: usize) -> Sample {
    let response = search_containers(
        &[index],
        &SearchQuery::new(text, StaticEmbedder.embed(text)),
    )
    .unwrap_or_default();
    Sample {
        features: response.features,
        kind,
    }
}

fn renamed(text: &str, from: &Conversation, to: &Conversation) -> String {
    let [a, b] = &from.speakers;
    text.replace(a.as_str(), &to.speakers[0])
        .replace(b.as_str(), &to.speakers[1])
}

fn answerable(conversation: &Conversation) -> impl Iterator<Item = &Question> {
    conversation
        .questions
        .iter()
        .filter(|q| (1..5).contains(&q.category) && !q.evidence.is_empty())
}

fn add_large_containers(corpus: &Corpus<'_>, samples: &mut Vec<Sample>) {
    for (number, conversation) in corpus.conversations.iter().enumerate() {
        let index = &corpus.indexed[number].0;
        samples.extend(answerable(conversation).map(|q| ask(index, &q.text, 0)));
        for (other, foreign) in corpus
            .conversations
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
        {
            for question in answerable(foreign).skip(other % 3).step_by(3) {
                samples.push(ask(index, &question.text, 3));
                samples.push(ask(
                    index,
                    &renamed(&question.text, foreign, conversation),
                    4,
                ));
            }
        }
        samples.extend(UNRELATED.iter().map(|text| ask(index, text, 5)));
        samples.extend(GIBBERISH.iter().map(|text| ask(index, text, 6)));
    }
}

/// Adds containers of one to five chunks, each a document of its own, one of them with the
/// evidence.
fn add_small_containers(corpus: &Corpus<'_>, samples: &mut Vec<Sample>) {
    let mut numbers = RandomNumbers(7);

    for (number, conversation) in corpus.conversations.iter().enumerate() {
        let (index, members) = &corpus.indexed[number];
        let mut places: Vec<&(String, u32)> = members.keys().collect();
        places.sort();
        let stranger = &corpus.conversations[(number + 1) % corpus.conversations.len()];
        let strange: Vec<&Question> = answerable(stranger).collect();
        for question in answerable(conversation) {
            let home = places
                .iter()
                .find(|place| members[**place].contains(&question.evidence[0]));
            let mut chosen = vec![*home.expect("evidence turns exist")];
            for _ in 0..numbers.below(5) {
                chosen.push(places[numbers.below(places.len())]);
            }
            let mut tiny = ContainerIndex::new();
            for (id, position) in chosen {
                let stored = index.load_document(id).ok().flatten().unwrap_or_default();
                let chunks = stored
                    .chunks
                    .into_iter()
                    .filter(|c| c.position == *position)
                    .collect();
                tiny.upsert_document(Document {
                    id: format!("{id}-{position}"),
                    chunks,
                    ..Document::default()
                });
            }
            samples.push(ask(&tiny, &question.text, 1));
            let foreign = strange[numbers.below(strange.len())];
            samples.push(ask(
                &tiny,
                &renamed(&foreign.text, stranger, conversation),
                7,
            ));
        }
    }
}

const INPUTS: usize = 5;

/// Adds containers of one, three or five notes, with and without the one that answers the question.
fn add_note_containers(samples: &mut Vec<Sample>) {
    for (text, home) in QUESTIONS {
        for size in [1, 3, 5] {
            let mut with = ContainerIndex::new();
            let mut without = ContainerIndex::new();
            for offset in 0..size {
                let number = (home + offset * 2) % NOTES.len();
                with.upsert_document(note(number));
                without.upsert_document(note((number + 1) % NOTES.len()));
            }
            samples.push(ask(&with, text, 2));
            samples.push(ask(&without, text, 8));
        }
    }

    let mut all = ContainerIndex::new();
    (0..5).for_each(|number| all.upsert_document(note(number)));
    let unrelated = UNRELATED
        .iter()
        .filter(|text| !text.contains("invoice") && !text.contains("refund"));
    samples.extend(unrelated.map(|text| ask(&all, text, 8)));
}

/// Prints how many of five notes pass as answers to a question about one of them, by
/// [`Calibration::floor`].
fn print_floors() {
    for floor in [0.25, 0.35, 0.45, 0.55, 0.65] {
        let (mut passed, mut right) = (0, 0);
        for (text, home) in QUESTIONS {
            let mut index = ContainerIndex::new();
            (0..5)
                .for_each(|offset| index.upsert_document(note((home + offset * 2) % NOTES.len())));
            let calibration = SimilarityCalibration {
                floor_share: floor,
                ..SimilarityCalibration::default()
            };
            let config = RankingConfig {
                calibration,
                ..RankingConfig::default()
            };
            let query = SearchQuery {
                config,
                ..SearchQuery::new(text, StaticEmbedder.embed(text))
            };
            let hits = search_containers(&[&index], &query)
                .unwrap_or_default()
                .hits;
            passed += hits.iter().filter(|hit| hit.similarity >= 0.6).count();
            right += usize::from(
                hits.iter()
                    .any(|h| h.similarity >= 0.6 && h.document == format!("note-{home}")),
            );
        }
        println!(
            "floor {floor}: of five notes {:.2} pass, the right one for {right} of {} questions",
            passed as f64 / QUESTIONS.len() as f64,
            QUESTIONS.len()
        );
    }
}

fn note(number: usize) -> Document {
    let text = NOTES[number].to_owned();
    let chunk = ChunkInput {
        vector: StaticEmbedder.embed(&text),
        text,
        ..ChunkInput::default()
    };
    Document {
        id: format!("note-{number}"),
        chunks: vec![chunk],
        ..Document::default()
    }
}

fn inputs(features: &HitFeatures) -> [f64; INPUTS] {
    let [coverage, terms, cosine, log_chunks] = features.inputs();
    [1.0, coverage, terms, cosine, log_chunks].map(f64::from)
}

/// Fits a logistic regression by gradient ascent. The kinds of each side have equal weight.
fn fit_regression(samples: &[Sample]) -> [f64; INPUTS] {
    let count = |kind: usize| samples.iter().filter(|s| s.kind == kind).count() as f64;
    let weights: Vec<f64> = (0..KINDS.len())
        .map(|kind| {
            let kinds = if kind < FIRST_NEGATIVE {
                FIRST_NEGATIVE
            } else {
                KINDS.len() - FIRST_NEGATIVE
            };
            1.0 / (count(kind).max(1.0) * kinds as f64)
        })
        .collect();
    let mut beta = [0f64; INPUTS];
    let mut velocity = [0f64; INPUTS];
    for _ in 0..20_000 {
        let mut gradient = [0f64; INPUTS];
        for sample in samples {
            let x = inputs(&sample.features);
            let z: f64 = beta.iter().zip(x).map(|(b, x)| b * x).sum();
            let error =
                f64::from(u8::from(sample.kind < FIRST_NEGATIVE)) - 1.0 / (1.0 + (-z).exp());
            gradient
                .iter_mut()
                .zip(x)
                .for_each(|(g, x)| *g += weights[sample.kind] * error * x);
        }
        for i in 0..INPUTS {
            velocity[i] = 0.9 * velocity[i] + gradient[i] - 1e-4 * beta[i];
            beta[i] += 0.3 * velocity[i];
        }
    }

    beta
}

pub(crate) fn fit(corpus: &Corpus<'_>) {
    let mut samples = Vec::new();
    add_large_containers(corpus, &mut samples);
    add_small_containers(corpus, &mut samples);
    add_note_containers(&mut samples);
    print_calibration("defaults", &samples, RankingConfig::default().calibration);
    print_floors();
    let [bias, coverage, terms, cosine, log_chunks] = fit_regression(&samples).map(|b| b as f32);

    for accept in [0.15, 0.2, 0.25, 0.3, 0.35] {
        let fitted = SimilarityCalibration {
            bias,
            coverage,
            terms,
            cosine,
            log_chunks,
            accept_probability: accept,
            ..SimilarityCalibration::default()
        };
        print_calibration("fitted", &samples, fitted);
    }
}

fn print_calibration(name: &str, samples: &[Sample], calibration: SimilarityCalibration) {
    println!("{name}: {calibration:?}");

    for (kind, title) in KINDS.iter().enumerate() {
        let of_kind: Vec<&Sample> = samples.iter().filter(|s| s.kind == kind).collect();
        let accepted = of_kind
            .iter()
            .filter(|s| calibration.query_confidence(&s.features) >= 0.6)
            .count();
        let mean = |f: fn(&HitFeatures) -> f32| {
            of_kind.iter().map(|s| f(&s.features)).sum::<f32>() / of_kind.len() as f32
        };
        println!(
            "  {title:>52}: {:>5} asked, {:.3} answered (mean coverage {:.2}, cosine {:.2})",
            of_kind.len(),
            accepted as f64 / of_kind.len().max(1) as f64,
            mean(|f| f.coverage),
            mean(|f| f.cosine),
        );
    }
}
