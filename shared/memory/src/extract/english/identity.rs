//! Identity of a person: name, age, residence, work, family.

use super::condition::is_people_or_faith;
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{VerbForm, parse_verb};
use super::lists::WordList;
use super::topic::{
    KnownTopic, find_object, is_meaningful, is_number_word, parse_value, phrase_key,
};
use super::words::Clause;

/// Returns the attribute for a relative or a pet.
pub(crate) fn relation_attribute(low: &str) -> Option<&'static str> {
    const SELF: &str = "aunt baby boss brother cat colleague cousin daughter dog doctor father friend grandfather \
         grandmother hamster horse manager mother neighbor nephew niece parrot partner rabbit roommate sister son \
         spouse teacher therapist turtle uncle";
    Some(match low {
        "boyfriend" | "girlfriend" | "fiance" | "fiancé" | "fiancée" => "partner",
        "husband" | "wife" => "spouse",
        "dad" => "father",
        "mom" | "mum" => "mother",
        "grandma" => "grandmother",
        "grandpa" => "grandfather",
        "coworker" => "colleague",
        "kitten" => "cat",
        "puppy" => "dog",
        _ => return SELF.split(' ').find(|word| *word == low),
    })
}

/// Returns the topic of a clause about a person.
pub(crate) fn identity_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let past = reading.verb.past && !reading.verb.used || reading.verb.future || reading.verb.modal;
    relative_topic(reading, subject)
        .or_else(|| {
            if past {
                None
            } else {
                present_topic(reading, subject)
            }
        })
        .or_else(|| change_topic(reading, subject))
        .or_else(|| possession_topic(reading, subject))
        .map(|known| {
            let negated = known.topic.negated
                || reading.verb.negated
                || reading.verb.used
                || says_no_longer(reading);
            known.with_negation(negated)
        })
}

/// Checks whether the clause says that something has ended.
pub(crate) fn says_no_longer(reading: ParsedClause<'_>) -> bool {
    reading
        .clause
        .find_any(&["no longer", "not anymore"])
        .is_some()
        || reading.verb.negated
            && reading
                .clause
                .find_any(&["anymore", "any more", "any longer"])
                .is_some()
}

/// Returns the topic of `My sister is Anna`, `my dog's name is Rex` and `my name is Jon`.
fn relative_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let clause = reading.subject();
    if reading.verb.base != "be" || reading.who != SubjectKind::Owned && clause.lower_at(1) != "'s"
    {
        return None;
    }

    let name = parse_name(reading.rest(), 0)?;
    let last = clause.lower_at(clause.len() - 1);
    if last == "name" {
        return match clause.len() {
            2 => KnownTopic::fact(subject.strip_suffix("'s name")?.to_owned(), "name", name),
            len if clause.lower_at(len - 2) == "'s" => {
                match relation_attribute(clause.lower_at(len - 3)) {
                    Some(attribute) => KnownTopic::fact(owner_of_key(subject)?, attribute, name),
                    None if len == 3 => {
                        KnownTopic::fact(phrase_key(clause.until_index(1)), "name", name)
                    }
                    None => None,
                }
            }
            _ => None,
        };
    }

    KnownTopic::fact(owner_of_key(subject)?, relation_attribute(last)?, name)
}

/// Returns the owner in a key such as `user's dog`.
fn owner_of_key(subject: &str) -> Option<String> {
    subject.split_once("'s").map(|(owner, _)| owner.to_owned())
}

/// Returns the capitalized name at `at`.
pub(super) fn parse_name(clause: Clause<'_>, at: usize) -> Option<String> {
    let at = clause.match_any(at, &["named", "called"]).unwrap_or(at);
    let end = (at..clause.len())
        .find(|&place| !clause.words[place].is_capitalized())
        .unwrap_or(clause.len());
    (end > at && clause.lower_at(at) != "i")
        .then(|| phrase_key(clause.until_index(end.min(at + 4)).from(at)))
}

