//! Properties of things, and the dates of events.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::identity::{is_occupation, relation_attribute, says_no_longer};
use super::lexicon::{is_determiner, is_preposition, is_pronoun};
use super::topic::{KnownTopic, find_object, is_meaningful, parse_value, phrase_key};
use super::vocabulary::vocabulary;
use super::words::Clause;
use super::{ClauseContext, occasion};

/// Returns the topic of a clause about a thing.
pub(crate) fn property_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let stripped_subject = strip_speaker(subject, context);
    occasion::occasion_topic(parsed, subject, context)
        .or_else(|| use_topic(parsed, subject))
        .or_else(|| name_topic(parsed, subject, context))
        .or_else(|| role_topic(parsed, subject, context))
        .or_else(|| attribute_topic(parsed, subject, context))
        .or_else(|| super::state::measure_topic(parsed, &stripped_subject))
        .or_else(|| super::state::status_topic(parsed, &stripped_subject))
}

/// Returns the topic of `uses X (for Y)` and `switched (Y) from A to B`.
fn use_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let kind = MemoryKind::Fact;
    if parsed.verb.modal
        || matches!(
            parsed.subject_kind,
            SubjectKind::Pronoun | SubjectKind::Listener
        )
    {
        return None;
    }

    let purpose = rest
        .find_any(&["for", "as"])
        .map(|(_, end)| parse_value(rest, end))
        .filter(|purpose| is_meaningful(purpose));
    if parsed.verb.base == "use"
        && (!parsed.verb.past || parsed.verb.used_to)
        && !parsed.verb.future
        && !parsed.verb.passive
    {
        let object = phrase_key(find_object(
            rest.until_index(rest.index_of_any(0, &["for", "as", "to", "in", "on"])),
            0,
        ));
        let attribute = purpose.map_or_else(
            || format!("uses {object}"),
            |purpose| format!("uses for {purpose}"),
        );
        let known_topic = KnownTopic::new(subject.to_owned(), &attribute, object, kind, true)
            .filter(|known_topic| is_meaningful(&known_topic.topic.value))?;
        return Some(
            known_topic
                .with_negation(parsed.verb.negated || super::identity::says_no_longer(parsed)),
        );
    }

    if let Some(known_topic) = choice_topic(parsed, subject, purpose.as_deref()) {
        return Some(known_topic);
    }

    let is_first_person = matches!(
        parsed.subject_kind,
        SubjectKind::Speaker | SubjectKind::Group | SubjectKind::Elided
    );
    if !parsed.is(&["switch", "migrate", "move", "change", "decide", "go"])
        || parsed.is(&["go", "change"]) && !is_first_person
    {
        return None;
    }

    let (from_index, after_from) = rest.find_phrase("from")?;
    let to_index = rest.index_of_any(after_from, &["to"]);
    let old = phrase_key(find_object(rest.until_index(to_index), after_from));
    let new = phrase_key(find_object(
        rest.until_index(rest.index_of_any(to_index + 1, &["for", "as", "in", "on"])),
        to_index + 1,
    ));
    let object = phrase_key(rest.until_index(from_index));
    let attribute = match purpose {
        Some(purpose) => format!("uses for {purpose}"),
        None if object.is_empty() || parsed.verb.base == "decide" => format!("uses {old}"),
        None => object,
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
    parsed: ParsedClause<'_>,
    subject: &str,
    purpose: Option<&str>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    if !(parsed.verb.past || parsed.verb.perfect || parsed.verb.future || parsed.verb.progressive) {
        return None;
    }

    let (at, is_ended) = match parsed.verb.base {
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

    let at = at.or_else(|| (parsed.verb.base == "choose").then_some(0))?;
    let end = rest.index_of_any(
        at,
        &["for", "as", "to", "in", "on", "instead", "over", "from"],
    );
    let object = phrase_key(find_object(rest.until_index(end), at));
    let attribute = match purpose {
        Some(purpose) => format!("uses for {purpose}"),
        None if is_ended => format!("uses {object}"),
        None => return None,
    };
    let kind = if is_ended {
        MemoryKind::Fact
    } else {
        MemoryKind::Decision
    };
    let known_topic = KnownTopic::new(subject.to_owned(), &attribute, object, kind, false)?;

    is_meaningful(&known_topic.topic.value)
        .then(|| known_topic.with_negation(is_ended || parsed.verb.negated))
}

/// Returns one key for `my car`, `our car` and `the car`. Relatives and pets keep their owner.
pub(super) fn strip_speaker(subject: &str, context: &ClauseContext<'_>) -> String {
    let speaker_prefix = format!("{}'s ", context.speaker_key.to_lowercase());
    match subject.strip_prefix(&speaker_prefix) {
        Some(stripped)
            if !stripped
                .split(' ')
                .any(|word| relation_attribute(word.trim_end_matches("'s")).is_some()) =>
        {
            stripped.to_owned()
        }
        _ => subject.to_owned(),
    }
}

/// Returns the topic of `Our band is called Seven Spoons` and `the default branch is named main`.
fn name_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let word = parsed.clause.lower_at(parsed.verb.main);
    let to_end = parsed
        .rest()
        .match_phrase(0, "to")
        .filter(|_| word == "renamed");
    let is_naming = matches!(word, "called" | "named") && !parsed.verb.past || to_end.is_some();
    let is_thing = matches!(
        parsed.subject_kind,
        SubjectKind::Owned | SubjectKind::Definite | SubjectKind::Named
    );
    if !(is_naming && is_thing && parsed.verb.passive) || parsed.verb.future {
        return None;
    }
    let name = parse_value(parsed.rest(), to_end.unwrap_or(0));
    let known_topic = KnownTopic::fact(strip_speaker(subject, context), "name", name)
        .filter(|known_topic| is_meaningful(&known_topic.topic.value))?;
    Some(known_topic.with_negation(parsed.verb.negated))
}

