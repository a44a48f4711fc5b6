//! Dates, times and places of meetings, trips, deadlines and other occasions.

use domain::MemoryKind;

use super::ClauseContext;
use super::classes::{EVENT, is_in_class};
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, is_determiner, is_preposition};
use super::piece::is_intended;
use super::topic::{KnownTopic, find_object, phrase_key};
use super::vocabulary::vocabulary;
use super::words::Clause;
use crate::dates::{
    DateDirection, FoundDate, find_dates, is_full_date_name, is_weekday, parse_number_word,
};

/// Checks whether a word names something that takes place.
pub(super) fn is_event(lower: &str) -> bool {
    is_in_class(lower, EVENT)
}

/// Returns the topic of a clause about an occasion.
pub(super) fn occasion_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    appointment_topic(parsed, subject, context)
        .or_else(|| cancellation_topic(parsed, subject, context))
        .or_else(|| date_topic(parsed, subject, context))
        .or_else(|| schedule_topic(parsed, subject, context))
        .or_else(|| time_topic(parsed, subject, context))
        .or_else(|| place_topic(parsed, subject, context))
}

/// Checks whether the clause sets the day of something. `My ex moved out in May` sets none.
fn sets_day(parsed: ParsedClause<'_>) -> bool {
    vocabulary().scheduling_verbs.has(parsed.verb.base) && !is_relocation(parsed)
        || vocabulary().scheduled_states.has(parsed.rest().lower_at(0))
}

/// Checks whether somebody moves to another place: `my ex moved out`, `I moved to Lisbon in May`, but
/// not `we moved to the 18th`.
fn is_relocation(parsed: ParsedClause<'_>) -> bool {
    let rest = parsed.rest();
    let is_direction = matches!(
        rest.lower_at(0),
        "away" | "back" | "here" | "home" | "house" | "in" | "out" | "there"
    );
    let has_target = matches!(rest.lower_at(0), "to" | "from" | "into") && parsed.person();
    let target = rest.lower_at(1 + usize::from(rest.lower_at(1) == "the"));
    let is_time = target.starts_with(|c: char| c.is_ascii_digit())
        || is_full_date_name(target)
        || matches!(
            target,
            "next" | "this" | "today" | "tomorrow" | "tonight" | "noon"
        );

    parsed.verb.base == "move" && (is_direction || has_target && !is_time)
}

/// Checks whether the clause arranges something that is still to come: `I got an appointment on the
/// 2nd`, but not `I got the results of the exam on the 2nd`.
pub(super) fn arranges_occasion(parsed: ParsedClause<'_>) -> bool {
    let is_arranged = || {
        let noun = head_noun(parsed.rest());
        vocabulary().arranging_verbs.has(parsed.verb.base)
            && noun.is_some_and(|noun| vocabulary().arranged_things.has(noun))
    };
    parsed.verb.past && parsed.person() && is_arranged() || enrols(parsed)
}

/// Checks whether the clause says that somebody has entered an event, whose date is named after it:
/// `signed up for a half marathon in October`, but not `signed up in October for a half marathon`.
pub(super) fn enrols(parsed: ParsedClause<'_>) -> bool {
    let rest = parsed.rest();
    let at = match parsed.clause.lower_at(parsed.verb.main) {
        "signed" => rest.match_phrase(0, "up for"),
        "registered" | "enrolled" => rest.match_phrase(0, "for"),
        _ => None,
    };
    let is_event_name = |noun: &str| {
        is_event(noun) || matches!(noun, "5k" | "10k" | "duathlon" | "parkrun" | "triathlon")
    };
    let has_entered = parsed.verb.past || parsed.verb.perfect;
    has_entered
        && parsed.person()
        && !parsed.verb.negated
        && at
            .and_then(|at| head_noun(rest.from(at)))
            .is_some_and(is_event_name)
}

/// Returns the last word with a meaning of the object at the beginning.
fn head_noun(rest: Clause<'_>) -> Option<&str> {
    let ends_object = |lower| is_preposition(lower) || matches!(lower, "w" | "w/");
    let object = rest
        .words
        .iter()
        .take_while(|word| !ends_object(word.lower));
    let noun = object.filter(|word| is_content_word(word.lower)).last();
    noun.map(|noun| noun.lower)
}

/// Checks whether the verb is in the present tense and says when something begins, ends or takes
/// place: `my contract ends in June`.
pub(super) fn has_time_verb(parsed: ParsedClause<'_>) -> bool {
    let verb = parsed.verb;
    let is_present = !verb.past && !verb.perfect && !verb.passive;
    is_present
        && (has_start_verb(parsed)
            || vocabulary().other_time_verbs.has(verb.base)
            || names_coming_state(parsed))
}

