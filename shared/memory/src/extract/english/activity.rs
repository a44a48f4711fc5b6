//! Habits, possessions and responsibilities of a person, until they end.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::identity::says_no_longer;
use super::lexicon::{
    VerbForm, is_determiner, is_preposition, is_pronoun, parse_verb, to_third_person, verb_base,
};
use super::topic::{KnownTopic, find_object, is_meaningful, is_tail, join_words, phrase_key};
use super::words::{Clause, Word};

/// Verbs with one object at a time, with the preposition before the object. A later object replaces
/// an earlier one.
const SINGLE_OBJECT_VERBS: &str = "drive teach learn read stay/in stay/at stay/with train/for study/with commute/to commute/by \
                   bank/with rent volunteer/as report/to";
/// Verbs for which each object is a topic of its own.
const MULTI_OBJECT_VERBS: &str = "play speak take own volunteer/at volunteer/for volunteer/with go/to eat drink attend practice \
                    practise collect coach mentor sing/in dance/in wear look/for work/with babysit \
                    sponsor knit bake paint breed host swim/in swim/at train/at run ride belong/to";
/// Verbs that are habits without an object.
const OBJECTLESS_HABITS: &str = "smoke vape drink jog meditate swim cycle ski surf gamble garden volunteer run knit dance sing paint";
/// Verbs of [`SINGLE_OBJECT_VERBS`] and [`MULTI_OBJECT_VERBS`] whose progressive form expresses a
/// habit.
const PROGRESSIVE_HABITS: &[&str] = &[
    "learn",
    "read",
    "stay",
    "train",
    "teach",
    "take",
    "attend",
    "look",
    "rent",
    "volunteer",
    "play",
    "study",
];
/// Objects that do not make a habit.
const IDLE: &str = "care break breaks place part time note notes photo photos picture pictures look advantage \
                    pride turns issue risks bed sleep work school you role game games thing things stuff lot";
/// Verbs of responsibility, with the attribute of the thing that somebody is responsible for.
const RESPONSIBILITY_VERBS: &str = "lead/lead head/head manage/manager chair/chair maintain/maintainer captain/captain direct/director";

/// Returns the topic of a habit, a possession or a responsibility.
pub(crate) fn activity_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let verb = reading.verb;
    if !reading.someone() || verb.modal || verb.future || verb.passive {
        return None;
    }

    let rest = reading.rest();
    let denied = verb.negated || says_no_longer(reading) || verb.used;
    if let Some(known) = change_topic(reading, subject).or_else(|| ended_topic(reading, subject)) {
        return Some(known);
    }

    if verb.past && !verb.used || verb.perfect && !verb.progressive {
        return None;
    }

    // "I read it" may be long ago.
    let over = verb.base == "read" && !verb.progressive;
    if over
        || verb.progressive
            && (!PROGRESSIVE_HABITS.contains(&verb.base) || reading.who == SubjectKind::Elided)
    {
        return None;
    }

    responsibility_topic(verb.base, rest, subject)
        .or_else(|| possession_topic(verb.base, rest, subject))
        .or_else(|| habit_topic(verb.base, rest, subject))
        .map(|known| known.with_negation(denied))
}

/// Returns the topic of a change: `stopped smoking`, `gave up playing the trumpet`,
/// `started learning Welsh`, `cancelled my subscription to X`.
fn change_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    if !(reading.verb.past || reading.verb.perfect) || reading.verb.negated {
        return None;
    }

    let (at, ended) = match reading.verb.base {
        "stop" | "quit" | "finish" => (0, true),
        "give" => (rest.match_phrase(0, "up")?, true),
        "start" | "begin" => (0, false),
        "drop" => {
            let what = direct_object(rest, 0, "take");
            let lesson = what
                .split(' ')
                .next_back()
                .is_some_and(|last| list_contains("course class classes lessons", last));
            let known = KnownTopic::fact(subject.to_owned(), &format!("takes {what}"), what);
            return known
                .filter(|_| lesson)
                .map(|known| known.with_negation(true));
        }
        "" if reading.clause.lower_at(reading.verb.main) == "unsubscribed" => {
            let what = direct_object(rest, rest.match_phrase(0, "from")?, "subscribe");
            return contract_topic(subject, &what, "subscription")
                .map(|known| known.with_negation(true));
        }
        "cancel" | "end" | "terminate" | "sell" | "cancelled" => {
            let own = matches!(rest.lower_at(0), "my" | "our" | "his" | "her" | "their");
            return possession_topic("own", rest, subject)
                .filter(|_| own)
                .filter(|known| reading.verb.base == "sell" || is_contract(&known.topic.value))
                .map(|known| KnownTopic {
                    is_static: false,
                    ..known.with_negation(true)
                });
        }
        _ => return None,
    };

    let (inner, form) = parse_verb(rest.lower_at(at))?;
    let rest = rest.from(at + 1);

    (form == VerbForm::Ing)
        .then(|| habit_topic(inner, rest, subject))?
        .map(|known| known.with_negation(ended))
}

