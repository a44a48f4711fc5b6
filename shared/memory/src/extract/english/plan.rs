//! Plans and promises of a person, and their cancellations.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, is_determiner, is_preposition, is_pronoun, verb_base};
use super::lists::{PhraseList, WordList};
use super::topic::{KnownTopic, find_object, is_meaningful, phrase_key};
use super::words::Clause;
use super::{ClauseContext, StatementDraft};

const INTENDING: &[&str] = &[
    "plan", "intend", "aim", "promise", "commit", "pledge", "schedule", "book", "hope",
];

/// Verbs for things that are hoped, tried or only said to be polite. They commit nobody.
static NON_COMMITTAL_VERBS: WordList = WordList::new(
    "be try see let get think know say tell forget stay miss love admit keep support explain remember",
);
/// Predicates of somebody who will do something.
static COMMITMENT_PHRASES: PhraseList =
    PhraseList::new("committed to;determined to;due to;set to;scheduled to;excited to;ready to");

/// Returns the topic of a plan: what is to be done.
pub(crate) fn plan_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    if !reading.person() && reading.who != SubjectKind::Pronoun {
        return None;
    }

    let rest = reading.rest();
    let denied = reading.verb.negated || super::identity::says_no_longer(reading);
    let (action, negated) = if reading.verb.future {
        (reading.clause.from(reading.verb.main), denied)
    } else {
        match reading.verb.base {
            "plan" | "intend" | "hope" | "aim" => {
                let at = rest.match_any(0, &["to", "on"])?;
                (rest.from(at), denied)
            }
            "decide" => {
                return trip_topic(reading, subject).or_else(|| outcome_topic(reading, subject));
            }
            "cancel"
                if find_object(rest, 0)
                    .words
                    .iter()
                    .any(|word| super::occasion::is_event(word.low)) =>
            {
                return None;
            }
            "cancel" => (rest, true),
            _ => return None,
        }
    };

    let key = if reading.verb.base == "cancel" && !reading.verb.future {
        phrase_key(find_object(rest, 0))
    } else {
        plan_key(action)?
    };

    let known = KnownTopic::new(
        subject.to_owned(),
        &format!("plans {key}"),
        key,
        MemoryKind::Plan,
        false,
    )?;
    Some(known.with_negation(negated))
}

/// Returns the topic of `decided to go to Norway this summer`: one destination at a time.
fn trip_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let denied = rest.match_phrase(0, "not").is_some();
    let at = rest.from(usize::from(denied)).match_any(
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

    let rest = rest.from(at + usize::from(denied));
    let place = find_object(rest, 0);
    let capital = place.words.iter().all(|word| word.is_capitalized()) && place.len() > 0;
    let after = rest.from(usize::from(is_determiner(rest.lower_at(0))) + place.len());
    let (word, when) = match after.lower_at(0) {
        "this" | "next" | "in" | "for" => (after.lower_at(1), after.until_index(2)),
        _ => return None,
    };
    let long = super::super::dates::is_season_or_month(word)
        || matches!(
            word,
            "year" | "weekend" | "holiday" | "christmas" | "easter"
        );
    let known = KnownTopic::new(
        subject.to_owned(),
        &format!("destination {}", phrase_key(when)),
        phrase_key(place),
        MemoryKind::Decision,
        false,
    )?;

    (capital && long).then(|| known.with_negation(denied))
}

/// Returns the topic of `decided to paint the kitchen green`: how the thing is to be.
fn outcome_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let verb = verb_base(rest.lower_at(1));
    let what = find_object(rest, 3);
    let opened = rest.lower_at(0) == "to"
        && matches!(rest.lower_at(2), "the" | "our" | "my")
        && !verb.is_empty();
    let plain = !what.words.iter().any(|word| is_preposition(word.low));
    if !opened || !plain || !matches!(what.len(), 2 | 3) {
        return None;
    }

    let attribute = format!("{verb} {}", what.lower_at(0));
    let value = phrase_key(what.from(1));

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
    let what = phrase_key(find_object(action, 1 + preposition).until_index(5));
    (!verb.is_empty() && verb != "be" && is_meaningful(&what)).then(|| format!("{verb} {what}"))
}

/// Drafts a statement of what will be done.
pub(crate) fn draft_plan(
    reading: ParsedClause<'_>,
    env: &ClauseContext<'_>,
    dated: bool,
) -> Option<StatementDraft> {
    let rest = reading.rest();
    let much = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.low))
        .count();
    let plan = |confidence| Some(StatementDraft::new(MemoryKind::Plan, confidence));
    if rest.find_phrase("by then").is_some() {
        return None;
    }

    if !reading.person() {
        let things = reading.verb.future && dated && reading.who != SubjectKind::Listener;
        return if things { plan(0.6) } else { None };
    }

    if much == 0 || is_pronoun(rest.lower_at(0)) && much < 2 {
        return None;
    }

    let negated = reading.verb.negated;
    if reading.verb.future {
        let idle = NON_COMMITTAL_VERBS.has(reading.verb.base);
        let firm = dated || much >= 2 || rest.words.iter().any(|word| word.is_capitalized());
        return if idle && !dated || !firm {
            None
        } else {
            plan(0.75)
        };
    }

    let taken_back = negated && !reading.verb.past && reading.is(&["plan", "intend"]);
    if reading.is(INTENDING)
        && !reading.verb.modal
        && (!negated || taken_back)
        && reading.verb.base != "hope"
    {
        return plan(if reading.is(&["promise", "commit", "pledge"]) {
            0.85
        } else {
            0.75
        });
    }

    if reading.verb.base == "be" && much >= 3 && COMMITMENT_PHRASES.end(rest, 0).is_some() {
        return plan(0.6);
    }

    if reading.verb.progressive && !reading.verb.past && reading.who == SubjectKind::Elided {
        return if much >= 2 && !env.chat {
            plan(0.65)
        } else {
            None
        };
    }

    let coming = dated && reading.verb.progressive && !reading.verb.past;
    let due = !reading.verb.past
        && reading.is(&["need", "have"])
        && rest.lower_at(0) == "to"
        && much >= 3;
    if coming || due && dated {
        return plan(0.7);
    }

    if reading.verb.past && reading.is(&["cancel", "postpone", "reschedule"]) {
        return plan(0.7);
    }

    is_acceptance(reading).then(|| StatementDraft::new(MemoryKind::Plan, 0.75))
}

/// Checks for a promise: `Confirmed I'll be there`, `said yes — committed to one round`.
fn is_acceptance(reading: ParsedClause<'_>) -> bool {
    let rest = reading.rest();
    match reading.verb.base {
        "confirm" => rest
            .find_any(&["i 'll", "i will", "we 'll", "we will"])
            .is_some_and(|(at, _)| at < 2),
        "say" => {
            rest.lower_at(0) == "yes"
                && rest
                    .words
                    .iter()
                    .any(|word| INTENDING.contains(&verb_base(word.low)))
        }
        "agree" => rest.lower_at(0) == "to",
        _ => false,
    }
}
