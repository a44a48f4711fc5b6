//! Dates, times and places of meetings, trips, deadlines and other occasions.

use domain::MemoryKind;

use super::Env;
use super::classes::{EVENT, is};
use super::grammar::{Reading, Who};
use super::lexicon::{content, determiner, preposition};
use super::topic::{Known, object, phrase_key};
use super::words::Clause;
use crate::extract::dates::{Found, Lean, dates, is_weekday};

/// Verbs that set the day of an occasion.
const PLACING: &[&str] = &[
    "move",
    "reschedule",
    "postpone",
    "push",
    "schedule",
    "shift",
    "delay",
    "plan",
];
/// Verbs that say when something begins.
const BEGINNING: &[&str] = &[
    "begin", "start", "leave", "depart", "take", "happen", "meet",
];
/// Verbs for another time of the same thing.
const OTHER_TIMES: &[&str] = &[
    "end", "finish", "close", "open", "arrive", "land", "expire", "renew",
];

/// Checks whether a word names something that takes place.
pub(super) fn is_event(low: &str) -> bool {
    is(low, EVENT)
}

/// Returns the topic of a clause about an occasion.
pub(super) fn known(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    appointment(reading, subject, env)
        .or_else(|| cancelled(reading, subject, env))
        .or_else(|| dated(reading, subject, env))
        .or_else(|| recurring(reading, subject, env))
        .or_else(|| timed(reading, subject, env))
        .or_else(|| placed(reading, subject, env))
}

/// Checks whether the clause sets the day of something.
fn moves(reading: Reading<'_>) -> bool {
    const MOVED: &[&str] = &[
        "scheduled",
        "due",
        "moved",
        "postponed",
        "rescheduled",
        "pushed",
        "delayed",
        "shifted",
    ];
    reading.is(PLACING) || MOVED.contains(&reading.rest().low(0))
}

/// Returns the direction in which the date of an occasion lies, or `None` if the clause is not
/// about a coming occasion.
pub(super) fn lean(reading: Reading<'_>) -> Option<Lean> {
    let past = reading.verb.past && !reading.verb.perfect;
    let coming =
        moves(reading) || !past && of_thing(reading) && happens(reading) || reading.verb.future;
    coming.then_some(Lean::Future)
}

/// Returns the topic of `I have a dentist appointment on Friday`.
fn appointment(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let rest = reading.rest();
    let have =
        reading.is(&["have"]) && reading.person() && !reading.verb.past && determiner(rest.low(0));
    let event = rest
        .words
        .iter()
        .position(|word| is_event(word.low))
        .filter(|_| have)?;
    let found = dates(rest, env.said_at, Lean::Future).into_iter().next()?;
    let with = if rest.low(event + 1) == "with" {
        object(rest.to(found.first), event + 2).len() + 1
    } else {
        0
    };

    let what = phrase_key(rest.to(event + 1 + with));
    let what = what
        .strip_prefix(subject)
        .map_or(what.clone(), str::to_owned);
    let value = when(rest, Some(&found));

    Known::new(what, "date", value, MemoryKind::Event, false)
}

/// Returns the topic of `My driving test has been cancelled` and `I cancelled my trip to Rome`.
fn cancelled(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let rest = reading.rest();
    let off = |rest: Clause<'_>| rest.any(0, &["off", "cancelled", "canceled"]).is_some();
    let word = reading.clause.low(reading.verb.main);
    let got = reading.is(&["get"]) && off(rest);
    let passive = got
        || reading.verb.passive
            && (matches!(word, "cancelled" | "canceled") || word == "called" && off(rest));
    let what = if passive || reading.verb.base == "be" && off(rest) {
        named(reading, subject, env)?
    } else if matches!(reading.verb.base, "cancel") && reading.person() && !reading.verb.future {
        let what = object(rest, 0);
        what.words
            .iter()
            .any(|word| is_event(word.low))
            .then(|| phrase_key(what))?
    } else {
        return None;
    };

    let denied = reading.verb.negated;
    Some(
        Known::new(
            what,
            "date",
            "cancelled".to_owned(),
            MemoryKind::Event,
            false,
        )?
        .negated(denied),
    )
}

