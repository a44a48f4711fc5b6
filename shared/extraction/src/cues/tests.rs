//! Checks of all languages with cues.

use domain::{Timestamp, Trust};

use text::file::{LanguageFile, LanguageSections};
use text::{Language, detect_language};

use super::extract_statements;
use super::load::load_rules;
use crate::golden::extract_as;
use crate::languages::{RULE_LANGUAGES, rule_file_of};
use crate::sentences::split_sentences;
use crate::{Passage, Role};

/// Returns the languages that have cues.
fn languages_with_cues() -> impl Iterator<Item = Language> {
    let languages = RULE_LANGUAGES.iter().copied();
    languages.filter(|language| *language != Language::English)
}

/// Checks that the words of every statement occur in its span, in whatever language the text is
/// read.
fn holds_for(text: &str) {
    for language in languages_with_cues() {
        for statement in extract_as(language, text) {
            let span = text
                .chars()
                .skip(statement.start)
                .take(statement.end - statement.start);
            // Compare by way of capitals, because the first letter of a statement is capitalized:
            // "µ" and "μ" have the same capital.
            let span = span.collect::<String>().to_uppercase().to_lowercase();
            let statement_text = statement.text.to_uppercase().to_lowercase();
            // The days of a date are added in digits.
            let is_date = |word: &str| word == "to" || word.bytes().all(|b| b.is_ascii_digit());
            let invented_word = statement_text
                .split(|c: char| !c.is_alphanumeric())
                .find(|word| !span.contains(word) && !is_date(word));
            assert_eq!(invented_word, None, "{language:?}: {text}");
        }
    }
}

#[test]
fn nothing_is_invented_from_the_cues_of_any_language() {
    for language in languages_with_cues() {
        let mut sections = LanguageSections::parse(rule_file_of(language).unwrap()).unwrap();
        for line in sections.take("rules").unwrap().lines() {
            holds_for(
                &line
                    .text
                    .replace(['|', '_'], " ")
                    .replace(['~', '^', '$', '*'], "İX 3. ")
                    .replace("{v}", "ß"),
            );
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
    for promise in [
        "Ich werde mich kurz fassen.",
        "Entonces nada de harina ni leche.",
        "我会尽量说得简单。",
        "Хорошо, буду отвечать коротко.",
        "D'accord, je ferai plus simple.",
    ] {
        assert_eq!(
            read(passage(Role::Assistant, None, promise)),
            [],
            "{promise}"
        );
    }
    assert_eq!(read(passage(Role::Other, None, "Ich wohne in Bonn.")), []);

    let plan = &read(passage(
        Role::User,
        None,
        "Morgen werde ich nach Graz fahren.",
    ))[0];
    assert_eq!(plan.text, "Morgen werde ich nach Graz fahren. (2025-04-16)");
    assert_eq!(plan.forget_after, None);
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

#[test]
fn every_language_file_can_be_loaded() {
    let mut faults = Vec::new();
    for language in languages_with_cues() {
        if let Err(error) = load_rules(language, rule_file_of(language).unwrap()) {
            faults.push(error.to_string());
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A change of the German file, the line in which a fault is then reported, and the fault.
type Fault = (&'static str, &'static str, &'static str, &'static str);

const FAULTS: [Fault; 16] = [
    (
        "[fillers]",
        "[filler]",
        "#",
        "the section [fillers] is missing",
    ),
    (
        "[fillers]",
        "[colors]\nrot\n[fillers]",
        "[colors]",
        "there is no section named [colors]",
    ),
    (
        "[fillers]",
        "[labels]\n[fillers]",
        "[labels]\nfakt",
        "there are two sections [labels]",
    ),
    (
        "[labels]",
        "[labels",
        "[labels",
        "the name of a section ends with `]`",
    ),
    (
        "# The cues",
        "The cues",
        "The cues",
        "a section must begin before this",
    ),
    (
        "trait residence",
        "trait residense",
        "trait residense",
        "`residense` is not a property",
    ),
    (
        "trait residence",
        "treat residence",
        "treat residence",
        "`treat` is not the meaning of a rule",
    ),
    (
        "like\n",
        "like name\n",
        "like name",
        "a rule with this meaning has no property",
    ),
    (
        "    ich heiße {v}",
        "    ich heiße {w}",
        "    ich heiße {w}",
        "`{w}` is not a part of a cue",
    ),
    (
        "    ich heiße {v}",
        "    ich heiße",
        "    ich heiße\n",
        "the rule needs an answer: `{v}`",
    ),
    (
        "    ich heiße {v}",
        "   ich heiße {v}",
        "   ich heiße {v}",
        "a cue is indented by four spaces",
    ),
    (
        "day month",
        "month",
        "[date order]",
        "[date order]: `day month` or `month day` is expected",
    ),
    (
        "sister: schwester",
        "sister: Schwester",
        "sister: Schwester",
        "`Schwester` has a capital, so it never matches",
    ),
    (
        "sister: schwester",
        "aunt: tante",
        "aunt: tante",
        "`aunt` is not one of sister, brother, mother, father, spouse, partner, daughter, son, dog, cat",
    ),
    (
        "sister: schwester",
        "sister: schwester | schwester",
        "sister:",
        "`schwester` is repeated",
    ),
    (
        "sister: schwester",
        "sister: schwester |",
        "sister:",
        "a word is empty",
    ),
];

#[test]
fn faults_are_reported_with_file_line_and_remedy() {
    let german = rule_file_of(Language::German).unwrap();
    for (old, new, place, problem) in FAULTS {
        assert!(german.text.contains(old), "{old}");
        let text: &'static str = german.text.replacen(old, new, 1).leak();
        let before = &text[..text.find(place).unwrap()];
        let line_number = before.matches('\n').count() + 1;

        let fault = load_rules(Language::German, LanguageFile { text, ..german }).err();
        let expected = format!("{}, line {line_number}: {problem}", german.path);
        assert_eq!(fault.map(|error| error.to_string()), Some(expected));
    }
}

#[test]
fn a_day_of_the_month_is_the_next_one() {
    // All of these are said on 2025-04-15, a Tuesday.
    let said_at = Timestamp::parse("day", "2025-04-15").unwrap();
    for (language, text, expected) in [
        (Language::German, "am 30. ist die feier", "2025-04-30"),
        (Language::German, "um 3 am bahnhof", ""),
        (Language::French, "le 3 on part à lyon", "2025-05-03"),
        (Language::French, "le samedi il joue au foot", ""),
        (Language::Spanish, "el 21 hacemos una maratón", "2025-04-21"),
        (Language::Spanish, "son el 12 % de todos", ""),
        (Language::Portuguese, "o casamento é dia 10", "2025-05-10"),
        (Language::Japanese, "21日に引っ越します", "2025-04-21"),
        (Language::Japanese, "3日間休みます", ""),
        (Language::Chinese, "25号去上海，坐2号线", "2025-04-25"),
        (Language::Korean, "20일에 시험이 있어요", "2025-04-20"),
    ] {
        let days = super::find_days(text, language, said_at);
        let label = days.map_or(String::new(), |days| days.format_label());
        assert_eq!(label, expected, "{text}");
    }
}
