//! Properties of things, and the dates of events.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::identity::{relation_attribute, says_no_longer};
use super::lexicon::{is_determiner, is_preposition, is_pronoun};
use super::topic::{KnownTopic, find_object, is_meaningful, parse_value, phrase_key};
use super::words::Clause;
use super::{ClauseContext, occasion};

/// Returns the topic of a clause about a thing.
pub(crate) fn property_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let thing = strip_speaker(subject, env);
    occasion::occasion_topic(reading, subject, env)
        .or_else(|| use_topic(reading, subject))
        .or_else(|| name_topic(reading, subject, env))
        .or_else(|| role_topic(reading, subject, env))
        .or_else(|| attribute_topic(reading, subject, env))
        .or_else(|| super::state::measure_topic(reading, &thing))
        .or_else(|| super::state::status_topic(reading, &thing))
}

/// Returns the topic of `uses X (for Y)` and `switched (Y) from A to B`.
fn use_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let kind = MemoryKind::Fact;
    if reading.verb.modal || matches!(reading.who, SubjectKind::Pronoun | SubjectKind::Listener) {
        return None;
    }

    let purpose = rest
        .find_any(&["for", "as"])
        .map(|(_, end)| parse_value(rest, end))
        .filter(|purpose| is_meaningful(purpose));
    if reading.verb.base == "use"
        && (!reading.verb.past || reading.verb.used)
        && !reading.verb.future
        && !reading.verb.passive
    {
        let what = phrase_key(find_object(
            rest.until_index(rest.index_of_any(0, &["for", "as", "to", "in", "on"])),
            0,
        ));
        let attribute = purpose.map_or_else(
            || format!("uses {what}"),
            |purpose| format!("uses for {purpose}"),
        );
        let known = KnownTopic::new(subject.to_owned(), &attribute, what, kind, true)
            .filter(|known| is_meaningful(&known.topic.value))?;
        return Some(
            known.with_negation(reading.verb.negated || super::identity::says_no_longer(reading)),
        );
    }

    if let Some(known) = choice_topic(reading, subject, purpose.as_deref()) {
        return Some(known);
    }

    let ours = matches!(
        reading.who,
        SubjectKind::Speaker | SubjectKind::Group | SubjectKind::Elided
    );
    if !reading.is(&["switch", "migrate", "move", "change", "decide", "go"])
        || reading.is(&["go", "change"]) && !ours
    {
        return None;
    }

    let (from, after_from) = rest.find_phrase("from")?;
    let to = rest.index_of_any(after_from, &["to"]);
    let old = phrase_key(find_object(rest.until_index(to), after_from));
    let new = phrase_key(find_object(
        rest.until_index(rest.index_of_any(to + 1, &["for", "as", "in", "on"])),
        to + 1,
    ));
    let what = phrase_key(rest.until_index(from));
    let attribute = match purpose {
        Some(purpose) => format!("uses for {purpose}"),
        None if what.is_empty() || reading.verb.base == "decide" => format!("uses {old}"),
        None => what,
    };

    KnownTopic::new(
        subject.to_owned(),
        &attribute,
        new,
        MemoryKind::Decision,
        false,
    )
}

/// Returns the topic of `decided to use X for Y`, `chose X for Y` and `stopped using X`, the same
/// as that of the use.
fn choice_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    purpose: Option<&str>,
) -> Option<KnownTopic> {
    let rest = reading.rest();
    if !(reading.verb.past
        || reading.verb.perfect
        || reading.verb.future
        || reading.verb.progressive)
    {
        return None;
    }

    let (at, ended) = match reading.verb.base {
        "decide" | "agree" | "choose" => (
            rest.match_any(
                0,
                &["to use", "on", "to go with", "to switch to", "to adopt"],
            ),
            false,
        ),
        "pick" | "select" | "adopt" => (Some(0), false),
        "settle" | "go" | "switch" | "opt" | "migrate" | "stick" => {
            (rest.match_any(0, &["on", "with", "for", "to"]), false)
        }
        "stop" | "quit" => (rest.match_phrase(0, "using"), true),
        _ => (None, false),
    };

    let at = at.or_else(|| (reading.verb.base == "choose").then_some(0))?;
    let end = rest.index_of_any(
        at,
        &["for", "as", "to", "in", "on", "instead", "over", "from"],
    );
    let what = phrase_key(find_object(rest.until_index(end), at));
    let attribute = match purpose {
        Some(purpose) => format!("uses for {purpose}"),
        None if ended => format!("uses {what}"),
        None => return None,
    };
    let kind = if ended {
        MemoryKind::Fact
    } else {
        MemoryKind::Decision
    };
    let known = KnownTopic::new(subject.to_owned(), &attribute, what, kind, false)?;

    is_meaningful(&known.topic.value).then(|| known.with_negation(ended || reading.verb.negated))
}

