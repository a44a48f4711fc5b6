//! Tests of vectors: beside the reference implementation, in batches, of long texts, with prefixes.

use domain::PortError;
use domain::ports::{EmbeddingInput, TextEmbedder};
use random_encoder::{EncoderKind, RandomEncoder};
use serde_json::json;

use super::{count_tokens, embed, embed_one, largest_difference, open, write_encoder, write_json};
use crate::config::ModelFiles;
use crate::encoder::Encoder;
use crate::{FolderEmbedder, FolderSettings};

/// The texts of the golden vectors. The third is longer than the model.
const TEXTS: [&str; 5] = [
    "the cat",
    "a feline.",
    "The ship sails past a quiet harbour at dawn, and nobody on the pier looks up.",
    "Crème brûlée?",
    "zzz",
];

/// A file of vectors that `tests/encoder/reference.py` has printed for [`TEXTS`].
const GOLDEN: [(EncoderKind, &str); 2] = [
    (EncoderKind::Bert, include_str!("data/tiny.json")),
    (EncoderKind::XlmRoberta, include_str!("data/roberta.json")),
];

/// Rounding differs between implementations and between shapes of batches.
const TOLERANCE: f32 = 2e-6;

#[tokio::test]
async fn vectors_are_those_of_the_reference_implementation() {
    for (kind, golden) in GOLDEN {
        let expected: Vec<Vec<f32>> = serde_json::from_str(golden).unwrap();
        let folder = write_encoder(&RandomEncoder {
            kind,
            ..RandomEncoder::tiny()
        });
        let embedder = open(folder.path()).unwrap();
        let difference = largest_difference(&embed(&embedder, &TEXTS).await, &expected);
        assert!(difference < TOLERANCE, "{kind:?}: {difference}");
    }
}

#[tokio::test]
async fn texts_have_the_same_vectors_alone_and_in_any_batch() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let embedder = open(folder.path()).unwrap();
    let batched = embed(&embedder, &TEXTS).await;
    assert_eq!(batched, embed(&embedder, &TEXTS).await, "deterministic");

    let mut alone = Vec::new();
    for text in TEXTS {
        alone.push(embed_one(&embedder, text).await);
    }
    assert!(largest_difference(&batched, &alone) < TOLERANCE);

    let many: Vec<&str> = TEXTS.into_iter().cycle().take(100).collect();
    let vectors = embed(&embedder, &many).await;
    for (number, vector) in vectors.iter().enumerate() {
        let expected = &alone[number % TEXTS.len()];
        let difference =
            largest_difference(std::slice::from_ref(vector), std::slice::from_ref(expected));
        assert!(difference < TOLERANCE, "text {number}: {difference}");
        let length: f32 = vector.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
}

#[tokio::test]
async fn the_vector_is_the_mean_of_the_hidden_states_or_the_first_of_them() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let files = ModelFiles::read(folder.path()).unwrap();
    let weights = std::fs::read(folder.path().join("model.safetensors")).unwrap();
    let encoder = Encoder::load(weights, &files.config).unwrap();
    // Tokens of a short text beside a longer one, which pads it.
    let (short, long) = ([2_u32, 57, 3], [2_u32, 10, 20, 30, 40, 50, 3]);
    let states = encoder.forward(&[&short, &long]).unwrap();
    assert_eq!(states.width, long.len());

    let mean = |dimension: usize| {
        let rows = states.values.chunks_exact(32).take(short.len());
        rows.map(|row| f64::from(row[dimension])).sum::<f64>() / short.len() as f64
    };
    let means: Vec<f64> = (0..32).map(mean).collect();
    let length = means.iter().map(|value| value * value).sum::<f64>().sqrt();
    let expected: Vec<f32> = means.iter().map(|value| (value / length) as f32).collect();

    let open_model = || {
        crate::model::FolderModel::open(&FolderSettings {
            folder: folder.path().to_owned(),
            ..FolderSettings::default()
        })
    };
    let model = open_model().unwrap();
    let found = model.embed(&[&short, &long]).unwrap();
    assert!(largest_difference(&found[..1], &[expected]) < TOLERANCE);
    assert_eq!(model.embed(&[&[], &short]).unwrap()[0], Vec::<f32>::new());

    write_json(
        folder.path(),
        "1_Pooling/config.json",
        &json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}),
    );
    let first = &states.values[..32];
    let length = first.iter().map(|value| value * value).sum::<f32>().sqrt();
    let expected: Vec<f32> = first.iter().map(|value| value / length).collect();
    let first_token = open_model().unwrap();
    assert_ne!(first_token.name, model.name);
    let found = first_token.embed(&[&short, &long]).unwrap();
    assert!(largest_difference(&found[..1], &[expected]) < TOLERANCE);
}

