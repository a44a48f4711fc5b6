//! Tests of summaries. `texts.golden.txt` has invented texts with the summaries expected of them.

use domain::document::fits_summary;
use domain::{SourceMedium, Timestamp, Trust};
use proptest::prelude::*;

use super::summarize;
use crate::{Passage, Role, SourceText, TextOrigin};

const GOLDEN_TEXTS: &str = include_str!("texts.golden.txt");

fn passage<'a>(role: Role, speaker: Option<&'a str>, text: &'a str) -> Passage<'a> {
    Passage {
        text,
        start_char: 0,
        role,
        speaker,
        origin: None,
        said_at: Timestamp::from_millis(0),
    }
}

fn summarize_document(text: &str, title: Option<&str>) -> Option<String> {
    let source = SourceText {
        passages: vec![passage(Role::Author, None, text)],
        trust: Trust::Document,
    };
    summarize(&source, title)
}

fn summarize_turns(turns: &[(Role, Option<&str>, &str)]) -> Option<String> {
    let passages = turns
        .iter()
        .map(|(role, speaker, text)| passage(*role, *speaker, text))
        .collect();
    let source = SourceText {
        passages,
        trust: Trust::User,
    };
    summarize(&source, None)
}

#[test]
fn texts_have_the_summaries_of_the_golden_table() {
    let cases: Vec<&str> = GOLDEN_TEXTS.split("=== ").skip(1).collect();
    assert!(cases.len() > 25, "{}", cases.len());
    for case in cases {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n-----\n").unwrap();
        let found = summarize_document(text, None).unwrap_or_default();
        assert_eq!(found, expected.trim_end(), "{name}");
    }
}

#[test]
fn a_conversation_is_summarized_in_the_words_of_one_user() {
    let own_words = [
        (
            Role::User,
            None,
            "Hi! I am planning a trip to Lisbon with my sister in May.",
        ),
        (
            Role::Assistant,
            None,
            "Lisbon is lovely in May. The museum of tiles in Lisbon is worth a visit in May.",
        ),
        (Role::User, None, "Thanks!"),
        (
            Role::User,
            None,
            "My sister uses a wheelchair, so the hotel in Lisbon needs a lift.",
        ),
        (
            Role::Other,
            None,
            "The tool found four hotels in Lisbon with a lift.",
        ),
    ];
    assert_eq!(
        summarize_turns(&own_words).unwrap(),
        "I am planning a trip to Lisbon with my sister in May. My sister uses a wheelchair, so the \
         hotel in Lisbon needs a lift."
    );

    // "I" is one person in a summary.
    let meeting = [
        (
            Role::User,
            Some("Ana"),
            "I have moved the launch of the sensor to the fourth of May.",
        ),
        (
            Role::User,
            Some("Ben"),
            "I am away in the first week of May, by the way.",
        ),
        (
            Role::User,
            Some("Ana"),
            "The launch of the sensor depends on the supplier, who is late.",
        ),
        (Role::User, Some("Ben"), "Okay, that is fine with me."),
    ];
    assert_eq!(
        summarize_turns(&meeting).unwrap(),
        "I have moved the launch of the sensor to the fourth of May. The launch of the sensor \
         depends on the supplier, who is late."
    );

    let only_assistant = [
        (Role::User, None, "Hello."),
        (
            Role::Assistant,
            None,
            "The heron waits in the reeds. Mara counts the herons every spring.",
        ),
    ];
    assert_eq!(summarize_turns(&only_assistant), None);
}

#[test]
fn pasted_words_are_not_those_of_the_user() {
    let own = "Please check this mail of my landlord for me. I need an answer by Friday at noon.";
    let mut pasted = passage(
        Role::User,
        None,
        "The rent rises in May. The rent includes heating. The rent is due on the first of May.",
    );
    pasted.origin = Some(TextOrigin {
        medium: SourceMedium::Mail,
        name: None,
    });
    let source = SourceText {
        passages: vec![passage(Role::User, None, own), pasted],
        trust: Trust::User,
    };
    assert_eq!(summarize(&source, None).as_deref(), Some(own));
}

#[test]
fn a_title_is_no_summary_and_draws_attention_to_its_words() {
    let short = "The heron waits in the reeds. Mara counts the herons.";
    assert_eq!(summarize_document(short, None).as_deref(), Some(short));
    let longer_title = "A title that is longer than the text: notes on the herons in the reeds";
    assert_eq!(summarize_document(short, Some(longer_title)), None);

    let text = "The lake has many birds all year. The reeds on the lake shelter herons in \
                the winter. The boats on the lake are painted by pupils in the spring.";
    let summary_of = |title| summarize_document(text, Some(title)).unwrap();
    assert!(summary_of("Painted boats").contains("boats"));
    assert!(summary_of("Sheltered herons").contains("herons"));

    let repeated = "The lake has many birds. The lake has many birds. Herons live on its shore.";
    let summary = summarize_document(repeated, Some("The lake has many birds")).unwrap();
    assert_eq!(summary, "Herons live on its shore.");
}

#[test]
fn the_length_of_a_text_changes_nothing_but_its_end() {
    let beginning = "The tunnel between Nordby and Eastholm opened on Monday. The tunnel replaces \
                     the ferry between both towns. ";
    let filler = "Another sentence without much to say about anything at all. ";
    let long = format!("{beginning}{}", filler.repeat(50_000));
    let summary = summarize_document(&long, None).unwrap();
    assert!(
        summary.starts_with("The tunnel between Nordby"),
        "{summary}"
    );
}

proptest! {
    #[test]
    fn a_summary_is_short_plain_and_made_of_its_text(
        text in "([A-Za-zäéß不一二文の。ไทยคำ。हैа.!?,:<`#|>*_\\[\\]()\n -]{0,12}|The heron waits in the reeds\\. |\n\n){0,60}",
    ) {
        if let Some(summary) = summarize_document(&text, None) {
            prop_assert!(fits_summary(&summary));
            prop_assert!(!summary.contains('\n') && !summary.is_empty());
            let letters = |text: &str| -> Vec<char> {
                text.chars().filter(|c| c.is_alphanumeric()).collect()
            };
            let known = letters(&text);
            prop_assert!(letters(&summary).iter().all(|letter| known.contains(letter)));
            prop_assert_eq!(summarize_document(&text, None), Some(summary));
        }
    }
}