/// Checks whether a thing is to end or to change: `our lease is up in December`, `the rent goes up
/// in May`.
fn names_coming_state(parsed: ParsedClause<'_>) -> bool {
    let rest = parsed.rest();
    let is_coming = match parsed.verb.base {
        "be" => matches!(rest.lower_at(0), "up" | "over" | "out"),
        "go" => matches!(rest.lower_at(0), "up" | "down"),
        "run" => matches!(rest.lower_at(0), "out"),
        _ => false,
    };
    is_coming && is_about_thing(parsed) && matches!(rest.lower_at(1), "at" | "by" | "in" | "on")
}

/// Checks whether the verb says when something begins or takes place.
fn has_start_verb(parsed: ParsedClause<'_>) -> bool {
    vocabulary().departure_verbs.has(parsed.verb.base)
        || vocabulary().occurrence_verbs.has(parsed.verb.base)
}

/// Returns the direction in which the date of an occasion lies, or `None` if the clause is not
/// about a coming occasion.
pub(super) fn date_direction(parsed: ParsedClause<'_>) -> Option<DateDirection> {
    let is_past = parsed.verb.past && !parsed.verb.perfect;
    let is_coming = sets_day(parsed)
        || arranges_occasion(parsed)
        || has_time_verb(parsed)
        || !is_past && is_about_thing(parsed) && is_about_event(parsed)
        || parsed.verb.future;
    is_coming.then_some(DateDirection::Future)
}

/// Returns the topic of `I have a dentist appointment on Friday`.
fn appointment_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let has_appointment = parsed.is(&["have"])
        && parsed.person()
        && !parsed.verb.past
        && is_determiner(rest.lower_at(0));
    let event_index = rest
        .words
        .iter()
        .position(|word| is_event(word.lower))
        .filter(|_| has_appointment)?;
    let found = find_dates(rest, context.said_at, DateDirection::Future)
        .into_iter()
        .next()?;
    let companion_len = if rest.lower_at(event_index + 1) == "with" {
        find_object(rest.until_index(found.first), event_index + 2).len() + 1
    } else {
        0
    };

    let object = phrase_key(rest.until_index(event_index + 1 + companion_len));
    let object = object
        .strip_prefix(subject)
        .map_or(object.clone(), str::to_owned);
    let value = format_when(rest, Some(&found));

    KnownTopic::new(object, "date", value, MemoryKind::Event, false)
}

/// Returns the topic of `My driving test has been cancelled` and `I cancelled my trip to Rome`.
fn cancellation_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let is_off = |rest: Clause<'_>| {
        rest.match_any(0, &["off", "cancelled", "canceled"])
            .is_some()
    };
    let word = parsed.clause.lower_at(parsed.verb.main);
    let was_cancelled = parsed.is(&["get"]) && is_off(rest);
    let is_passive = was_cancelled
        || parsed.verb.passive
            && (matches!(word, "cancelled" | "canceled") || word == "called" && is_off(rest));
    let object = if is_passive || parsed.verb.base == "be" && is_off(rest) {
        event_name(parsed, subject, context)?
    } else if matches!(parsed.verb.base, "cancel") && parsed.person() && !parsed.verb.future {
        let object = find_object(rest, 0);
        object
            .words
            .iter()
            .any(|word| is_event(word.lower))
            .then(|| phrase_key(object))?
    } else {
        return None;
    };

    let is_negated = parsed.verb.negated;
    Some(
        KnownTopic::new(
            object,
            "date",
            "cancelled".to_owned(),
            MemoryKind::Event,
            false,
        )?
        .with_negation(is_negated),
    )
}

