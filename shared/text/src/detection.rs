//! Detection of the language of a text: by script, then by common words, then by stop words.

use std::sync::LazyLock;

use crate::file::{LanguageFileError, LanguageSections};
use crate::hash::WordTable;
use crate::language::{DETECTION_SECTIONS, Language};
use crate::{find_words, join_words};

/// The number of letters after which detection stops reading.
const MAX_LETTERS: usize = 1500;

/// The most marker letters of a language that count.
const MAX_MARKERS: usize = 3;

/// The least number of stop words that indicate a language. A single one, such as `i`, may be a
/// word of any language.
const MIN_STOP_WORDS: u32 = 2;

/// The score from which a language in Latin script is clear: more than one word indicates it.
const MIN_CLEAR_SCORE: u32 = 3;

/// The words and letters that indicate the languages in Latin script.
#[derive(Default)]
struct DetectionWords {
    /// The languages that each common word indicates, as bits. Several languages may share a word.
    common_words: WordTable<u32>,
    /// Letters that a language has and most others lack.
    marker_letters: Vec<(Language, Vec<char>)>,
    /// The languages without common words that have a stop word, as bits.
    stop_words: WordTable<u32>,
}

impl DetectionWords {
    /// Returns the words and letters of all language files, which are read once.
    ///
    /// The files are a part of the program, and a test loads them all, so there is no fault to
    /// report here.
    fn shared() -> &'static Self {
        static WORDS: LazyLock<DetectionWords> =
            LazyLock::new(|| DetectionWords::load().unwrap_or_default());
        &WORDS
    }

    fn load() -> Result<Self, LanguageFileError> {
        let mut words = Self::default();
        for language in Language::ALL {
            let file = language.words_file();
            let mut sections = LanguageSections::parse_first(file, DETECTION_SECTIONS)?;
            let bit = 1 << *language as u32;

            let common_words = sections.take("common words")?.spaced_words()?;
            if common_words.is_empty() && language.is_in_latin_script() {
                for word in sections.take("stop words")?.spaced_words()? {
                    *words.stop_words.entry(word).or_default() |= bit;
                }
            }
            for word in common_words {
                *words.common_words.entry(word).or_default() |= bit;
            }

            let letters = sections.take("marker letters")?.letters()?;
            if !letters.is_empty() {
                words.marker_letters.push((*language, letters));
            }
        }

        Ok(words)
    }
}

/// Detects the language of a text. Returns English if nothing indicates another language.
///
/// The script decides first. A text in Latin script has the language of most of its common words;
/// if they are of none of the languages that have common words, its stop words decide.
pub fn detect_language(text: &str) -> Language {
    guess_language(text).language
}

/// The language of a text, as far as it can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanguageGuess {
    /// The language that is most likely.
    pub language: Language,
    /// False if at most a word indicates the language.
    pub is_clear: bool,
}

/// Detects the language of a text like [`detect_language`], and says whether it is clear.
pub fn guess_language(text: &str) -> LanguageGuess {
    let mut scripts = ScriptCounts::default();
    for c in text.chars().filter(|c| c.is_alphabetic()).take(MAX_LETTERS) {
        scripts.count_letter(c);
    }
    let dominant = scripts.dominant_language().map(|language| LanguageGuess {
        language,
        is_clear: true,
    });
    dominant.unwrap_or_else(|| guess_latin_language(text))
}

/// The number of letters of a text in each script.
#[derive(Default)]
struct ScriptCounts {
    latin: usize,
    han: usize,
    kana: usize,
    hangul: usize,
    cyrillic: usize,
    /// Cyrillic letters that Russian does not use.
    non_russian: usize,
    devanagari: usize,
    arabic: usize,
    /// Letters in Arabic script that Arabic does not use.
    non_arabic: usize,
    other: usize,
}

impl ScriptCounts {
    fn count_letter(&mut self, c: char) {
        let counter = match c {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => &mut self.latin,
            '\u{3040}'..='\u{30ff}' => &mut self.kana,
            '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '々' => &mut self.han,
            '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => &mut self.hangul,
            'і' | 'ї' | 'є' | 'ґ' | 'ў' | 'ј' | 'љ' | 'њ' | 'ћ' | 'ђ' => {
                &mut self.non_russian
            }
            '\u{400}'..='\u{4ff}' => &mut self.cyrillic,
            '\u{900}'..='\u{97f}' => &mut self.devanagari,
            'پ' | 'چ' | 'ژ' | 'گ' | 'ک' | 'ی' | 'ٹ' | 'ڈ' | 'ڑ' | 'ں' | 'ے' | 'ہ' => {
                &mut self.non_arabic
            }
            '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => &mut self.arabic,
            _ => &mut self.other,
        };

        *counter += 1;
    }