/// Returns the topic of `The meeting is on Friday`, `was moved to Monday` and
/// `the report is due March 3`.
fn dated(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let rest = reading.rest();
    let last = reading.subject().words.last()?.low;
    let due = rest.low(0) == "due";
    let happens = happens(reading);
    let over = reading.verb.past && !reading.verb.perfect;
    let moved = moves(reading) || reading.is(BEGINNING) && (happens || !over);
    let own = reading.who == Who::Owned || reading.who == Who::Definite && env.talk;
    let other = OTHER_TIMES
        .iter()
        .find(|verb| **verb == reading.verb.base && (happens || own));
    if !(due || moved || reading.verb.base == "be" || other.is_some()) || !of_thing(reading) {
        return None;
    }

    let past = reading.verb.past && !reading.verb.perfect;
    let lean = lean(reading).unwrap_or(if past { Lean::Past } else { Lean::Either });
    let found = dates(rest, env.said_at, lean)
        .into_iter()
        .find(|found| !found.lasting)?;
    // The date must be the answer, not a remark.
    let near = found.first <= 4 || preposition(rest.low(0)) && found.first <= 7;
    let plain = own
        && found.first <= 2
        && reading.verb.base == "be"
        && preposition(rest.low(0))
        && last != "birthday";
    if !near
        || !(due
            || plain
            || happens
            || other.is_some()
            || moved && reading.who != Who::Named
            || last == "deadline")
    {
        return None;
    }

    let subject = thing_key(reading, subject, env);
    let (subject, attribute) = match deadline_of(&subject) {
        Some(of) => (of, "deadline".to_owned()),
        None if due => (subject, "deadline".to_owned()),
        None => (
            subject,
            other.map_or("date".to_owned(), |verb| super::lexicon::third(verb)),
        ),
    };

    Known::new(
        subject,
        &attribute,
        when(rest, Some(&found)),
        MemoryKind::Event,
        false,
    )
}

/// Checks whether the clause is about a thing, not about the speaker or the person spoken to.
fn of_thing(reading: Reading<'_>) -> bool {
    !matches!(
        reading.who,
        Who::Speaker | Who::Group | Who::Elided | Who::Listener
    )
}

pub(super) fn happens(reading: Reading<'_>) -> bool {
    reading
        .subject()
        .words
        .iter()
        .any(|word| is_event(word.low))
}

/// Returns the thing that has the deadline: `journal's submission deadline`,
/// `deadline for the grant`.
fn deadline_of(key: &str) -> Option<String> {
    if let Some(of) = key
        .strip_prefix("deadline for ")
        .or_else(|| key.strip_prefix("deadline of "))
    {
        return Some(of.to_owned());
    }

    // `journal's submission` becomes `journal`. `submission for journal` stays as it is.
    let of = key.strip_suffix("deadline").filter(|of| !of.is_empty())?;
    Some(
        of.split_once("'s")
            .map_or(of, |(owner, _)| owner)
            .trim()
            .to_owned(),
    )
}

