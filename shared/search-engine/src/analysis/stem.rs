//! Stemming of single words. The script selects the stemmer where it can; words in Latin script use
//! the stemmer of the document.

use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::fold::fold_accents;
use super::latin_stemmer::LatinStemmer;

/// Appends the folded stem of `word`, which is in lower case and composed. Words with digits keep
/// their form.
pub(crate) fn stem_word(word: &str, stemmer: LatinStemmer, out: &mut String) {
    if word.bytes().any(|b| b.is_ascii_digit()) {
        return fold_accents(word, out);
    }

    let first = u32::from(word.chars().next().unwrap_or(' '));
    let algorithm = match first {
        0..=0x36F | 0x1E00..=0x1EFF => stemmer.algorithm(),
        0x370..=0x3FF => Some(Algorithm::Greek),
        0x400..=0x52F => Some(Algorithm::Russian),
        0x600..=0x6FF => Some(Algorithm::Arabic),
        0xB80..=0xBFF => Some(Algorithm::Tamil),
        0x900..=0x97F => return out.push_str(stem_hindi(word)),
        _ => None,
    };

    match algorithm {
        Some(algorithm) => fold_accents(&Stemmer::create(algorithm).stem(word), out),
        None => fold_accents(word, out),
    }
}

/// Endings of case and number in Hindi, longest first: the vowel signs and nasals that plain nouns
/// and verbs take.
static HINDI_ENDINGS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut endings: Vec<&str> =
        "ियों ियाँ ियां ाओं ाएं ाएँ ुओं ुएं ुआं ता ती ते ना नी ने कर ों ें ीं ाँ ां ो े ू ु ी ि ा"
            .split(' ')
            .collect();
    endings.sort_by_key(|ending| std::cmp::Reverse(ending.len()));
    endings
});

fn stem_hindi(word: &str) -> &str {
    let stem = HINDI_ENDINGS
        .iter()
        .find_map(|ending| word.strip_suffix(ending));
    stem.filter(|stem| stem.chars().count() >= 2)
        .unwrap_or(word)
}
