//! Identity of a person: name, age, residence, work, family.

use super::condition::{is_group, is_people_or_faith};
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{
    VerbForm, is_content_word, is_determiner, is_preposition, is_pronoun, parse_verb,
};
use super::topic::{
    KnownTopic, find_object, is_meaningful, is_number_word, parse_value, phrase_key,
};
use super::vocabulary::vocabulary;
use super::words::{Clause, Word};
use crate::dates::is_full_date_name;
use crate::word_list::WordList;

/// Returns the attribute for a relative or a pet.
pub(crate) fn relation_attribute(lower: &str) -> Option<&'static str> {
    Some(match lower {
        "boyfriend" | "girlfriend" | "fiance" | "fiancé" | "fiancée" => "partner",
        "husband" | "wife" => "spouse",
        "dad" => "father",
        "mom" | "mum" => "mother",
        "grandma" => "grandmother",
        "grandpa" => "grandfather",
        "coworker" => "colleague",
        "kitten" => "cat",
        "puppy" => "dog",
        _ => return vocabulary().relatives.find(lower),
    })
}

/// Returns the topic of a clause about a person.
pub(crate) fn identity_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let is_past =
        parsed.verb.past && !parsed.verb.used_to || parsed.verb.future || parsed.verb.modal;
    relative_topic(parsed, subject)
        .or_else(|| {
            if is_past {
                None
            } else {
                present_topic(parsed, subject)
            }
        })
        .or_else(|| change_topic(parsed, subject))
        .or_else(|| possession_topic(parsed, subject))
        .map(|known_topic| {
            let negated = known_topic.topic.negated
                || parsed.verb.negated
                || parsed.verb.used_to
                || says_no_longer(parsed);
            known_topic.with_negation(negated)
        })
}

/// Checks whether the clause says that something has ended.
pub(crate) fn says_no_longer(parsed: ParsedClause<'_>) -> bool {
    parsed
        .clause
        .find_any(&["no longer", "not anymore"])
        .is_some()
        || parsed.verb.negated
            && parsed
                .clause
                .find_any(&["anymore", "any more", "any longer"])
                .is_some()
}

/// Returns the topic of `My sister is Anna`, `my dog's name is Rex` and `my name is Jon`.
fn relative_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let clause = parsed.subject();
    if parsed.verb.base != "be"
        || parsed.subject_kind != SubjectKind::Owned && clause.lower_at(1) != "'s"
    {
        return None;
    }

    let name = parse_name(parsed.rest(), 0)?;
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

    let attribute = relation_attribute(last)?;
    if says_what_they_are(parsed, &name) {
        return None;
    }

    KnownTopic::fact(owner_of_key(subject)?, attribute, name)
}

/// The posts and professions that are two capital letters.
const TWO_LETTER_POSTS: [&str; 4] = ["GP", "MD", "PM", "VP"];

/// Checks whether the capitalized words after `My wife is` say what she is rather than who: `Italian`,
/// `CEO`.
fn says_what_they_are(parsed: ParsedClause<'_>, name: &str) -> bool {
    let first = name.split([' ', '-']).next().unwrap_or_default();
    let is_all_capitals = |raw: &str| raw.chars().all(char::is_uppercase);
    let word = parsed.rest().words.first().map_or("", |word| word.raw);
    // "TJ" is a name.
    let is_post = word.chars().count() > 2 || TWO_LETTER_POSTS.contains(&word);
    let writes_all_capitals = parsed
        .clause
        .words
        .first()
        .is_some_and(|word| word.raw.chars().count() > 1 && is_all_capitals(word.raw));
    is_people_or_faith(first) || is_post && is_all_capitals(word) && !writes_all_capitals
}

/// Returns the owner in a key such as `user's dog`.
fn owner_of_key(subject: &str) -> Option<String> {
    subject.split_once("'s").map(|(owner, _)| owner.to_owned())
}

/// Returns the capitalized name at `at`.
pub(super) fn parse_name(clause: Clause<'_>, at: usize) -> Option<String> {
    let at = clause.match_any(at, &["named", "called"]).unwrap_or(at);
    let end = (at..clause.len())
        .find(|&index| !clause.words[index].is_capitalized())
        .unwrap_or(clause.len());
    (end > at && clause.lower_at(at) != "i")
        .then(|| phrase_key(clause.until_index(end.min(at + 4)).from(at)))
}

