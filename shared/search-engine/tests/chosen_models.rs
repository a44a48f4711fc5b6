//! Tests of vectors by models that the operator chose: storage, ranking beside the built-in vectors,
//! and the calibration of their cosines.

use std::sync::Arc;

use bytes::Bytes;
use search_engine::{
    ChunkInput, ContainerIndex, CosineLevels, CosineScale, Document, Embedder, ModelVector,
    QuantizedVector, QueryModel, Replacing, SearchQuery, Segment, StaticEmbedder,
    search_containers,
};

fn vector(model: &str, values: &[f32]) -> ModelVector {
    ModelVector::quantize(Arc::from(model), values).expect("a direction")
}

fn document(id: &str, text: &str, model_vector: Option<ModelVector>) -> Document {
    let chunk = ChunkInput {
        text: text.into(),
        vector: StaticEmbedder.embed(text),
        model_vector,
        ..ChunkInput::default()
    };
    Document {
        id: id.into(),
        chunks: vec![chunk],
        ..Document::default()
    }
}

/// Returns documents by two models of different dimensions, and by none.
fn mixed_documents() -> Vec<Document> {
    vec![
        document(
            "a",
            "The kettle whistles.",
            Some(vector("small", &[1.0, 0.0, 0.5])),
        ),
        document("b", "The harbour is quiet.", None),
        document(
            "c",
            "A lamp stands there.",
            Some(vector("large", &[0.25; 700])),
        ),
        document(
            "d",
            "Nobody came.",
            Some(vector("small", &[0.0, 1.0, -0.5])),
        ),
    ]
}

fn built(documents: Vec<Document>) -> Vec<u8> {
    index_of(documents, false)
        .build_compacted(Replacing::ById)
        .expect("a segment")
}

fn opened(file: Vec<u8>) -> Arc<Segment> {
    Arc::new(Segment::open(Bytes::from(file)).expect("a segment"))
}

fn index_of(documents: Vec<Document>, is_sealed: bool) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    if is_sealed {
        index
            .push_segment(opened(built(documents)))
            .expect("a segment");
    } else {
        for document in documents {
            index.upsert_document(document);
        }
    }
    index
}

fn ids(index: &ContainerIndex, text: &str, models: &[QueryModel]) -> Vec<String> {
    let query = SearchQuery {
        models,
        ..SearchQuery::new(text, StaticEmbedder.embed(text))
    };
    let outcome = search_containers(&[index], &query).expect("a search");
    outcome.hits.into_iter().map(|hit| hit.document).collect()
}

#[test]
fn vectors_of_any_dimension_come_back_with_their_model() {
    let segment = opened(built(mixed_documents()));
    let found: Vec<Document> = segment.documents().map(Result::unwrap).collect();
    assert_eq!(found, mixed_documents());
}

#[test]
fn damaged_vectors_are_an_error_or_change_nothing() {
    let file = built(mixed_documents());
    let mut errors = 0;
    for offset in 0..file.len() {
        let mut broken = file.clone();
        broken[offset] ^= 0x41;
        let documents = Segment::open(Bytes::from(broken))
            .and_then(|segment| segment.documents().collect::<Result<Vec<_>, _>>());
        match documents {
            Ok(documents) => assert_eq!(documents, mixed_documents(), "byte {offset}"),
            Err(_) => errors += 1,
        }
    }
    assert!(errors > 1_000, "{errors}");
}

#[test]
fn an_index_names_its_models_and_what_lacks_them() {
    for is_sealed in [false, true] {
        let mut index = index_of(mixed_documents(), is_sealed);
        let names: Vec<String> = index
            .model_names()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["large", "small"]);
        assert_eq!(
            index.documents_without("small", 10).expect("ids"),
            ["b", "c"]
        );
        assert_eq!(index.documents_without("small", 1).expect("ids"), ["b"]);
        assert_eq!(index.documents_without("other", 10).expect("ids").len(), 4);

        index.remove_document("c");
        assert_eq!(index.model_names().len(), 1, "a model without live chunks");
    }
}

#[test]
fn a_query_finds_by_its_model_what_words_cannot() {
    let models = [QueryModel {
        vector: vector("small", &[1.0, 0.0, 0.5]),
        scale: CosineScale::IDENTITY,
    }];
    for is_sealed in [false, true] {
        let index = index_of(mixed_documents(), is_sealed);
        let query = SearchQuery::new("zzyzx", QuantizedVector::ZERO);
        let without = search_containers(&[&index], &query).expect("a search");
        assert!(without.hits.is_empty(), "{:?}", without.hits);

        let query = SearchQuery {
            models: &models,
            ..query
        };
        let outcome = search_containers(&[&index], &query).expect("a search");
        let found = outcome.hits.first().expect("a hit");
        assert_eq!(found.document, "a", "sealed: {is_sealed}");
        assert!(found.scores.vector > 0.99, "{:?}", found.scores);
    }
}

#[test]
fn a_half_changed_container_is_searched_by_both() {
    let models = [QueryModel {
        vector: vector("small", &[1.0, 0.0, 0.5]),
        scale: CosineScale::IDENTITY,
    }];
    for is_sealed in [false, true] {
        let index = index_of(mixed_documents(), is_sealed);
        let found = ids(&index, "a silent port", &models);
        assert_eq!(found[0], "a", "by the model: {found:?}");
        assert!(
            found.contains(&"b".to_owned()),
            "by the built-in vector: {found:?}"
        );
    }
}

#[test]
fn vectors_of_other_models_are_not_compared() {
    let same_values = vector("other", &[1.0, 0.0, 0.5]);
    assert_eq!(same_values.cosine(&vector("small", &[1.0, 0.0, 0.5])), 0.0);
    assert_eq!(same_values.cosine(&vector("other", &[1.0, 0.0])), 0.0);
    assert!(same_values.cosine(&same_values) > 0.999);
}

#[test]
fn values_without_a_direction_give_no_vector() {
    let model: Arc<str> = Arc::from("small");
    for values in [
        &[][..],
        &[0.0, 0.0],
        &[1.0, f32::NAN],
        &[f32::INFINITY, 1.0],
        &[1.0; 8_193],
    ] {
        assert_eq!(ModelVector::quantize(model.clone(), values), None);
    }
    assert_eq!(ModelVector::from_codes(model, vec![0, 0]), None);
}

#[test]
fn calibration_moves_the_levels_of_one_model_to_those_of_another() {
    let from = CosineLevels {
        unrelated: 0.75,
        related: 0.9,
    };
    let to = CosineLevels {
        unrelated: 0.1,
        related: 0.5,
    };
    let scale = CosineScale::between(from, to);
    assert!((scale.convert(0.75) - 0.1).abs() < 1e-5);
    assert!((scale.convert(0.9) - 0.5).abs() < 1e-5);

    // The noise of a model that tells nothing apart is limited.
    let blind = CosineLevels {
        unrelated: 0.5,
        related: 0.5,
    };
    let scale = CosineScale::between(blind, to);
    assert!(scale.convert(0.51) - scale.convert(0.5) < 0.09);
}
