//! The words in which people ask about a topic. "Where do I live?" shares no word with "User moved
//! to Lisbon."

use domain::Topic;

/// Attributes with the words of questions about them, in the supported languages. Sorted by
/// attribute.
const ATTRIBUTE_QUESTION_WORDS: &[(&str, &str)] = &[
    (
        "address",
        "live lives street house wohne adresse vivo dirección adresse indirizzo адрес 地址 住所",
    ),
    (
        "age",
        "old years alt edad años âge ans idade anos età anni возраст лет 几岁 多大 歳 나이",
    ),
    (
        "birthday",
        "born birth geburtstag cumpleaños anniversaire aniversário compleanno рождения 生日 誕生日 생일",
    ),
    (
        "brother",
        "sibling siblings family bruder hermano frère irmão fratello брат 哥哥 弟弟 兄弟",
    ),
    ("cat", "pet pets animal katze gato chat gatto кошка 猫"),
    (
        "daughter",
        "child children kid kids family tochter hija fille filha figlia дочь 女儿 娘",
    ),
    (
        "deadline",
        "due date when finish frist fecha échéance prazo scadenza срок 截止",
    ),
    (
        "diet",
        "eat eats food vegetarian vegan meat essen comer manger mangiare 吃 食べ",
    ),
    (
        "dog",
        "pet pets animal hund perro chien cachorro cane собака 狗 犬",
    ),
    ("email", "mail address write"),
    (
        "employer",
        "work works working job company firm arbeite arbeitet firma trabajo trabaja travaille trabalho lavoro работаю работает 工作 公司 会社 働 회사",
    ),
    (
        "father",
        "dad parent parents family vater padre père pai отец 爸爸 父",
    ),
    (
        "husband",
        "spouse married partner family mann marido mari marito муж 丈夫 夫",
    ),
    (
        "job",
        "work works profession occupation role position living beruf arbeite trabajo travail profissão lavoro работа 职业 工作 仕事 職業 직업",
    ),
    (
        "mother",
        "mom mum parent parents family mutter madre mère mãe мать 妈妈 母",
    ),
    (
        "name",
        "called heiße heißt nombre llamo nom appelle nome chiamo chamo имя зовут 名字 叫 名前 이름 नाम",
    ),
    ("name to use", "called nickname nennen"),
    ("origin", "born grew hometown nationality country herkunft"),
    ("partner", "girlfriend boyfriend together family"),
    (
        "phone",
        "number telephone mobile call telefon teléfono téléphone telefone telefono телефон 电话 電話 전화",
    ),
    (
        "price",
        "cost costs much pay preis precio prix preço prezzo цена 价格 値段",
    ),
    (
        "relationship status",
        "married single divorced engaged partner together family",
    ),
    (
        "residence",
        "live lives living home house based reside city town where wohne wohnt wohnort vivo vive vives habite habites moro mora abito abita vivi живу живёт живешь 住 住在 住んで 居住 살아 रहता",
    ),
    (
        "sister",
        "sibling siblings family schwester hermana sœur irmã sorella сестра 姐姐 妹妹 姉",
    ),
    (
        "son",
        "child children kid kids family sohn hijo fils filho figlio сын 儿子 息子",
    ),
    ("spouse", "wife husband married partner family"),
    (
        "wife",
        "spouse married partner family frau esposa femme moglie жена 妻子 妻",
    ),
];

/// First words of attributes that continue with their object, as in "likes espresso". Sorted.
const ATTRIBUTE_PREFIX_QUESTION_WORDS: &[(&str, &str)] = &[
    ("allergy", "allergic allergies food"),
    ("favourite", "favorite best like likes prefer"),
    (
        "likes",
        "like love enjoy prefer dislike dislikes hate favourite favorite",
    ),
    ("plans", "plan going trip when"),
    ("prefers", "prefer preference rather like"),
    ("uses", "use using tool"),
];