/// Returns the topic of a clause about the present.
fn present_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let person_fact = |attribute: &str, value: String| {
        KnownTopic::fact(subject.to_owned(), attribute, value).filter(|_| parsed.someone())
    };

    match parsed.verb.base {
        "be" => being_topic(parsed, subject),
        "live" | "reside" => {
            let at = rest.match_any(0, &["in", "at", "near"]).or_else(|| {
                rest.find_phrase("in")
                    .map(|(_, end)| end)
                    .filter(|end| *end < 6)
            })?;
            let residence = parse_value(rest, at);
            let is_home = !ends_with_word_in(rest, at, &vocabulary().no_homes);
            person_fact("residence", residence).filter(|_| is_home && names_thing(parsed, at))
        }
        "work" if rest.match_phrase(0, "as").is_some() => {
            let at = rest.index_of_any(0, &["at", "for"]);
            if at < rest.len() && !parsed.verb.negated {
                person_fact("job", parse_value(rest.until_index(at), 1))
            } else {
                person_fact("job", parse_value(rest, 1))
            }
        }
        "work" => {
            let at = rest.match_any(0, &["at", "for"])?;
            let employer = parse_value(rest, at);
            let is_employer = is_meaningful(&employer)
                && !rest.lower_at(at).bytes().all(|byte| byte.is_ascii_digit())
                && (employer.ends_with(" office")
                    || !ends_with_word_in(rest, at, &vocabulary().no_employers));
            person_fact("employer", employer).filter(|_| is_employer && names_thing(parsed, at))
        }
        "study" => person_fact("education", parse_value(rest, 0)).filter(|_| is_study(rest)),
        "marry" | "divorce" | "engage" | "separate" if parsed.verb.passive => person_fact(
            "relationship status",
            parsed.clause.lower_at(parsed.verb.main).to_owned(),
        ),
        "" if matches!(
            parsed.clause.lower_at(parsed.verb.main),
            "based" | "located"
        ) =>
        {
            person_fact(
                "residence",
                parse_value(rest, rest.match_any(0, &["in", "at", "near"])?),
            )
        }
        "call" if parsed.verb.passive && parsed.subject_kind == SubjectKind::Speaker => {
            person_fact("name", parse_name(rest, 0)?)
        }
        _ => None,
    }
}

/// Returns the topic of `I am …`.
fn being_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    if let Some(years) = rest
        .words
        .first()
        .filter(|word| word.is_number() || is_number_word(word.lower))
    {
        let is_alone = rest.len() == 1 || matches!(rest.lower_at(1), "," | "and" | "now" | "today");
        let is_age = rest.match_phrase(1, "years old").is_some()
            || is_alone && parsed.subject_kind == SubjectKind::Speaker;
        return fact("age", years.lower.to_owned()).filter(|_| is_age && can_be_age(years.lower));
    }

    if !parsed.someone() {
        return None;
    }

    if let Some(at) = rest.match_any(0, &["from", "originally from"]) {
        return fact("origin", parse_value(rest, at)).filter(|_| {
            rest.words
                .get(at)
                .is_some_and(|word| word.is_capitalized() || word.lower == "the")
        });
    }

    if let Some(at) = rest.match_phrase(0, "allergic to") {
        let object = parse_value(rest, at);
        return fact(&format!("allergy to {object}"), object);
    }

    let article = usize::from(matches!(rest.lower_at(0), "a" | "an"));
    let object = rest.lower_at(article);
    if matches!(object, "vegetarian" | "vegan" | "pescatarian" | "omnivore") {
        return fact("diet", object.to_owned());
    }

    if article == 0
        && matches!(
            object,
            "married" | "single" | "divorced" | "engaged" | "widowed" | "separated"
        )
    {
        return fact("relationship status", object.to_owned());
    }

    if article == 0 && parsed.subject_kind == SubjectKind::Speaker && rest.len() <= 3 {
        return is_own_name(rest).then(|| fact("name", parse_name(rest, 0)?))?;
    }

    (article == 1).then(|| fact("job", parse_job(rest)?))?
}

/// Checks whether a name or a thing begins at `at` after the verb. In lower case, any word may be a name.
fn names_thing(parsed: ParsedClause<'_>, at: usize) -> bool {
    parsed.rest().words.get(at).is_some_and(|word| {
        word.is_capitalized() || matches!(word.lower, "the" | "a") || writes_lower_case(parsed)
    })
}

/// Checks whether the object at `at` ends with a word of a list, written without a capital letter.
fn ends_with_word_in(rest: Clause<'_>, at: usize, list: &WordList) -> bool {
    let last = find_object(rest, at).words.last();
    last.is_some_and(|word| !word.is_capitalized() && list.has(word.lower))
}