/// Returns the topic of `The meeting is on Friday`, `was moved to Monday` and
/// `the report is due March 3`.
fn date_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let last = parsed.subject().words.last()?.lower;
    let is_due = rest.lower_at(0) == "due";
    let has_event_subject = is_about_event(parsed);
    let is_over = parsed.verb.past && !parsed.verb.perfect;
    let is_scheduled =
        sets_day(parsed) || has_start_verb(parsed) && (has_event_subject || !is_over);
    let is_owned = parsed.subject_kind == SubjectKind::Owned
        || parsed.subject_kind == SubjectKind::Definite && context.is_conversation;
    let other_verb = vocabulary()
        .other_time_verbs
        .find(parsed.verb.base)
        .filter(|_| has_event_subject || is_owned);
    if !(is_due || is_scheduled || parsed.verb.base == "be" || other_verb.is_some())
        || !is_about_thing(parsed)
    {
        return None;
    }

    let is_past = parsed.verb.past && !parsed.verb.perfect;
    let direction = date_direction(parsed).unwrap_or(if is_past && !is_intended(parsed) {
        DateDirection::Past
    } else {
        DateDirection::Either
    });
    let found = find_dates(rest, context.said_at, direction)
        .into_iter()
        .find(|found| !found.is_lasting)?;
    // The date must be the answer, not a remark.
    let is_near = found.first <= 4 || is_preposition(rest.lower_at(0)) && found.first <= 7;
    let is_plain = is_owned
        && found.first <= 2
        && parsed.verb.base == "be"
        && is_preposition(rest.lower_at(0))
        && last != "birthday";
    if !is_near
        || !(is_due
            || is_plain
            || has_event_subject
            || other_verb.is_some()
            || is_scheduled && parsed.subject_kind != SubjectKind::Named
            || last == "deadline")
    {
        return None;
    }

    let subject = occasion_key(parsed, subject, context);
    let (subject, attribute) = match deadline_owner(&subject) {
        Some(owner) => (owner, "deadline".to_owned()),
        None if is_due => (subject, "deadline".to_owned()),
        None => (
            subject,
            other_verb.map_or("date".to_owned(), |verb| {
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
fn is_about_thing(parsed: ParsedClause<'_>) -> bool {
    !matches!(
        parsed.subject_kind,
        SubjectKind::Speaker | SubjectKind::Group | SubjectKind::Elided | SubjectKind::Listener
    )
}

pub(super) fn is_about_event(parsed: ParsedClause<'_>) -> bool {
    parsed
        .subject()
        .words
        .iter()
        .any(|word| is_event(word.lower))
}

/// Returns the thing that has the deadline: `journal's submission deadline`,
/// `deadline for the grant`.
fn deadline_owner(key: &str) -> Option<String> {
    if let Some(owner_phrase) = key
        .strip_prefix("deadline for ")
        .or_else(|| key.strip_prefix("deadline of "))
    {
        return Some(owner_phrase.to_owned());
    }

    // `journal's submission` becomes `journal`. `submission for journal` stays as it is.
    let owner_phrase = key.strip_suffix("deadline").filter(|of| !of.is_empty())?;
    Some(
        owner_phrase
            .split_once("'s")
            .map_or(owner_phrase, |(owner, _)| owner)
            .trim()
            .to_owned(),
    )
}

/// Returns the name of the occasion, which is the same for `my trip`, `the trip` and
/// `the trip on Friday`.
fn occasion_key(parsed: ParsedClause<'_>, subject: &str, context: &ClauseContext<'_>) -> String {
    let clause = parsed.subject();
    let end = find_dates(clause, context.said_at, DateDirection::Either)
        .first()
        .map(|found| found.first);
    let end = end.map(|end| end - usize::from(end > 0 && is_preposition(clause.lower_at(end - 1))));
    let speaker_prefix = format!("{}'s ", context.speaker_key.to_lowercase());
    let key = match end.filter(|end| *end > 1 && parsed.subject_kind != SubjectKind::Pronoun) {
        Some(end) => phrase_key(clause.until_index(end)),
        None => subject
            .strip_prefix(&speaker_prefix)
            .unwrap_or(subject)
            .to_owned(),
    };

    key.split(' ')
        .filter(|word| !is_determiner(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn event_name(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<String> {
    (is_about_thing(parsed) && is_about_event(parsed))
        .then(|| occasion_key(parsed, subject, context))
}

/// Returns the topic of `The book club is on Tuesdays` and `meets every Monday`.
fn schedule_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    if !has_start_verb(parsed) && parsed.verb.base != "be" || !is_about_thing(parsed) {
        return None;
    }

    let at = rest
        .until_index(4)
        .words
        .iter()
        .position(|word| is_weekday(word.lower))?;
    let is_regular = rest.lower_at(at).ends_with("days")
        || at > 0 && matches!(rest.lower_at(at - 1), "every" | "each");
    let day_words: Vec<_> = rest
        .from(at)
        .words
        .iter()
        .take_while(|word| is_weekday(word.lower) || word.lower == "and")
        .collect();
    let mut value = day_words
        .iter()
        .map(|word| word.lower.trim_end_matches('s'))
        .collect::<Vec<_>>()
        .join(" ");
    if let Some(time) = find_time_of_day(rest) {
        value = format!("{value} {}", phrase_key(time));
    }

    let is_person = parsed.subject_kind == SubjectKind::Named && !is_about_event(parsed);
    let known_topic = KnownTopic::new(
        occasion_key(parsed, subject, context),
        "schedule",
        value,
        MemoryKind::Fact,
        true,
    )?;

    (is_regular && !is_person).then(|| known_topic.with_negation(parsed.verb.negated))
}

/// Returns the topic of `The flight leaves at 9:40` and `my lesson is at six`.
fn time_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let time = find_time_of_day(rest)
        .filter(|_| is_about_thing(parsed) && (!parsed.verb.past || parsed.verb.passive))?;
    let attribute = if parsed.verb.base == "be" && is_about_event(parsed)
        || vocabulary().departure_verbs.has(parsed.verb.base)
        || sets_day(parsed)
    {
        "time".to_owned()
    } else if vocabulary().other_time_verbs.has(parsed.verb.base) {
        super::lexicon::to_third_person(parsed.verb.base)
    } else {
        return None;
    };

    let is_person = parsed.subject_kind == SubjectKind::Named && !is_about_event(parsed);
    let known_topic = KnownTopic::fact(
        occasion_key(parsed, subject, context),
        &attribute,
        phrase_key(time),
    )?;

    (!is_person).then(|| known_topic.with_negation(parsed.verb.negated))
}

/// Returns the topic of `My sister's wedding is in Bruges` and `my office is on the third floor`.
fn place_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let has_location = parsed.verb.base == "be"
        || parsed.verb.passive && parsed.is(&["hold", "move"])
        || parsed.is(&["take"]);
    if !has_location || parsed.verb.past && !parsed.verb.passive {
        return None;
    }

    let is_relative = parsed
        .subject()
        .words
        .iter()
        .any(|word| super::identity::relation_attribute(word.lower).is_some());
    let is_owned = (parsed.subject_kind == SubjectKind::Owned
        || parsed.subject_kind == SubjectKind::Definite && context.is_conversation)
        && !is_relative;
    let object = event_name(parsed, subject, context)
        .or_else(|| is_owned.then(|| occasion_key(parsed, subject, context)))?;
    let location =
        find_place(rest).filter(|_| is_about_event(parsed) || is_preposition(rest.lower_at(0)))?;
    let known_topic = match object.as_str() {
        "home" | "house" | "flat" | "apartment" if parsed.subject_kind == SubjectKind::Owned => {
            KnownTopic::fact(context.speaker_key.to_lowercase(), "residence", location)?
        }
        _ => KnownTopic::fact(object, "location", location)?,
    };

    Some(known_topic.with_negation(parsed.verb.negated))
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
    let at = (1..rest.len()).find(|&at| {
        let lower = rest.lower_at(at);
        let digits = lower.trim_end_matches(['a', 'p', 'm', 'h']);
        let is_number = digits.parse::<u8>().is_ok_and(|hour| hour <= 24)
            || digits
                .split_once(':')
                .is_some_and(|(hour, _)| hour.len() <= 2 && digits.len() <= 5);
        let is_hour =
            parse_number_word(lower).is_some() || matches!(lower, "noon" | "midnight" | "half");
        let following = rest.lower_at(at + 1);
        let is_half_day = matches!(
            following,
            "am" | "pm" | "a.m" | "p.m" | "o'clock" | "sharp" | "past"
        );
        let is_end = is_half_day
            || !is_content_word(following)
            || is_weekday(following)
            || matches!(following, "today" | "tomorrow" | "tonight");
        let has_preposition = matches!(rest.lower_at(at - 1), "at" | "from" | "until" | "to");
        (is_number || is_hour)
            && has_preposition
            && is_end
            && !matches!(following, "°" | "%" | "$" | "€")
    })?;
    let extra_words = if matches!(rest.lower_at(at + 1), "past") {
        2
    } else {
        usize::from(matches!(rest.lower_at(at + 1), "am" | "pm" | "a.m" | "p.m"))
    };

    Some(rest.until_index(at + 1 + extra_words).from(at))
}

/// Returns the place: `at Trattoria Luna`, `in the big hall`.
fn find_place(rest: Clause<'_>) -> Option<String> {
    let at = (0..rest.len()).find(|&at| {
        let next = rest.words.get(at + 1);
        let has_name = next.is_some_and(|next| {
            next.is_capitalized() && !next.is_number() || is_determiner(next.lower)
        });
        let is_on = rest.lower_at(at) == "on" && at == 0;
        (is_on || matches!(rest.lower_at(at), "at" | "in" | "near"))
            && has_name
            && !super::topic::is_tail(rest, at)
    })?;
    let object = find_object(rest, at + 1);
    let end = (0..object.len())
        .find(|&at| matches!(object.lower_at(at), "on" | "from" | "at" | "for" | "with"));
    let object = object.until_index(end.unwrap_or(object.len()));
    let starts_with_weekday = object
        .words
        .first()
        .is_none_or(|word| is_weekday(word.lower));

    (!starts_with_weekday && object.len() > 0).then(|| phrase_key(object))
}
