//! The stemmer for a document's words in Latin script.

use rust_stemmers::Algorithm;
use text::{Language, detect_language};

/// A Snowball stemmer for words in Latin script, named after its language, or none. Segments store
/// the number, so the numbers do not change.
///
/// A document keeps the stemmer with which it was indexed, and a query is stemmed with all stemmers
/// of the searched documents. So whatever is indexed is found, also when a later version of the
/// program detects another language in the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum LatinStemmer {
    English = 0,
    German = 1,
    Spanish = 2,
    French = 3,
    Portuguese = 4,
    Italian = 5,
    Dutch = 6,
    Swedish = 7,
    Danish = 8,
    Norwegian = 9,
    Finnish = 10,
    Hungarian = 11,
    Romanian = 12,
    Turkish = 13,
    /// The words are not stemmed.
    None = 14,
}

impl LatinStemmer {
    /// All values in the order of their numbers.
    pub(crate) const ALL: [Self; 15] = [
        Self::English,
        Self::German,
        Self::Spanish,
        Self::French,
        Self::Portuguese,
        Self::Italian,
        Self::Dutch,
        Self::Swedish,
        Self::Danish,
        Self::Norwegian,
        Self::Finnish,
        Self::Hungarian,
        Self::Romanian,
        Self::Turkish,
        Self::None,
    ];

    /// Returns the stemmer for a document with this text.
    pub(crate) fn for_text(text: &str) -> Self {
        Self::for_language(detect_language(text))
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub(super) fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::Spanish => Algorithm::Spanish,
            Self::French => Algorithm::French,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Italian => Algorithm::Italian,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Danish => Algorithm::Danish,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Finnish => Algorithm::Finnish,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Romanian => Algorithm::Romanian,
            Self::Turkish => Algorithm::Turkish,
            Self::None => return None,
        })
    }

    /// Returns the stemmer for the words in Latin script of a text in `language`. In languages with
    /// a script of their own, these are mostly English.
    fn for_language(language: Language) -> Self {
        match language {
            Language::German => Self::German,
            Language::Spanish => Self::Spanish,
            Language::French => Self::French,
            Language::Portuguese => Self::Portuguese,
            Language::Italian => Self::Italian,
            Language::Dutch => Self::Dutch,
            Language::Swedish => Self::Swedish,
            Language::Danish => Self::Danish,
            Language::Norwegian => Self::Norwegian,
            Language::Finnish => Self::Finnish,
            Language::Hungarian => Self::Hungarian,
            Language::Romanian => Self::Romanian,
            Language::Turkish => Self::Turkish,
            Language::Other => Self::None,
            Language::English
            | Language::Russian
            | Language::Hindi
            | Language::Chinese
            | Language::Japanese
            | Language::Korean
            | Language::Arabic => Self::English,
        }
    }

    /// Returns the language whose words it stems.
    pub(super) fn language(self) -> Language {
        match self {
            Self::English => Language::English,
            Self::German => Language::German,
            Self::Spanish => Language::Spanish,
            Self::French => Language::French,
            Self::Portuguese => Language::Portuguese,
            Self::Italian => Language::Italian,
            Self::Dutch => Language::Dutch,
            Self::Swedish => Language::Swedish,
            Self::Danish => Language::Danish,
            Self::Norwegian => Language::Norwegian,
            Self::Finnish => Language::Finnish,
            Self::Hungarian => Language::Hungarian,
            Self::Romanian => Language::Romanian,
            Self::Turkish => Language::Turkish,
            Self::None => Language::Other,
        }
    }
}

/// A set of stemmers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StemmerSet(pub(crate) u32);

impl StemmerSet {
    pub(crate) fn with(self, stemmer: LatinStemmer) -> Self {
        Self(self.0 | 1 << stemmer as u8)
    }

    pub(crate) fn contains(self, stemmer: LatinStemmer) -> bool {
        self.0 & (1 << stemmer as u8) != 0
    }

    /// Returns the stemmers, or that of English if there are none.
    pub(crate) fn iter(self) -> impl Iterator<Item = LatinStemmer> {
        let set = if self.0 == 0 {
            self.with(LatinStemmer::English)
        } else {
            self
        };
        LatinStemmer::ALL
            .into_iter()
            .filter(move |&stemmer| set.contains(stemmer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_do_not_change() {
        for (number, stemmer) in (0..).zip(LatinStemmer::ALL) {
            assert_eq!(stemmer as u8, number);
            assert_eq!(LatinStemmer::from_number(number), Some(stemmer));
            assert_eq!(LatinStemmer::for_language(stemmer.language()), stemmer);
        }

        let ends = [LatinStemmer::English, LatinStemmer::None].map(|stemmer| stemmer as u8);
        assert_eq!(ends, [0, 14]);
        assert_eq!(LatinStemmer::from_number(15), None);
    }
}