/// Aspects of a person's life with the words of questions about them, in the supported languages. A
/// statement that changes one often has no word for it. Sorted by aspect.
const ASPECT_QUESTION_WORDS: &[(&str, &str)] = &[
    (
        "age",
        "age old years alt edad âge ans idade anos età anni возраст лет 几岁 多大 歳 나이",
    ),
    (
        "appointment",
        "appointment when date termin wann cita cuándo rendez-vous quand appuntamento quando consulta",
    ),
    (
        "car",
        "car drive drives vehicle auto fahre coche conduzco carro voiture conduis macchina guido dirijo машина 车 車 차",
    ),
    (
        "deadline",
        "deadline due date when frist wann fecha cuándo échéance quand scadenza quando prazo срок 截止",
    ),
    (
        "diet",
        "diet eat eats food vegetarian vegan meat ernährung essen dieta comer régime manger mangiare vegetariano vegetariana végétarien végétarienne 吃 食べ",
    ),
    (
        "job",
        "job work works working company employer occupation profession arbeite arbeitet beruf trabajo trabaja travail travaille boulot trabalho emprego lavoro работаю работа 工作 公司 仕事 会社 働 직업 회사",
    ),
    (
        "living arrangement",
        "live lives living alone together flatmates roommates wohne vivo vive habite moro",
    ),
    (
        "medication",
        "medication medicine meds prescribed dose dosage take pills tablets medikament dosis nehme medicamento tomo médicament prends farmaco prendo remédio лекарство 药 薬 약",
    ),
    (
        "phone",
        "phone mobile smartphone cell handy telefon móvil celular téléphone portable telefono cellulare telefone телефон 手机 携帯 전화",
    ),
    (
        "phone number",
        "phone number telephone mobile handynummer telefonnummer nummer teléfono número téléphone numéro telefono numero telefone номер телефон 电话 電話 번호",
    ),
    (
        "relationship",
        "relationship single married together partner dating boyfriend girlfriend husband wife beziehung verheiratet pareja casada casado couple mariée marié sposata sposato relazione namorando отношения 结婚 恋人 결혼",
    ),
    (
        "residence",
        "live lives living home city town where wohne wohnt vivo vive ciudad habite habites ville moro mora cidade abito abita città живу город 住 住在 住んで 살아 रहता",
    ),
    (
        "school",
        "school class grade year schule klasse escuela clase curso école classe scuola escola turma школа 学校",
    ),
    (
        "subscription",
        "subscription plan pay service abo abonnement suscripción abbonamento assinatura подписка",
    ),
    (
        "version",
        "version which use using versión versione versão версия 版本",
    ),
    (
        "weekly hours",
        "days week hours work how many tage woche stunden días semana horas jours semaine heures giorni settimana ore dias",
    ),
];

/// Returns the words in which people ask about aspects of a person's life.
pub fn aspect_question_words(aspects: &[String]) -> String {
    let mut question_words = Vec::new();
    for aspect in aspects {
        question_words.extend(find_words(ASPECT_QUESTION_WORDS, aspect));
    }
    question_words.join(" ")
}

/// Returns the words in which people ask about a topic, starting with its attribute.
///
/// Returns an empty string for a negated topic, because a denial answers no question.
pub fn topic_question_words(topic: &Topic) -> String {
    if topic.negated {
        return String::new();
    }

    let attribute = topic.attribute.as_str();
    let first_word = attribute.split(' ').next().unwrap_or_default();
    let words = find_words(ATTRIBUTE_QUESTION_WORDS, attribute)
        .or_else(|| find_words(ATTRIBUTE_PREFIX_QUESTION_WORDS, first_word));

    match words {
        Some(words) => format!("{attribute} {words}"),
        None => attribute.trim_end().to_owned(),
    }
}

/// Returns the words beside the key in a sorted table.
fn find_words(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let index = table.binary_search_by_key(&key, |(key, _)| key).ok()?;
    Some(table[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(attribute: &str, negated: bool) -> Topic {
        Topic {
            subject: "user".into(),
            attribute: attribute.into(),
            value: "x".into(),
            negated,
        }
    }

    #[test]
    fn a_topic_is_asked_for_in_other_words_than_its_own() {
        assert!(ATTRIBUTE_QUESTION_WORDS.is_sorted_by_key(|(attribute, _)| attribute));
        assert!(ASPECT_QUESTION_WORDS.is_sorted_by_key(|(aspect, _)| aspect));
        assert!(aspect_question_words(&["job".to_owned()]).contains("work"));
        assert!(ATTRIBUTE_PREFIX_QUESTION_WORDS.is_sorted_by_key(|(beginning, _)| beginning));
        assert!(topic_question_words(&topic("residence", false)).contains(" live "));
        assert!(topic_question_words(&topic("likes espresso", false)).contains("enjoy"));
        assert_eq!(
            topic_question_words(&topic("wifi password", false)),
            "wifi password"
        );
        assert_eq!(topic_question_words(&topic("residence", true)), "");
    }
}
