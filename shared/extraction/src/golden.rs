//! The golden tables: sentences of each language with the statements that are expected of them.
//! `languages/README.md` documents their form.

use domain::{Retraction, Statement, Timestamp, Trust};
use text::{Language, detect_language};

use crate::chat::is_episode;
use crate::cues;
use crate::languages::{RULE_LANGUAGES, golden_table_of, rule_file_of};
use crate::sentences::split_sentences;
use crate::{Passage, SourceText, extract_statements};

/// The mark of a sentence that is taken for another language when it stands alone.
const UNDETECTED: &str = "~ ";

/// A sentence of a golden table.
struct GoldenCase {
    line_number: usize,
    text: &'static str,
    is_detected: bool,
    expected: Vec<&'static str>,
}

/// Returns the passage that a user says on Tuesday, 15 April 2025.
pub(crate) fn passage_of(text: &str) -> Passage<'_> {
    Passage::of_user(text, Timestamp::parse("day", "2025-04-15").unwrap())
}

/// Returns the statements of a text that is read as a given language.
pub(crate) fn extract_as(language: Language, text: &str) -> Vec<Statement> {
    let passage = passage_of(text);
    if language == Language::English {
        return extract_statements(&SourceText {
            passages: vec![passage],
            trust: Trust::User,
        });
    }

    split_sentences(&passage)
        .iter()
        .flat_map(|sentence| cues::extract_statements(&passage, sentence, language, Trust::User))
        .collect()
}

/// Formats a statement like the golden tables: the kind, the topic and the last day.
fn format_statement(statement: &Statement) -> String {
    if let Some(retraction) = statement
        .retraction
        .as_ref()
        .filter(|_| statement.only_retracts())
    {
        return format_retraction(retraction);
    }

    let mut formatted = if is_episode(statement) {
        "episode".to_owned()
    } else {
        format!("{:?}", statement.kind).to_lowercase()
    };
    if let Some(topic) = &statement.topic {
        let negation = if topic.negated { "!" } else { "" };
        formatted += &format!(
            " {}|{}|{negation}{}",
            topic.subject, topic.attribute, topic.value
        );
    }

    if let Some(event) = statement.event {
        formatted += &format!(" @{}", &event.to.to_string()[..10]);
        assert!(event.from < event.to && event.to.plus_seconds(1).as_millis() % 86_400_000 == 999);
    }

    if let Some(retraction) = &statement.retraction {
        formatted += &format!(" {}", format_retraction(retraction));
    }

    formatted
}

/// Formats a retraction: its effect, its words, and its aspects after a star.
fn format_retraction(retraction: &Retraction) -> String {
    let mut formatted = format!("{:?}", retraction.effect).to_lowercase();
    for word in &retraction.words {
        formatted += &format!(" {word}");
    }
    for aspect in &retraction.aspects {
        formatted += &format!(" *{aspect}");
    }

    formatted
}

/// Reads a golden table: sentences, and indented below each its statements.
fn read_table(table: &'static str) -> Vec<GoldenCase> {
    let mut cases: Vec<GoldenCase> = Vec::new();
    let lines = table.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), cases.last_mut()) {
            (Some(statement), Some(case)) => case.expected.push(statement),
            (Some(_), None) => panic!("line {}: a sentence must come first", index + 1),
            (None, _) => cases.push(GoldenCase {
                line_number: index + 1,
                text: line.strip_prefix(UNDETECTED).unwrap_or(line),
                is_detected: !line.starts_with(UNDETECTED),
                expected: Vec::new(),
            }),
        }
    }

    cases
}

/// Writes the statements that are found now into the golden table of a language.
fn write_table(language: Language) {
    let mut table = String::new();
    for line in golden_table_of(language).lines() {
        if line.starts_with("    ") {
            continue;
        }
        table += &format!("{line}\n");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }

        let text = line.strip_prefix(UNDETECTED).unwrap_or(line);
        for statement in extract_as(language, text) {
            table += &format!("    {}\n", format_statement(&statement));
        }
    }

    let name = rule_file_of(language).map_or("other".to_owned(), |file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        name.trim_end_matches(".txt").to_owned()
    });
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/languages");
    std::fs::write(format!("{folder}/{name}.golden.txt"), table).unwrap();
}

#[test]
#[ignore = "writes the golden tables anew"]
fn write_the_golden_tables() {
    for language in RULE_LANGUAGES.iter().chain(&[Language::Other]) {
        write_table(*language);
    }
}

#[test]
fn sentences_give_the_statements_of_the_golden_tables() {
    let mut faults = String::new();
    for language in RULE_LANGUAGES.iter().chain(&[Language::Other]) {
        for case in read_table(golden_table_of(*language)) {
            let statements = extract_as(*language, case.text);
            let found: Vec<_> = statements.iter().map(format_statement).collect();
            let place = format!("{language:?}, line {}: {}", case.line_number, case.text);

            if found != case.expected {
                faults += &format!(
                    "{place}\n  expected {:?}\n  found {found:?}\n",
                    case.expected
                );
            }

            let detected = detect_language(case.text);
            let is_found =
                rule_file_of(detected).map_or(Language::Other, |_| detected) == *language;
            if is_found != case.is_detected {
                faults += &format!("{place}\n  is taken for {detected:?}\n");
            }
        }
    }

    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn every_golden_table_has_sentences() {
    for language in RULE_LANGUAGES.iter().chain(&[Language::Other]) {
        let cases = read_table(golden_table_of(*language));
        assert!(
            cases.len() >= 10,
            "{language:?} has {} sentences",
            cases.len()
        );
    }
}
