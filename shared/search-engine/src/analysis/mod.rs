//! Conversion of texts to terms, for many languages at once.
//!
//! A document is stemmed in the one language that was detected for it. A query is stemmed in every
//! language of the searched documents, and the stems are alternatives of one term. A wrong or
//! unstable detection of a short query therefore cannot separate it from its document. Identifiers
//! are kept whole (with `=` in front) in addition to their parts.

mod fold;
mod latin_stemmer;
mod scan;
mod stem;
mod stop;

pub use latin_stemmer::LatinStemmer;
pub(crate) use latin_stemmer::StemmerSet;

use scan::{TextUnit, scan_text};
pub(crate) use stem::stem_word;

/// The longest term in bytes; longer ones are cut. The dictionary needs a limit.
const MAX_TERM_BYTES: usize = 96;

/// The most terms of a query; those after them are ignored. A pasted page is not a question.
const MAX_QUERY_TERMS: usize = 128;

/// The prefix of a whole identifier in the dictionary. No word contains it.
const IDENTIFIER_PREFIX: char = '=';
/// The prefix of a single character of a script without spaces.
const SINGLE_CHARACTER_PREFIX: char = '^';

/// Calls `sink(term, is_counted)` for each term of a document's text. The `is_counted` terms make
/// up the length of the text.
pub(crate) fn index_terms(text: &str, stemmer: LatinStemmer, sink: &mut dyn FnMut(&str, bool)) {
    let mut buffer = String::new();
    scan_text(text, &mut |unit| {
        buffer.clear();
        let is_counted = match unit {
            TextUnit::Word(word) => {
                stem::stem_word(word, stemmer, &mut buffer);
                true
            }
            TextUnit::Gram(gram) => {
                buffer.push_str(gram);
                true
            }
            TextUnit::Single { text, is_alone } => {
                buffer.push(SINGLE_CHARACTER_PREFIX);
                buffer.push_str(text);
                is_alone
            }
            TextUnit::Identifier(token) => {
                push_identifier(token, &mut buffer);
                false
            }
        };
        truncate_term(&mut buffer);
        sink(&buffer, is_counted);
    });
}

/// A term of a query. A chunk contains it if it contains any of `variants`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerm {
    /// The dictionary forms of the word, one per stemmer in use, without duplicates.
    pub variants: Vec<String>,
    /// The word as it was asked, in lower case. It is empty for identifiers and for scripts without
    /// spaces.
    pub word: String,
    /// True for a whole identifier (an order number, a path, an error code).
    pub is_identifier: bool,
    /// True for two characters of which one is mostly grammar, like a particle or a pronoun.
    pub is_weak: bool,
}

/// Returns the terms of a query over documents with these stemmers, in the order of the query and each
/// once. Stop words are left out unless the query has no other words.
pub(crate) fn query_terms(text: &str, stemmers: StemmerSet) -> Vec<QueryTerm> {
    let terms = collect_terms(&stop::remove_question_phrases(text), stemmers, true);
    if terms.is_empty() {
        collect_terms(text, stemmers, false)
    } else {
        terms
    }
}

fn collect_terms(text: &str, stemmers: StemmerSet, skip_stop_words: bool) -> Vec<QueryTerm> {
    let stop_languages = stop::stop_languages_of(text, stemmers);
    let mut terms: Vec<QueryTerm> = Vec::new();
    scan_text(text, &mut |unit| {
        let (mut is_identifier, mut is_weak) = (false, false);
        let mut asked_word = "";
        let mut variants = match unit {
            TextUnit::Word(word) if skip_stop_words && stop::is_stop_word(word, stop_languages) => {
                return;
            }
            TextUnit::Word(word) => {
                asked_word = word;
                word_variants(word, stemmers)
            }
            TextUnit::Gram(gram) => {
                is_weak = stop::is_weak_gram(gram);
                vec![gram.to_owned()]
            }
            TextUnit::Single {
                is_alone: false, ..
            } => return,
            TextUnit::Single {
                text,
                is_alone: true,
            } => {
                vec![format!("{SINGLE_CHARACTER_PREFIX}{text}")]
            }
            TextUnit::Identifier(token) => {
                is_identifier = true;
                let mut variant = String::new();
                push_identifier(token, &mut variant);
                vec![variant]
            }
        };
        variants.iter_mut().for_each(truncate_term);
        variants.dedup();
        if terms.len() < MAX_QUERY_TERMS
            && !terms.iter().any(|existing| existing.variants == variants)
        {
            terms.push(QueryTerm {
                variants,
                word: asked_word.to_owned(),
                is_identifier,
                is_weak,
            });
        }
    });

    terms
}

fn word_variants(word: &str, stemmers: StemmerSet) -> Vec<String> {
    let mut variants = Vec::new();
    for stemmer in stemmers.iter() {
        let mut variant = String::new();
        stem::stem_word(word, stemmer, &mut variant);
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants
}

fn push_identifier(identifier: &str, buffer: &mut String) {
    buffer.push(IDENTIFIER_PREFIX);
    fold::fold_accents(&identifier.to_lowercase(), buffer);
}

fn truncate_term(term: &mut String) {
    term.truncate(term.floor_char_boundary(MAX_TERM_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        index_terms(text, LatinStemmer::for_text(text), &mut |term, _| {
            out.push(term.to_owned())
        });
        out
    }

    fn query(text: &str) -> Vec<String> {
        let stemmers = StemmerSet::default().with(LatinStemmer::English);
        query_terms(text, stemmers)
            .into_iter()
            .map(|t| t.variants.join("|"))
            .collect()
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        assert_eq!(
            terms("The Cafés were painting"),
            ["the", "cafe", "were", "paint"]
        );
        assert_eq!(
            query("When did Caroline's cafés open?"),
            ["carolin", "cafe", "open"]
        );
    }

    #[test]
    fn identifiers_are_kept_whole_beside_their_parts() {
        let found = terms("see ORD-2024-00017, error[E0382] in src/main.rs");
        for whole in ["=ord-2024-00017", "=e0382", "=src/main.rs"] {
            assert!(found.iter().any(|t| t == whole), "{whole} in {found:?}");
        }
        for part in ["ord", "2024", "00017", "e0382", "src", "main", "rs"] {
            assert!(found.iter().any(|t| t == part), "{part} in {found:?}");
        }
    }

    #[test]
    fn a_query_of_stop_words_keeps_them() {
        assert_eq!(query("who are you"), ["who", "are", "you"]);
    }

    #[test]
    fn scripts_without_spaces_become_bigrams() {
        assert_eq!(query("東京都"), ["東京", "京都"]);
        assert_eq!(query("猫"), ["^猫"]);
        assert!(terms("東京の猫").contains(&"^猫".to_owned()));
    }

    #[test]
    fn a_query_word_is_stemmed_in_every_language_of_the_index() {
        let stemmers = StemmerSet::default()
            .with(LatinStemmer::English)
            .with(LatinStemmer::Spanish);
        let terms = query_terms("trabajando", stemmers);
        assert_eq!(terms.len(), 1);
        assert!(terms[0].variants.len() > 1, "{terms:?}");
    }
}