/// Returns one key for `my car`, `our car` and `the car`. Relatives and pets keep their owner.
pub(super) fn strip_speaker(subject: &str, env: &ClauseContext<'_>) -> String {
    let own = format!("{}'s ", env.key.to_lowercase());
    match subject.strip_prefix(&own) {
        Some(thing)
            if !thing
                .split(' ')
                .any(|word| relation_attribute(word.trim_end_matches("'s")).is_some()) =>
        {
            thing.to_owned()
        }
        _ => subject.to_owned(),
    }
}

/// Returns the topic of `Our band is called Seven Spoons` and `the default branch is named main`.
fn name_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let word = reading.clause.lower_at(reading.verb.main);
    let to = reading
        .rest()
        .match_phrase(0, "to")
        .filter(|_| word == "renamed");
    let named = matches!(word, "called" | "named") && !reading.verb.past || to.is_some();
    let thing = matches!(
        reading.who,
        SubjectKind::Owned | SubjectKind::Definite | SubjectKind::Named
    );
    if !(named && thing && reading.verb.passive) || reading.verb.future {
        return None;
    }
    let name = parse_value(reading.rest(), to.unwrap_or(0));
    let known = KnownTopic::fact(strip_speaker(subject, env), "name", name)
        .filter(|known| is_meaningful(&known.topic.value))?;
    Some(known.with_negation(reading.verb.negated))
}

/// Returns the topic of `Greta is the head of marketing` and `Hugo is our landlord`: one person at
/// a time has the role.
fn role_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    const ROLES: &str = "owner lead leader head manager director captain president ceo cto cfo coo chair chairman \
                         chairwoman chairperson editor maintainer boss coach teacher doctor dentist mayor principal \
                         landlord landlady accountant lawyer organiser organizer treasurer secretary contact \
                         supervisor mentor therapist tutor neighbour neighbor plumber gardener babysitter";
    let rest = reading.rest();
    let owned = matches!(rest.lower_at(0), "my" | "our");
    if reading.verb.base != "be" || reading.verb.past || reading.verb.modal {
        return None;
    }

    if reading.who == SubjectKind::Speaker
        && rest
            .find_phrase("of")
            .is_some_and(|(at, _)| at > 0 && at < 4)
    {
        let end = rest.index_of_any(0, &["at", "for", "in"]);
        let what = find_object(rest.until_index(end), 0);
        let one = what
            .words
            .iter()
            .take_while(|word| word.low != "of")
            .last()?;
        let job = KnownTopic::fact(subject.to_owned(), "job", phrase_key(what))?;
        let denied = reading.verb.negated || says_no_longer(reading);
        return ROLES
            .split_whitespace()
            .any(|known| known == one.low)
            .then(|| job.with_negation(denied));
    }

    if reading.who != SubjectKind::Named {
        return None;
    }

    if !owned && rest.lower_at(0) != "the" {
        return None;
    }

    let what = find_object(rest, 0);
    let end = (0..what.len())
        .find(|&at| is_preposition(what.lower_at(at)))
        .unwrap_or(what.len());
    let role = phrase_key(what.until_index(end));
    let last = what.lower_at(end.checked_sub(1)?);
    let of = Some(what.from(end + 1))
        .filter(|of| of.len() > 0 && matches!(what.lower_at(end), "of" | "at" | "for"));
    let subject_of = of
        .map(phrase_key)
        .or_else(|| (owned || env.talk).then(|| env.key.to_lowercase()))?;
    let one = ROLES.split_whitespace().any(|known| known == last)
        || relation_attribute(last).is_some() && owned;
    let role = relation_attribute(&role).map_or(role.clone(), str::to_owned);
    let known = KnownTopic::fact(subject_of, &role, subject.to_owned())?;

    one.then(|| known.with_negation(reading.verb.negated || says_no_longer(reading)))
}

/// Returns the topic of `My favorite color is blue`, `Anna's email is …`, `the price of X is Y` and
/// `the wifi password is Z`.
fn attribute_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let clause = reading.subject();
    let status = reading.verb.passive && clause.contains_any(&["status", "state"]);
    let rest = if status {
        reading.clause.from(reading.verb.main)
    } else {
        reading.rest()
    };

    let became = find_new_value(reading);
    let rest = became.map_or(rest, |at| rest.from(at));
    let birthday = clause
        .words
        .last()
        .is_some_and(|word| word.low == "birthday")
        && rest.lower_at(0) == "on";
    let rest = rest.from(usize::from(birthday));
    if reading.verb.base != "be" && !status && became.is_none()
        || reading.verb.past && became.is_none()
        || reading.verb.modal
        || reading.verb.progressive
        || rest.len() == 0
    {
        return None;
    }

    let plain = clause.len() > 1
        && reading.who == SubjectKind::Definite
        && env.talk
        && clause.lower_at(0) == "the";
    let (owner, noun) = if let Some((at, end)) = clause
        .find_phrase("of")
        .filter(|_| reading.who == SubjectKind::Definite)
    {
        (
            phrase_key(clause.from(end)),
            phrase_key(clause.until_index(at)),
        )
    } else if let Some(at) = subject.rfind("'s ") {
        (
            strip_speaker(&subject[..at], env),
            strip_determiners(&subject[at + 3..]),
        )
    } else if plain && (is_number_or_name(rest) || is_label(&phrase_key(clause)) || is_code(rest)) {
        (
            env.key.to_lowercase(),
            strip_determiners(&phrase_key(clause)),
        )
    } else {
        return None;
    };

    let answer = parse_value(rest, 0);
    let loose = noun.split(' ').count() > 4
        || !is_meaningful(&answer)
        || super::fact::is_judgement(rest)
        || is_pronoun(rest.lower_at(0));
    let adjective = reading.who != SubjectKind::Owned && !is_number_or_name(rest);
    if loose || adjective && !is_label(&noun) && !is_code(rest) {
        return None;
    }

    let noun = match canonical_noun(&noun) {
        // "My phone is a Fairphone" does not give a number.
        noun if noun == "phone"
            && !answer
                .starts_with(|first: char| first.is_ascii_digit() || "+(".contains(first)) =>
        {
            "phone model".to_owned()
        }
        noun => noun,
    };

    let kind = if noun.starts_with("favourite") {
        MemoryKind::Preference
    } else {
        MemoryKind::Fact
    };

    let of = reading.who == SubjectKind::Definite && clause.find_phrase("of").is_some();
    if occasion::is_event(&noun) || relation_attribute(&noun).is_some() && !of {
        return None;
    }

    Some(KnownTopic::new(owner, &noun, answer, kind, true)?.with_negation(reading.verb.negated))
}

