//! Dates, times and places of meetings, trips, deadlines and other occasions.

use domain::MemoryKind;

use super::ClauseContext;
use super::classes::{EVENT, is_in_class};
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, is_determiner, is_preposition};
use super::topic::{KnownTopic, find_object, phrase_key};
use super::words::Clause;
use crate::extract::dates::{DateDirection, FoundDate, find_dates, is_weekday};

/// Verbs that set the day of an occasion.
const SCHEDULING_VERBS: &[&str] = &[
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
const START_VERBS: &[&str] = &[
    "begin", "start", "leave", "depart", "take", "happen", "meet",
];
/// Verbs for another time of the same thing.
const OTHER_TIME_VERBS: &[&str] = &[
    "end", "finish", "close", "open", "arrive", "land", "expire", "renew",
];

/// Checks whether a word names something that takes place.
pub(super) fn is_event(low: &str) -> bool {
    is_in_class(low, EVENT)
}

/// Returns the topic of a clause about an occasion.
pub(super) fn occasion_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    appointment_topic(reading, subject, env)
        .or_else(|| cancellation_topic(reading, subject, env))
        .or_else(|| date_topic(reading, subject, env))
        .or_else(|| schedule_topic(reading, subject, env))
        .or_else(|| time_topic(reading, subject, env))
        .or_else(|| place_topic(reading, subject, env))
}

/// Checks whether the clause sets the day of something.
fn sets_day(reading: ParsedClause<'_>) -> bool {
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
    reading.is(SCHEDULING_VERBS) || MOVED.contains(&reading.rest().lower_at(0))
}

/// Returns the direction in which the date of an occasion lies, or `None` if the clause is not
/// about a coming occasion.
pub(super) fn date_direction(reading: ParsedClause<'_>) -> Option<DateDirection> {
    let past = reading.verb.past && !reading.verb.perfect;
    let coming = sets_day(reading)
        || !past && is_about_thing(reading) && is_about_event(reading)
        || reading.verb.future;
    coming.then_some(DateDirection::Future)
}

/// Returns the topic of `I have a dentist appointment on Friday`.
fn appointment_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = reading.rest();
    let have = reading.is(&["have"])
        && reading.person()
        && !reading.verb.past
        && is_determiner(rest.lower_at(0));
    let event = rest
        .words
        .iter()
        .position(|word| is_event(word.low))
        .filter(|_| have)?;
    let found = find_dates(rest, env.said_at, DateDirection::Future)
        .into_iter()
        .next()?;
    let with = if rest.lower_at(event + 1) == "with" {
        find_object(rest.until_index(found.first), event + 2).len() + 1
    } else {
        0
    };

    let what = phrase_key(rest.until_index(event + 1 + with));
    let what = what
        .strip_prefix(subject)
        .map_or(what.clone(), str::to_owned);
    let value = format_when(rest, Some(&found));

    KnownTopic::new(what, "date", value, MemoryKind::Event, false)
}

/// Returns the topic of `My driving test has been cancelled` and `I cancelled my trip to Rome`.
fn cancellation_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = reading.rest();
    let off = |rest: Clause<'_>| {
        rest.match_any(0, &["off", "cancelled", "canceled"])
            .is_some()
    };
    let word = reading.clause.lower_at(reading.verb.main);
    let got = reading.is(&["get"]) && off(rest);
    let passive = got
        || reading.verb.passive
            && (matches!(word, "cancelled" | "canceled") || word == "called" && off(rest));
    let what = if passive || reading.verb.base == "be" && off(rest) {
        event_name(reading, subject, env)?
    } else if matches!(reading.verb.base, "cancel") && reading.person() && !reading.verb.future {
        let what = find_object(rest, 0);
        what.words
            .iter()
            .any(|word| is_event(word.low))
            .then(|| phrase_key(what))?
    } else {
        return None;
    };

    let denied = reading.verb.negated;
    Some(
        KnownTopic::new(
            what,
            "date",
            "cancelled".to_owned(),
            MemoryKind::Event,
            false,
        )?
        .with_negation(denied),
    )
}

