//! Properties of things, and the dates of events.

use domain::MemoryKind;

use super::grammar::{Reading, Who};
use super::identity::{no_longer, relation};
use super::lexicon::{determiner, preposition, pronoun};
use super::topic::{Known, object, phrase_key, says, value};
use super::words::Clause;
use super::{Env, occasion};

/// Returns the topic of a clause about a thing.
pub(crate) fn known(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let thing = trim_own(subject, env);
    occasion::known(reading, subject, env)
        .or_else(|| uses(reading, subject))
        .or_else(|| called(reading, subject, env))
        .or_else(|| holder(reading, subject, env))
        .or_else(|| attribute(reading, subject, env))
        .or_else(|| super::state::measured(reading, &thing))
        .or_else(|| super::state::state(reading, &thing))
}

/// Returns the topic of `uses X (for Y)` and `switched (Y) from A to B`.
fn uses(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let kind = MemoryKind::Fact;
    if reading.verb.modal || matches!(reading.who, Who::Pronoun | Who::Listener) {
        return None;
    }

    let purpose = rest
        .find_any(&["for", "as"])
        .map(|(_, end)| value(rest, end))
        .filter(|purpose| says(purpose));
    if reading.verb.base == "use"
        && (!reading.verb.past || reading.verb.used)
        && !reading.verb.future
        && !reading.verb.passive
    {
        let what = phrase_key(object(
            rest.to(rest.until(0, &["for", "as", "to", "in", "on"])),
            0,
        ));
        let attribute = purpose.map_or_else(
            || format!("uses {what}"),
            |purpose| format!("uses for {purpose}"),
        );
        let known = Known::new(subject.to_owned(), &attribute, what, kind, true)
            .filter(|known| says(&known.topic.value))?;
        return Some(known.negated(reading.verb.negated || super::identity::no_longer(reading)));
    }

    if let Some(known) = chosen(reading, subject, purpose.as_deref()) {
        return Some(known);
    }

    let ours = matches!(reading.who, Who::Speaker | Who::Group | Who::Elided);
    if !reading.is(&["switch", "migrate", "move", "change", "decide", "go"])
        || reading.is(&["go", "change"]) && !ours
    {
        return None;
    }

    let (from, after_from) = rest.find("from")?;
    let to = rest.until(after_from, &["to"]);
    let old = phrase_key(object(rest.to(to), after_from));
    let new = phrase_key(object(
        rest.to(rest.until(to + 1, &["for", "as", "in", "on"])),
        to + 1,
    ));
    let what = phrase_key(rest.to(from));
    let attribute = match purpose {
        Some(purpose) => format!("uses for {purpose}"),
        None if what.is_empty() || reading.verb.base == "decide" => format!("uses {old}"),
        None => what,
    };

    Known::new(
        subject.to_owned(),
        &attribute,
        new,
        MemoryKind::Decision,
        false,
    )
}

/// Returns the topic of `decided to use X for Y`, `chose X for Y` and `stopped using X`, the same
/// as that of the use.
fn chosen(reading: Reading<'_>, subject: &str, purpose: Option<&str>) -> Option<Known> {
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
            rest.any(
                0,
                &["to use", "on", "to go with", "to switch to", "to adopt"],
            ),
            false,
        ),
        "pick" | "select" | "adopt" => (Some(0), false),
        "settle" | "go" | "switch" | "opt" | "migrate" | "stick" => {
            (rest.any(0, &["on", "with", "for", "to"]), false)
        }
        "stop" | "quit" => (rest.phrase(0, "using"), true),
        _ => (None, false),
    };

    let at = at.or_else(|| (reading.verb.base == "choose").then_some(0))?;
    let end = rest.until(
        at,
        &["for", "as", "to", "in", "on", "instead", "over", "from"],
    );
    let what = phrase_key(object(rest.to(end), at));
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
    let known = Known::new(subject.to_owned(), &attribute, what, kind, false)?;

    says(&known.topic.value).then(|| known.negated(ended || reading.verb.negated))
}

