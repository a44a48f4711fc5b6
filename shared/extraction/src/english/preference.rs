//! Likes, wishes and opinions of a person.

use domain::MemoryKind;

use super::StatementDraft;
use super::grammar::{ParsedClause, SubjectKind};
use super::identity::says_no_longer;
use super::lexicon::{is_content_word, is_preposition, is_pronoun};
use super::topic::{KnownTopic, find_object, is_meaningful, parse_value, phrase_key};
use super::vocabulary::vocabulary;
use super::words::Clause;

const LIKING: &[&str] = &["like", "love", "enjoy", "adore"];
const DISLIKING: &[&str] = &["hate", "dislike"];

/// Returns the topic of a preference.
pub(crate) fn preference_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    if is_rather(parsed) {
        return rather_topic(parsed, subject);
    }

    if parsed.verb.future || parsed.verb.modal && !is_cannot_stand(parsed) {
        return None;
    }

    let rest = parsed.rest();
    let is_ended = parsed.verb.negated || says_no_longer(parsed) || parsed.verb.used_to;
    let make_topic = |attribute: &str, value: String, negated: bool| {
        let has_meaning = is_meaningful(&value);
        let known_topic = KnownTopic::new(
            subject.to_owned(),
            attribute,
            value,
            MemoryKind::Preference,
            true,
        )?;
        has_meaning.then(|| known_topic.with_negation(negated))
    };

    let like_topic = |at: usize, negated: bool| {
        let object_clause = find_object(rest, at);
        // "Window seats on planes" are window seats, but "walks on the beach" are not walks.
        let end = (2..object_clause.len())
            .find(|&at| matches!(object_clause.lower_at(at), "in" | "on" | "at"));
        let object = phrase_key(object_clause.until_index(end.unwrap_or(object_clause.len())));
        // "Your idea", "how it looks" and "this song" do not name anything.
        let pointing_words = [
            "you", "your", "how", "what", "when", "where", "this", "these", "those", "that", "it",
            "its",
        ];
        if pointing_words.contains(&rest.lower_at(at)) {
            return None;
        }
        make_topic(&format!("likes {object}"), object, negated)
    };

    let is_current = !parsed.verb.past || parsed.verb.used_to;

    match parsed.verb.base {
        "prefer" if is_current => preferred_topic(rest, is_ended, &make_topic),
        _ if parsed.is(LIKING) && is_current => {
            like_topic(usize::from(rest.lower_at(0) == "to"), is_ended)
        }
        _ if parsed.is(DISLIKING) && is_current => like_topic(0, !is_ended),
        "stand" if is_cannot_stand(parsed) => like_topic(0, true),
        "eat" | "drink" if is_ended && is_current && !parsed.verb.perfect => {
            let object = parse_value(rest, 0);
            make_topic(&format!("{}s {object}", parsed.verb.base), object, true)
        }
        "stop"
            if matches!(
                super::lexicon::verb_base(rest.lower_at(0)),
                "like" | "love" | "enjoy"
            ) =>
        {
            like_topic(1, true)
        }
        "be" if is_current => {
            let at = rest.match_any(
                0,
                &[
                    "a fan of",
                    "a big fan of",
                    "a huge fan of",
                    "fond of",
                    "into",
                    "keen on",
                ],
            )?;
            like_topic(at, is_ended)
        }
        _ => None,
    }
}

/// Checks for `can't stand`.
fn is_cannot_stand(parsed: ParsedClause<'_>) -> bool {
    parsed.verb.base == "stand" && parsed.verb.modal && parsed.verb.negated
}