/// Returns the topic of a clause about the present.
fn present_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let owned = |attribute: &str, value: String| {
        KnownTopic::fact(subject.to_owned(), attribute, value).filter(|_| reading.someone())
    };

    match reading.verb.base {
        "be" => being_topic(reading, subject),
        "live" | "reside" => {
            let at = rest.match_any(0, &["in", "at", "near"]).or_else(|| {
                rest.find_phrase("in")
                    .map(|(_, end)| end)
                    .filter(|end| *end < 6)
            })?;
            let place = parse_value(rest, at);
            owned("residence", place).filter(|_| {
                rest.words.get(at).is_some_and(|word| {
                    word.is_capitalized()
                        || word.low == "the"
                        || word.low == "a"
                        || writes_lower_case(reading)
                })
            })
        }
        "work" if rest.match_phrase(0, "as").is_some() => {
            let at = rest.index_of_any(0, &["at", "for"]);
            if at < rest.len() && !reading.verb.negated {
                owned("job", parse_value(rest.until_index(at), 1))
            } else {
                owned("job", parse_value(rest, 1))
            }
        }
        "work" => {
            let at = rest.match_any(0, &["at", "for"])?;
            owned("employer", parse_value(rest, at)).filter(|_| {
                rest.words.get(at).is_some_and(|word| {
                    word.is_capitalized()
                        || word.low == "the"
                        || word.low == "a"
                        || writes_lower_case(reading)
                })
            })
        }
        "study" => owned("education", parse_value(rest, 0)),
        "marry" | "divorce" | "engage" | "separate" if reading.verb.passive => owned(
            "relationship status",
            reading.clause.lower_at(reading.verb.main).to_owned(),
        ),
        "" if matches!(
            reading.clause.lower_at(reading.verb.main),
            "based" | "located"
        ) =>
        {
            owned(
                "residence",
                parse_value(rest, rest.match_any(0, &["in", "at", "near"])?),
            )
        }
        "call" if reading.verb.passive && reading.who == SubjectKind::Speaker => {
            owned("name", parse_name(rest, 0)?)
        }
        _ => None,
    }
}

/// Returns the topic of `I am …`.
fn being_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    if let Some(years) = rest
        .words
        .first()
        .filter(|word| word.is_number() || is_number_word(word.low))
    {
        let age = rest.match_phrase(1, "years old").is_some()
            || rest.len() == 1 && reading.who == SubjectKind::Speaker;
        return age.then(|| fact("age", years.low.to_owned()))?;
    }

    if !reading.someone() {
        return None;
    }

    if let Some(at) = rest.match_any(0, &["from", "originally from"]) {
        return fact("origin", parse_value(rest, at)).filter(|_| {
            rest.words
                .get(at)
                .is_some_and(|word| word.is_capitalized() || word.low == "the")
        });
    }

    if let Some(at) = rest.match_phrase(0, "allergic to") {
        let what = parse_value(rest, at);
        return fact(&format!("allergy to {what}"), what);
    }

    let article = usize::from(matches!(rest.lower_at(0), "a" | "an"));
    let what = rest.lower_at(article);
    if matches!(what, "vegetarian" | "vegan" | "pescatarian" | "omnivore") {
        return fact("diet", what.to_owned());
    }

    if article == 0
        && matches!(
            what,
            "married" | "single" | "divorced" | "engaged" | "widowed" | "separated"
        )
    {
        return fact("relationship status", what.to_owned());
    }

    if article == 0 && reading.who == SubjectKind::Speaker && rest.len() <= 3 {
        let first = rest
            .words
            .first()
            .is_some_and(|word| word.is_capitalized() && !is_people_or_faith(word.low));
        return first.then(|| fact("name", parse_name(rest, 0)?))?;
    }

    (article == 1).then(|| fact("job", parse_job(rest)?))?
}

/// Words that sound like an occupation but are not one.
static NO_JOBS: WordList = WordList::new(
    "lover believer beginner winner loser member mother father grandmother grandfather daughter brother \
     sister supporter number matter order reader user owner letter reminder helper survivor foodie \
     newcomer thinker learner neighbor speaker keeper hater killer stranger disaster challenger \
     game-changer factor leader bummer blocker center wonder outsider dreamer",
);
/// Occupations that do not sound like one.
static JOBS: WordList = WordList::new(
    "nurse midwife lead head coach vet ceo cto paramedic secretary waitress actress chef student \
     accountant assistant architect pilot lawyer clerk agent consultant entrepreneur mechanic surgeon \
     analyst intern freelancer guide cook judge",
);

/// Returns the occupation at the beginning, if the last word before a preposition sounds like one.
fn parse_job(rest: Clause<'_>) -> Option<String> {
    let end = rest.index_of_any(
        1,
        &[
            "at", "for", "in", "with", "from", "of", "by", "on", "to", "based",
        ],
    );
    let what = find_object(rest.until_index(end), 1);
    let last = what.lower_at(what.len().checked_sub(1)?);
    let sounds = ["eer", "er", "or", "ist", "ian"]
        .iter()
        .any(|ending| last.ends_with(ending))
        && last.len() > 4;
    let is = (sounds || JOBS.has(last)) && !NO_JOBS.has(last) && what.len() <= 4;
    is.then(|| phrase_key(what))
}

/// Checks whether the speaker writes without capitals: `i live in lyon`.
fn writes_lower_case(reading: ParsedClause<'_>) -> bool {
    reading
        .clause
        .words
        .first()
        .is_some_and(|word| word.raw == "i")
}

