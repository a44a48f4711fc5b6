//! Tests of the built-in embedder: the same word pieces as in the model's training, and meaningful
//! vectors.

use search_engine::{Embedder, QuantizedVector, StaticEmbedder};

#[test]
fn word_pieces_equal_those_of_the_reference_tokenizer() {
    let path = std::env::var_os("WORDPIECE_GOLDEN"); // A larger file of the same shape may be checked by hand.
    let golden = match path {
        Some(path) => std::fs::read_to_string(path).expect("what the test wrote is valid"),
        None => include_str!("data/wordpiece.json").to_owned(),
    };
    let golden: Vec<(String, Vec<u32>)> =
        serde_json::from_str(&golden).expect("what the test wrote is valid");
    assert!(golden.len() >= 200);
    for (text, ids) in golden {
        assert_eq!(StaticEmbedder.token_ids(&text), ids, "{text:?}");
    }
}

#[test]
fn a_text_without_known_words_has_the_zero_vector() {
    for text in ["", "   ", "\u{200b}", "ሰላም"] {
        let vector = StaticEmbedder.embed(text);
        assert_eq!(vector, QuantizedVector::ZERO, "{text:?}");
        assert!(vector.cosine(&StaticEmbedder.embed("hello")).abs() < f32::EPSILON);
    }
}

#[test]
fn related_texts_are_nearer_than_unrelated_ones() {
    let near = |a: &str, b: &str| StaticEmbedder.embed(a).cosine(&StaticEmbedder.embed(b));
    assert!(
        near("my dog is ill", "the puppy needs a vet")
            > near("my dog is ill", "quarterly revenue grew")
    );
    assert!((near("green tea", "green tea") - 1.0).abs() < 1e-3);
}

#[test]
fn vectors_of_any_dimension_keep_their_cosines() {
    let wide = |seed: f32| {
        (0..1536)
            .map(|i| ((i as f32 + 1.0) * seed).sin())
            .collect::<Vec<f32>>()
    };
    let (a, b) = (wide(0.37), wide(1.91));
    let mixed: Vec<f32> = a.iter().zip(&b).map(|(a, b)| 0.8 * a + 0.6 * b).collect();
    let [a, b, mixed] = [&a, &b, &mixed].map(|v| QuantizedVector::from_f32(v));
    assert!((a.cosine(&mixed) - 0.8).abs() < 0.1, "{}", a.cosine(&mixed));
    assert!(a.cosine(&b).abs() < 0.2);
    assert_eq!(
        QuantizedVector::from_f32(&[f32::NAN, f32::INFINITY]),
        QuantizedVector::ZERO
    );
}
