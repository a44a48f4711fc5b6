//! Habits, possessions and responsibilities of a person, until they end.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::identity::{relation_attribute, says_no_longer};
use super::lexicon::{
    VerbForm, is_determiner, is_preposition, is_pronoun, parse_verb, to_third_person, verb_base,
};
use super::lists::EntryList;
use super::topic::{KnownTopic, find_object, is_meaningful, is_tail, join_words, phrase_key};
use super::vocabulary::vocabulary;
use super::words::{Clause, Word};

/// Returns the topic of a habit, a possession or a responsibility.
pub(crate) fn activity_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let verb = parsed.verb;
    if !parsed.someone() || verb.modal || verb.future || verb.passive {
        return None;
    }

    let rest = parsed.rest();
    let is_negated = verb.negated || says_no_longer(parsed) || verb.used_to;
    if let Some(known_topic) =
        change_topic(parsed, subject).or_else(|| ended_topic(parsed, subject))
    {
        return Some(known_topic);
    }

    if verb.past && !verb.used_to || verb.perfect && !verb.progressive {
        return None;
    }

    // "I read it" may be long ago.
    let is_completed = verb.base == "read" && !verb.progressive;
    if is_completed
        || verb.progressive
            && (!vocabulary().progressive_habits.has(verb.base)
                || parsed.subject_kind == SubjectKind::Elided)
    {
        return None;
    }

    responsibility_topic(verb.base, rest, subject)
        .or_else(|| possession_topic(verb.base, rest, subject))
        .or_else(|| habit_topic(verb.base, rest, subject))
        .map(|known_topic| known_topic.with_negation(is_negated))
}

/// Returns the topic of a change: `stopped smoking`, `gave up playing the trumpet`,
/// `started learning Welsh`, `cancelled my subscription to X`.
fn change_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    if !(parsed.verb.past || parsed.verb.perfect) || parsed.verb.negated {
        return None;
    }

    let (at, is_ended) = match parsed.verb.base {
        "stop" | "quit" | "finish" => (0, true),
        "give" => (rest.match_phrase(0, "up")?, true),
        "start" | "begin" => (0, false),
        "drop" => {
            let object = direct_object(rest, 0, "take");
            let is_lesson = object
                .split(' ')
                .next_back()
                .is_some_and(|last| matches!(last, "course" | "class" | "classes" | "lessons"));
            let known_topic =
                KnownTopic::fact(subject.to_owned(), &format!("takes {object}"), object);
            return known_topic
                .filter(|_| is_lesson)
                .map(|known_topic| known_topic.with_negation(true));
        }
        "" if parsed.clause.lower_at(parsed.verb.main) == "unsubscribed" => {
            let object = direct_object(rest, rest.match_phrase(0, "from")?, "subscribe");
            return contract_topic(subject, &object, "subscription")
                .map(|known_topic| known_topic.with_negation(true));
        }
        "cancel" | "end" | "terminate" | "sell" | "cancelled" => {
            let is_owned = matches!(rest.lower_at(0), "my" | "our" | "his" | "her" | "their");
            return possession_topic("own", rest, subject)
                .filter(|_| is_owned)
                .filter(|known_topic| {
                    parsed.verb.base == "sell" || is_contract(&known_topic.topic.value)
                })
                .map(|known_topic| KnownTopic {
                    is_static: false,
                    ..known_topic.with_negation(true)
                });
        }
        _ => return None,
    };

    let (inner_verb, form) = parse_verb(rest.lower_at(at))?;
    let rest = rest.from(at + 1);

    (form == VerbForm::Ing)
        .then(|| habit_topic(inner_verb, rest, subject))?
        .map(|known_topic| known_topic.with_negation(is_ended))
}