/// Returns the topic of `Greta is the head of marketing` and `Hugo is our landlord`: one person at
/// a time has the role.
fn role_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let is_owned = matches!(rest.lower_at(0), "my" | "our");
    if parsed.verb.base != "be" || parsed.verb.past || parsed.verb.modal {
        return None;
    }

    if parsed.subject_kind == SubjectKind::Speaker
        && rest
            .find_phrase("of")
            .is_some_and(|(at, _)| at > 0 && at < 4)
    {
        let end = rest.index_of_any(0, &["at", "for", "in"]);
        let object = find_object(rest.until_index(end), 0);
        let role_word = object
            .words
            .iter()
            .take_while(|word| word.lower != "of")
            .last()?;
        let job = KnownTopic::fact(subject.to_owned(), "job", phrase_key(object))?;
        let is_negated = parsed.verb.negated || says_no_longer(parsed);
        return vocabulary()
            .roles
            .has(role_word.lower)
            .then(|| job.with_negation(is_negated));
    }

    if parsed.subject_kind != SubjectKind::Named {
        return None;
    }

    if !is_owned && rest.lower_at(0) != "the" {
        return None;
    }
    if is_owned {
        let end = rest.index_of_any(0, &["now", "currently"]);
        let noun = canonical_noun(&phrase_key(find_object(rest.until_index(end), 0)));
        if noun.starts_with("favourite ") && !parsed.verb.negated {
            let owner = context.speaker_key.to_lowercase();
            let value = subject.to_owned();
            return KnownTopic::new(owner, &noun, value, MemoryKind::Preference, true);
        }
    }

    let object = find_object(rest, 0);
    let end = (0..object.len())
        .find(|&at| is_preposition(object.lower_at(at)))
        .unwrap_or(object.len());
    let role = phrase_key(object.until_index(end));
    let last = object.lower_at(end.checked_sub(1)?);
    let owner_clause = Some(object.from(end + 1)).filter(|owner_clause| {
        owner_clause.len() > 0 && matches!(object.lower_at(end), "of" | "at" | "for")
    });
    let owner = owner_clause.map(phrase_key).or_else(|| {
        (is_owned || context.is_conversation).then(|| context.speaker_key.to_lowercase())
    })?;
    let is_role = vocabulary().roles.has(last) || relation_attribute(last).is_some() && is_owned;
    let role = relation_attribute(&role).map_or(role.clone(), str::to_owned);
    let known_topic = KnownTopic::fact(owner, &role, subject.to_owned())?;

    is_role.then(|| known_topic.with_negation(parsed.verb.negated || says_no_longer(parsed)))
}

