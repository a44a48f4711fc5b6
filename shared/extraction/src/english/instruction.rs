//! Standing instructions for the assistant.

use domain::MemoryKind;

use super::grammar::{SubjectKind, parse_clause};
use super::lexicon::{VerbForm, is_content_word, is_preposition, parse_verb, verb_base};
use super::topic::{KnownTopic, parse_value};
use super::vocabulary::vocabulary;
use super::words::{Clause, split_words};
use super::{ClauseContext, StatementDraft};
use crate::dates::is_weekday;

/// Phrases that say only from when on something holds.
const STANDING_TIMES: [&str; 5] = [
    "from now on",
    "from here on",
    "from here on out",
    "going forward",
    "in future",
];
/// Phrases that begin a condition with what the speaker does.
const SPEAKER_CONDITIONS: [&str; 8] = [
    "whenever i",
    "every time i",
    "each time i",
    "when i ask",
    "when i paste",
    "when i send you",
    "when i give you",
    "when i share",
];
/// Words after `call me` that are no name.
const NO_NAMES: [&str; 16] = [
    "again", "anytime", "asap", "back", "crazy", "every", "if", "later", "now", "once", "please",
    "soon", "today", "tomorrow", "tonight", "when",
];

/// Checks whether a standing phrase is one with which facts are told as well: `every time I`,
/// `from now on`, `call me`.
pub(crate) fn is_open_standing_phrase(phrase: &str) -> bool {
    phrase == "call me" || STANDING_TIMES.contains(&phrase) || SPEAKER_CONDITIONS.contains(&phrase)
}

/// Checks whether a remark with such a phrase, and without a word for the assistant, tells it what to
/// do: `from now on answer in German`, `call me Al`. `Every time I eat dairy I get cramps`, `from now
/// on my mum lives here` and `call me tomorrow` do not.
pub(crate) fn is_order(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let clause = Clause { words: &words };
    if let Some((at, end)) = clause.find_phrase("call me") {
        return is_start_of_order(clause, at) && is_name_to_call(clause.lower_at(end));
    }

    if is_imperative(clause, skip_request(clause, 0)) {
        return true;
    }
    if let Some((_, end)) = clause.find_any(&SPEAKER_CONDITIONS) {
        return (end..clause.len()).any(|at| {
            let lower = clause.lower_at(at);
            let is_task =
                vocabulary().repeated_verbs.has(lower) || vocabulary().manner_verbs.has(lower);
            is_task && (is_start_of_order(clause, at) || is_order_after_thing(clause, at))
        });
    }

    let Some((at, end)) = clause.find_any(&STANDING_TIMES) else {
        return true;
    };
    let rest = clause.from(skip_request(clause, end));
    let told = if at == 0 { rest } else { clause };
    is_imperative(rest, 0) || !tells_fact(told)
}

/// Checks whether a clause has a subject that does something, or names the speaker. `All prices in CAD`
/// and `prices should be in CAD` are wishes.
fn tells_fact(clause: Clause<'_>) -> bool {
    let parsed = parse_clause(clause).filter(|parsed| parsed.subject_kind != SubjectKind::Elided);
    let is_wish = parsed.is_some_and(|parsed| parsed.verb.modal) && !names_speaker(clause);
    !is_wish && (parsed.is_some() || names_speaker(clause))
}

fn names_speaker(clause: Clause<'_>) -> bool {
    clause.contains_any(&["i", "me", "my", "we", "us", "our"])
}

/// Checks whether a verb at `at` stands without a subject: at the beginning, or after a mark or a word
/// of a request.
fn is_start_of_order(clause: Clause<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    let previous = clause.words[before];
    let is_request = matches!(
        previous.lower,
        "please" | "just" | "always" | "never" | "and" | "then" | "so"
    );
    previous.is_punctuation || is_request
}

/// Checks whether a verb that is no noun as well follows one thing, which cannot be its subject:
/// `whenever I ask for a recipe give grams`.
fn is_order_after_thing(clause: Clause<'_>, at: usize) -> bool {
    let previous = clause.lower_at(at.saturating_sub(1));
    matches!(clause.lower_at(at), "give" | "use" | "include" | "avoid")
        && is_content_word(previous)
        && !previous.ends_with('s')
        && !matches!(previous, "people" | "children")
        && parse_verb(previous).is_none()
}

/// Checks whether a word after `call me` can be a name.
fn is_name_to_call(lower: &str) -> bool {
    lower.chars().any(char::is_alphabetic)
        && !NO_NAMES.contains(&lower)
        && !is_preposition(lower)
        && !is_weekday(lower)
}

/// Returns the index after the marks and words with which a request begins.
fn skip_request(clause: Clause<'_>, mut at: usize) -> usize {
    while matches!(
        clause.lower_at(at),
        "," | ":" | "please" | "just" | "and" | "so" | "also" | "only"
    ) {
        at += 1;
    }
    at
}

/// Drafts a standing instruction. Returns the index of its first word as well.
pub(crate) fn draft_instruction(
    clause: Clause<'_>,
    context: &ClauseContext<'_>,
) -> Option<(usize, StatementDraft)> {
    // Among people, a request is made to one of them.
    if context.is_group_chat {
        return None;
    }

    let at = vocabulary().requests.end(clause, 0).unwrap_or(0);
    let draft = StatementDraft::new(MemoryKind::Instruction, 0.9).lasting(true);
    if let Some(name_topic) = name_to_use_topic(clause, at, context) {
        return Some((at, draft.known(name_topic)));
    }

    if let Some(end) = vocabulary().requests_to_remember.end(clause, at) {
        return (clause.len() > end + 2).then_some((at, draft));
    }

    let rest = clause.from(at);
    let draft = match manner_topic(rest, context) {
        Some(known_topic) => draft.known(known_topic),
        None => draft,
    };

    is_standing(rest, at > 0).then_some((at, draft))
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
        .filter(|word| word.is_capitalized() && word.lower != "i" && is_name_to_call(word.lower))?;

    KnownTopic::new(
        context.speaker_key.to_lowercase(),
        "name to use",
        parse_value(clause, end),
        MemoryKind::Instruction,
        true,
    )
}