/// Returns the index at which the answer begins in `changed to X`, `was raised from A to B` and
/// `went up to X`.
fn find_new_value(reading: ParsedClause<'_>) -> Option<usize> {
    const CHANGING: &[&str] = &[
        "change", "rise", "increase", "decrease", "drop", "fall", "raise", "cut", "reduce",
        "lower", "update", "grow", "go",
    ];
    let thing = matches!(
        reading.who,
        SubjectKind::Owned | SubjectKind::Definite | SubjectKind::Named
    );
    let rest = reading.rest();
    let (at, end) = rest.find_phrase("to")?;
    let from = at == 0 || matches!(rest.lower_at(0), "from" | "up" | "down") && at < 6;
    let value = rest.words.get(end).is_some_and(|word| {
        word.is_number() || word.is_capitalized() || super::topic::is_currency_mark(word.low)
    });
    (thing && from && value && reading.is(CHANGING) && !reading.verb.progressive).then_some(end)
}

/// Removes the determiners from a phrase and moves its purpose to the front: `bike budget` for
/// `budget for the bike`.
fn strip_determiners(phrase: &str) -> String {
    let plain = phrase
        .split(' ')
        .filter(|word| !is_determiner(word))
        .collect::<Vec<_>>()
        .join(" ");
    match plain.split_once(" for ") {
        Some((noun, of)) if !noun.contains(' ') || !of.contains(' ') => format!("{of} {noun}"),
        _ => plain,
    }
}

/// Checks whether the answer is a word that only a name, a password or a number would be.
fn is_code(rest: Clause<'_>) -> bool {
    let first = rest.lower_at(usize::from(
        is_determiner(rest.lower_at(0)) || super::lexicon::is_adverb(rest.lower_at(0)),
    ));
    first
        .bytes()
        .any(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'@' | b'/' | b'.'))
}

/// Checks whether the answer is a number or a name.
fn is_number_or_name(rest: Clause<'_>) -> bool {
    let first = usize::from(is_determiner(rest.lower_at(0)));
    rest.words.get(first).is_some_and(|word| {
        word.is_number() || word.is_capitalized() || matches!(word.low, "$" | "€" | "£")
    })
}

fn is_label(noun: &str) -> bool {
    noun.starts_with("favo")
        || matches!(
            canonical_noun(noun).as_str(),
            "phone"
                | "email"
                | "address"
                | "birthday"
                | "job"
                | "name"
                | "status"
                | "version"
                | "price"
                | "color"
                | "colour"
        )
        || noun.split(' ').next_back().is_some_and(|last| {
            matches!(
                last,
                "password"
                    | "passcode"
                    | "code"
                    | "pin"
                    | "number"
                    | "username"
                    | "url"
                    | "size"
                    | "room"
            )
        })
}

/// Returns one noun for all nouns with the same meaning.
fn canonical_noun(noun: &str) -> String {
    let noun = noun.strip_prefix("new ").unwrap_or(noun);
    if let Some(what) = noun
        .strip_prefix("favorite ")
        .or_else(|| noun.strip_prefix("favourite "))
    {
        return format!("favourite {}", what.replace("colour", "color"));
    }

    let same = match noun {
        "phone number" | "number" | "cell" | "mobile" | "mobile number" | "cell number"
        | "telephone" => "phone",
        "e-mail" | "email address" | "e-mail address" | "mail" => "email",
        "home address" | "mailing address" => "address",
        "occupation" | "profession" | "job title" | "role" | "position" | "title" => "job",
        "company" | "workplace" => "employer",
        "birth date" | "date of birth" | "birthdate" => "birthday",
        "hometown" | "home town" => "origin",
        "cost" => "price",
        _ => noun,
    };

    same.to_owned()
}