    /// Returns the language, unless the text is mostly in Latin script. Letters of other scripts
    /// weigh more than Latin ones, because texts of every script contain many names and terms in
    /// Latin letters, and a Chinese character says as much as several letters.
    fn dominant_language(&self) -> Option<Language> {
        let east_asian = (self.han + self.kana) * 3;
        let ranked = [
            (
                east_asian,
                if self.kana * 12 > self.han {
                    Language::Japanese
                } else {
                    Language::Chinese
                },
            ),
            (self.hangul * 3, Language::Korean),
            (
                self.cyrillic * 2,
                if self.non_russian * 30 > self.cyrillic {
                    Language::Other
                } else {
                    Language::Russian
                },
            ),
            (self.devanagari * 2, Language::Hindi),
            (
                self.arabic + self.non_arabic,
                if self.non_arabic * 30 > self.arabic {
                    Language::Other
                } else {
                    Language::Arabic
                },
            ),
            (self.other, Language::Other),
        ];
        let (max_count, language) = ranked.into_iter().max_by_key(|(count, _)| *count)?;

        (max_count > self.latin).then_some(language)
    }
}

fn guess_latin_language(text: &str) -> LanguageGuess {
    let indicators = DetectionWords::shared();
    let mut scores = [0u32; Language::ALL.len()];

    for_each_lower_word(text, |word, lower| {
        if let Some(languages) = indicators.common_words.get(lower) {
            // A word of a single language is stronger evidence than a shared one.
            let weight = if languages.count_ones() == 1 { 2 } else { 1 };
            add_score(*languages, weight, &mut scores);
        }

        // Other languages write a capital "I" at most at the beginning of a sentence.
        scores[Language::English as usize] += 2 * u32::from(word == "I");
    });

    // ASCII text contains none of the letters.
    if !text.is_ascii() {
        for (language, markers) in &indicators.marker_letters {
            let found = text.chars().filter(|c| markers.contains(c));
            scores[*language as usize] += found.take(MAX_MARKERS).count() as u32;
        }
    }

    let best = best_language(&scores);
    LanguageGuess {
        language: match best {
            Some(Language::Other) => detect_by_stop_words(text),
            Some(language) => language,
            None => Language::English,
        },
        is_clear: best.is_some_and(|best| scores[best as usize] >= MIN_CLEAR_SCORE),
    }
}

/// Detects a language that has stop words but no common words.
fn detect_by_stop_words(text: &str) -> Language {
    let indicators = DetectionWords::shared();
    let mut scores = [0u32; Language::ALL.len()];

    for_each_lower_word(text, |_, lower| {
        if let Some(languages) = indicators.stop_words.get(lower) {
            add_score(*languages, 1, &mut scores);
        }
    });

    match best_language(&scores) {
        Some(language) if scores[language as usize] >= MIN_STOP_WORDS => language,
        _ => Language::Other,
    }
}

/// Calls `visit` with each word of the beginning of a text, as it is written and in lower case with
/// straight apostrophes. A compound with hyphens is one word: its parts, as the `me` of
/// `comprometo-me`, may look like words of another language.
fn for_each_lower_word(text: &str, mut visit: impl FnMut(&str, &str)) {
    let mut letters = 0;
    let mut lower = String::new();
    for word in join_words(text, find_words(text), |gap, _| gap == "-") {
        if letters > MAX_LETTERS {
            break;
        }
        letters += word.text.len();

        lower.clear();
        if word.text.is_ascii() {
            lower.push_str(word.text);
            lower.make_ascii_lowercase();
        } else {
            lower.push_str(&word.text.to_lowercase().replace('’', "'"));
        }
        visit(word.text, &lower);
    }
}

/// Adds to the scores of languages that are given as bits.
fn add_score(languages: u32, weight: u32, scores: &mut [u32]) {
    for (bit, score) in scores.iter_mut().enumerate() {
        if languages & (1 << bit) != 0 {
            *score += weight;
        }
    }
}

