//! Habits, possessions and responsibilities of a person, until they end.

use domain::MemoryKind;

use super::grammar::{Reading, Who};
use super::identity::no_longer;
use super::lexicon::{Form, base, determiner, preposition, pronoun, third, verb};
use super::topic::{Known, joined, object, phrase_key, says, tail};
use super::words::{Clause, Word};

/// Verbs with one object at a time, with the preposition before the object. A later object replaces
/// an earlier one.
const ONE: &str = "drive teach learn read stay/in stay/at stay/with train/for study/with commute/to commute/by \
                   bank/with rent volunteer/as report/to";
/// Verbs for which each object is a topic of its own.
const MANY: &str = "play speak take own volunteer/at volunteer/for volunteer/with go/to eat drink attend practice \
                    practise collect coach mentor sing/in dance/in wear look/for work/with babysit \
                    sponsor knit bake paint breed host swim/in swim/at train/at run ride belong/to";
/// Verbs that are habits without an object.
const ALONE: &str = "smoke vape drink jog meditate swim cycle ski surf gamble garden volunteer run knit dance sing paint";
/// Verbs of [`ONE`] and [`MANY`] whose progressive form expresses a habit.
const UNDER_WAY: &[&str] = &[
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
const HOLDERS: &str = "lead/lead head/head manage/manager chair/chair maintain/maintainer captain/captain direct/director";

/// Returns the topic of a habit, a possession or a responsibility.
pub(crate) fn known(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let verb = reading.verb;
    if !reading.someone() || verb.modal || verb.future || verb.passive {
        return None;
    }

    let rest = reading.rest();
    let denied = verb.negated || no_longer(reading) || verb.used;
    if let Some(known) = turned(reading, subject).or_else(|| given_up(reading, subject)) {
        return Some(known);
    }

    if verb.past && !verb.used || verb.perfect && !verb.progressive {
        return None;
    }

    // "I read it" may be long ago.
    let over = verb.base == "read" && !verb.progressive;
    if over || verb.progressive && (!UNDER_WAY.contains(&verb.base) || reading.who == Who::Elided) {
        return None;
    }

    holder(verb.base, rest, subject)
        .or_else(|| having(verb.base, rest, subject))
        .or_else(|| habit(verb.base, rest, subject))
        .map(|known| known.negated(denied))
}

/// Returns the topic of a change: `stopped smoking`, `gave up playing the trumpet`,
/// `started learning Welsh`, `cancelled my subscription to X`.
fn turned(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    if !(reading.verb.past || reading.verb.perfect) || reading.verb.negated {
        return None;
    }

    let (at, ended) = match reading.verb.base {
        "stop" | "quit" | "finish" => (0, true),
        "give" => (rest.phrase(0, "up")?, true),
        "start" | "begin" => (0, false),
        "drop" => {
            let what = direct(rest, 0, "take");
            let lesson = what
                .split(' ')
                .next_back()
                .is_some_and(|last| listed("course class classes lessons", last));
            let known = Known::fact(subject.to_owned(), &format!("takes {what}"), what);
            return known.filter(|_| lesson).map(|known| known.negated(true));
        }
        "" if reading.clause.low(reading.verb.main) == "unsubscribed" => {
            let what = direct(rest, rest.phrase(0, "from")?, "subscribe");
            return contract(subject, &what, "subscription").map(|known| known.negated(true));
        }
        "cancel" | "end" | "terminate" | "sell" | "cancelled" => {
            let own = matches!(rest.low(0), "my" | "our" | "his" | "her" | "their");
            return having("own", rest, subject)
                .filter(|_| own)
                .filter(|known| reading.verb.base == "sell" || is_contract(&known.topic.value))
                .map(|known| Known {
                    is_static: false,
                    ..known.negated(true)
                });
        }
        _ => return None,
    };

    let (inner, form) = verb(rest.low(at))?;
    let rest = rest.from(at + 1);

    (form == Form::Ing)
        .then(|| habit(inner, rest, subject))?
        .map(|known| known.negated(ended))
}

/// Returns the topic of `I no longer drive` and `I stopped teaching`, which end the activity
/// whatever its object was.
fn given_up(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let stopped = reading.is(&["stop", "quit"]) && (reading.verb.past || reading.verb.perfect);
    let (base, at) = match verb(rest.low(0)) {
        Some((inner, Form::Ing)) if stopped => (inner, 1),
        _ if no_longer(reading) && !reading.verb.past => (reading.verb.base, 0),
        _ => return None,
    };

    let one = matches!(base, "drive" | "teach" | "commute" | "rent");
    let over = rest
        .words
        .get(at)
        .is_none_or(|word| word.mark || matches!(word.low, "any" | "anymore") || tail(rest, at));

    // This does not deny one answer. It is an answer of its own.
    (one && over).then(|| Known::fact(subject.to_owned(), &third(base), "nothing".to_owned()))?
}

/// Returns one topic for `subscription to X` and `X subscription`.
fn contract(subject: &str, of: &str, kind: &str) -> Option<Known> {
    let what = format!("{of} {kind}");
    Known::fact(subject.to_owned(), &format!("has {what}"), what)
}

/// Checks whether it is something that runs until it is cancelled.
fn is_contract(what: &str) -> bool {
    const CONTRACTS: &str =
        "subscription membership contract account plan policy insurance card license licence lease";
    what.split(' ')
        .any(|word| CONTRACTS.split(' ').any(|known| known == word))
}

/// Returns the topic of a verb in the tables with its object.
fn habit(base: &str, rest: Clause<'_>, subject: &str) -> Option<Known> {
    if base == "go"
        && let Some((inner, Form::Ing)) = verb(rest.low(0))
    {
        return habit(inner, rest.from(1), subject);
    }

    if base == "subscribe" && rest.low(0) == "to" {
        return contract(subject, &direct(rest, 1, base), "subscription");
    }

    let one = objects(ONE, base, rest);
    let many = one.is_none().then(|| objects(MANY, base, rest)).flatten();
    let fact = |attribute: &str, value: String| Known::fact(subject.to_owned(), attribute, value);
    let also = rest
        .find_any(&["also", "too", "as well", "besides"])
        .is_some();
    if let Some((name, what)) = one.filter(|_| !also) {
        return fact(&name, what);
    }

    if let Some((name, what)) = many.or(objects(ONE, base, rest)) {
        return fact(&format!("{name} {what}"), what);
    }

    let frequent = matches!(
        rest.low(0),
        "about" | "twice" | "every" | "daily" | "regularly" | "once" | "again"
    );
    let ends =
        |word: &Word<'_>| word.mark || tail(rest, 0) && word.low != "a" || preposition(word.low);
    let alone = rest
        .words
        .first()
        .is_none_or(|word| ends(word) || matches!(word.low, "any" | "anymore" | "now"));
    let habit = ALONE.split_whitespace().any(|known| known == base)
        && (alone || frequent || base == "smoke");
    let name = third(base);

    habit.then(|| fact(&name, name.clone()))?
}

/// Returns the attribute and the object if the verb is in the table.
fn objects(table: &str, base: &str, rest: Clause<'_>) -> Option<(String, String)> {
    let found = table.split_whitespace().find_map(|entry| {
        let (name, before) = entry.split_once('/').unwrap_or((entry, ""));
        let at = if before.is_empty() {
            0
        } else {
            rest.phrase(0, before)?
        };
        (name == base).then_some((before, at))
    });

    let (before, at) = found?;
    let nothing = rest.words.get(at).is_none_or(|word| word.mark)
        || matches!(rest.low(at), "every" | "each" | "all" | "most" | "any")
        || tail(rest, at)
        || before.is_empty() && preposition(rest.low(at))
        || pronoun(rest.low(at)) && !determiner(rest.low(at));
    let what = direct(rest, at, base);
    let head = what.rsplit(' ').next().unwrap_or_default();
    let idle = [what.split(' ').next().unwrap_or_default(), head]
        .iter()
        .any(|word| listed(IDLE, word));
    if nothing || idle || !says(&what) {
        return None;
    }

    let name = third(base);
    Some((
        if before.is_empty() {
            name
        } else {
            format!("{name} {before}")
        },
        what,
    ))
}

fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Returns the object up to a preposition. The person with whom one speaks a language belongs to
/// it.
fn direct(rest: Clause<'_>, at: usize, base: &str) -> String {
    let whole = object(rest, at);
    let keeps = |low: &str| low == "of" || base == "speak" && low == "with" || base == "subscribe";
    let cut =
        (1..whole.len()).find(|&place| preposition(whole.low(place)) && !keeps(whole.low(place)));
    let own = |low: &str| {
        matches!(
            low,
            "my" | "our" | "the" | "a" | "an" | "his" | "her" | "their"
        )
    };

    let words: Vec<_> = whole
        .to(cut.unwrap_or(whole.len()))
        .words
        .iter()
        .filter(|word| !own(word.low))
        .copied()
        .collect();

    joined(Clause { words: &words })
}

/// Returns the topic of `own a boat` and `have a subscription to X`.
fn having(verb: &str, rest: Clause<'_>, subject: &str) -> Option<Known> {
    let article = matches!(
        rest.low(0),
        "a" | "an" | "the" | "any" | "my" | "our" | "his" | "her" | "their"
    );
    if !matches!(verb, "have" | "own" | "possess") || !article {
        return None;
    }

    let whole = object(rest, 0);
    let size = |low: &str| {
        matches!(
            low,
            "small" | "big" | "little" | "new" | "old" | "used" | "nice" | "lovely"
        )
    };

    let first = (0..whole.len()).find(|&at| !size(whole.low(at)))?;
    let keeps = |at: usize| {
        matches!(whole.low(at), "of" | "to")
            || whole.low(at) == "at" && whole.low(at - 1) == "membership"
    };
    let cut = (first + 1..whole.len()).find(|&at| preposition(whole.low(at)) && !keeps(at));
    let own = |low: &str| determiner(low);
    let words: Vec<_> = whole
        .to(cut.unwrap_or(whole.len()))
        .from(first)
        .words
        .iter()
        .filter(|word| !own(word.low))
        .copied()
        .collect();
    let what = joined(Clause { words: &words });
    let verbal = !base(whole.low(first)).is_empty() && whole.len() - first > 3;
    let kept = words.len() <= 5 && says(&what) && !verbal && !idle_thing(&what);
    for kind in ["subscription", "membership"] {
        let of = [" to ", " at ", " of ", " for "]
            .iter()
            .find_map(|between| {
                what.strip_prefix(kind)?
                    .strip_prefix(between)
                    .filter(|of| !of.is_empty())
            });
        if let Some(of) = of {
            return contract(subject, of, kind);
        }
    }

    kept.then(|| Known::fact(subject.to_owned(), &format!("has {what}"), what))?
}

/// Checks whether it is something that one has only for a moment or in one's mind.
fn idle_thing(what: &str) -> bool {
    const IDLE: &str = "question idea feeling look chance problem issue point time plan way word talk chat call meeting \
                        appointment interview exam trip visit session blast moment bit lot few couple thought hunch \
                        favor favour headache cold fever doubt concern suggestion dream goal choice reason \
                        party dinner lunch date day week good great big deadline power ability story path \
                        paths picture gift back";
    what.split(' ').any(|word| listed(IDLE, word))
}

/// Returns the topic of `Nadia leads the mobile team`. One person at a time is responsible for a
/// thing.
fn holder(base: &str, rest: Clause<'_>, subject: &str) -> Option<Known> {
    let role = HOLDERS
        .split(' ')
        .find_map(|entry| entry.split_once('/').filter(|(verb, _)| *verb == base))?
        .1;
    let definite = matches!(rest.low(0), "the" | "our" | "my")
        || rest.words.first().is_some_and(|word| word.capital());
    let what = phrase_key(object(rest, 0));
    let known = Known::new(what, role, subject.to_owned(), MemoryKind::Fact, true)?;
    (definite && says(&known.topic.subject)).then_some(known)
}
