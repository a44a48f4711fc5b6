//! Helpers and checks that the tests of all languages share.

use domain::{Statement, Timestamp, Trust};

use super::extract_statements;
use crate::language::{Language, detect_language};
use crate::sentences::split_sentences;
use crate::{Passage, Role};

fn read(language: Language, text: &str) -> Vec<Statement> {
    let said_at = Timestamp::parse("day", "2025-04-15").unwrap();
    let passage = Passage {
        text,
        start_char: 0,
        role: Role::User,
        speaker: None,
        origin: None,
        said_at,
    };

    split_sentences(&passage)
        .iter()
        .flat_map(|sentence| extract_statements(&passage, sentence, language, Trust::User))
        .collect()
}

/// Formats a statement like the tables of the tests: the kind, the topic and the last day.
fn shown(statement: &Statement) -> String {
    let mut shown = format!("{:?}", statement.kind).to_lowercase();
    if let Some(topic) = &statement.topic {
        let negation = if topic.negated { "!" } else { "" };
        shown += &format!(
            " {}|{}|{negation}{}",
            topic.subject, topic.attribute, topic.value
        );
    }

    if let Some(event) = statement.event {
        shown += &format!(" @{}", &event.to.to_string()[..10]);
        assert!(event.from < event.to && event.to.plus_seconds(1).as_millis() % 86_400_000 == 999);
    }

    shown
}

/// Checks that each text is recognized as its language and gives the one expected statement. The
/// texts are said on Tuesday, 15 April 2025.
pub(super) fn check(language: Language, cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = read(language, text).iter().map(shown).collect::<Vec<_>>();
        if found != [*expected] || detect_language(text) != language {
            wrong += &format!(
                "{text}\n  expected {expected}\n  found    {found:?} {:?}\n",
                detect_language(text)
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Checks that none of the texts gives a statement.
pub(super) fn gives_nothing(language: Language, texts: &[&str]) {
    for text in texts {
        assert_eq!(read(language, text), [], "{text}");
    }
}

/// Returns the kinds of the statements in a text.
pub(super) fn kinds(language: Language, text: &str) -> String {
    read(language, text)
        .iter()
        .map(|statement| format!("{:?}", statement.kind).to_lowercase())
        .collect::<Vec<_>>()
        .join(" ")
}

const LANGUAGES: [Language; 10] = [
    Language::German,
    Language::Spanish,
    Language::French,
    Language::Portuguese,
    Language::Italian,
    Language::Russian,
    Language::Hindi,
    Language::Chinese,
    Language::Japanese,
    Language::Korean,
];

/// Checks that the words of every statement occur in its span, in whatever language the text is
/// read.
fn holds_for(text: &str) {
    for language in LANGUAGES {
        for statement in read(language, text) {
            let span = text
                .chars()
                .skip(statement.start)
                .take(statement.end - statement.start);
            // Compare by way of capitals, because the first letter of a statement is capitalized:
            // "µ" and "μ" have the same capital.
            let span = span.collect::<String>().to_uppercase().to_lowercase();
            let statement_text = statement.text.to_uppercase().to_lowercase();
            let invented_word = statement_text
                .split(|c: char| !c.is_alphanumeric())
                .find(|word| !span.contains(word));
            assert_eq!(invented_word, None, "{language:?}: {text}");
        }
    }
}

#[test]
fn nothing_is_invented_from_the_cues_of_any_language() {
    for language in LANGUAGES {
        let tables = super::compiled_language(language).unwrap();
        for (_, _, cues) in tables.language.rules {
            for cue in cues.split(';') {
                holds_for(
                    &cue.replace(['|', '_'], " ")
                        .replace(['~', '^', '$', '*'], "İX 3. ")
                        .replace("{v}", "ß"),
                );
            }
        }
    }
}

proptest::proptest! {
    #[test]
    fn nothing_is_invented_from_any_text(text in "(ich |wohne |in |Ab|ß|İ|我|住在|は|に|살|में |रहता |vivo |, |\\. |。|[0-9]{1,4}|月|\\PC){0,24}") {
        holds_for(&text);
    }
}

#[test]
fn speakers_and_sides_count() {
    let said_at = Timestamp::parse("day", "2025-04-15").unwrap();
    let passage = |role, speaker, text| Passage {
        text,
        start_char: 7,
        role,
        speaker,
        origin: None,
        said_at,
    };

    let read = |passage: Passage<'_>| {
        let language = detect_language(passage.text);
        split_sentences(&passage)
            .iter()
            .flat_map(|sentence| extract_statements(&passage, sentence, language, Trust::User))
            .collect::<Vec<_>>()
    };

    let named = &read(passage(Role::User, Some("林晓"), "我住在北京。"))[0];
    assert_eq!(
        (named.text.as_str(), named.start, named.end),
        ("林晓住在北京。", 7, 13)
    );
    assert_eq!(
        named.topic.as_ref().map(|topic| topic.subject.as_str()),
        Some("林晓")
    );
    assert_eq!(
        read(passage(Role::Assistant, None, "Ich wohne in Bonn.")),
        []
    );
    assert!(
        read(passage(
            Role::Assistant,
            None,
            "Ich schicke den Plan bis Freitag."
        ))[0]
            .confidence
            < 0.7
    );
    assert_eq!(read(passage(Role::Other, None, "Ich wohne in Bonn.")), []);

    let plan = &read(passage(
        Role::User,
        None,
        "Morgen werde ich nach Graz fahren.",
    ))[0];
    assert_eq!(
        plan.forget_after.map(|time| time.to_string()).as_deref(),
        Some("2025-04-16T23:59:59.999Z")
    );
    let both = read(passage(
        Role::User,
        None,
        "Ich heiße Tilda und ich wohne in Bonn.",
    ));
    assert_eq!(
        both.iter()
            .map(|one| (one.text.as_str(), one.start))
            .collect::<Vec<_>>(),
        [("Ich heiße Tilda", 7), ("Ich wohne in Bonn.", 27)]
    );
}
