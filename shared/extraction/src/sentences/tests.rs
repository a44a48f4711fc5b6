use domain::Timestamp;

use super::super::Role;
use super::*;

fn passage(text: &str) -> Passage<'_> {
    Passage {
        text,
        start_char: 100,
        role: Role::User,
        speaker: None,
        origin: None,
        said_at: Timestamp::from_millis(0),
    }
}

/// Returns the texts and blocks of the sentences, and checks every position.
fn split(text: &str) -> Vec<(&str, BlockKind)> {
    let chars = text.chars().collect::<Vec<_>>();
    let found = split_sentences(&passage(text));
    for sentence in &found {
        let at_position = chars[sentence.start - 100..sentence.end - 100]
            .iter()
            .collect::<String>();
        assert_eq!(at_position, sentence.text);
    }
    found
        .into_iter()
        .map(|sentence| (sentence.text, sentence.block))
        .collect()
}

#[test]
fn sentences_end_at_marks_and_not_at_abbreviations() {
    let cases: [(&str, &[&str]); 21] = [
        (
            "One is here. Two is there! Is three?",
            &["One is here.", "Two is there!", "Is three?"],
        ),
        (
            "Dr. Lind met J. R. Moss, e.g. at noon. Fine.",
            &["Dr. Lind met J. R. Moss, e.g. at noon.", "Fine."],
        ),
        (
            "It costs 3.50 at shop.example.org today. Cheap.",
            &["It costs 3.50 at shop.example.org today.", "Cheap."],
        ),
        (
            "Call at 5 p.m. on Monday. We close at 6 p.m. Bye.",
            &["Call at 5 p.m. on Monday.", "We close at 6 p.m.", "Bye."],
        ),
        (
            "Wir essen z. B. Obst. Gut.",
            &["Wir essen z. B. Obst.", "Gut."],
        ),
        (
            "Am 15. März ist Schluss. Am 3. Tag auch.",
            &["Am 15. März ist Schluss.", "Am 3. Tag auch."],
        ),
        (
            "We counted 12. Then we left.",
            &["We counted 12.", "Then we left."],
        ),
        (
            "Der Vertrag läuft zum 31.1. aus. Danach ab dem 1.4. mehr.",
            &[
                "Der Vertrag läuft zum 31.1. aus.",
                "Danach ab dem 1.4. mehr.",
            ],
        ),
        (
            "we use 3.5. its old. ends am 3.5. Then more",
            &["we use 3.5.", "its old.", "ends am 3.5.", "Then more"],
        ),
        (
            "did it in porto (2:05!! my best) and went home. ok",
            &["did it in porto (2:05!! my best) and went home.", "ok"],
        ),
        (
            "so sad :( my dog died. he was old :)",
            &["so sad :( my dog died.", "he was old :)"],
        ),
        ("i like tea. i hate rain.", &["i like tea.", "i hate rain."]),
        (
            "“Stop!” she said. Nobody did.",
            &["“Stop!” she said.", "Nobody did."],
        ),
        (
            "Well… maybe so. Yes...  Then go.",
            &["Well… maybe so.", "Yes...", "Then go."],
        ),
        (
            "我住在北京。你呢？很好！",
            &["我住在北京。", "你呢？", "很好！"],
        ),
        (
            "私は「はい。」と言った。次です。",
            &["私は「はい。」", "と言った。", "次です。"],
        ),
        (
            "मैं दिल्ली में रहता हूँ। मुझे चाय पसंद है।",
            &["मैं दिल्ली में रहता हूँ।", "मुझे चाय पसंद है।"],
        ),
        (
            "저는 서울에 살아요. 차를 좋아해요.",
            &["저는 서울에 살아요.", "차를 좋아해요."],
        ),
        (
            "Живу в г. Туле, т.е. рядом. Всё.",
            &["Живу в г. Туле, т.е. рядом.", "Всё."],
        ),
        (
            "A line\nbreak goes on. Next.\n\nNew one",
            &["A line\nbreak goes on.", "Next.", "New one"],
        ),
        ("City: Bonn\nJob: baker", &["City: Bonn", "Job: baker"]),
    ];
    for (text, expected) in cases {
        assert_eq!(
            split(text)
                .into_iter()
                .map(|(text, _)| text)
                .collect::<Vec<_>>(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn markdown_gives_blocks_without_their_marks() {
    let text = "# Title #\nIntro here.\n- first item\n  goes on\n- [x] done [link](http://a.b/c.d)\n2) two\n\n> said so. Yes.\n| a | b |\n```rs\nlet x. = 1;\n\n# no\n```\nUnder\n---\nEnd";
    let expected = [
        ("Title", BlockKind::Heading),
        ("Intro here.", BlockKind::Prose),
        ("first item\n  goes on", BlockKind::ListItem),
        ("done [link](http://a.b/c.d)", BlockKind::ListItem),
        ("two", BlockKind::ListItem),
        ("said so.", BlockKind::Quote),
        ("Yes.", BlockKind::Quote),
        ("| a | b |", BlockKind::Table),
        ("```rs\nlet x. = 1;\n\n# no\n```", BlockKind::Code),
        ("Under", BlockKind::Heading),
        ("End", BlockKind::Prose),
    ];
    assert_eq!(split(text), expected);
}

#[test]
fn long_sentences_are_cut_at_clauses_and_odd_texts_do_no_harm() {
    let long = "eins zwei drei, ".repeat(100);
    let cut = split(&long);
    assert!(
        cut.len() >= 3
            && cut
                .iter()
                .all(|(text, _)| text.chars().count() <= 600 && text.ends_with(','))
    );
    assert!(
        split(&"漢".repeat(1500))
            .iter()
            .all(|(text, _)| text.chars().count() <= 600)
    );

    for odd in [
        "",
        "...",
        "。。。",
        "\n\n---\n",
        "```\nopen",
        "> ",
        "1.",
        "a\r\n\r\nb",
        "ß.İ. é!",
        "-",
        "#",
        "***",
    ] {
        split(odd);
    }
}

#[test]
fn marks_in_a_long_text_look_only_at_what_is_near() {
    let text = format!("(Note {}", "e.g. and ".repeat(10_000));
    let pieces: Vec<_> = split(&text).into_iter().map(|(text, _)| text).collect();
    assert_eq!(pieces.join(" "), text.trim());
    let text = format!("Wow {}", "! ".repeat(10_000));
    assert_eq!(split(&text)[0].0, "Wow !");
}