#[tokio::test]
async fn a_text_that_is_too_long_is_cut() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let embedder = open(folder.path()).unwrap();
    // 24 tokens, two of which are around the text.
    let (fits, longer) = ("a b ".repeat(11), "a b ".repeat(5_000));
    assert_eq!(count_tokens(&embedder, &longer).await, 24);
    let vectors = embed(&embedder, &[&fits, &longer, &"a b ".repeat(10)]).await;
    assert!(largest_difference(&vectors[..1], &vectors[1..2]) < TOLERANCE);
    assert!(largest_difference(&vectors[..1], &vectors[2..]) > 0.001);

    write_json(
        folder.path(),
        "sentence_bert_config.json",
        &json!({"max_seq_length": 10, "do_lower_case": false}),
    );
    let shorter = open(folder.path()).unwrap();
    assert_eq!(count_tokens(&shorter, &longer).await, 10);
}

#[tokio::test]
async fn questions_and_passages_have_the_prefixes_of_the_folder_or_of_the_operator() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let plain = open(folder.path()).unwrap();
    let with_query = embed_one(&plain, "query: the cat").await;
    let with_passage = embed_one(&plain, "passage: the cat").await;

    let by_operator = FolderEmbedder::open(&FolderSettings {
        folder: folder.path().to_owned(),
        query_prefix: Some("query: ".into()),
        passage_prefix: Some("passage: ".into()),
    })
    .unwrap();
    write_json(
        folder.path(),
        "config_sentence_transformers.json",
        &json!({"prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": null}),
    );
    let by_folder = open(folder.path()).unwrap();

    for embedder in [&by_operator, &by_folder] {
        let texts = [
            EmbeddingInput::Question("the cat"),
            EmbeddingInput::Passage("the cat"),
        ];
        let embedded = embedder.embed(embedder.model(), &texts).await.unwrap();
        let expected = [with_query.clone(), with_passage.clone()];
        assert!(largest_difference(&embedded.vectors, &expected) < TOLERANCE);
    }

    // The vectors that are stored depend on the prefix of passages alone.
    assert_eq!(by_operator.model(), by_folder.model());
    assert_ne!(by_operator.model(), plain.model());
    let without_query = FolderEmbedder::open(&FolderSettings {
        folder: folder.path().to_owned(),
        query_prefix: Some(String::new()),
        passage_prefix: None,
    });
    assert_eq!(without_query.unwrap().model(), by_folder.model());
}

#[tokio::test]
async fn another_model_is_not_asked() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let embedder = open(folder.path()).unwrap();
    assert!(embedder.can_embed_by(embedder.model()));
    assert!(!embedder.can_embed_by("text-embedding-3-small"));
    let error = embedder
        .embed("text-embedding-3-small", &[EmbeddingInput::Passage("cat")])
        .await
        .unwrap_err();
    assert!(matches!(error, PortError::Internal(_)));
}

#[tokio::test]
async fn a_question_does_not_wait_for_documents() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let embedder = open(folder.path()).unwrap();
    let documents = tokio::spawn({
        let embedder = embedder.clone();
        async move { embed(&embedder, &["a b a b a b"; 5_000]).await.len() }
    });
    tokio::task::yield_now().await;
    for _ in 0..3 {
        let question = [EmbeddingInput::Question("the cat")];
        embedder.embed(embedder.model(), &question).await.unwrap();
    }
    assert!(
        !documents.is_finished(),
        "the question was answered meanwhile"
    );
    documents.abort();
}
