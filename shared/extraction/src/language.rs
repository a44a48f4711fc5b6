//! Detection of the language of a passage: by script, then by common words.

/// A language for which there are rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    English,
    German,
    Spanish,
    French,
    Portuguese,
    Italian,
    Russian,
    Hindi,
    Chinese,
    Japanese,
    Korean,
    /// Any other language.
    Other,
}

/// The number of letters after which detection stops reading.
const MAX_LETTERS: usize = 1500;

/// Common short words of the languages in Latin script. A word that several languages share counts
/// for each of them.
const COMMON_WORDS: [(Language, &str); 7] = [
    (
        Language::English,
        "a the and is are was were i i'm i've i'll my you your we our he she it they of to in for on with that this not be \
         have has had do did don't will would can at from by as an but or if what so just about there been never always \
         he's she's it's that's we're let's no me him her them who when where which now please call tell more than any every twice week years got get \
         like love want need some really went",
    ),
    (
        Language::German,
        "der die das und ist sind war ich mein meine meinen meiner du wir uns unser er sie es ein eine einen einem einer den \
         dem des von zu im auf für mit dass nicht kein keine habe hat haben wird werden würde kann an aus bei aber oder wenn \
         wie auch nur noch mehr nach über bis am zum zur sich mir mich ab seit heute morgen gestern immer bitte danke als statt \
         lieber arbeitet arbeite wohne wohnt heiße heißt entschieden beschlossen nie sehr",
    ),
    (
        Language::Spanish,
        "el la los las y es son era yo mi mis tu nos nosotros él ella un una unos del de a en por para con que no se ha he \
         han hay pero o si como más muy su sus lo le me al este esta esto está estoy fue ser tengo tiene hemos ya también \
         porque cuando vivo prefiero gusta siempre mañana hoy ayer desde hasta gracias hola voy vamos mudado trabajo llamo",
    ),
    (
        Language::French,
        "le la les et est sont était je j'ai mon ma mes tu nous notre vous il elle ils un une des du de à en pour par avec \
         que qui ne pas se sa son ses au aux ce cette c'est mais ou si comme plus très été ai as a avons sur dans d'un d'une en désormais dans c'était \
         qu'il l'on toujours jamais demain hier aujourd'hui depuis jusqu'à merci bonjour y leur être j'habite suis réponds préfère elles n'est n'a s'est qu'on l'a d'ici vais",
    ),
    (
        Language::Portuguese,
        "o a os as e é são era eu meu minha meus minhas você nós ele ela um uma do da dos das de em no na nos nas por para \
         com que não se foi ser tem tenho mas ou se como mais muito seu sua ao à este esta isto está estou temos já também \
         porque quando moro prefiro gosto sempre amanhã hoje ontem desde até pelo pela obrigado obrigada olá vou \
         mudei decidi decidimos depósito fechar confirmado prefere eu fui moramos",
    ),
    (
        Language::Italian,
        "il lo la i gli le e è sono era io mio mia miei tu noi nostro lui lei un uno una del della dei delle di a in per con \
         che non si ha ho hanno c'è ma o se come più molto suo sua al alla nel nella questo questa sto stato abbiamo anche \
         perché quando vivo preferisco piace sempre domani oggi ieri da dal dalla fino mi ci grazie ciao l'ho dell' sul \
         abito lavoro abita lavora preferisce entro d'ora deciso confermato mia più vado andiamo",
    ),
    (
        Language::Other,
        "het een niet ik maar voor zijn ook naar wij jij och att det inte jag är som på ikke og jeg har til af nie się jest \
         że w z do na bir ve bu için çok ben yang dan di ini itu dengan untuk saya ja on ei että minä não ve ne je să și \
         nu este pentru în hogy és az nem egy không là của và tôi có într-un ég vagyok mam jestem den när även wordt heb",
    ),
];

/// Letters that a language has and most others lack, with the index of the language in
/// [`COMMON_WORDS`].
const MARKER_LETTERS: [(usize, &str); 6] = [
    (1, "ßäöü"),
    (2, "ñ¿¡íóáú"),
    (3, "œêèéôûîçëà"),
    (4, "ãõêôçâ"),
    (5, "òùìèà"),
    (6, "åøæłżźśćęąčřšžőűğşıțăöä"),
];

/// Detects the language of a text. Returns English if nothing indicates another language.
pub(crate) fn detect_language(text: &str) -> Language {
    let mut scripts = ScriptCounts::default();
    for c in text.chars().filter(|c| c.is_alphabetic()).take(MAX_LETTERS) {
        scripts.count_letter(c);
    }
    scripts
        .dominant_language()
        .unwrap_or_else(|| detect_by_words(text))
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
            (self.other, Language::Other),
        ];
        let (max_count, language) = ranked.into_iter().max_by_key(|(count, _)| *count)?;

        (max_count > self.latin).then_some(language)
    }
}

fn detect_by_words(text: &str) -> Language {
    let mut scores = [0u32; COMMON_WORDS.len()];
    let mut letters = 0;
    let mut lower = String::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’' && c != '-');
    for word in words.filter(|word| !word.is_empty()) {
        if letters > MAX_LETTERS {
            break;
        }
        letters += word.len();
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            lower.push_str(&word.to_lowercase().replace('’', "'"));
        }
        count_word(&lower, &mut scores);
        // Other languages write a capital "I" at most at the beginning of a sentence.
        scores[0] += 2 * u32::from(word == "I");
    }

    // ASCII text contains none of the marks.
    if !text.is_ascii() {
        for (language, marks) in MARKER_LETTERS {
            scores[language] += text.chars().filter(|c| marks.contains(*c)).take(3).count() as u32;
        }
    }

    let best_index = (0..COMMON_WORDS.len())
        .rev()
        .max_by_key(|language| scores[*language])
        .unwrap_or(0);
    COMMON_WORDS[if scores[best_index] == 0 {
        0
    } else {
        best_index
    }]
    .0
}

fn count_word(word: &str, scores: &mut [u32; COMMON_WORDS.len()]) {
    use std::sync::LazyLock;

    use super::english::hash::WordTable;
    /// The languages that each word indicates, as bits.
    static TABLE: LazyLock<WordTable<u8>> = LazyLock::new(|| {
        let mut table = WordTable::default();
        for (bit, (_, words)) in COMMON_WORDS.iter().enumerate() {
            for word in words.split_whitespace() {
                *table.entry(word).or_default() |= 1 << bit;
            }
        }
        table
    });

    let Some(bits) = TABLE.get(word) else { return };
    // A word of a single language is stronger evidence than a shared one.
    let weight = if bits.count_ones() == 1 { 2 } else { 1 };
    for (_, score) in scores
        .iter_mut()
        .enumerate()
        .filter(|(bit, _)| bits & (1 << bit) != 0)
    {
        *score += weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("Ik woon in Utrecht en ik hou niet van koffie.", Other),
            ("Jag bor i Malmö och det är bra.", Other),
            ("אני גר בחיפה", Other),
        ];

        for (text, language) in cases {
            assert_eq!(detect_language(text), language, "{text}");
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
                ],
            ),
            (
                German,
                &["Nenn mich Alex.", "Kein Zucker, bitte.", "Ich mag Hunde."],
            ),
            (
                Spanish,
                &[
                    "Llámame Alex.",
                    "Sin azúcar, gracias.",
                    "Me gustan los perros.",
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
