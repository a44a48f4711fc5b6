//! Tests of questions that people ask about a handful of documents, in their own language.

use std::cell::RefCell;
use std::collections::HashMap;

use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, SearchHit, SearchQuery, StaticEmbedder,
    WiderLimit, search_containers,
};

fn index(texts: &[&str]) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    for (number, text) in texts.iter().enumerate() {
        let vector = StaticEmbedder.embed(text);
        let chunk = ChunkInput {
            text: (*text).to_owned(),
            vector,
            ..ChunkInput::default()
        };
        index.upsert_document(Document {
            id: format!("d{number}"),
            chunks: vec![chunk],
            ..Document::default()
        });
    }

    index
}

fn ask(index: &ContainerIndex, text: &str) -> Vec<SearchHit> {
    search_containers(
        &[index],
        &SearchQuery::new(text, StaticEmbedder.embed(text)),
    )
    .expect("what the test wrote is valid")
    .hits
}

fn answers(index: &ContainerIndex, text: &str) -> Vec<SearchHit> {
    ask(index, text)
        .into_iter()
        .filter(|hit| hit.similarity >= 0.6)
        .collect()
}

const WORLD: [(&str, &str); 14] = [
    (
        "Meine Großmutter hat gestern drei Äpfel auf dem Markt gekauft.",
        "Wer kaufte Apfel am Markt?",
    ),
    (
        "Las canciones de mi hermana suenan en la radio todas las mañanas.",
        "¿Qué canción suena en la radio?",
    ),
    (
        "Le médecin a prescrit des antibiotiques contre l'infection.",
        "Qu'est-ce que le medecin prescrit ?",
    ),
    (
        "O professor explicou as regras do xadrez aos alunos novos.",
        "Quem explica a regra do xadrez?",
    ),
    (
        "I bambini giocavano a pallone nel giardino della scuola.",
        "Dove giocano i bambini?",
    ),
    (
        "Моя сестра купила новую машину в прошлом месяце.",
        "Какую машину купила сестра?",
    ),
    ("मेरी बहन ने पिछले महीने नई गाड़ी खरीदी।", "बहन ने गाड़ी कब खरीदी?"),
    (
        "我妹妹上个月在上海买了一辆新汽车。",
        "妹妹什么时候买了汽车?",
    ),
    (
        "妹は先月、東京で新しい自転車を買いました。",
        "妹はどこで自転車を買いましたか",
    ),
    (
        "내 동생은 지난달에 부산에서 자전거를 샀다.",
        "동생이 자전거를 어디서 샀나요?",
    ),
    ("น้องสาวของฉันซื้อจักรยานใหม่เมื่อเดือนที่แล้ว", "น้องสาวซื้อจักรยานเมื่อไหร่"),
    (
        "اشترت أختي سيارة جديدة في الشهر الماضي.",
        "متى اشترت أختي السيارة؟",
    ),
    (
        "My grandfather repaired the old clock in the tower.",
        "Who repairs clocks?",
    ),
    (
        "De leraar heeft de fietsen van de kinderen gerepareerd.",
        "Wie repareert de fiets?",
    ),
];

#[test]
fn a_question_finds_its_document_in_every_language() {
    let index = index(&WORLD.map(|(text, _)| text));
    for (text, question) in WORLD {
        let hits = ask(&index, question);
        assert_eq!(
            hits.first().map(|hit| hit.text.as_str()),
            Some(text),
            "{question}"
        );
        assert!(
            hits[0].similarity >= 0.6,
            "{question}: {}",
            hits[0].similarity
        );
    }
}

#[test]
fn accents_and_case_do_not_matter() {
    let index = index(&[
        "La canción del pingüino",
        "Übergrößen im Café",
        "ＦＵＬＬ width",
    ]);

    for (question, expected) in [
        ("cancion pinguino", 0),
        ("ubergrossen CAFE", 1),
        ("full", 2),
    ] {
        assert_eq!(
            ask(&index, question)[0].document,
            format!("d{expected}"),
            "{question}"
        );
    }
}