/// Checks whether a number can be somebody's age in years. `I'm 182` may be a height.
fn can_be_age(lower: &str) -> bool {
    const MAX_AGE: u16 = 120;
    let years = lower.trim_end_matches(['f', 'm']);
    is_number_word(lower) || years.parse::<u16>().is_ok_and(|years| years <= MAX_AGE)
}

/// Checks whether the words after `study` are a subject, a school or a town rather than another place, a time
/// or a manner.
fn is_study(rest: Clause<'_>) -> bool {
    let first = rest.lower_at(0);
    let is_school = matches!(first, "at" | "in") && starts_with_capital(rest, 1);
    let is_manner = matches!(
        first,
        "hard" | "harder" | "best" | "better" | "late" | "there"
    );
    is_school || !is_preposition(first) && !is_manner
}

/// Checks whether the capitalized words after `I'm` are a name rather than a state: `OK`, `HIV
/// positive`, `Ghanaian`.
fn is_own_name(rest: Clause<'_>) -> bool {
    let Some(first) = rest.words.first().filter(|word| word.is_capitalized()) else {
        return false;
    };

    let mut names = rest.words.iter().take_while(|word| word.is_capitalized());
    let is_written_in_capitals =
        |word: &Word<'_>| word.raw.chars().count() > 2 && !word.raw.contains(char::is_lowercase);
    let is_state = is_people_or_faith(first.lower)
        || vocabulary().capitalized_states.has(first.lower)
        || matches!(first.raw, "HR" | "IT" | "QA")
        || TWO_LETTER_POSTS.contains(&first.raw)
        || names.any(is_written_in_capitals);

    let end = (0..rest.len()).find(|&at| !rest.words[at].is_capitalized());
    let belongs_to_state = end.is_some_and(|end| {
        let next = &rest.words[end];
        !next.is_punctuation && is_content_word(next.lower)
    });
    !is_state && !belongs_to_state
}

/// Returns the occupation at the beginning, if the last word before a preposition sounds like one.
fn parse_job(rest: Clause<'_>) -> Option<String> {
    let end = rest.index_of_any(
        1,
        &[
            "at", "for", "in", "with", "from", "of", "by", "on", "to", "based",
        ],
    );
    let object = find_object(rest.until_index(end), 1);
    let last = object.lower_at(object.len().checked_sub(1)?);
    let is_skill = object.len() == 2 && vocabulary().words_of_skill.has(object.lower_at(0));
    let is_job = is_occupation(last) && !is_skill && object.len() <= 4;
    is_job.then(|| phrase_key(object))
}

/// Checks whether a word is an occupation, or sounds like one.
pub(super) fn is_occupation(lower: &str) -> bool {
    let sounds_like_job = ["eer", "er", "or", "ist", "ian"]
        .iter()
        .any(|ending| lower.ends_with(ending))
        && lower.len() > 4;
    (sounds_like_job || vocabulary().occupations.has(lower))
        && !vocabulary().false_occupations.has(lower)
}

/// Checks whether the speaker writes without capitals: `i live in lyon`, `moved to lyon`.
fn writes_lower_case(parsed: ParsedClause<'_>) -> bool {
    let first = parsed.clause.words.first();
    first.is_some_and(|word| word.raw.starts_with(char::is_lowercase))
}

/// Checks whether the word at `at` begins with a capital letter.
fn starts_with_capital(clause: Clause<'_>, at: usize) -> bool {
    clause
        .words
        .get(at)
        .is_some_and(|word| word.is_capitalized())
}

/// Countries and cities whose names have an article, as people write them without capitals.
const PLACES_WITH_ARTICLE: [&str; 10] = [
    "bahamas",
    "gambia",
    "hague",
    "maldives",
    "netherlands",
    "philippines",
    "states",
    "uk",
    "us",
    "usa",
];