/// Returns the topic of `The meeting is on Friday`, `was moved to Monday` and
/// `the report is due March 3`.
fn date_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = reading.rest();
    let last = reading.subject().words.last()?.low;
    let due = rest.lower_at(0) == "due";
    let happens = is_about_event(reading);
    let over = reading.verb.past && !reading.verb.perfect;
    let moved = sets_day(reading) || reading.is(START_VERBS) && (happens || !over);
    let own = reading.who == SubjectKind::Owned || reading.who == SubjectKind::Definite && env.talk;
    let other = OTHER_TIME_VERBS
        .iter()
        .find(|verb| **verb == reading.verb.base && (happens || own));
    if !(due || moved || reading.verb.base == "be" || other.is_some()) || !is_about_thing(reading) {
        return None;
    }

    let past = reading.verb.past && !reading.verb.perfect;
    let direction = date_direction(reading).unwrap_or(if past {
        DateDirection::Past
    } else {
        DateDirection::Either
    });
    let found = find_dates(rest, env.said_at, direction)
        .into_iter()
        .find(|found| !found.lasting)?;
    // The date must be the answer, not a remark.
    let near = found.first <= 4 || is_preposition(rest.lower_at(0)) && found.first <= 7;
    let plain = own
        && found.first <= 2
        && reading.verb.base == "be"
        && is_preposition(rest.lower_at(0))
        && last != "birthday";
    if !near
        || !(due
            || plain
            || happens
            || other.is_some()
            || moved && reading.who != SubjectKind::Named
            || last == "deadline")
    {
        return None;
    }

    let subject = occasion_key(reading, subject, env);
    let (subject, attribute) = match deadline_owner(&subject) {
        Some(of) => (of, "deadline".to_owned()),
        None if due => (subject, "deadline".to_owned()),
        None => (
            subject,
            other.map_or("date".to_owned(), |verb| {
                super::lexicon::to_third_person(verb)
            }),
        ),
    };

    KnownTopic::new(
        subject,
        &attribute,
        format_when(rest, Some(&found)),
        MemoryKind::Event,
        false,
    )
}

/// Checks whether the clause is about a thing, not about the speaker or the person spoken to.
fn is_about_thing(reading: ParsedClause<'_>) -> bool {
    !matches!(
        reading.who,
        SubjectKind::Speaker | SubjectKind::Group | SubjectKind::Elided | SubjectKind::Listener
    )
}

pub(super) fn is_about_event(reading: ParsedClause<'_>) -> bool {
    reading
        .subject()
        .words
        .iter()
        .any(|word| is_event(word.low))
}