/// Returns the language with the highest score, of equal ones the first, or nothing if every score
/// is zero.
fn best_language(scores: &[u32; Language::ALL.len()]) -> Option<Language> {
    let ranked = Language::ALL.iter().rev();
    ranked
        .max_by_key(|language| scores[**language as usize])
        .copied()
        .filter(|language| scores[*language as usize] > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_letters_are_loaded() {
        let words = DetectionWords::load().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            words.common_words.get("nicht"),
            Some(&(1 << Language::German as u32))
        );
        assert_eq!(words.marker_letters.len(), 6);
    }

    #[test]
    fn languages_of_short_and_mixed_texts() {
        use Language::*;
        let cases = [
            ("I live in Berlin.", English),
            ("Okay", English),
            ("", English),
            ("Ich wohne in Bonn.", German),
            ("Danke, bis morgen!", German),
            ("Vivo en Sevilla desde mayo.", Spanish),
            ("Me gusta el café.", Spanish),
            ("J’habite à Lyon.", French),
            ("Elle préfère le thé.", French),
            ("Moro em Recife e gosto de café.", Portuguese),
            ("Não como carne.", Portuguese),
            ("Abito a Torino, ma lavoro a Milano.", Italian),
            ("Mi piace il tè.", Italian),
            ("Я живу в Туле.", Russian),
            ("Я живу у Києві і люблю її.", Other),
            ("मैं पुणे में रहता हूँ।", Hindi),
            ("我们用 OTLP HTTP，不用 gRPC。", Chinese),
            ("Saela 决定用 LaTeX 写草稿。", Chinese),
            ("私は大阪に住んでいます。", Japanese),
            ("저는 부산에 살아요.", Korean),
            ("Ik woon in Utrecht en ik hou niet van koffie.", Dutch),
            ("Jag bor i Malmö och det är bra.", Swedish),
            (
                "Jeg bor i Bergen, og dette er ikke så bra for meg.",
                Norwegian,
            ),
            ("Jeg bor i Aarhus, og det er også godt for mig.", Danish),
            (
                "Asun Turussa ja olen opettaja, mutta se ei ole helppoa.",
                Finnish,
            ),
            (
                "Szegeden lakom, és nem eszem húst, mert az nem jó.",
                Hungarian,
            ),
            ("Locuiesc la Iași și nu mănânc carne.", Romanian),
            ("İzmir'de oturuyorum ve bu çok güzel bir yer.", Turkish),
            ("Mieszkam w Łodzi i nie jem mięsa.", Other),
            ("أسكن في طرابلس", Arabic),
            ("من در شیراز زندگی می‌کنم و گاهی چای می‌نوشم", Other),
            ("אני גר בחיפה", Other),
        ];

        for (text, language) in cases {
            assert_eq!(detect_language(text), language, "{text}");
        }
    }

    #[test]
    fn a_language_is_clear_if_several_words_indicate_it() {
        for (text, language, is_clear) in [
            ("i live in leeds with my cat", Language::English, true),
            ("hab zwei hunde und eine katze", Language::German, true),
            ("allergies: penicillin", Language::English, false),
            ("bin dachdecker", Language::English, false),
            ("叫我阿力", Language::Chinese, true),
        ] {
            let expected = LanguageGuess { language, is_clear };
            assert_eq!(guess_language(text), expected, "{text}");
        }
    }

    #[test]
    fn short_sentences_of_a_chat_are_of_their_language() {
        use Language::*;
        let cases: [(Language, &[&str]); 11] = [
            (
                English,
                &[
                    "Call me Alex.",
                    "Nope.",
                    "Got a dog!",
                    "Tea, always.",
                    "Sounds good, thanks!",
                    "Moved to Oslo last year.",
                    "Sam's birthday: May 3.",
                    "No sugar for me",
                    "Running late, sorry.",
                    "Vegan since 2019",
                    "Hello there",
                    "Born in Genoa.",
                    "Me too!",
                    "Two kids, one cat.",
                    "Love hiking.",
                    "Anna prefers trains.",
                    "Use metric units.",
                    "Dinner at eight?",
                    "Never mind.",
                    "Work: nurse, night shifts.",
                    "im vegan",
                    "ive got two kids",
                    "im at mit doing a phd",
                    "mia turned 7 today",
                ],
            ),
            (
                German,
                &[
                    "Nenn mich Alex.",
                    "Kein Zucker, bitte.",
                    "Ich mag Hunde.",
                    "hab zwei hunde",
                    "bin im urlaub am see",
                ],
            ),
            (
                Spanish,
                &[
                    "Llámame Alex.",
                    "Sin azúcar, gracias.",
                    "Me gustan los perros.",
                    "me mudé a cusco",
                ],
            ),
            (
                French,
                &[
                    "Appelle-moi Alex, c'est mieux.",
                    "Pas de sucre, merci.",
                    "J'aime les chiens.",
                ],
            ),
            (
                Portuguese,
                &[
                    "Pode me chamar de Alex, não?",
                    "Sem açúcar, obrigado.",
                    "Eu gosto de cães.",
                ],
            ),
            (
                Italian,
                &[
                    "Chiamami Alex, grazie.",
                    "Non prendo zucchero.",
                    "Mi piacciono i cani.",
                ],
            ),
            (
                Russian,
                &["Зови меня Алекс.", "Без сахара.", "Люблю собак."],
            ),
            (Hindi, &["मुझे एलेक्स कहो।", "चीनी नहीं।", "कुत्ते पसंद हैं।"]),
            (Chinese, &["叫我阿力。", "不要糖。", "我喜欢狗。"]),
            (
                Japanese,
                &["アレックスと呼んで。", "砂糖はいらない。", "犬が好きです。"],
            ),
            (
                Korean,
                &["알렉스라고 불러 줘.", "설탕은 빼 주세요.", "개를 좋아해요."],
            ),
        ];
        let mut wrong = String::new();
        for (language, texts) in cases {
            for text in texts
                .iter()
                .filter(|text| detect_language(text) != language)
            {
                wrong += &format!(
                    "{text}: {language:?} taken for {:?}\n",
                    detect_language(text)
                );
            }
        }

        assert!(wrong.is_empty(), "\n{wrong}");
    }
}