/// Returns one key for `my car`, `our car` and `the car`. Relatives and pets keep their owner.
pub(super) fn trim_own(subject: &str, env: &Env<'_>) -> String {
    let own = format!("{}'s ", env.key.to_lowercase());
    match subject.strip_prefix(&own) {
        Some(thing)
            if !thing
                .split(' ')
                .any(|word| relation(word.trim_end_matches("'s")).is_some()) =>
        {
            thing.to_owned()
        }
        _ => subject.to_owned(),
    }
}

/// Returns the topic of `Our band is called Seven Spoons` and `the default branch is named main`.
fn called(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let word = reading.clause.low(reading.verb.main);
    let to = reading.rest().phrase(0, "to").filter(|_| word == "renamed");
    let named = matches!(word, "called" | "named") && !reading.verb.past || to.is_some();
    let thing = matches!(reading.who, Who::Owned | Who::Definite | Who::Named);
    if !(named && thing && reading.verb.passive) || reading.verb.future {
        return None;
    }
    let name = value(reading.rest(), to.unwrap_or(0));
    let known = Known::fact(trim_own(subject, env), "name", name)
        .filter(|known| says(&known.topic.value))?;
    Some(known.negated(reading.verb.negated))
}

/// Returns the topic of `Greta is the head of marketing` and `Hugo is our landlord`: one person at
/// a time has the role.
fn holder(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    const ROLES: &str = "owner lead leader head manager director captain president ceo cto cfo coo chair chairman \
                         chairwoman chairperson editor maintainer boss coach teacher doctor dentist mayor principal \
                         landlord landlady accountant lawyer organiser organizer treasurer secretary contact \
                         supervisor mentor therapist tutor neighbour neighbor plumber gardener babysitter";
    let rest = reading.rest();
    let owned = matches!(rest.low(0), "my" | "our");
    if reading.verb.base != "be" || reading.verb.past || reading.verb.modal {
        return None;
    }

    if reading.who == Who::Speaker && rest.find("of").is_some_and(|(at, _)| at > 0 && at < 4) {
        let end = rest.until(0, &["at", "for", "in"]);
        let what = object(rest.to(end), 0);
        let one = what
            .words
            .iter()
            .take_while(|word| word.low != "of")
            .last()?;
        let job = Known::fact(subject.to_owned(), "job", phrase_key(what))?;
        let denied = reading.verb.negated || no_longer(reading);
        return ROLES
            .split_whitespace()
            .any(|known| known == one.low)
            .then(|| job.negated(denied));
    }

    if reading.who != Who::Named {
        return None;
    }

    if !owned && rest.low(0) != "the" {
        return None;
    }

    let what = object(rest, 0);
    let end = (0..what.len())
        .find(|&at| preposition(what.low(at)))
        .unwrap_or(what.len());
    let role = phrase_key(what.to(end));
    let last = what.low(end.checked_sub(1)?);
    let of = Some(what.from(end + 1))
        .filter(|of| of.len() > 0 && matches!(what.low(end), "of" | "at" | "for"));
    let subject_of = of
        .map(phrase_key)
        .or_else(|| (owned || env.talk).then(|| env.key.to_lowercase()))?;
    let one =
        ROLES.split_whitespace().any(|known| known == last) || relation(last).is_some() && owned;
    let role = relation(&role).map_or(role.clone(), str::to_owned);
    let known = Known::fact(subject_of, &role, subject.to_owned())?;

    one.then(|| known.negated(reading.verb.negated || no_longer(reading)))
}

