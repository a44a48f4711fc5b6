//! Plans and promises of a person, and their cancellations.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, is_determiner, is_preposition, is_pronoun, verb_base};
use super::topic::{KnownTopic, find_object, is_meaningful, phrase_key};
use super::vocabulary::vocabulary;
use super::words::Clause;
use super::{ClauseContext, StatementDraft};

/// Returns the topic of a plan: what is to be done.
pub(crate) fn plan_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    if !parsed.person() && parsed.subject_kind != SubjectKind::Pronoun {
        return None;
    }

    let rest = parsed.rest();
    let is_negated = parsed.verb.negated || super::identity::says_no_longer(parsed);
    let (action, negated) = if parsed.verb.future {
        (parsed.clause.from(parsed.verb.main), is_negated)
    } else {
        match parsed.verb.base {
            "plan" | "intend" | "hope" | "aim" => {
                let at = rest.match_any(0, &["to", "on"])?;
                (rest.from(at), is_negated)
            }
            "decide" => {
                return trip_topic(parsed, subject).or_else(|| outcome_topic(parsed, subject));
            }
            "cancel"
                if find_object(rest, 0)
                    .words
                    .iter()
                    .any(|word| super::occasion::is_event(word.lower)) =>
            {
                return None;
            }
            "cancel" => (rest, true),
            _ => return None,
        }
    };

    let key = if parsed.verb.base == "cancel" && !parsed.verb.future {
        phrase_key(find_object(rest, 0))
    } else {
        plan_key(action)?
    };

    let known_topic = KnownTopic::new(
        subject.to_owned(),
        &format!("plans {key}"),
        key,
        MemoryKind::Plan,
        false,
    )?;
    Some(known_topic.with_negation(negated))
}

/// Returns the topic of `decided to go to Norway this summer`: one destination at a time.
fn trip_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let is_negated = rest.match_phrase(0, "not").is_some();
    let at = rest.from(usize::from(is_negated)).match_any(
        0,
        &[
            "to go to",
            "to travel to",
            "to fly to",
            "to visit",
            "to spend",
            "against going to",
            "to drive to",
            "to move to",
        ],
    )?;

    let rest = rest.from(at + usize::from(is_negated));
    let destination = find_object(rest, 0);
    let is_capitalized =
        destination.words.iter().all(|word| word.is_capitalized()) && destination.len() > 0;
    let after = rest.from(usize::from(is_determiner(rest.lower_at(0))) + destination.len());
    let (word, period) = match after.lower_at(0) {
        "this" | "next" | "in" | "for" => (after.lower_at(1), after.until_index(2)),
        _ => return None,
    };
    let is_period = super::super::dates::is_season_or_month(word)
        || matches!(
            word,
            "year" | "weekend" | "holiday" | "christmas" | "easter"
        );
    let known_topic = KnownTopic::new(
        subject.to_owned(),
        &format!("destination {}", phrase_key(period)),
        phrase_key(destination),
        MemoryKind::Decision,
        false,
    )?;

    (is_capitalized && is_period).then(|| known_topic.with_negation(is_negated))
}

/// Returns the topic of `decided to paint the kitchen green`: how the thing is to be.
fn outcome_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let verb = verb_base(rest.lower_at(1));
    let object = find_object(rest, 3);
    let has_article = rest.lower_at(0) == "to"
        && matches!(rest.lower_at(2), "the" | "our" | "my")
        && !verb.is_empty();
    let is_plain = !object.words.iter().any(|word| is_preposition(word.lower));
    if !has_article || !is_plain || !matches!(object.len(), 2 | 3) {
        return None;
    }

    let attribute = format!("{verb} {}", object.lower_at(0));
    let value = phrase_key(object.from(1));

    KnownTopic::new(
        subject.to_owned(),
        &attribute,
        value,
        MemoryKind::Decision,
        false,
    )
}

/// Returns a verb in its base form with its object.
fn plan_key(action: Clause<'_>) -> Option<String> {
    let verb = verb_base(action.lower_at(0));
    let preposition = usize::from(matches!(
        action.lower_at(1),
        "to" | "in" | "with" | "for" | "on" | "at"
    ));
    let object = phrase_key(find_object(action, 1 + preposition).until_index(5));
    (!verb.is_empty() && verb != "be" && is_meaningful(&object)).then(|| format!("{verb} {object}"))
}

/// Drafts a statement of what will be done.
pub(crate) fn draft_plan(
    parsed: ParsedClause<'_>,
    context: &ClauseContext<'_>,
    has_date: bool,
) -> Option<StatementDraft> {
    let rest = parsed.rest();
    let content_word_count = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.lower))
        .count();
    let plan = |confidence| Some(StatementDraft::new(MemoryKind::Plan, confidence));
    if rest.find_phrase("by then").is_some() {
        return None;
    }

    if !parsed.person() {
        let is_about_things =
            parsed.verb.future && has_date && parsed.subject_kind != SubjectKind::Listener;
        return if is_about_things { plan(0.6) } else { None };
    }

    if content_word_count == 0 || is_pronoun(rest.lower_at(0)) && content_word_count < 2 {
        return None;
    }

    if has_date && super::occasion::enrols(parsed) {
        return plan(0.75);
    }

    let negated = parsed.verb.negated;
    if parsed.verb.future {
        let is_idle = vocabulary().non_committal_verbs.has(parsed.verb.base);
        let is_firm = has_date
            || content_word_count >= 2
            || rest.words.iter().any(|word| word.is_capitalized());
        return if is_idle && !has_date || !is_firm {
            None
        } else {
            plan(0.75)
        };
    }

    let is_taken_back = negated && !parsed.verb.past && parsed.is(&["plan", "intend"]);
    if vocabulary().intending_verbs.has(parsed.verb.base)
        && !parsed.verb.modal
        && (!negated || is_taken_back)
        && parsed.verb.base != "hope"
    {
        return plan(if parsed.is(&["promise", "commit", "pledge"]) {
            0.85
        } else {
            0.75
        });
    }

    if parsed.verb.base == "be"
        && content_word_count >= 3
        && vocabulary().commitments.end(rest, 0).is_some()
    {
        return plan(0.6);
    }

    if parsed.verb.progressive && !parsed.verb.past && parsed.subject_kind == SubjectKind::Elided {
        return if content_word_count >= 2 && !context.is_group_chat {
            plan(0.65)
        } else {
            None
        };
    }

    let is_coming = has_date && parsed.verb.progressive && !parsed.verb.past;
    let is_due = !parsed.verb.past
        && parsed.is(&["need", "have"])
        && rest.lower_at(0) == "to"
        && content_word_count >= 3;
    if is_coming || is_due && has_date {
        return plan(0.7);
    }

    if parsed.verb.past && parsed.is(&["cancel", "postpone", "reschedule"]) {
        return plan(0.7);
    }

    is_acceptance(parsed).then(|| StatementDraft::new(MemoryKind::Plan, 0.75))
}

/// Checks for a promise: `Confirmed I'll be there`, `said yes — committed to one round`.
fn is_acceptance(parsed: ParsedClause<'_>) -> bool {
    let rest = parsed.rest();
    match parsed.verb.base {
        "confirm" => rest
            .find_any(&["i 'll", "i will", "we 'll", "we will"])
            .is_some_and(|(at, _)| at < 2),
        "say" => {
            rest.lower_at(0) == "yes"
                && rest
                    .words
                    .iter()
                    .any(|word| vocabulary().intending_verbs.has(verb_base(word.lower)))
        }
        "agree" => rest.lower_at(0) == "to",
        _ => false,
    }
}
