//! Conditions and abilities of a person, as people mention them in passing: `I'm retired`,
//! `I can't eat gluten`, `I wake up at six`.

use super::grammar::ParsedClause;
use super::identity::{parse_name, says_no_longer};
use super::lexicon::{is_determiner, is_preposition, is_pronoun, to_third_person};
use super::lists::EntryList;
use super::topic::{KnownTopic, find_object, is_meaningful, parse_value, phrase_key};
use super::vocabulary::vocabulary;
use super::words::{Clause, Word};
use crate::word_list::WordList;

/// Returns the topic of a state or habit of a person.
pub(crate) fn condition_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let verb = parsed.verb;
    if !parsed.someone() || verb.future {
        return None;
    }

    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    if let Some(known_topic) = ended_topic(parsed, &fact) {
        return Some(known_topic);
    }

    if verb.past && !verb.used_to
        || verb.perfect && !verb.progressive && verb.base != "be"
        || verb.modal && verb.base == "be"
    {
        return None;
    }

    let negated = verb.negated || says_no_longer(parsed) || verb.used_to;
    let rest = parsed.rest();
    let known_topic = match verb.base {
        _ if verb.modal => ability_topic(parsed, &fact),
        _ if verb.passive => state_topic(parsed.clause.from(verb.main), &fact),
        "be" => state_topic(rest, &fact),
        "date" | "see" if verb.progressive => fact("partner", parse_name(rest, 0)?),
        "watch" if verb.progressive => fact("is watching", parse_value(rest, 0))
            .filter(|known_topic| is_meaningful(&known_topic.topic.value)),
        base if verb.progressive => ongoing_topic(base, rest, &fact),
        base => routine_topic(base, rest, &fact).or_else(|| habit_topic(base, rest, &fact)),
    };

    known_topic.map(|known_topic| known_topic.with_negation(negated))
}

/// A function that makes a fact of an attribute and a value.
type MakeFact<'f> = &'f dyn Fn(&str, String) -> Option<KnownTopic>;

/// Returns the topic of `retired`, `on parental leave` and `Portuguese`.
fn state_topic(rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let found = vocabulary()
        .personal_states
        .iter()
        .find_map(|(word, attribute)| {
            let attribute = if attribute.is_empty() {
                word
            } else {
                attribute
            };
            let end = rest.match_phrase(0, &word.replace('_', " "))?;
            Some((attribute.replace('_', " "), word.replace('_', " "), end))
        });

    let is_alone = |end: usize| {
        rest.words.get(end).is_none_or(|next| {
            next.is_punctuation
                || super::topic::is_tail(rest, end)
                || !next.is_capitalized() && is_preposition(next.lower)
        }) || matches!(
            rest.lower_at(end),
            "and" | "now" | "again" | "since" | "any" | "anymore" | "but"
        )
    };

    if let Some((attribute, value, end)) = found {
        return is_alone(end).then(|| fact(&attribute, value))?;
    }

    if matches!(rest.lower_at(0), "on" | "following") && rest.until_index(6).contains_any(&["diet"])
    {
        let object = phrase_key(rest.until_index(rest.index_of_any(0, &["diet"])).from(1));
        return fact("diet", object);
    }

    if let Some(at) = rest
        .match_any(0, &["a member of", "member of", "part of"])
        .filter(|at| is_group(&object_phrase(rest.from(*at))))
    {
        let group = object_phrase(rest.from(at));
        return fact(&format!("member of {group}"), group);
    }

    let is_listed = |list: &WordList| list.has(rest.lower_at(0));
    // A people or faith is typed without a capital where nothing follows it.
    let ends_here = rest.words.get(1).is_none_or(|next| next.is_punctuation);
    let is_name = |word: &&Word<'_>| word.is_capitalized() || ends_here;
    match rest.words.first().filter(is_name) {
        Some(word) if is_listed(&vocabulary().nationalities) && is_alone(1) => {
            fact("nationality", word.lower.to_owned())
        }
        Some(word) if is_listed(&vocabulary().faiths) && is_alone(1) => {
            fact("religion", word.lower.to_owned())
        }
        _ => None,
    }
}

/// Checks whether the word names a people or a faith, which is capitalized but is not the name of a
/// person.
pub(super) fn is_people_or_faith(lower: &str) -> bool {
    vocabulary().nationalities.has(lower) || vocabulary().faiths.has(lower)
}

/// Checks whether it is a group to which people belong.
pub(super) fn is_group(object: &str) -> bool {
    object
        .rsplit(' ')
        .next()
        .is_some_and(|last| vocabulary().groups.has(last))
}

/// Returns the topic of `can't eat gluten` and `can swim`.
fn ability_topic(parsed: ParsedClause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (verb, rest) = (parsed.verb, parsed.rest());
    let is_ability = matches!(parsed.clause.lower_at(verb.first), "can" | "cannot")
        && vocabulary().abilities.has(verb.base);
    if !is_ability {
        return None;
    }

    let name = to_third_person(verb.base);
    let object = object_phrase(rest);
    let is_alone =
        rest.words.first().is_none_or(|word| word.is_punctuation) || super::topic::is_tail(rest, 0);
    let candidate = if is_alone {
        fact(&name, name.clone())
    } else {
        fact(&format!("{name} {object}"), object.clone())
    };

    candidate
        .map(|known_topic| {
            known_topic
                .with_negation(verb.negated || parsed.clause.lower_at(verb.first) == "cannot")
        })
        .filter(|_| is_alone || is_meaningful(&object) && object.split(' ').count() <= 3)
}