/// Returns the topic of `I no longer drive` and `I stopped teaching`, which end the activity
/// whatever its object was.
fn ended_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let stopped = reading.is(&["stop", "quit"]) && (reading.verb.past || reading.verb.perfect);
    let (base, at) = match parse_verb(rest.lower_at(0)) {
        Some((inner, VerbForm::Ing)) if stopped => (inner, 1),
        _ if says_no_longer(reading) && !reading.verb.past => (reading.verb.base, 0),
        _ => return None,
    };

    let one = matches!(base, "drive" | "teach" | "commute" | "rent");
    let over = rest
        .words
        .get(at)
        .is_none_or(|word| word.mark || matches!(word.low, "any" | "anymore") || is_tail(rest, at));

    // This does not deny one answer. It is an answer of its own.
    (one && over).then(|| {
        KnownTopic::fact(
            subject.to_owned(),
            &to_third_person(base),
            "nothing".to_owned(),
        )
    })?
}

/// Returns one topic for `subscription to X` and `X subscription`.
fn contract_topic(subject: &str, of: &str, kind: &str) -> Option<KnownTopic> {
    let what = format!("{of} {kind}");
    KnownTopic::fact(subject.to_owned(), &format!("has {what}"), what)
}

/// Checks whether it is something that runs until it is cancelled.
fn is_contract(what: &str) -> bool {
    const CONTRACTS: &str =
        "subscription membership contract account plan policy insurance card license licence lease";
    what.split(' ')
        .any(|word| CONTRACTS.split(' ').any(|known| known == word))
}

/// Returns the topic of a verb in the tables with its object.
fn habit_topic(base: &str, rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    if base == "go"
        && let Some((inner, VerbForm::Ing)) = parse_verb(rest.lower_at(0))
    {
        return habit_topic(inner, rest.from(1), subject);
    }

    if base == "subscribe" && rest.lower_at(0) == "to" {
        return contract_topic(subject, &direct_object(rest, 1, base), "subscription");
    }

    let one = find_verb_object(SINGLE_OBJECT_VERBS, base, rest);
    let many = one
        .is_none()
        .then(|| find_verb_object(MULTI_OBJECT_VERBS, base, rest))
        .flatten();
    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    let also = rest
        .find_any(&["also", "too", "as well", "besides"])
        .is_some();
    if let Some((name, what)) = one.filter(|_| !also) {
        return fact(&name, what);
    }

    if let Some((name, what)) = many.or(find_verb_object(SINGLE_OBJECT_VERBS, base, rest)) {
        return fact(&format!("{name} {what}"), what);
    }

    let frequent = matches!(
        rest.lower_at(0),
        "about" | "twice" | "every" | "daily" | "regularly" | "once" | "again"
    );
    let ends = |word: &Word<'_>| {
        word.mark || is_tail(rest, 0) && word.low != "a" || is_preposition(word.low)
    };
    let alone = rest
        .words
        .first()
        .is_none_or(|word| ends(word) || matches!(word.low, "any" | "anymore" | "now"));
    let habit = OBJECTLESS_HABITS
        .split_whitespace()
        .any(|known| known == base)
        && (alone || frequent || base == "smoke");
    let name = to_third_person(base);

    habit.then(|| fact(&name, name.clone()))?
}

/// Returns the attribute and the object if the verb is in the table.
fn find_verb_object(table: &str, base: &str, rest: Clause<'_>) -> Option<(String, String)> {
    let found = table.split_whitespace().find_map(|entry| {
        let (name, before) = entry.split_once('/').unwrap_or((entry, ""));
        let at = if before.is_empty() {
            0
        } else {
            rest.match_phrase(0, before)?
        };
        (name == base).then_some((before, at))
    });

    let (before, at) = found?;
    let nothing = rest.words.get(at).is_none_or(|word| word.mark)
        || matches!(rest.lower_at(at), "every" | "each" | "all" | "most" | "any")
        || is_tail(rest, at)
        || before.is_empty() && is_preposition(rest.lower_at(at))
        || is_pronoun(rest.lower_at(at)) && !is_determiner(rest.lower_at(at));
    let what = direct_object(rest, at, base);
    let head = what.rsplit(' ').next().unwrap_or_default();
    let idle = [what.split(' ').next().unwrap_or_default(), head]
        .iter()
        .any(|word| list_contains(IDLE, word));
    if nothing || idle || !is_meaningful(&what) {
        return None;
    }

    let name = to_third_person(base);
    Some((
        if before.is_empty() {
            name
        } else {
            format!("{name} {before}")
        },
        what,
    ))
}