/// Returns the topic of `I no longer drive` and `I stopped teaching`, which end the activity
/// whatever its object was.
fn ended_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let has_stopped = parsed.is(&["stop", "quit"]) && (parsed.verb.past || parsed.verb.perfect);
    let (base, at) = match parse_verb(rest.lower_at(0)) {
        Some((inner_verb, VerbForm::Ing)) if has_stopped => (inner_verb, 1),
        _ if says_no_longer(parsed) && !parsed.verb.past => (parsed.verb.base, 0),
        _ => return None,
    };

    let takes_one_object = matches!(base, "drive" | "teach" | "commute" | "rent");
    let has_no_object = rest.words.get(at).is_none_or(|word| {
        word.is_punctuation || matches!(word.lower, "any" | "anymore") || is_tail(rest, at)
    });

    // This does not deny one answer. It is an answer of its own.
    (takes_one_object && has_no_object).then(|| {
        KnownTopic::fact(
            subject.to_owned(),
            &to_third_person(base),
            "nothing".to_owned(),
        )
    })?
}

/// Returns one topic for `subscription to X` and `X subscription`.
fn contract_topic(subject: &str, provider: &str, kind: &str) -> Option<KnownTopic> {
    let object = format!("{provider} {kind}");
    KnownTopic::fact(subject.to_owned(), &format!("has {object}"), object)
}

/// Checks whether it is something that runs until it is cancelled.
fn is_contract(object: &str) -> bool {
    object
        .split(' ')
        .any(|word| vocabulary().contracts.has(word))
}

/// Returns the topic of a verb in the tables with its object.
fn habit_topic(base: &str, rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    if base == "go"
        && let Some((inner_verb, VerbForm::Ing)) = parse_verb(rest.lower_at(0))
    {
        return habit_topic(inner_verb, rest.from(1), subject);
    }

    if base == "subscribe" && rest.lower_at(0) == "to" {
        return contract_topic(subject, &direct_object(rest, 1, base), "subscription");
    }

    let single_object = find_verb_object(&vocabulary().single_object_verbs, base, rest);
    let multi_object = single_object
        .is_none()
        .then(|| find_verb_object(&vocabulary().multi_object_verbs, base, rest))
        .flatten();
    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    let is_additional = rest
        .find_any(&["also", "too", "as well", "besides"])
        .is_some();
    if let Some((name, object)) = single_object.filter(|_| !is_additional) {
        return fact(&name, object);
    }

    if let Some((name, object)) = multi_object.or(find_verb_object(
        &vocabulary().single_object_verbs,
        base,
        rest,
    )) {
        return fact(&format!("{name} {object}"), object);
    }

    let is_frequent = matches!(
        rest.lower_at(0),
        "about" | "twice" | "every" | "daily" | "regularly" | "once" | "again"
    );
    let is_end = |word: &Word<'_>| {
        word.is_punctuation || is_tail(rest, 0) && word.lower != "a" || is_preposition(word.lower)
    };
    let has_no_object = rest
        .words
        .first()
        .is_none_or(|word| is_end(word) || matches!(word.lower, "any" | "anymore" | "now"));
    let is_habit = vocabulary().habits_without_object.has(base)
        && (has_no_object || is_frequent || base == "smoke");
    let name = to_third_person(base);

    is_habit.then(|| fact(&name, name.clone()))?
}

/// Returns the attribute and the object if the verb is in the table.
fn find_verb_object(table: &EntryList, base: &str, rest: Clause<'_>) -> Option<(String, String)> {
    let found = table.iter().find_map(|(name, particle)| {
        let at = if particle.is_empty() {
            0
        } else {
            rest.match_phrase(0, particle)?
        };
        (name == base).then_some((particle, at))
    });

    let (particle, at) = found?;
    let has_no_object = rest.words.get(at).is_none_or(|word| word.is_punctuation)
        || matches!(rest.lower_at(at), "every" | "each" | "all" | "most" | "any")
        || is_tail(rest, at)
        || particle.is_empty() && is_preposition(rest.lower_at(at))
        || is_pronoun(rest.lower_at(at)) && !is_determiner(rest.lower_at(at));
    let object = direct_object(rest, at, base);
    let head_noun = object.rsplit(' ').next().unwrap_or_default();
    let is_no_car = base == "drive"
        && object
            .split(' ')
            .any(|word| vocabulary().no_cars.has(word) || relation_attribute(word).is_some());
    let is_idle = is_no_car
        || [object.split(' ').next().unwrap_or_default(), head_noun]
            .iter()
            .any(|word| vocabulary().idle_objects.has(word));
    if has_no_object || is_idle || !is_meaningful(&object) {
        return None;
    }

    let name = to_third_person(base);
    Some((
        if particle.is_empty() {
            name
        } else {
            format!("{name} {particle}")
        },
        object,
    ))
}

