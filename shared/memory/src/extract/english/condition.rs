//! Conditions and abilities of a person, as people mention them in passing: `I'm retired`,
//! `I can't eat gluten`, `I wake up at six`.

use super::grammar::ParsedClause;
use super::identity::{parse_name, says_no_longer};
use super::lexicon::{is_determiner, is_preposition, is_pronoun, to_third_person};
use super::topic::{KnownTopic, find_object, is_meaningful, parse_value, phrase_key};
use super::words::Clause;

/// Words for a person's state, with the attribute that they answer. A word without an attribute is
/// its own attribute.
const STATES: &str = "retired/employment unemployed/employment self-employed/employment employed/employment \
                      jobless/employment between_jobs/employment pregnant expecting left-handed/handedness \
                      right-handed/handedness diabetic asthmatic celiac coeliac colorblind color-blind colourblind \
                      colour-blind dyslexic deaf blind bilingual sober lactose_intolerant gluten_intolerant \
                      nearsighted epileptic autistic on_sabbatical/leave on_parental_leave/leave \
                      on_maternity_leave/leave on_paternity_leave/leave on_sick_leave/leave";
/// Nationalities, which are capitalized but are not names of persons.
const NATIONS: &str = "american argentinian australian austrian belgian brazilian british bulgarian canadian catalan \
                       chilean chinese colombian croatian cuban czech danish dutch egyptian english estonian ethiopian \
                       filipino finnish french german greek hungarian icelandic indian indonesian iranian iraqi irish \
                       israeli italian jamaican japanese kenyan korean latvian lebanese lithuanian malaysian mexican \
                       moroccan nigerian norwegian pakistani persian peruvian polish portuguese romanian russian \
                       scottish serbian slovak slovenian spanish swedish swiss syrian taiwanese thai tunisian turkish \
                       ukrainian venezuelan vietnamese welsh";
/// Faiths, which are capitalized but are not names of persons.
const FAITHS: &str =
    "buddhist catholic hindu jewish muslim orthodox protestant sikh atheist agnostic";
/// Verbs for abilities.
const ABILITIES: &[&str] = &[
    "eat", "drink", "swim", "drive", "cook", "ride", "speak", "read", "walk", "hear", "tolerate",
    "digest", "ski",
];
/// Verbs for habits. Each object is a topic of its own.
const HABITS: &str = "write grow watch suffer/from work/from cook sew sell support/- follow/- avoid compose brew invest/in \
                      donate/to compete/in translate/- restore raise photograph do keep";
/// Verbs for activities that last a while. Each object is a topic of its own.
const ONGOING_VERBS: &str = "write build save/for work/on wait/for recover/from raise restore renovate apply/for \
                     prepare/for care/for";
/// Objects of activities that take only an hour.
const SHORT_TASKS: &[&str] = &[
    "email", "letter", "message", "text", "code", "function", "script", "report", "reply", "query",
];
/// Things that people drink.
const DRINKS: &[&str] = &[
    "coffee", "tea", "alcohol", "beer", "wine", "soda", "milk", "caffeine", "cola", "juice",
];
/// Things that people eat.
const FOODS: &[&str] = &[
    "meat",
    "fish",
    "dairy",
    "sugar",
    "gluten",
    "bread",
    "eggs",
    "cheese",
    "chocolate",
    "pork",
    "beef",
    "sweets",
    "carbs",
];
const SPORTS: &[&str] = &[
    "yoga",
    "pilates",
    "karate",
    "judo",
    "crossfit",
    "gymnastics",
    "ballet",
    "boxing",
    "taekwondo",
    "aerobics",
];

/// Returns the topic of a state or habit of a person.
pub(crate) fn condition_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let verb = reading.verb;
    if !reading.someone() || verb.future {
        return None;
    }

    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    if let Some(known) = ended_topic(reading, &fact) {
        return Some(known);
    }

    if verb.past && !verb.used
        || verb.perfect && !verb.progressive && verb.base != "be"
        || verb.modal && verb.base == "be"
    {
        return None;
    }

    let negated = verb.negated || says_no_longer(reading) || verb.used;
    let rest = reading.rest();
    let known = match verb.base {
        _ if verb.modal => ability_topic(reading, &fact),
        _ if verb.passive => state_topic(reading.clause.from(verb.main), &fact),
        "be" => state_topic(rest, &fact),
        "date" | "see" if verb.progressive => fact("partner", parse_name(rest, 0)?),
        "watch" if verb.progressive => fact("is watching", parse_value(rest, 0))
            .filter(|known| is_meaningful(&known.topic.value)),
        base if verb.progressive => ongoing_topic(base, rest, &fact),
        base => routine_topic(base, rest, &fact).or_else(|| habit_topic(base, rest, &fact)),
    };

    known.map(|known| known.with_negation(negated))
}

