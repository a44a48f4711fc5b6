//! Tests that a word which occurs in one document only finds it, whatever its letters are.

use std::collections::BTreeMap;

use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, SearchQuery, StaticEmbedder, search_containers,
};

/// The number of words, each in a document of its own.
const WORDS: usize = 2_000;
/// The default threshold of a search request.
const DEFAULT_THRESHOLD: f32 = 0.6;

const ONSETS: [&str; 20] = [
    "b", "br", "ch", "d", "dr", "f", "fl", "g", "gl", "k", "kr", "l", "m", "n", "p", "qu", "s",
    "st", "v", "z",
];
const VOWELS: [&str; 10] = ["a", "e", "i", "o", "u", "ai", "ou", "ee", "y", "io"];
const ENDS: [&str; 16] = [
    "", "n", "s", "r", "l", "ng", "sh", "x", "ing", "ed", "ly", "tion", "er", "s", "ness", "heit",
];

/// Returns the word with this number, of two or three syllables and an ending that stemmers may
/// cut: the syllables, and the whole word.
fn make_word(number: usize) -> (String, String) {
    let mut state = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let mut pick = |from: &[&'static str]| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        from[(state >> 33) as usize % from.len()]
    };

    let syllables = 2 + number % 2;
    let stem: String = (0..syllables)
        .map(|_| format!("{}{}", pick(&ONSETS), pick(&VOWELS)))
        .collect();
    let surface_form = format!("{stem}{}", pick(&ENDS));

    (stem, surface_form)
}

/// Returns a sentence with the word; sentences vary in length and language.
fn make_sentence(number: usize, word: &str) -> String {
    match number % 5 {
        0 => format!("The {word} was delivered to the warehouse on Tuesday."),
        1 => format!(
            "We talked about {word} and the plans for the next quarter, and nobody had any questions."
        ),
        2 => word.to_owned(),
        3 => format!("Gestern haben wir das {word} im Keller gefunden und in den Garten gebracht."),
        _ => format!(
            "My notes of the meeting: the budget is fine, the office moves in May, and {word} has to be renewed. \
             Anna will write to the landlord and Ben will call the bank about the account."
        ),
    }
}

#[test]
fn a_rare_word_finds_its_document_at_the_default_threshold() {
    // Each word has its own syllables, because forms of one word would find each other.
    let words: BTreeMap<String, String> = (0..WORDS).map(make_word).collect();
    let words: Vec<String> = words.into_values().collect();
    let mut index = ContainerIndex::new();
    for (number, word) in words.iter().enumerate() {
        let text = make_sentence(number, word);
        let vector = StaticEmbedder.embed(&text);
        let chunk = ChunkInput {
            text,
            vector,
            ..ChunkInput::default()
        };
        index.upsert_document(Document {
            id: format!("d{number}"),
            chunks: vec![chunk],
            ..Document::default()
        });
    }

    let mut missed = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let found = search_containers(
            &[&index],
            &SearchQuery::new(word, StaticEmbedder.embed(word)),
        )
        .expect("a readable index");
        let own_hit = found
            .hits
            .iter()
            .find(|hit| hit.document == format!("d{number}"));
        let similarity = own_hit.map_or(0.0, |hit| hit.similarity);
        if similarity < DEFAULT_THRESHOLD {
            missed.push(format!("{word} ({similarity:.2}, {:?})", found.features));
        }
    }

    assert!(
        missed.is_empty(),
        "{} of {}:\n{}",
        missed.len(),
        words.len(),
        missed.join("\n")
    );
}