/// Returns the topic of `tea over coffee`, `tea rather than coffee` and `email for bills`.
fn preferred_topic(
    rest: Clause<'_>,
    is_ended: bool,
    make_topic: &dyn Fn(&str, String, bool) -> Option<KnownTopic>,
) -> Option<KnownTopic> {
    let comparison = rest.find_any(&["over", "rather than", "instead of", ", not", "to"]);
    if let Some((at, end)) = comparison.filter(|(at, _)| *at > 0) {
        let (preferred, rejected) = (
            phrase_key(find_object(rest.until_index(at), 0)),
            parse_value(rest, end),
        );
        if is_meaningful(&rejected) && !preferred.is_empty() {
            let (first, second) = if preferred < rejected {
                (&preferred, &rejected)
            } else {
                (&rejected, &preferred)
            };
            return make_topic(
                &format!("prefers {first} / {second}"),
                preferred.clone(),
                is_ended,
            );
        }
    }

    if let Some((at, end)) = rest.find_phrase("for") {
        return make_topic(
            &format!("prefers for {}", parse_value(rest, end)),
            phrase_key(find_object(rest.until_index(at), 0)),
            is_ended,
        );
    }

    preferred_kind_topic(rest, is_ended, make_topic).or_else(|| {
        let object = parse_value(rest, 0);
        make_topic(&format!("likes {object}"), object, is_ended)
    })
}

/// Returns the topic of `prefers light mode`, `meetings in the morning` and `morning meetings`:
/// which mode, which meetings.
fn preferred_kind_topic(
    rest: Clause<'_>,
    is_ended: bool,
    make_topic: &dyn Fn(&str, String, bool) -> Option<KnownTopic>,
) -> Option<KnownTopic> {
    const PREPOSITIONS: &[&str] = &[
        "in", "on", "at", "with", "without", "from", "by", "over", "before", "after",
    ];
    let end = rest
        .until_index(10)
        .words
        .iter()
        .position(|word| word.is_punctuation)
        .unwrap_or(rest.len());
    let rest = rest.until_index(end);
    if let Some(end) = rest.match_any(0, &["to be called", "being called", "to be addressed as"]) {
        return make_topic("name to use", parse_value(rest, end), is_ended);
    }

    if matches!(rest.lower_at(0), "my" | "our" | "the")
        && rest.len() == 3
        && !is_preposition(rest.lower_at(2))
    {
        return make_topic(
            &format!("prefers {}", rest.lower_at(1)),
            rest.lower_at(2).to_owned(),
            is_ended,
        );
    }

    let action = usize::from(rest.lower_at(0) == "to");
    let preposition_at = rest.index_of_any(action, PREPOSITIONS);
    if preposition_at < rest.len() && preposition_at > action {
        let verb = super::lexicon::verb_base(rest.lower_at(preposition_at - 1));
        let head = match (action, verb) {
            (0, "") => rest.lower_at(preposition_at - 1).to_owned(),
            (_, "") => return None,
            (_, verb) => verb.to_owned(),
        };
        let prefix = phrase_key(rest.until_index(preposition_at - 1).from(action));
        let qualifier = [
            prefix,
            phrase_key(object_after_preposition(rest, preposition_at)),
        ]
        .into_iter()
        .filter(|part| !part.is_empty());
        return make_topic(
            &format!("prefers {head}"),
            qualifier.collect::<Vec<_>>().join(" "),
            is_ended,
        );
    }

    let object_clause = find_object(rest, 0);
    let last = object_clause
        .words
        .last()
        .filter(|last| object_clause.len() > 1 && action == 0 && !last.is_capitalized())?;
    let qualifier = phrase_key(object_clause.until_index(object_clause.len() - 1));

    make_topic(&format!("prefers {}", last.lower), qualifier, is_ended)
}

/// Returns the topic of `I'd rather have short answers`.
fn rather_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let (_, at) = parsed.clause.find_phrase("rather")?;
    let rest = parsed.clause.from(at);
    let rest = rest.from(usize::from(matches!(
        rest.lower_at(0),
        "have" | "get" | "receive" | "see" | "take"
    )));
    let make_topic = |attribute: &str, value: String, negated: bool| {
        let known_topic = KnownTopic::new(
            subject.to_owned(),
            attribute,
            value,
            MemoryKind::Preference,
            true,
        )?;
        Some(known_topic.with_negation(negated))
            .filter(|known_topic| is_meaningful(&known_topic.topic.value))
    };

    let is_negated = matches!(rest.lower_at(0), "not" | "n't");

    if is_negated || rest.contains_any(&["than"]) {
        None
    } else {
        preferred_kind_topic(rest, false, &make_topic)
    }
}