/// Returns the topic of `My favorite color is blue`, `Anna's email is …`, `the price of X is Y` and
/// `the wifi password is Z`.
fn attribute_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let clause = parsed.subject();
    let is_status = parsed.verb.passive && clause.contains_any(&["status", "state"]);
    let rest = if is_status {
        parsed.clause.from(parsed.verb.main)
    } else {
        parsed.rest()
    };

    let new_value_at = find_new_value(parsed);
    let rest = new_value_at.map_or(rest, |at| rest.from(at));
    let is_birthday = clause
        .words
        .last()
        .is_some_and(|word| word.lower == "birthday")
        && rest.lower_at(0) == "on";
    let rest = rest.from(usize::from(is_birthday));
    if parsed.verb.base != "be" && !is_status && new_value_at.is_none()
        || parsed.verb.past && new_value_at.is_none()
        || parsed.verb.modal
        || parsed.verb.progressive
        || rest.len() == 0
    {
        return None;
    }

    let is_plain = clause.len() > 1
        && parsed.subject_kind == SubjectKind::Definite
        && context.is_conversation
        && clause.lower_at(0) == "the";
    // "New accountant is Owen Clarke", "rent went up to 980".
    let is_new_role = clause.lower_at(0) == "new"
        && clause.len() == 2
        && vocabulary().roles.has(clause.lower_at(1))
        && is_number_or_name(rest);
    let is_cost = clause.len() == 1
        && matches!(clause.lower_at(0), "rent" | "salary" | "wage" | "weight")
        && new_value_at.is_some();
    let is_new_of_speaker = parsed.subject_kind == SubjectKind::Plain
        && context.is_conversation
        && (is_new_role || is_cost);
    let (owner, noun) = if let Some((at, end)) = clause
        .find_phrase("of")
        .filter(|_| parsed.subject_kind == SubjectKind::Definite)
    {
        (
            phrase_key(clause.from(end)),
            phrase_key(clause.until_index(at)),
        )
    } else if let Some(at) = subject.rfind("'s ") {
        (
            strip_speaker(&subject[..at], context),
            strip_determiners(&subject[at + 3..]),
        )
    } else if is_plain
        && (is_number_or_name(rest) || is_label(&phrase_key(clause)) || is_code(rest))
        || is_new_of_speaker
    {
        (
            context.speaker_key.to_lowercase(),
            strip_determiners(&phrase_key(clause)),
        )
    } else {
        return None;
    };

    let answer = parse_value(rest, 0);
    let is_unsuitable = noun.split(' ').count() > 4
        || !is_meaningful(&answer)
        || super::fact::is_judgement(rest)
        || is_pronoun(rest.lower_at(0));
    let is_adjective = parsed.subject_kind != SubjectKind::Owned && !is_number_or_name(rest);
    if is_unsuitable || is_adjective && !is_label(&noun) && !is_code(rest) {
        return None;
    }

    // "My job is stressful" and "my job is in finance" give no occupation.
    let is_bare_job = matches!(
        noun.as_str(),
        "job" | "new job" | "work" | "position" | "role"
    );
    if is_bare_job && !answer.rsplit(' ').next().is_some_and(is_occupation) {
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

    let has_of = parsed.subject_kind == SubjectKind::Definite && clause.find_phrase("of").is_some();
    if occasion::is_event(&noun) || relation_attribute(&noun).is_some() && !has_of {
        return None;
    }

    Some(KnownTopic::new(owner, &noun, answer, kind, true)?.with_negation(parsed.verb.negated))
}

/// Returns the index at which the answer begins in `changed to X`, `was raised from A to B` and
/// `went up to X`.
fn find_new_value(parsed: ParsedClause<'_>) -> Option<usize> {
    let is_thing = matches!(
        parsed.subject_kind,
        SubjectKind::Owned | SubjectKind::Definite | SubjectKind::Named | SubjectKind::Plain
    );
    let rest = parsed.rest();
    let (at, end) = rest.find_phrase("to")?;
    let has_origin = at == 0 || matches!(rest.lower_at(0), "from" | "up" | "down") && at < 6;
    let has_value = rest.words.get(end).is_some_and(|word| {
        word.is_number() || word.is_capitalized() || super::topic::is_currency_mark(word.lower)
    });
    (is_thing
        && has_origin
        && has_value
        && vocabulary().change_verbs.has(parsed.verb.base)
        && !parsed.verb.progressive)
        .then_some(end)
}

/// Removes the determiners from a phrase and moves its purpose to the front: `bike budget` for
/// `budget for the bike`.
fn strip_determiners(phrase: &str) -> String {
    let bare = phrase
        .split(' ')
        .filter(|word| !is_determiner(word))
        .collect::<Vec<_>>()
        .join(" ");
    match bare.split_once(" for ") {
        Some((noun, qualifier)) if !noun.contains(' ') || !qualifier.contains(' ') => {
            format!("{qualifier} {noun}")
        }
        _ => bare,
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
        word.is_number() || word.is_capitalized() || matches!(word.lower, "$" | "€" | "£")
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
    if let Some(favourite) = noun
        .strip_prefix("favorite ")
        .or_else(|| noun.strip_prefix("favourite "))
    {
        return format!("favourite {}", favourite.replace("colour", "color"));
    }

    let canonical = match noun {
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

    canonical.to_owned()
}