/// Returns the topic of `My favorite color is blue`, `Anna's email is …`, `the price of X is Y` and
/// `the wifi password is Z`.
fn attribute(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let clause = reading.subject();
    let status = reading.verb.passive && clause.has(&["status", "state"]);
    let rest = if status {
        reading.clause.from(reading.verb.main)
    } else {
        reading.rest()
    };

    let became = became(reading);
    let rest = became.map_or(rest, |at| rest.from(at));
    let birthday = clause
        .words
        .last()
        .is_some_and(|word| word.low == "birthday")
        && rest.low(0) == "on";
    let rest = rest.from(usize::from(birthday));
    if reading.verb.base != "be" && !status && became.is_none()
        || reading.verb.past && became.is_none()
        || reading.verb.modal
        || reading.verb.progressive
        || rest.len() == 0
    {
        return None;
    }

    let plain =
        clause.len() > 1 && reading.who == Who::Definite && env.talk && clause.low(0) == "the";
    let (owner, noun) =
        if let Some((at, end)) = clause.find("of").filter(|_| reading.who == Who::Definite) {
            (phrase_key(clause.from(end)), phrase_key(clause.to(at)))
        } else if let Some(at) = subject.rfind("'s ") {
            (
                trim_own(&subject[..at], env),
                undetermined(&subject[at + 3..]),
            )
        } else if plain && (firm(rest) || is_label(&phrase_key(clause)) || is_code(rest)) {
            (env.key.to_lowercase(), undetermined(&phrase_key(clause)))
        } else {
            return None;
        };

    let answer = value(rest, 0);
    let loose = noun.split(' ').count() > 4
        || !says(&answer)
        || super::fact::judges(rest)
        || pronoun(rest.low(0));
    let adjective = reading.who != Who::Owned && !firm(rest);
    if loose || adjective && !is_label(&noun) && !is_code(rest) {
        return None;
    }

    let noun = match canonical(&noun) {
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

    let of = reading.who == Who::Definite && clause.find("of").is_some();
    if occasion::is_event(&noun) || relation(&noun).is_some() && !of {
        return None;
    }

    Some(Known::new(owner, &noun, answer, kind, true)?.negated(reading.verb.negated))
}

/// Returns the index at which the answer begins in `changed to X`, `was raised from A to B` and
/// `went up to X`.
fn became(reading: Reading<'_>) -> Option<usize> {
    const CHANGING: &[&str] = &[
        "change", "rise", "increase", "decrease", "drop", "fall", "raise", "cut", "reduce",
        "lower", "update", "grow", "go",
    ];
    let thing = matches!(reading.who, Who::Owned | Who::Definite | Who::Named);
    let rest = reading.rest();
    let (at, end) = rest.find("to")?;
    let from = at == 0 || matches!(rest.low(0), "from" | "up" | "down") && at < 6;
    let value = rest
        .words
        .get(end)
        .is_some_and(|word| word.number() || word.capital() || super::topic::money(word.low));
    (thing && from && value && reading.is(CHANGING) && !reading.verb.progressive).then_some(end)
}

/// Removes the determiners from a phrase and moves its purpose to the front: `bike budget` for
/// `budget for the bike`.
fn undetermined(phrase: &str) -> String {
    let plain = phrase
        .split(' ')
        .filter(|word| !determiner(word))
        .collect::<Vec<_>>()
        .join(" ");
    match plain.split_once(" for ") {
        Some((noun, of)) if !noun.contains(' ') || !of.contains(' ') => format!("{of} {noun}"),
        _ => plain,
    }
}

/// Checks whether the answer is a word that only a name, a password or a number would be.
fn is_code(rest: Clause<'_>) -> bool {
    let first = rest.low(usize::from(
        determiner(rest.low(0)) || super::lexicon::adverb(rest.low(0)),
    ));
    first
        .bytes()
        .any(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'@' | b'/' | b'.'))
}

/// Checks whether the answer is a number or a name.
fn firm(rest: Clause<'_>) -> bool {
    let first = usize::from(determiner(rest.low(0)));
    rest.words
        .get(first)
        .is_some_and(|word| word.number() || word.capital() || matches!(word.low, "$" | "€" | "£"))
}

fn is_label(noun: &str) -> bool {
    noun.starts_with("favo")
        || matches!(
            canonical(noun).as_str(),
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
fn canonical(noun: &str) -> String {
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