#[test]
fn an_exact_identifier_comes_first() {
    let index = index(&[
        "Order ORD-2024-00018 was returned by the customer, order and return of orders in 2024.",
        "Shipping note: ORD-2024-00017 left the warehouse.",
        "ORD-2024-00019 ORD-2024-00021 2024 ORD",
        "The compiler says error[E0382]: borrow of moved value.",
        "The compiler says error[E0308]: mismatched types, E0 382.",
        "See src/search/lexical.rs for the scores.",
        "See src/search/mod.rs, src/lexical, search and lexical.",
        "Upgrade to v1.2.10 before Monday.",
        "Upgrade to v1.2.1 before Monday, 1.2.",
        "Write to jane.doe@example.com about it.",
        "Write to john.doe@example.com about Jane.",
        "Device 550e8400-e29b-41d4-a716-446655440000 is offline.",
        "Device 550e8400-e29b-41d4-a716-446655440001 is offline.",
        "fn compute_total_price() is slow",
        "compute the total price",
    ]);

    for (question, expected) in [
        ("ORD-2024-00017", 1),
        ("what happened to ord-2024-00017?", 1),
        ("E0382", 3),
        ("how do I fix E0382", 3),
        ("src/search/lexical.rs", 5),
        ("v1.2.10", 7),
        ("jane.doe@example.com", 9),
        ("550e8400-e29b-41d4-a716-446655440000", 11),
        ("compute_total_price", 13),
    ] {
        let hits = ask(&index, question);
        assert_eq!(
            hits[0].document,
            format!("d{expected}"),
            "{question}: {hits:#?}"
        );
        assert!(
            hits[0].similarity >= 0.6,
            "{question}: {}",
            hits[0].similarity
        );
    }
}

#[test]
fn an_identifier_that_no_document_holds_is_not_answered() {
    let index = index(&[
        "Shipping note: ORD-2024-00017 left the warehouse.",
        "error[E0308]: mismatched types",
    ]);
    for question in ["ORD-2024-99999", "E0599", "where is ORD-2023-00018"] {
        assert!(
            answers(&index, question).is_empty(),
            "{question}: {:?}",
            ask(&index, question)
        );
    }
}

#[test]
fn a_query_of_stop_words_still_finds_them() {
    let index = index(&[
        "To be or not to be, that is the question.",
        "Whatever will be, will be.",
    ]);
    assert_eq!(ask(&index, "to be or not to be")[0].document, "d0");
}

#[test]
fn a_small_container_answers_what_it_knows_and_nothing_else() {
    let notes = [
        "I am allergic to peanuts and prefer vegetarian food.",
        "Our weekly planning meeting moved to Thursday at 10 am.",
        "The staging database runs on PostgreSQL 16 in eu-central-1.",
        "Anna's favourite colour is green and she plays the cello.",
        "To rotate the API key, open Settings, choose Keys and press Rotate.",
    ];
    let questions = [
        ("What food am I allergic to?", 0),
        ("When is the planning meeting?", 1),
        ("What database does staging use?", 2),
        ("Which instrument does Anna play?", 3),
        ("How do I rotate an API key?", 4),
    ];

    for size in 1..=notes.len() {
        let index = index(&notes[..size]);
        for (question, expected) in questions.iter().filter(|(_, n)| *n < size) {
            let found = answers(&index, question);
            assert!(
                !found.is_empty(),
                "{size} notes, {question}: {:?}",
                ask(&index, question)
            );
            assert_eq!(found[0].document, format!("d{expected}"), "{question}");
        }
        for stranger in [
            "What is the capital of Mongolia?",
            "asdf qwer zxcv",
            "quarterly revenue in Japan",
            "qqqq",
        ] {
            assert!(
                answers(&index, stranger).is_empty(),
                "{size} notes, {stranger}: {:?}",
                ask(&index, stranger)
            );
        }
    }
}