/// A function that makes a fact of an attribute and a value.
type MakeFact<'f> = &'f dyn Fn(&str, String) -> Option<KnownTopic>;

/// Returns the topic of `retired`, `on parental leave` and `Portuguese`.
fn state_topic(rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let found = STATES.split_whitespace().find_map(|entry| {
        let (word, attribute) = entry.split_once('/').unwrap_or((entry, entry));
        let end = rest.match_phrase(0, &word.replace('_', " "))?;
        Some((attribute.replace('_', " "), word.replace('_', " "), end))
    });

    let alone = |end: usize| {
        rest.words.get(end).is_none_or(|next| {
            next.mark
                || super::topic::is_tail(rest, end)
                || !next.is_capitalized() && is_preposition(next.low)
        }) || matches!(
            rest.lower_at(end),
            "and" | "now" | "again" | "since" | "any" | "anymore" | "but"
        )
    };

    if let Some((attribute, value, end)) = found {
        return alone(end).then(|| fact(&attribute, value))?;
    }

    if matches!(rest.lower_at(0), "on" | "following") && rest.until_index(6).contains_any(&["diet"])
    {
        let what = phrase_key(rest.until_index(rest.index_of_any(0, &["diet"])).from(1));
        return fact("diet", what);
    }

    if let Some(at) = rest
        .match_any(0, &["a member of", "member of", "part of"])
        .filter(|at| is_group(&object_phrase(rest.from(*at))))
    {
        let group = object_phrase(rest.from(at));
        return fact(&format!("member of {group}"), group);
    }

    let listed = |list: &str| list.split_whitespace().any(|word| word == rest.lower_at(0));
    match rest.words.first().filter(|word| word.is_capitalized()) {
        Some(word) if listed(NATIONS) && alone(1) => fact("nationality", word.low.to_owned()),
        Some(word) if listed(FAITHS) && alone(1) => fact("religion", word.low.to_owned()),
        _ => None,
    }
}

/// Checks whether the word names a people or a faith, which is capitalized but is not the name of a
/// person.
pub(super) fn is_people_or_faith(low: &str) -> bool {
    [NATIONS, FAITHS]
        .iter()
        .any(|list| list.split_whitespace().any(|word| word == low))
}

/// Checks whether it is a group to which people belong.
fn is_group(what: &str) -> bool {
    const GROUPS: &[&str] = &[
        "club",
        "choir",
        "band",
        "team",
        "orchestra",
        "board",
        "party",
        "union",
        "society",
        "association",
        "church",
    ];

    what.rsplit(' ')
        .next()
        .is_some_and(|last| GROUPS.contains(&last))
}

/// Returns the topic of `can't eat gluten` and `can swim`.
fn ability_topic(reading: ParsedClause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (verb, rest) = (reading.verb, reading.rest());
    let able = matches!(reading.clause.lower_at(verb.first), "can" | "cannot")
        && ABILITIES.contains(&verb.base);
    if !able {
        return None;
    }

    let name = to_third_person(verb.base);
    let what = object_phrase(rest);
    let alone = rest.words.first().is_none_or(|word| word.mark) || super::topic::is_tail(rest, 0);
    let made = if alone {
        fact(&name, name.clone())
    } else {
        fact(&format!("{name} {what}"), what.clone())
    };

    made.map(|known| {
        known.with_negation(verb.negated || reading.clause.lower_at(verb.first) == "cannot")
    })
    .filter(|_| alone || is_meaningful(&what) && what.split(' ').count() <= 3)
}

/// Returns the topic of `gave up meat` and `broke up with Tom`.
fn ended_topic(reading: ParsedClause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (verb, rest) = (reading.verb, reading.rest());
    if !(verb.past || verb.perfect) || verb.negated || verb.modal {
        return None;
    }

    let made = match verb.base {
        "break" | "split" => fact(
            "partner",
            parse_name(rest, rest.match_phrase(0, "up with")?)?,
        ),
        "retire" => return fact("employment", "retired".to_owned()),
        "join" | "leave" | "quit" if is_group(&object_phrase(rest)) => {
            let group = object_phrase(rest);
            return fact(&format!("member of {group}"), group)
                .map(|known| known.with_negation(verb.base != "join"));
        }
        "give" | "quit" | "stop" | "cut" => {
            let what = object_phrase(
                rest.from(
                    rest.match_any(0, &["up", "out", "eating", "drinking"])
                        .unwrap_or(0),
                ),
            );
            let verb = if DRINKS.contains(&what.as_str()) {
                "drinks"
            } else {
                "eats"
            };
            let known = DRINKS.contains(&what.as_str()) || FOODS.contains(&what.as_str());
            known.then(|| fact(&format!("{verb} {what}"), what))?
        }
        _ => None,
    };

    made.map(|known| known.with_negation(true))
}