/// Returns the name of the occasion, which is the same for `my trip`, `the trip` and
/// `the trip on Friday`.
fn thing_key(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> String {
    let clause = reading.subject();
    let end = dates(clause, env.said_at, Lean::Either)
        .first()
        .map(|found| found.first);
    let end = end.map(|end| end - usize::from(end > 0 && preposition(clause.low(end - 1))));
    let own = format!("{}'s ", env.key.to_lowercase());
    let key = match end.filter(|end| *end > 1 && reading.who != Who::Pronoun) {
        Some(end) => phrase_key(clause.to(end)),
        None => subject.strip_prefix(&own).unwrap_or(subject).to_owned(),
    };

    key.split(' ')
        .filter(|word| !determiner(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn named(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<String> {
    (of_thing(reading) && happens(reading)).then(|| thing_key(reading, subject, env))
}

/// Returns the topic of `The book club is on Tuesdays` and `meets every Monday`.
fn recurring(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let rest = reading.rest();
    if !reading.is(BEGINNING) && reading.verb.base != "be" || !of_thing(reading) {
        return None;
    }

    let at = rest
        .to(4)
        .words
        .iter()
        .position(|word| is_weekday(word.low))?;
    let often =
        rest.low(at).ends_with("days") || at > 0 && matches!(rest.low(at - 1), "every" | "each");
    let days: Vec<_> = rest
        .from(at)
        .words
        .iter()
        .take_while(|word| is_weekday(word.low) || word.low == "and")
        .collect();
    let mut value = days
        .iter()
        .map(|word| word.low.trim_end_matches('s'))
        .collect::<Vec<_>>()
        .join(" ");
    if let Some(time) = clock(rest) {
        value = format!("{value} {}", phrase_key(time));
    }

    let person = reading.who == Who::Named && !happens(reading);
    let known = Known::new(
        thing_key(reading, subject, env),
        "schedule",
        value,
        MemoryKind::Fact,
        true,
    )?;

    (often && !person).then(|| known.negated(reading.verb.negated))
}

/// Returns the topic of `The flight leaves at 9:40` and `my lesson is at six`.
fn timed(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let rest = reading.rest();
    let time = clock(rest)
        .filter(|_| of_thing(reading) && (!reading.verb.past || reading.verb.passive))?;
    let attribute = if reading.verb.base == "be" && happens(reading)
        || BEGINNING[..4].contains(&reading.verb.base)
        || moves(reading)
    {
        "time".to_owned()
    } else if OTHER_TIMES.contains(&reading.verb.base) {
        super::lexicon::third(reading.verb.base)
    } else {
        return None;
    };

    let person = reading.who == Who::Named && !happens(reading);
    let known = Known::fact(
        thing_key(reading, subject, env),
        &attribute,
        phrase_key(time),
    )?;

    (!person).then(|| known.negated(reading.verb.negated))
}

/// Returns the topic of `My sister's wedding is in Bruges` and `my office is on the third floor`.
fn placed(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let rest = reading.rest();
    let held = reading.verb.base == "be"
        || reading.verb.passive && reading.is(&["hold", "move"])
        || reading.is(&["take"]);
    if !held || reading.verb.past && !reading.verb.passive {
        return None;
    }

    let kin = reading
        .subject()
        .words
        .iter()
        .any(|word| super::identity::relation(word.low).is_some());
    let own = (reading.who == Who::Owned || reading.who == Who::Definite && env.talk) && !kin;
    let what =
        named(reading, subject, env).or_else(|| own.then(|| thing_key(reading, subject, env)))?;
    let place = place(rest).filter(|_| happens(reading) || preposition(rest.low(0)))?;
    let known = match what.as_str() {
        "home" | "house" | "flat" | "apartment" if reading.who == Who::Owned => {
            Known::fact(env.key.to_lowercase(), "residence", place)?
        }
        _ => Known::fact(what, "location", place)?,
    };

    Some(known.negated(reading.verb.negated))
}

/// Formats the day, the time of day and the place, as far as they are given.
fn when(rest: Clause<'_>, found: Option<&Found>) -> String {
    let day = found.map(|found| found.days.label());
    let parts = [day, clock(rest).map(phrase_key), place(rest)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the time of day: `at 9:40`, `at six`, `to 7 pm`.
fn clock(rest: Clause<'_>) -> Option<Clause<'_>> {
    const HOURS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "noon", "midnight", "half",
    ];
    let at = (1..rest.len()).find(|&at| {
        let low = rest.low(at);
        let digits = low.trim_end_matches(['a', 'p', 'm', 'h']);
        let number = digits.parse::<u8>().is_ok_and(|hour| hour <= 24)
            || digits
                .split_once(':')
                .is_some_and(|(hour, _)| hour.len() <= 2 && digits.len() <= 5);
        let after = rest.low(at + 1);
        let half_day = matches!(
            after,
            "am" | "pm" | "a.m" | "p.m" | "o'clock" | "sharp" | "past"
        );
        let ends = half_day
            || !content(after)
            || is_weekday(after)
            || matches!(after, "today" | "tomorrow" | "tonight");
        let place = matches!(rest.low(at - 1), "at" | "from" | "until" | "to");
        (number || HOURS.contains(&low)) && place && ends && !matches!(after, "°" | "%" | "$" | "€")
    })?;
    let more = if matches!(rest.low(at + 1), "past") {
        2
    } else {
        usize::from(matches!(rest.low(at + 1), "am" | "pm" | "a.m" | "p.m"))
    };

    Some(rest.to(at + 1 + more).from(at))
}

/// Returns the place: `at Trattoria Luna`, `in the big hall`.
fn place(rest: Clause<'_>) -> Option<String> {
    let at = (0..rest.len()).find(|&at| {
        let next = rest.words.get(at + 1);
        let name =
            next.is_some_and(|next| next.capital() && !next.number() || determiner(next.low));
        let on = rest.low(at) == "on" && at == 0;
        (on || matches!(rest.low(at), "at" | "in" | "near"))
            && name
            && !super::topic::tail(rest, at)
    })?;
    let what = object(rest, at + 1);
    let end =
        (0..what.len()).find(|&at| matches!(what.low(at), "on" | "from" | "at" | "for" | "with"));
    let what = what.to(end.unwrap_or(what.len()));
    let weekday = what.words.first().is_none_or(|word| is_weekday(word.low));

    (!weekday && what.len() > 0).then(|| phrase_key(what))
}