/// Splits `short answers` into the attribute for the answers and the value `short`.
pub(super) fn split_kind(object: Clause<'_>) -> Option<(String, String)> {
    let object_clause = find_object(object, 0);
    let end = (0..object_clause.len())
        .find(|&at| is_preposition(object_clause.lower_at(at)))
        .unwrap_or(object_clause.len());
    let last = object_clause.words[..end]
        .last()
        .filter(|last| end > 1 && !last.is_capitalized())?;
    Some((
        format!("prefers {}", last.lower),
        phrase_key(object_clause.until_index(end - 1)),
    ))
}

/// Returns the words after a preposition, up to those that say since when or how long.
fn object_after_preposition(rest: Clause<'_>, at: usize) -> Clause<'_> {
    let stops = [
        "now", "these", "lately", "again", "because", "since", "when", "whenever", "and", "but",
        "so", "as", "any", "anymore", "instead", "too", "recently",
    ];
    rest.until_index(rest.index_of_any(at + 1, &stops))
        .from(at + 1)
}

/// Drafts a statement of what somebody likes, wants or thinks.
pub(crate) fn draft_preference(parsed: ParsedClause<'_>) -> Option<StatementDraft> {
    if !parsed.person() && parsed.subject_kind != SubjectKind::Pronoun {
        return None;
    }

    let rest = parsed.rest();
    let content_word_count = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.lower))
        .count();
    let is_about_other = is_pronoun(rest.lower_at(0))
        || matches!(
            rest.lower_at(0),
            "you" | "your" | "how" | "what" | "when" | "its" | "all"
        );
    if parsed.subject_kind == SubjectKind::Pronoun && !parsed.is(&["prefer"]) {
        return None;
    }

    let draft = |confidence: f32, is_static: bool| {
        Some(StatementDraft::new(MemoryKind::Preference, confidence).lasting(is_static))
    };
    let is_current = !parsed.verb.past && !parsed.verb.future;
    if is_current
        && parsed.is(&[
            "prefer", "like", "love", "enjoy", "hate", "dislike", "adore", "favor", "favour",
        ])
    {
        let is_vague = is_about_other
            || content_word_count == 0
            || parsed.verb.modal
                && parsed.clause.lower_at(parsed.verb.first) == "'d"
                && content_word_count < 2;
        return if is_vague {
            None
        } else {
            draft(0.8, !parsed.verb.modal)
        };
    }

    if is_rather(parsed) && content_word_count >= 2 {
        return draft(0.75, true);
    }

    if is_current && parsed.is(&["want", "wish"]) && !parsed.verb.negated {
        return if is_about_other || content_word_count < 2 {
            None
        } else {
            draft(0.6, false)
        };
    }

    is_opinion(parsed, content_word_count, is_about_other)
        .then(|| StatementDraft::new(MemoryKind::Preference, 0.65).opinion())
}

/// Checks for `I'd rather …`.
fn is_rather(parsed: ParsedClause<'_>) -> bool {
    let words = parsed.clause.from(parsed.verb.first).until_index(4);
    words.contains_any(&["rather"])
        && (words.contains_any(&["'d"]) || words.contains_any(&["would"]))
}

/// Checks whether the clause says what somebody thinks of something that can be named.
fn is_opinion(parsed: ParsedClause<'_>, content_word_count: usize, is_about_other: bool) -> bool {
    let rest = parsed.rest();
    if parsed.verb.past || parsed.verb.future || content_word_count < 3 {
        return false;
    }

    match parsed.verb.base {
        "think" | "believe" | "feel" | "suspect" | "doubt" | "disagree" => {
            let at = usize::from(rest.lower_at(0) == "that");
            !is_about_other
                && !is_pronoun(rest.lower_at(at))
                && !matches!(rest.lower_at(at), "about" | "of" | "so" | "you" | "like")
                && (parsed.verb.base != "feel" || at == 1)
                && !parsed.verb.progressive
        }
        "find" => {
            !is_about_other
                && !parsed.verb.perfect
                && !parsed.verb.progressive
                && !parsed.verb.modal
        }
        "be" if parsed.subject_kind == SubjectKind::Owned => {
            parsed.clause.lower_at(parsed.subject_end - 1).len() > 3
                && vocabulary()
                    .opinion_nouns
                    .has(parsed.clause.lower_at(parsed.subject_end - 1))
        }
        "be" => vocabulary().opinion_predicates.end(rest, 0).is_some(),
        _ => false,
    }
}