#[test]
fn the_filter_is_asked_at_most_once_per_document_and_obeyed() {
    let index = index(&["green tea", "green paint", "green apples", "red wine"]);
    let admit_calls = RefCell::new(HashMap::<String, u32>::new());
    let admit = |document: &search_engine::DocumentView<'_>| {
        *admit_calls
            .borrow_mut()
            .entry(document.id().expect("an id").into_owned())
            .or_default() += 1;
        document.id().is_ok_and(|id| id != "d1")
    };

    let query = SearchQuery {
        admit: Some(&admit),
        ..SearchQuery::new("green paint", StaticEmbedder.embed("green paint"))
    };

    let hits = search_containers(&[&index], &query)
        .expect("what the test wrote is valid")
        .hits;
    assert!(hits.iter().all(|hit| hit.document != "d1"));
    assert!(hits.iter().any(|hit| hit.document == "d0"));
    assert!(
        admit_calls.borrow().values().all(|&count| count == 1),
        "{admit_calls:?}"
    );
}

#[test]
fn one_document_can_be_searched_alone() {
    let index = index(&["green tea", "green paint"]);
    let query = SearchQuery {
        only_document: Some("d1"),
        ..SearchQuery::new("green tea", StaticEmbedder.embed("green tea"))
    };

    let hits = search_containers(&[&index], &query)
        .expect("what the test wrote is valid")
        .hits;
    assert_eq!(
        hits.iter()
            .map(|hit| hit.document.as_str())
            .collect::<Vec<_>>(),
        ["d1"]
    );
}

#[test]
fn several_containers_are_ranked_on_one_scale() {
    let (first, second) = (
        index(&["green tea from Japan"]),
        index(&["black coffee", "green tea"]),
    );
    let query = SearchQuery::new("black coffee", StaticEmbedder.embed("black coffee"));
    let hits = search_containers(&[&first, &second], &query)
        .expect("what the test wrote is valid")
        .hits;
    assert_eq!((hits[0].container, hits[0].document.as_str()), (1, "d0"));
    assert!(hits.is_sorted_by(|a, b| a.similarity >= b.similarity));
}

#[test]
fn the_limit_holds_and_zero_is_nothing() {
    let index = index(&["green tea", "green paint", "green apples"]);
    for limit in [0, 1, 2] {
        let query = SearchQuery {
            limit,
            ..SearchQuery::new("green", StaticEmbedder.embed("green"))
        };
        assert_eq!(
            search_containers(&[&index], &query)
                .expect("what the test wrote is valid")
                .hits
                .len(),
            limit
        );
    }
}

#[test]
fn a_hit_within_the_limit_can_call_for_more_hits() {
    let index = index(&["green tea", "green paint", "green apples"]);
    let count_hits = |is_wanted: &dyn Fn(&SearchHit) -> bool| {
        let query = SearchQuery {
            limit: 1,
            wider: Some(WiderLimit {
                limit: 2,
                is_wanted,
            }),
            ..SearchQuery::new("green tea", StaticEmbedder.embed("green tea"))
        };
        let found = search_containers(&[&index], &query).expect("what the test wrote is valid");
        found.hits.len()
    };
    assert_eq!(count_hits(&|hit| hit.text == "green tea"), 2);
    assert_eq!(count_hits(&|hit| hit.text == "green paint"), 1);
}

#[test]
fn words_alone_find_when_there_is_no_vector() {
    let index = index(&["green tea", "red wine"]);
    let hits = search_containers(
        &[&index],
        &SearchQuery::new("wine", search_engine::QuantizedVector::ZERO),
    )
    .expect("what the test wrote is valid")
    .hits;
    assert_eq!(hits[0].document, "d1");
}

#[test]
fn odd_input_never_panics() {
    let index = index(&[
        "",
        "\u{0}\u{FFFF}",
        "🦀🦀🦀",
        &"x".repeat(5_000),
        "''' ’’ ... ___ :::",
        "ก็ ั",
        "a\u{301}\u{301}",
    ]);

    for question in [
        "",
        " ",
        "\u{0}",
        "🦀",
        &"y ".repeat(3_000),
        "'",
        "''",
        "_._",
        "::",
        "ั",
        "\u{301}",
        "=x",
        "^猫",
    ] {
        ask(&index, question);
    }
}
