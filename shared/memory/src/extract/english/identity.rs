//! Identity of a person: name, age, residence, work, family.

use super::condition::of_people;
use super::grammar::{Reading, Who};
use super::lexicon::{Form, verb};
use super::lists::List;
use super::topic::{Known, counts, object, phrase_key, says, value};
use super::words::Clause;

/// Returns the attribute for a relative or a pet.
pub(crate) fn relation(low: &str) -> Option<&'static str> {
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
pub(crate) fn known(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let past = reading.verb.past && !reading.verb.used || reading.verb.future || reading.verb.modal;
    relative(reading, subject)
        .or_else(|| {
            if past {
                None
            } else {
                present(reading, subject)
            }
        })
        .or_else(|| changed(reading, subject))
        .or_else(|| having(reading, subject))
        .map(|known| {
            let negated = known.topic.negated
                || reading.verb.negated
                || reading.verb.used
                || no_longer(reading);
            known.negated(negated)
        })
}

/// Checks whether the clause says that something has ended.
pub(crate) fn no_longer(reading: Reading<'_>) -> bool {
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
fn relative(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let clause = reading.subject();
    if reading.verb.base != "be" || reading.who != Who::Owned && clause.low(1) != "'s" {
        return None;
    }

    let name = name_at(reading.rest(), 0)?;
    let last = clause.low(clause.len() - 1);
    if last == "name" {
        return match clause.len() {
            2 => Known::fact(subject.strip_suffix("'s name")?.to_owned(), "name", name),
            len if clause.low(len - 2) == "'s" => match relation(clause.low(len - 3)) {
                Some(attribute) => Known::fact(owner(subject)?, attribute, name),
                None if len == 3 => Known::fact(phrase_key(clause.to(1)), "name", name),
                None => None,
            },
            _ => None,
        };
    }

    Known::fact(owner(subject)?, relation(last)?, name)
}

/// Returns the owner in a key such as `user's dog`.
fn owner(subject: &str) -> Option<String> {
    subject.split_once("'s").map(|(owner, _)| owner.to_owned())
}

/// Returns the capitalized name at `at`.
pub(super) fn name_at(clause: Clause<'_>, at: usize) -> Option<String> {
    let at = clause.any(at, &["named", "called"]).unwrap_or(at);
    let end = (at..clause.len())
        .find(|&place| !clause.words[place].capital())
        .unwrap_or(clause.len());
    (end > at && clause.low(at) != "i").then(|| phrase_key(clause.to(end.min(at + 4)).from(at)))
}

/// Returns the topic of a clause about the present.
fn present(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let owned = |attribute: &str, value: String| {
        Known::fact(subject.to_owned(), attribute, value).filter(|_| reading.someone())
    };

    match reading.verb.base {
        "be" => being(reading, subject),
        "live" | "reside" => {
            let at = rest
                .any(0, &["in", "at", "near"])
                .or_else(|| rest.find("in").map(|(_, end)| end).filter(|end| *end < 6))?;
            let place = value(rest, at);
            owned("residence", place).filter(|_| {
                rest.words.get(at).is_some_and(|word| {
                    word.capital() || word.low == "the" || word.low == "a" || written_small(reading)
                })
            })
        }
        "work" if rest.phrase(0, "as").is_some() => {
            let at = rest.until(0, &["at", "for"]);
            if at < rest.len() && !reading.verb.negated {
                owned("job", value(rest.to(at), 1))
            } else {
                owned("job", value(rest, 1))
            }
        }
        "work" => {
            let at = rest.any(0, &["at", "for"])?;
            owned("employer", value(rest, at)).filter(|_| {
                rest.words.get(at).is_some_and(|word| {
                    word.capital() || word.low == "the" || word.low == "a" || written_small(reading)
                })
            })
        }
        "study" => owned("education", value(rest, 0)),
        "marry" | "divorce" | "engage" | "separate" if reading.verb.passive => owned(
            "relationship status",
            reading.clause.low(reading.verb.main).to_owned(),
        ),
        "" if matches!(reading.clause.low(reading.verb.main), "based" | "located") => owned(
            "residence",
            value(rest, rest.any(0, &["in", "at", "near"])?),
        ),
        "call" if reading.verb.passive && reading.who == Who::Speaker => {
            owned("name", name_at(rest, 0)?)
        }
        _ => None,
    }
}

/// Returns the topic of `I am …`.
fn being(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let fact = |attribute: &str, value: String| Known::fact(subject.to_owned(), attribute, value);
    if let Some(years) = rest
        .words
        .first()
        .filter(|word| word.number() || counts(word.low))
    {
        let age =
            rest.phrase(1, "years old").is_some() || rest.len() == 1 && reading.who == Who::Speaker;
        return age.then(|| fact("age", years.low.to_owned()))?;
    }

    if !reading.someone() {
        return None;
    }

    if let Some(at) = rest.any(0, &["from", "originally from"]) {
        return fact("origin", value(rest, at)).filter(|_| {
            rest.words
                .get(at)
                .is_some_and(|word| word.capital() || word.low == "the")
        });
    }

    if let Some(at) = rest.phrase(0, "allergic to") {
        let what = value(rest, at);
        return fact(&format!("allergy to {what}"), what);
    }

    let article = usize::from(matches!(rest.low(0), "a" | "an"));
    let what = rest.low(article);
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

    if article == 0 && reading.who == Who::Speaker && rest.len() <= 3 {
        let first = rest
            .words
            .first()
            .is_some_and(|word| word.capital() && !of_people(word.low));
        return first.then(|| fact("name", name_at(rest, 0)?))?;
    }

    (article == 1).then(|| fact("job", job(rest)?))?
}

/// Words that sound like an occupation but are not one.
static NO_JOBS: List = List::new(
    "lover believer beginner winner loser member mother father grandmother grandfather daughter brother \
     sister supporter number matter order reader user owner letter reminder helper survivor foodie \
     newcomer thinker learner neighbor speaker keeper hater killer stranger disaster challenger \
     game-changer factor leader bummer blocker center wonder outsider dreamer",
);
/// Occupations that do not sound like one.
static JOBS: List = List::new(
    "nurse midwife lead head coach vet ceo cto paramedic secretary waitress actress chef student \
     accountant assistant architect pilot lawyer clerk agent consultant entrepreneur mechanic surgeon \
     analyst intern freelancer guide cook judge",
);

/// Returns the occupation at the beginning, if the last word before a preposition sounds like one.
fn job(rest: Clause<'_>) -> Option<String> {
    let end = rest.until(
        1,
        &[
            "at", "for", "in", "with", "from", "of", "by", "on", "to", "based",
        ],
    );
    let what = object(rest.to(end), 1);
    let last = what.low(what.len().checked_sub(1)?);
    let sounds = ["eer", "er", "or", "ist", "ian"]
        .iter()
        .any(|ending| last.ends_with(ending))
        && last.len() > 4;
    let is = (sounds || JOBS.has(last)) && !NO_JOBS.has(last) && what.len() <= 4;
    is.then(|| phrase_key(what))
}

/// Checks whether the speaker writes without capitals: `i live in lyon`.
fn written_small(reading: Reading<'_>) -> bool {
    reading
        .clause
        .words
        .first()
        .is_some_and(|word| word.raw == "i")
}

/// Returns the topic of a change: moved, joined, promoted, turned.
fn changed(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let happened = reading.verb.past || reading.verb.perfect || reading.verb.passive;
    if !happened || reading.verb.negated || !reading.someone() {
        return None;
    }

    let fact = |attribute: &str, value: String| {
        Known::fact(subject.to_owned(), attribute, value).filter(|known| says(&known.topic.value))
    };
    let capital =
        |at: usize| rest.words.get(at).is_some_and(|word| word.capital()) || written_small(reading);

    match reading.verb.base {
        "move" | "relocate" => {
            let (_, at) = rest.find("to")?;
            capital(at + usize::from(rest.low(at) == "the"))
                .then(|| fact("residence", value(rest, at)))?
        }
        "join" => {
            capital(usize::from(rest.low(0) == "the")).then(|| fact("employer", value(rest, 0)))?
        }
        "get" | "start" | "land" | "take" | "accept"
            if rest.find("job").is_some() || rest.phrase(0, "working").is_some() =>
        {
            let (_, at) = rest
                .find_any(&["at", "with", "for"])
                .filter(|(_, at)| capital(*at))?;
            fact("employer", value(rest, at))
        }
        "hire" if reading.verb.passive => fact("employer", value(rest, rest.phrase(0, "by")?)),
        "leave" | "quit" | "lose" => {
            let at = rest.any(0, &["my job at", "the job at", "her job at", "his job at"]);
            fact("employer", value(rest, at?)).map(|known| known.negated(true))
        }
        "promote" => fact("job", value(rest, rest.phrase(0, "to")?)),
        "become" | "go" | "turn"
            if matches!(rest.low(0), "vegetarian" | "vegan" | "pescatarian") =>
        {
            fact("diet", rest.low(0).to_owned())
        }
        "become" => fact("job", job(rest)?),
        "turn" => rest
            .words
            .first()
            .filter(|word| word.number())
            .and_then(|word| fact("age", word.low.to_owned())),
        "" | "bear" if reading.clause.low(reading.verb.main) == "born" => born(rest, subject),
        "marry" => fact("spouse", name_at(rest, 0)?),
        "get" if matches!(rest.low(0), "married" | "engaged" | "divorced") => {
            fact("relationship status", rest.low(0).to_owned())
        }
        _ => None,
    }
}

fn born(rest: Clause<'_>, subject: &str) -> Option<Known> {
    let fact = |attribute: &str| Known::fact(subject.to_owned(), attribute, value(rest, 1));
    let first = rest.words.get(1)?;
    match rest.low(0) {
        "on" => fact("birthday"),
        "in" if first.number() => fact("birth year"),
        "in" if first.capital() => fact("birthplace"),
        _ => None,
    }
}

/// Returns the topic of `I have a dog named Rex` and `I have two kids`.
fn having(reading: Reading<'_>, subject: &str) -> Option<Known> {
    if reading.verb.base != "have"
        || reading.verb.past
        || reading.verb.future
        || reading.verb.modal
        || !reading.someone()
    {
        return None;
    }

    let rest = reading.rest();
    let fact = |attribute: &str, value: String| Known::fact(subject.to_owned(), attribute, value);
    let named = rest.find_any(&["named", "called", "whose name is"]);
    if let Some((at, end)) = named
        && let Some(attribute) = relation(rest.low(at.checked_sub(1)?))
    {
        return fact(attribute, name_at(rest, end)?);
    }

    let count = rest.words.first()?;
    let counted = count.number()
        || matches!(
            count.low,
            "two" | "three" | "four" | "five" | "six" | "seven" | "eight"
        );
    let what = object(rest, 1);
    if let Some(alone) = one_or_none(count.low, what) {
        return fact(&format!("number of {alone}"), count.low.to_owned());
    }

    let plural = what
        .words
        .last()
        .is_some_and(|word| word.low.ends_with('s') || matches!(word.low, "children" | "people"));
    let short = counted
        && plural
        && what.len() <= 2
        && verb(what.low(0)).is_none_or(|(_, form)| form != Form::Past);

    short.then(|| {
        fact(
            &format!("number of {}", phrase_key(what)),
            count.low.to_owned(),
        )
    })?
}

/// Returns the plural of the noun in `one cat` and `no kids`. Only relatives and pets are counted.
fn one_or_none(count: &str, what: Clause<'_>) -> Option<String> {
    let noun = what.low(0);
    let one = noun.strip_suffix('s').unwrap_or(noun);
    let counted =
        relation(one).is_some() || matches!(one, "child" | "children" | "kid" | "pet" | "sibling");
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