/// Returns the object up to a preposition. The person with whom one speaks a language belongs to
/// it.
fn direct_object(rest: Clause<'_>, at: usize, base: &str) -> String {
    let object_clause = find_object(rest, at);
    let is_kept =
        |lower: &str| lower == "of" || base == "speak" && lower == "with" || base == "subscribe";
    let cut = (1..object_clause.len()).find(|&index| {
        is_preposition(object_clause.lower_at(index)) && !is_kept(object_clause.lower_at(index))
    });
    let is_skipped = |lower: &str| {
        matches!(
            lower,
            "my" | "our" | "the" | "a" | "an" | "his" | "her" | "their"
        )
    };

    let words: Vec<_> = object_clause
        .until_index(cut.unwrap_or(object_clause.len()))
        .words
        .iter()
        .filter(|word| !is_skipped(word.lower))
        .copied()
        .collect();

    join_words(Clause { words: &words })
}

/// Returns the topic of `own a boat` and `have a subscription to X`.
fn possession_topic(verb: &str, rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    let has_article = matches!(
        rest.lower_at(0),
        "a" | "an" | "the" | "any" | "my" | "our" | "his" | "her" | "their"
    );
    if !matches!(verb, "have" | "own" | "possess") || !has_article {
        return None;
    }

    let object_clause = find_object(rest, 0);
    let is_size_word = |lower: &str| {
        matches!(
            lower,
            "small" | "big" | "little" | "new" | "old" | "used" | "nice" | "lovely"
        )
    };

    let first = (0..object_clause.len()).find(|&at| !is_size_word(object_clause.lower_at(at)))?;
    let is_kept = |at: usize| {
        matches!(object_clause.lower_at(at), "of" | "to")
            || object_clause.lower_at(at) == "at" && object_clause.lower_at(at - 1) == "membership"
    };
    let cut = (first + 1..object_clause.len())
        .find(|&at| is_preposition(object_clause.lower_at(at)) && !is_kept(at));
    let is_skipped = |lower: &str| is_determiner(lower);
    let words: Vec<_> = object_clause
        .until_index(cut.unwrap_or(object_clause.len()))
        .from(first)
        .words
        .iter()
        .filter(|word| !is_skipped(word.lower))
        .copied()
        .collect();
    let object = join_words(Clause { words: &words });
    let has_verb =
        !verb_base(object_clause.lower_at(first)).is_empty() && object_clause.len() - first > 3;
    let is_possession =
        words.len() <= 5 && is_meaningful(&object) && !has_verb && !is_momentary(&object);
    for kind in ["subscription", "membership"] {
        let provider = [" to ", " at ", " of ", " for "]
            .iter()
            .find_map(|preposition| {
                object
                    .strip_prefix(kind)?
                    .strip_prefix(preposition)
                    .filter(|provider| !provider.is_empty())
            });
        if let Some(provider) = provider {
            return contract_topic(subject, provider, kind);
        }
    }

    is_possession.then(|| KnownTopic::fact(subject.to_owned(), &format!("has {object}"), object))?
}

/// Checks whether it is something that one has only for a moment or in one's mind.
fn is_momentary(object: &str) -> bool {
    object
        .split(' ')
        .any(|word| vocabulary().momentary_objects.has(word))
}

/// Returns the topic of `Nadia leads the mobile team`. One person at a time is responsible for a
/// thing.
fn responsibility_topic(base: &str, rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    let mut roles = vocabulary().responsibility_verbs.iter();
    let (_, role) = roles.find(|(verb, _)| *verb == base)?;
    let is_definite = matches!(rest.lower_at(0), "the" | "our" | "my")
        || rest.words.first().is_some_and(|word| word.is_capitalized());
    let object = phrase_key(find_object(rest, 0));
    let known_topic = KnownTopic::new(object, role, subject.to_owned(), MemoryKind::Fact, true)?;
    (is_definite && is_meaningful(&known_topic.topic.subject)).then_some(known_topic)
}