/// Returns the topic of a change: moved, joined, promoted, turned.
fn change_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let has_happened = parsed.verb.past || parsed.verb.perfect || parsed.verb.passive;
    if !has_happened || parsed.verb.negated || !parsed.someone() {
        return None;
    }

    let fact = |attribute: &str, value: String| {
        KnownTopic::fact(subject.to_owned(), attribute, value)
            .filter(|known_topic| is_meaningful(&known_topic.topic.value))
    };
    let is_capitalized_at = |at: usize| starts_with_capital(rest, at) || writes_lower_case(parsed);
    // Without capitals, a thing with an article is mostly no name: "i moved to a smaller desk".
    let is_name_at = |at: usize| match rest.lower_at(at) {
        "the" if writes_lower_case(parsed) => {
            let name = rest.lower_at(at + 1);
            PLACES_WITH_ARTICLE.contains(&name) || starts_with_capital(rest, at + 1)
        }
        "the" => is_capitalized_at(at + 1),
        lower => is_capitalized_at(at) && !is_determiner(lower),
    };

    match parsed.verb.base {
        "move" | "relocate" => {
            let (_, at) = rest.find_phrase("to")?;
            // "I moved the sofa to the garage", "moved to the 18th".
            let moves_thing = is_determiner(rest.lower_at(0)) || is_pronoun(rest.lower_at(0));
            let is_place = is_name_at(at)
                && !rest
                    .lower_at(at + usize::from(rest.lower_at(at) == "the"))
                    .starts_with(|c: char| c.is_ascii_digit());
            let name = rest.lower_at(at);
            let is_other = vocabulary().no_destinations.has(name) || is_full_date_name(name);
            (is_place && !moves_thing && !is_other)
                .then(|| fact("residence", parse_value(rest, at)))?
        }
        "join" => {
            let employer = parse_value(rest, 0);
            // "I joined Tom for lunch."
            let is_company = !employer.split(' ').any(|word| matches!(word, "for" | "at"));
            (is_name_at(0) && is_company && !is_group(&employer))
                .then(|| fact("employer", employer))?
        }
        "get" | "start" | "land" | "take" | "accept"
            if rest.find_phrase("job").is_some() || rest.match_phrase(0, "working").is_some() =>
        {
            let (_, at) = rest
                .find_any(&["at", "with", "for"])
                .filter(|(_, at)| is_capitalized_at(*at))?;
            fact("employer", parse_value(rest, at))
        }
        "hire" if parsed.verb.passive => {
            fact("employer", parse_value(rest, rest.match_phrase(0, "by")?))
        }
        "leave" | "quit" | "lose" => {
            let at = rest.match_any(0, &["my job at", "the job at", "her job at", "his job at"]);
            fact("employer", parse_value(rest, at?))
                .map(|known_topic| known_topic.with_negation(true))
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
            .filter(|word| word.is_number() && can_be_age(word.lower))
            .and_then(|word| fact("age", word.lower.to_owned())),
        "" | "bear" if parsed.clause.lower_at(parsed.verb.main) == "born" => {
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
        "in" if first.is_capitalized() && !is_full_date_name(first.lower) => fact("birthplace"),
        _ => None,
    }
}

/// Returns the topic of `I have a dog named Rex` and `I have two kids`.
fn possession_topic(parsed: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    if parsed.verb.base != "have"
        || parsed.verb.past
        || parsed.verb.future
        || parsed.verb.modal
        || !parsed.someone()
    {
        return None;
    }

    let rest = parsed.rest();
    let fact =
        |attribute: &str, value: String| KnownTopic::fact(subject.to_owned(), attribute, value);
    let naming = rest.find_any(&["named", "called", "whose name is"]);
    if let Some((at, end)) = naming
        && let Some(attribute) = relation_attribute(rest.lower_at(at.checked_sub(1)?))
    {
        return fact(attribute, parse_name(rest, end)?);
    }

    let count_word = rest.words.first()?;
    let is_counted = count_word.is_number()
        || matches!(
            count_word.lower,
            "two" | "three" | "four" | "five" | "six" | "seven" | "eight"
        );
    let object = find_object(rest, 1);
    if let Some(noun) = counted_plural(count_word.lower, object) {
        return fact(&format!("number of {noun}"), count_word.lower.to_owned());
    }

    let is_plural = object.words.last().is_some_and(|word| {
        word.lower.ends_with('s') || matches!(word.lower, "children" | "people")
    });
    let is_countable = is_counted
        && is_plural
        && object.len() <= 2
        && parse_verb(object.lower_at(0)).is_none_or(|(_, form)| form != VerbForm::Past);

    is_countable.then(|| {
        fact(
            &format!("number of {}", phrase_key(object)),
            count_word.lower.to_owned(),
        )
    })?
}

/// Returns the plural of the noun in `one cat` and `no kids`. Only relatives and pets are counted.
fn counted_plural(count: &str, object: Clause<'_>) -> Option<String> {
    let noun = object.lower_at(0);
    let singular = noun.strip_suffix('s').unwrap_or(noun);
    let is_counted = relation_attribute(singular).is_some()
        || matches!(singular, "child" | "children" | "kid" | "pet" | "sibling");
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

    (object.len() == 1 && is_counted && matches!(count, "one" | "no")).then_some(plural)
}