/// Returns the topic of `gave up meat` and `broke up with Tom`.
fn ended_topic(parsed: ParsedClause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (verb, rest) = (parsed.verb, parsed.rest());
    if !(verb.past || verb.perfect) || verb.negated || verb.modal {
        return None;
    }

    let candidate = match verb.base {
        "break" | "split" => fact(
            "partner",
            parse_name(rest, rest.match_phrase(0, "up with")?)?,
        ),
        "retire" => return fact("employment", "retired".to_owned()),
        "join" | "leave" | "quit" if is_group(&object_phrase(rest)) => {
            let group = object_phrase(rest);
            return fact(&format!("member of {group}"), group)
                .map(|known_topic| known_topic.with_negation(verb.base != "join"));
        }
        "give" | "quit" | "stop" | "cut" => {
            let object = object_phrase(
                rest.from(
                    rest.match_any(0, &["up", "out", "eating", "drinking"])
                        .unwrap_or(0),
                ),
            );
            let verb = if vocabulary().drinks.has(&object) {
                "drinks"
            } else {
                "eats"
            };
            let is_consumable = vocabulary().drinks.has(&object) || vocabulary().foods.has(&object);
            is_consumable.then(|| fact(&format!("{verb} {object}"), object))?
        }
        _ => None,
    };

    candidate.map(|known_topic| known_topic.with_negation(true))
}

/// Returns the topic of `wake up at six`, `pay 850 euros for rent` and `earn 60,000 a year`, which
/// have one answer at a time.
fn routine_topic(base: &str, rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let is_number_at = |at: usize| {
        rest.words
            .get(at)
            .is_some_and(|word| word.is_number() || super::topic::is_currency_mark(word.lower))
    };
    match base {
        "wake" | "get" => fact(
            "wake-up time",
            parse_value(rest, rest.match_any(0, &["up at", "up around"])?),
        ),
        "go" if rest.match_any(0, &["to bed at", "to sleep at"]).is_some() => {
            fact("bedtime", parse_value(rest, 3))
        }
        "pay" if is_number_at(0) => {
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
            let object = phrase_key(rest.until_index(1));
            fact(&format!("goes {object}"), object)
        }
        "earn" if is_number_at(0) => fact("salary", parse_value(rest, 0)),
        "sleep" if is_number_at(0) || rest.until_index(3).contains_any(&["hours"]) => fact(
            "hours of sleep",
            phrase_key(rest.until_index(rest.index_of_any(0, &["hours"]))),
        ),
        _ => None,
    }
}

/// Returns the topic of a verb for a habit with its object.
fn habit_topic(base: &str, rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (object, verb_phrase) = find_in_table(&vocabulary().habits_by_object, base, rest)?;
    let is_allowed = match base {
        "do" => vocabulary().sports.has(&object),
        "keep" => {
            object.split(' ').count() == 1 && object.ends_with('s') && rest.lower_at(0) == object
        }
        _ => true,
    };
    let is_vague = object.starts_with("lot of") || vocabulary().short_tasks.has(&object);
    (is_allowed && is_meaningful(&object) && !is_vague)
        .then(|| fact(&format!("{verb_phrase} {object}"), object))?
}

/// Returns the topic of `writing a novel` and `saving for a house`.
fn ongoing_topic(base: &str, rest: Clause<'_>, fact: MakeFact<'_>) -> Option<KnownTopic> {
    let (object, verb_phrase) = find_in_table(&vocabulary().ongoing_verbs, base, rest)?;
    (is_meaningful(&object) && !vocabulary().short_tasks.has(&object))
        .then(|| fact(&format!("{verb_phrase} {object}"), object))?
}

/// Returns the object and the verb if the verb is in the table. For an entry with `/-`, a
/// capitalized name must follow.
fn find_in_table(table: &EntryList, base: &str, rest: Clause<'_>) -> Option<(String, String)> {
    table.iter().find_map(|(verb, particle)| {
        let needs_name = particle == "-";
        let at = if particle.is_empty() || needs_name {
            0
        } else {
            rest.match_phrase(0, particle)?
        };
        let first = rest.words.get(at)?;
        let is_pointing = first.is_punctuation
            || is_pronoun(first.lower)
            || first.lower == "you"
            || is_preposition(first.lower);
        let is_match = verb == base && !is_pointing && (!needs_name || first.is_capitalized());
        let verb_phrase = if particle.is_empty() || needs_name {
            to_third_person(base)
        } else {
            format!("{} {particle}", to_third_person(base))
        };
        is_match.then(|| (object_phrase(rest.from(at)), verb_phrase))
    })
}

/// Returns the object without articles, up to a preposition.
fn object_phrase(rest: Clause<'_>) -> String {
    let first = (0..rest.len())
        .find(|&at| !is_determiner(rest.lower_at(at)))
        .unwrap_or(0);
    let object_clause = find_object(rest.from(first), 0);
    let cut = (1..object_clause.len()).find(|&at| {
        is_preposition(object_clause.lower_at(at)) && object_clause.lower_at(at) != "of"
            || super::topic::is_tail(object_clause, at)
    });
    phrase_key(object_clause.until_index(cut.unwrap_or(object_clause.len())))
}