/// Returns the topic of `wake up at six`, `pay 850 euros for rent` and `earn 60,000 a year`, which
/// have one answer at a time.
fn routine_topic(base: &str, rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let number = |at: usize| {
        rest.words
            .get(at)
            .is_some_and(|word| word.is_number() || super::topic::is_currency_mark(word.low))
    };
    match base {
        "wake" | "get" => fact(
            "wake-up time",
            parse_value(rest, rest.match_any(0, &["up at", "up around"])?),
        ),
        "go" if rest.match_any(0, &["to bed at", "to sleep at"]).is_some() => {
            fact("bedtime", parse_value(rest, 3))
        }
        "pay" if number(0) => {
            let (at, end) = rest.find_any(&["for", "in"])?;
            fact(
                &object_phrase(rest.from(end)),
                phrase_key(find_object(rest.until_index(at), 0)),
            )
        }
        "live" => fact(
            "lives with",
            parse_value(rest, rest.match_phrase(0, "with")?),
        ),
        "go" if rest.lower_at(0).ends_with("ing") => {
            let what = phrase_key(rest.until_index(1));
            fact(&format!("goes {what}"), what)
        }
        "earn" if number(0) => fact("salary", parse_value(rest, 0)),
        "sleep" if number(0) || rest.until_index(3).contains_any(&["hours"]) => fact(
            "hours of sleep",
            phrase_key(rest.until_index(rest.index_of_any(0, &["hours"]))),
        ),
        _ => None,
    }
}

/// Returns the topic of a verb in [`HABITS`] with its object.
fn habit_topic(base: &str, rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (what, named) = find_in_table(HABITS, base, rest)?;
    let fits = match base {
        "do" => SPORTS.contains(&what.as_str()),
        "keep" => what.split(' ').count() == 1 && what.ends_with('s') && rest.lower_at(0) == what,
        _ => true,
    };
    let vague = what.starts_with("lot of") || SHORT_TASKS.contains(&what.as_str());
    (fits && is_meaningful(&what) && !vague).then(|| fact(&format!("{named} {what}"), what))?
}

/// Returns the topic of `writing a novel` and `saving for a house`.
fn ongoing_topic(base: &str, rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (what, named) = find_in_table(ONGOING_VERBS, base, rest)?;
    (is_meaningful(&what) && !SHORT_TASKS.contains(&what.as_str()))
        .then(|| fact(&format!("{named} {what}"), what))?
}

/// Returns the object and the verb if the verb is in the table. For an entry with `/-`, a
/// capitalized name must follow.
fn find_in_table(table: &str, base: &str, rest: Clause<'_>) -> Option<(String, String)> {
    table.split_whitespace().find_map(|entry| {
        let (verb, before) = entry.split_once('/').unwrap_or((entry, ""));
        let name = before == "-";
        let at = if before.is_empty() || name {
            0
        } else {
            rest.match_phrase(0, before)?
        };
        let first = rest.words.get(at)?;
        let pointing =
            first.mark || is_pronoun(first.low) || first.low == "you" || is_preposition(first.low);
        let fits = verb == base && !pointing && (!name || first.is_capitalized());
        let named = if before.is_empty() || name {
            to_third_person(base)
        } else {
            format!("{} {before}", to_third_person(base))
        };
        fits.then(|| (object_phrase(rest.from(at)), named))
    })
}

/// Returns the object without articles, up to a preposition.
fn object_phrase(rest: Clause<'_>) -> String {
    let first = (0..rest.len())
        .find(|&at| !is_determiner(rest.lower_at(at)))
        .unwrap_or(0);
    let whole = find_object(rest.from(first), 0);
    let cut = (1..whole.len()).find(|&at| {
        is_preposition(whole.lower_at(at)) && whole.lower_at(at) != "of"
            || super::topic::is_tail(whole, at)
    });
    phrase_key(whole.until_index(cut.unwrap_or(whole.len())))
}