/// Returns the topic of a change: moved, joined, promoted, turned.
fn change_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let happened = reading.verb.past || reading.verb.perfect || reading.verb.passive;
    if !happened || reading.verb.negated || !reading.someone() {
        return None;
    }

    let fact = |attribute: &str, value: String| {
        KnownTopic::fact(subject.to_owned(), attribute, value)
            .filter(|known| is_meaningful(&known.topic.value))
    };
    let capital = |at: usize| {
        rest.words.get(at).is_some_and(|word| word.is_capitalized()) || writes_lower_case(reading)
    };

    match reading.verb.base {
        "move" | "relocate" => {
            let (_, at) = rest.find_phrase("to")?;
            capital(at + usize::from(rest.lower_at(at) == "the"))
                .then(|| fact("residence", parse_value(rest, at)))?
        }
        "join" => capital(usize::from(rest.lower_at(0) == "the"))
            .then(|| fact("employer", parse_value(rest, 0)))?,
        "get" | "start" | "land" | "take" | "accept"
            if rest.find_phrase("job").is_some() || rest.match_phrase(0, "working").is_some() =>
        {
            let (_, at) = rest
                .find_any(&["at", "with", "for"])
                .filter(|(_, at)| capital(*at))?;
            fact("employer", parse_value(rest, at))
        }
        "hire" if reading.verb.passive => {
            fact("employer", parse_value(rest, rest.match_phrase(0, "by")?))
        }
        "leave" | "quit" | "lose" => {
            let at = rest.match_any(0, &["my job at", "the job at", "her job at", "his job at"]);
            fact("employer", parse_value(rest, at?)).map(|known| known.with_negation(true))
        }
        "promote" => fact("job", parse_value(rest, rest.match_phrase(0, "to")?)),
        "become" | "go" | "turn"
            if matches!(rest.lower_at(0), "vegetarian" | "vegan" | "pescatarian") =>
        {
            fact("diet", rest.lower_at(0).to_owned())
        }
        "become" => fact("job", parse_job(rest)?),
        "turn" => rest
            .words
            .first()
            .filter(|word| word.is_number())
            .and_then(|word| fact("age", word.low.to_owned())),
        "" | "bear" if reading.clause.lower_at(reading.verb.main) == "born" => {
            birth_topic(rest, subject)
        }
        "marry" => fact("spouse", parse_name(rest, 0)?),
        "get" if matches!(rest.lower_at(0), "married" | "engaged" | "divorced") => {
            fact("relationship status", rest.lower_at(0).to_owned())
        }
        _ => None,
    }
}

fn birth_topic(rest: Clause<'_>, subject: &str) -> Option<KnownTopic> {
    let fact =
        |attribute: &str| KnownTopic::fact(subject.to_owned(), attribute, parse_value(rest, 1));
    let first = rest.words.get(1)?;
    match rest.lower_at(0) {
        "on" => fact("birthday"),
        "in" if first.is_number() => fact("birth year"),
        "in" if first.is_capitalized() => fact("birthplace"),
        _ => None,
    }
}

/// Returns the topic of `I have a dog named Rex` and `I have two kids`.
fn possession_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    if reading.verb.base != "have"
        || reading.verb.past
        || reading.verb.future
        || reading.verb.modal
        || !reading.someone()
    {
        return None;
    }

    let rest = reading.rest();
    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    let named = rest.find_any(&["named", "called", "whose name is"]);
    if let Some((at, end)) = named
        && let Some(attribute) = relation_attribute(rest.lower_at(at.checked_sub(1)?))
    {
        return fact(attribute, parse_name(rest, end)?);
    }

    let count = rest.words.first()?;
    let counted = count.is_number()
        || matches!(
            count.low,
            "two" | "three" | "four" | "five" | "six" | "seven" | "eight"
        );
    let what = find_object(rest, 1);
    if let Some(alone) = counted_plural(count.low, what) {
        return fact(&format!("number of {alone}"), count.low.to_owned());
    }

    let plural = what
        .words
        .last()
        .is_some_and(|word| word.low.ends_with('s') || matches!(word.low, "children" | "people"));
    let short = counted
        && plural
        && what.len() <= 2
        && parse_verb(what.lower_at(0)).is_none_or(|(_, form)| form != VerbForm::Past);

    short.then(|| {
        fact(
            &format!("number of {}", phrase_key(what)),
            count.low.to_owned(),
        )
    })?
}

/// Returns the plural of the noun in `one cat` and `no kids`. Only relatives and pets are counted.
fn counted_plural(count: &str, what: Clause<'_>) -> Option<String> {
    let noun = what.lower_at(0);
    let one = noun.strip_suffix('s').unwrap_or(noun);
    let counted = relation_attribute(one).is_some()
        || matches!(one, "child" | "children" | "kid" | "pet" | "sibling");
    let plural = if noun.ends_with('s') || noun == "children" {
        noun.to_owned()
    } else {
        format!("{noun}s")
    };

    let plural = if noun == "child" {
        "children".to_owned()
    } else {
        plural
    };

    (what.len() == 1 && counted && matches!(count, "one" | "no")).then_some(plural)
}
