//! Measures and states of things.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::is_content_word;
use super::topic::{KnownTopic, find_object, join_words, parse_value, phrase_key};
use super::vocabulary::vocabulary;
use super::words::Clause;

/// Returns the topic of `The server has 16 GB of RAM`, `costs $5` and `is at 19 °C`.
pub(super) fn measure_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let is_thing = matches!(
        parsed.subject_kind,
        SubjectKind::Definite | SubjectKind::Named | SubjectKind::Owned
    ) || parsed.subject_kind == SubjectKind::Speaker
        && (parsed.verb.base == "weigh" || is_height(parsed.rest()));
    if !is_thing || parsed.verb.past || parsed.verb.future || parsed.verb.modal {
        return None;
    }

    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    let is_money = matches!(rest.lower_at(0), "$" | "€" | "£");
    let has_number = rest.words.first()?.is_number() || is_money;

    match parsed.verb.base {
        "have" if has_number => {
            let of_phrase = rest.find_phrase("of").filter(|(at, _)| *at <= 3);
            match of_phrase {
                Some((at, end)) => fact(&parse_value(rest, end), join_words(rest.until_index(at))),
                None => fact(
                    &format!(
                        "number of {}",
                        phrase_key(find_object(rest, 1).until_index(2))
                    ),
                    rest.lower_at(0).to_owned(),
                ),
            }
        }
        "cost" => fact("price", parse_value(rest, 0)),
        "weigh" => fact("weight", parse_value(rest, 0)),
        "be" if is_height(rest) => fact(
            "height",
            join_words(rest.until_index(rest.index_of_any(0, &["tall"]))),
        ),
        "be" if is_money => fact("price", parse_value(rest, 0)),
        "be" if rest.lower_at(0) == "at"
            && rest.words.get(1).is_some_and(|word| word.is_number()) =>
        {
            fact("value", parse_value(rest, 1))
        }
        "run" | "be" if rest.find_phrase("version").is_some() => {
            let (_, at) = rest.find_phrase("version")?;
            fact("version", parse_value(rest, at))
        }
        _ => None,
    }
}

/// Returns the topic of `The build is broken` and `the project is on hold`.
pub(super) fn status_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let is_thing = matches!(
        parsed.subject_kind,
        SubjectKind::Definite | SubjectKind::Named | SubjectKind::Owned
    );
    if !is_thing || parsed.verb.modal || parsed.verb.future {
        return None;
    }

    let from = if parsed.verb.passive {
        parsed.verb.main
    } else if parsed.verb.base == "be" {
        parsed.verb.main + 1
    } else {
        return None;
    };

    let rest = parsed.clause.from(from);
    let rest = rest.from(rest.match_phrase(0, "no longer").unwrap_or(0));
    let at = usize::from(matches!(
        rest.lower_at(0),
        "now" | "still" | "currently" | "finally" | "n't" | "not"
    ));
    let is_end = |end: usize| {
        rest.words
            .get(end)
            .is_none_or(|next| next.is_punctuation || !is_content_word(next.lower))
    };
    let (state, _) = vocabulary()
        .states_of_things
        .standing(rest, at)
        .find(|(_, end)| is_end(*end))?;
    let known_topic = KnownTopic::new(
        subject.to_owned(),
        "status",
        state.to_owned(),
        MemoryKind::Fact,
        false,
    )?;

    Some(known_topic.with_negation(parsed.verb.negated))
}

/// Checks for `1.80 m tall`.
fn is_height(rest: Clause<'_>) -> bool {
    rest.until_index(5).contains_any(&["tall"])
        && rest.words.first().is_some_and(|word| word.is_number())
}