/// Returns the thing that has the deadline: `journal's submission deadline`,
/// `deadline for the grant`.
fn deadline_owner(key: &str) -> Option<String> {
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
fn occasion_key(reading: ParsedClause<'_>, subject: &str, env: &ClauseContext<'_>) -> String {
    let clause = reading.subject();
    let end = find_dates(clause, env.said_at, DateDirection::Either)
        .first()
        .map(|found| found.first);
    let end = end.map(|end| end - usize::from(end > 0 && is_preposition(clause.lower_at(end - 1))));
    let own = format!("{}'s ", env.key.to_lowercase());
    let key = match end.filter(|end| *end > 1 && reading.who != SubjectKind::Pronoun) {
        Some(end) => phrase_key(clause.until_index(end)),
        None => subject.strip_prefix(&own).unwrap_or(subject).to_owned(),
    };

    key.split(' ')
        .filter(|word| !is_determiner(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn event_name(reading: ParsedClause<'_>, subject: &str, env: &ClauseContext<'_>) -> Option<String> {
    (is_about_thing(reading) && is_about_event(reading))
        .then(|| occasion_key(reading, subject, env))
}

/// Returns the topic of `The book club is on Tuesdays` and `meets every Monday`.
fn schedule_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = reading.rest();
    if !reading.is(START_VERBS) && reading.verb.base != "be" || !is_about_thing(reading) {
        return None;
    }

    let at = rest
        .until_index(4)
        .words
        .iter()
        .position(|word| is_weekday(word.low))?;
    let often = rest.lower_at(at).ends_with("days")
        || at > 0 && matches!(rest.lower_at(at - 1), "every" | "each");
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
    if let Some(time) = find_time_of_day(rest) {
        value = format!("{value} {}", phrase_key(time));
    }

    let person = reading.who == SubjectKind::Named && !is_about_event(reading);
    let known = KnownTopic::new(
        occasion_key(reading, subject, env),
        "schedule",
        value,
        MemoryKind::Fact,
        true,
    )?;

    (often && !person).then(|| known.with_negation(reading.verb.negated))
}

/// Returns the topic of `The flight leaves at 9:40` and `my lesson is at six`.
fn time_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = reading.rest();
    let time = find_time_of_day(rest)
        .filter(|_| is_about_thing(reading) && (!reading.verb.past || reading.verb.passive))?;
    let attribute = if reading.verb.base == "be" && is_about_event(reading)
        || START_VERBS[..4].contains(&reading.verb.base)
        || sets_day(reading)
    {
        "time".to_owned()
    } else if OTHER_TIME_VERBS.contains(&reading.verb.base) {
        super::lexicon::to_third_person(reading.verb.base)
    } else {
        return None;
    };

    let person = reading.who == SubjectKind::Named && !is_about_event(reading);
    let known = KnownTopic::fact(
        occasion_key(reading, subject, env),
        &attribute,
        phrase_key(time),
    )?;

    (!person).then(|| known.with_negation(reading.verb.negated))
}

/// Returns the topic of `My sister's wedding is in Bruges` and `my office is on the third floor`.
fn place_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
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
        .any(|word| super::identity::relation_attribute(word.low).is_some());
    let own = (reading.who == SubjectKind::Owned
        || reading.who == SubjectKind::Definite && env.talk)
        && !kin;
    let what = event_name(reading, subject, env)
        .or_else(|| own.then(|| occasion_key(reading, subject, env)))?;
    let place =
        find_place(rest).filter(|_| is_about_event(reading) || is_preposition(rest.lower_at(0)))?;
    let known = match what.as_str() {
        "home" | "house" | "flat" | "apartment" if reading.who == SubjectKind::Owned => {
            KnownTopic::fact(env.key.to_lowercase(), "residence", place)?
        }
        _ => KnownTopic::fact(what, "location", place)?,
    };

    Some(known.with_negation(reading.verb.negated))
}

/// Formats the day, the time of day and the place, as far as they are given.
fn format_when(rest: Clause<'_>, found: Option<&FoundDate>) -> String {
    let day = found.map(|found| found.days.format_label());
    let parts = [
        day,
        find_time_of_day(rest).map(phrase_key),
        find_place(rest),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the time of day: `at 9:40`, `at six`, `to 7 pm`.
fn find_time_of_day(rest: Clause<'_>) -> Option<Clause<'_>> {
    const HOURS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "noon", "midnight", "half",
    ];
    let at = (1..rest.len()).find(|&at| {
        let low = rest.lower_at(at);
        let digits = low.trim_end_matches(['a', 'p', 'm', 'h']);
        let number = digits.parse::<u8>().is_ok_and(|hour| hour <= 24)
            || digits
                .split_once(':')
                .is_some_and(|(hour, _)| hour.len() <= 2 && digits.len() <= 5);
        let after = rest.lower_at(at + 1);
        let half_day = matches!(
            after,
            "am" | "pm" | "a.m" | "p.m" | "o'clock" | "sharp" | "past"
        );
        let ends = half_day
            || !is_content_word(after)
            || is_weekday(after)
            || matches!(after, "today" | "tomorrow" | "tonight");
        let place = matches!(rest.lower_at(at - 1), "at" | "from" | "until" | "to");
        (number || HOURS.contains(&low)) && place && ends && !matches!(after, "°" | "%" | "$" | "€")
    })?;
    let more = if matches!(rest.lower_at(at + 1), "past") {
        2
    } else {
        usize::from(matches!(rest.lower_at(at + 1), "am" | "pm" | "a.m" | "p.m"))
    };

    Some(rest.until_index(at + 1 + more).from(at))
}

/// Returns the place: `at Trattoria Luna`, `in the big hall`.
fn find_place(rest: Clause<'_>) -> Option<String> {
    let at = (0..rest.len()).find(|&at| {
        let next = rest.words.get(at + 1);
        let name = next.is_some_and(|next| {
            next.is_capitalized() && !next.is_number() || is_determiner(next.low)
        });
        let on = rest.lower_at(at) == "on" && at == 0;
        (on || matches!(rest.lower_at(at), "at" | "in" | "near"))
            && name
            && !super::topic::is_tail(rest, at)
    })?;
    let what = find_object(rest, at + 1);
    let end = (0..what.len())
        .find(|&at| matches!(what.lower_at(at), "on" | "from" | "at" | "for" | "with"));
    let what = what.until_index(end.unwrap_or(what.len()));
    let weekday = what.words.first().is_none_or(|word| is_weekday(word.low));

    (!weekday && what.len() > 0).then(|| phrase_key(what))
}
