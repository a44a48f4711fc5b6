//! Standing instructions for the assistant.

use domain::MemoryKind;

use super::lexicon::{VerbForm, is_content_word, parse_verb, verb_base};
use super::topic::{KnownTopic, parse_value};
use super::vocabulary::vocabulary;
use super::words::Clause;
use super::{ClauseContext, StatementDraft};

/// Drafts a standing instruction. Returns the index of its first word as well.
pub(crate) fn draft_instruction(
    clause: Clause<'_>,
    context: &ClauseContext<'_>,
) -> Option<(usize, StatementDraft)> {
    let at = vocabulary().requests.end(clause, 0).unwrap_or(0);
    let draft = StatementDraft::new(MemoryKind::Instruction, 0.9).lasting(true);
    if let Some(name_topic) = name_to_use_topic(clause, at, context) {
        return Some((at, draft.known(name_topic)));
    }

    if let Some(end) = vocabulary().requests_to_remember.end(clause, at) {
        return (clause.len() > end + 2 && !context.is_group_chat).then_some((at, draft));
    }

    let rest = clause.from(at);
    let draft = match manner_topic(rest, context) {
        Some(known_topic) => draft.known(known_topic),
        None => draft,
    };

    (!context.is_group_chat && is_standing(rest, at > 0)).then_some((at, draft))
}

/// Checks whether an instruction is to hold from now on.
fn is_standing(rest: Clause<'_>, is_requested: bool) -> bool {
    let opening_end = vocabulary()
        .standing_openings
        .end(rest, 0)
        .or_else(|| vocabulary().prohibitions.end(rest, 0));
    let first = opening_end.unwrap_or(0);
    let first = first
        + usize::from(rest.lower_at(first) == ",")
        + usize::from(rest.lower_at(first + 1) == "please");
    // `always forget to say` is about the speaker.
    let is_own_habit = rest.lower_at(0) == "always" && rest.lower_at(1) == "forget";
    let is_always = is_imperative(rest, first)
        && !is_own_habit
        && (opening_end.is_some() || vocabulary().standing_phrases.occurs_in(rest));
    let is_repeated =
        is_requested && vocabulary().repeated_verbs.has(rest.lower_at(0)) && is_imperative(rest, 0);
    (is_always || is_repeated)
        && rest
            .words
            .iter()
            .filter(|word| is_content_word(word.lower))
            .count()
            >= 2
}

/// Returns the topic of how answers are to be: `give me short answers`, `keep answers short`,
/// `answer in German`.
fn manner_topic(rest: Clause<'_>, context: &ClauseContext<'_>) -> Option<KnownTopic> {
    let at = rest
        .words
        .iter()
        .position(|word| vocabulary().manner_verbs.has(verb_base(word.lower)))?;
    let is_negated = rest.until_index(at).contains_any(&["never", "n't", "not"]);
    let object = rest.from(at + 1);
    let object = object.from(usize::from(matches!(object.lower_at(0), "me" | "us")));
    let (attribute, value) = match (rest.lower_at(at), object.lower_at(0)) {
        ("answer" | "reply" | "respond" | "write", "in")
            if object
                .words
                .get(1)
                .is_some_and(|word| word.is_capitalized()) =>
        {
            ("answer language".to_owned(), parse_value(object, 1))
        }
        ("switch" | "change", "to") => super::preference::split_kind(object.from(1))?,
        ("keep" | "make", _) => {
            let object = object.from(usize::from(matches!(
                object.lower_at(0),
                "your" | "the" | "my" | "all"
            )));
            let noun = object
                .words
                .first()
                .filter(|word| word.lower.ends_with('s'))?;
            (format!("prefers {}", noun.lower), parse_value(object, 1))
        }
        ("answer" | "reply" | "respond", _) => return None,
        _ => super::preference::split_kind(object)?,
    };

    let known_topic = KnownTopic::new(
        context.speaker_key.to_lowercase(),
        &attribute,
        value,
        MemoryKind::Instruction,
        true,
    )?;

    Some(known_topic.with_negation(is_negated))
}

/// Checks whether an imperative stands at `at`: a verb in its base form, possibly negated.
fn is_imperative(clause: Clause<'_>, at: usize) -> bool {
    let at = clause
        .match_any(at, &["do n't", "do not", "never", "always"])
        .unwrap_or(at);
    let lower = clause.lower_at(at);
    let is_noun_phrase = matches!(
        clause.lower_at(at + 1),
        "is" | "are" | "was" | "were" | "has" | "had" | "'s" | "of"
    );

    (matches!(parse_verb(lower), Some((_, VerbForm::Base)))
        || matches!(
            lower,
            "be" | "format"
                | "address"
                | "cite"
                | "translate"
                | "assume"
                | "double-check"
                | "refer"
                | "summarize"
        ))
        && !is_noun_phrase
}

/// Returns the topic of `Call me Al`.
fn name_to_use_topic(
    clause: Clause<'_>,
    at: usize,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let end = clause.match_any(
        at,
        &[
            "call me",
            "just call me",
            "you can call me",
            "refer to me as",
            "address me as",
        ],
    )?;
    clause
        .words
        .get(end)
        .filter(|word| word.is_capitalized() && word.lower != "i")?;

    KnownTopic::new(
        context.speaker_key.to_lowercase(),
        "name to use",
        parse_value(clause, end),
        MemoryKind::Instruction,
        true,
    )
}