fn list_contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Returns the object up to a preposition. The person with whom one speaks a language belongs to
/// it.
fn direct_object(rest: Clause<'_>, at: usize, base: &str) -> String {
    let whole = find_object(rest, at);
    let keeps = |low: &str| low == "of" || base == "speak" && low == "with" || base == "subscribe";
    let cut = (1..whole.len())
        .find(|&place| is_preposition(whole.lower_at(place)) && !keeps(whole.lower_at(place)));
    let own = |low: &str| {
        matches!(
            low,
            "my" | "our" | "the" | "a" | "an" | "his" | "her" | "their"
        )
    };

    let words: Vec<_> = whole
        .until_index(cut.unwrap_or(whole.len()))
        .words
        .iter()
        .filter(|word| !own(word.low))
        .copied()
        .collect();

    join_words(Clause { words: &words })
}

/// Returns the topic of `own a boat` and `have a subscription to X`.
fn possession_topic(verb: &str, rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    let article = matches!(
        rest.lower_at(0),
        "a" | "an" | "the" | "any" | "my" | "our" | "his" | "her" | "their"
    );
    if !matches!(verb, "have" | "own" | "possess") || !article {
        return None;
    }

    let whole = find_object(rest, 0);
    let size = |low: &str| {
        matches!(
            low,
            "small" | "big" | "little" | "new" | "old" | "used" | "nice" | "lovely"
        )
    };

    let first = (0..whole.len()).find(|&at| !size(whole.lower_at(at)))?;
    let keeps = |at: usize| {
        matches!(whole.lower_at(at), "of" | "to")
            || whole.lower_at(at) == "at" && whole.lower_at(at - 1) == "membership"
    };
    let cut = (first + 1..whole.len()).find(|&at| is_preposition(whole.lower_at(at)) && !keeps(at));
    let own = |low: &str| is_determiner(low);
    let words: Vec<_> = whole
        .until_index(cut.unwrap_or(whole.len()))
        .from(first)
        .words
        .iter()
        .filter(|word| !own(word.low))
        .copied()
        .collect();
    let what = join_words(Clause { words: &words });
    let verbal = !verb_base(whole.lower_at(first)).is_empty() && whole.len() - first > 3;
    let kept = words.len() <= 5 && is_meaningful(&what) && !verbal && !is_momentary(&what);
    for kind in ["subscription", "membership"] {
        let of = [" to ", " at ", " of ", " for "]
            .iter()
            .find_map(|between| {
                what.strip_prefix(kind)?
                    .strip_prefix(between)
                    .filter(|of| !of.is_empty())
            });
        if let Some(of) = of {
            return contract_topic(subject, of, kind);
        }
    }

    kept.then(|| KnownTopic::fact(subject.to_owned(), &format!("has {what}"), what))?
}

/// Checks whether it is something that one has only for a moment or in one's mind.
fn is_momentary(what: &str) -> bool {
    const IDLE: &str = "question idea feeling look chance problem issue point time plan way word talk chat call meeting \
                        appointment interview exam trip visit session blast moment bit lot few couple thought hunch \
                        favor favour headache cold fever doubt concern suggestion dream goal choice reason \
                        party dinner lunch date day week good great big deadline power ability story path \
                        paths picture gift back";
    what.split(' ').any(|word| list_contains(IDLE, word))
}

/// Returns the topic of `Nadia leads the mobile team`. One person at a time is responsible for a
/// thing.
fn responsibility_topic(base: &str, rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    let role = RESPONSIBILITY_VERBS
        .split(' ')
        .find_map(|entry| entry.split_once('/').filter(|(verb, _)| *verb == base))?
        .1;
    let definite = matches!(rest.lower_at(0), "the" | "our" | "my")
        || rest.words.first().is_some_and(|word| word.is_capitalized());
    let what = phrase_key(find_object(rest, 0));
    let known = KnownTopic::new(what, role, subject.to_owned(), MemoryKind::Fact, true)?;
    (definite && is_meaningful(&known.topic.subject)).then_some(known)
}
