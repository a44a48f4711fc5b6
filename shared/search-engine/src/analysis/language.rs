//! Detection of the language whose stemmer is used for a document's words in Latin script.

use rust_stemmers::Algorithm;

use super::stop;

/// A language with a Snowball stemmer for Latin script, or none of them. Segments store the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Language {
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
    /// Any other language; its words in Latin script are not stemmed.
    Other = 14,
}

impl Language {
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
        Self::Other,
    ];

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub(super) fn stemmer_algorithm(self) -> Option<Algorithm> {
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
            Self::Other => return None,
        })
    }

    fn of_whatlang(lang: whatlang::Lang) -> Self {
        use whatlang::Lang;

        match lang {
            Lang::Deu => Self::German,
            Lang::Spa => Self::Spanish,
            Lang::Fra => Self::French,
            Lang::Por => Self::Portuguese,
            Lang::Ita => Self::Italian,
            Lang::Nld => Self::Dutch,
            Lang::Swe => Self::Swedish,
            Lang::Dan => Self::Danish,
            Lang::Nob => Self::Norwegian,
            Lang::Fin => Self::Finnish,
            Lang::Hun => Self::Hungarian,
            Lang::Ron => Self::Romanian,
            Lang::Tur => Self::Turkish,
            Lang::Eng => Self::English,
            _ => Self::Other,
        }
    }
}

/// A set of languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LanguageSet(pub(crate) u32);

impl LanguageSet {
    pub(crate) fn with(self, language: Language) -> Self {
        Self(self.0 | 1 << language as u8)
    }

    pub(crate) fn contains(self, language: Language) -> bool {
        self.0 & (1 << language as u8) != 0
    }

    /// Returns the languages, or English if there are none.
    pub(crate) fn iter(self) -> impl Iterator<Item = Language> {
        let set = if self.0 == 0 {
            self.with(Language::English)
        } else {
            self
        };
        Language::ALL
            .into_iter()
            .filter(move |&language| set.contains(language))
    }
}

/// The number of bytes at the start of a text that decide its language.
const SAMPLE_BYTES: usize = 1_500;

/// Detects the language of a document, deterministically.
///
/// Stop words decide first. If they are ambiguous and the text is long enough, letter trigrams
/// decide. Otherwise the language is English.
pub(crate) fn detect_language(text: &str) -> Language {
    let text = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let votes = stop::count_votes(text);
    let mut ranked: Vec<(u32, Language)> = Language::ALL
        .into_iter()
        .map(|language| (votes[language as usize], language))
        .collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let (best, second) = (ranked[0], ranked[1]);
    if best.0 >= 2 && best.0 * 4 >= second.0 * 5 {
        return best.1;
    }

    let letters = text
        .chars()
        .filter(|c| c.is_alphabetic() && u32::from(*c) < 0x250)
        .count();
    match whatlang::detect(text) {
        Some(info) if letters >= 60 && info.is_reliable() => Language::of_whatlang(info.lang()),
        _ if best.0 > second.0 => best.1,
        _ => Language::English,
    }
}
