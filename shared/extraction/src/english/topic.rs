//! Topics: the question that a statement answers, so that a later statement can replace it.
//!
//! The attributes are the same however the sentence is phrased:
//!
//! | attribute and its value | of | module |
//! |---|---|---|
//! | `name`, `age`, `birthday`, `origin`, `birthplace`, `residence`, `job`, `employer`, `education` | a person | `identity` |
//! | `relationship status`, `diet`, `allergy to X` | a person | `identity` |
//! | `spouse`, `partner`, `mother`, `father`, `sister`, `dog` and other relations and pets: a name | a person | `identity` |
//! | `number of X` | a person or thing | `identity`, `property` |
//! | `phone`, `email`, `address` | a person | `property` |
//! | `favourite X` | a person | `property` |
//! | `likes X`: X, negated for dislikes | a person | `preference` |
//! | `prefers A / B`, sorted: the preferred one; `prefers for X`; `prefers N`: which N | a person | `preference` |
//! | `drives`, `teaches`, `learns`, `reads` and other verbs with one object at a time | a person | `activity` |
//! | `plays X`, `speaks X`, `goes to X`, `has X` and other habits and possessions: X, negated when they end | a person | `activity` |
//! | `lead`, `head`, `owner` and other responsibilities: the person who has it | a thing | `activity`, `property` |
//! | `plans X`: X, negated when it is cancelled | a person | `plan` |
//! | `nickname`; `name` of a thing | a person, a thing | `naming` |
//! | `employment`, `leave`, `nationality`, `religion`, `handedness`, `wake-up time`, `bedtime`, `salary` | a person | `condition` |
//! | `lives with`, `member of X`, `is watching`, a state such as `pregnant`, a habit such as `grows X` | a person | `condition` |
//! | `uses X`: X or its replacement; `uses for X` | a person or thing | `property` |
//! | `date`, `deadline` | an event | `property` |
//! | `status`, `location`, `price`, `version`, `value` | a thing | `property` |
//! | any other noun Y, from `X's Y is Z` and `the Y of X is Z` | X | `property` |

use domain::{MemoryKind, Topic};

use super::ClauseContext;
use super::classes::{OBJECT_END, is_in_class};
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_adverb, is_determiner, is_pronoun};
use super::lists::PhraseList;
use super::vocabulary::vocabulary;
use super::words::Clause;
use crate::dates::{is_full_date_name, parse_number_word};

/// A topic with the kind of statement that has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownTopic {
    pub(crate) topic: Topic,
    pub(crate) kind: MemoryKind,
    pub(crate) is_static: bool,
}

impl KnownTopic {
    /// Creates the topic of a lasting fact.
    pub(crate) fn fact(subject: String, attribute: &str, value: String) -> Option<Self> {
        Self::new(subject, attribute, value, MemoryKind::Fact, true)
    }

    /// Creates a topic. Returns `None` if a part of it is empty.
    pub(crate) fn new(
        subject: String,
        attribute: &str,
        value: String,
        kind: MemoryKind,
        is_static: bool,
    ) -> Option<Self> {
        if subject.is_empty() || attribute.is_empty() || value.is_empty() {
            return None;
        }

        let topic = Topic {
            subject,
            attribute: attribute.to_owned(),
            value,
            negated: false,
        };

        Some(Self {
            topic,
            kind,
            is_static,
        })
    }

    /// Sets whether the answer is negated.
    pub(crate) fn with_negation(mut self, negated: bool) -> Self {
        self.topic.negated = negated;
        self
    }
}

/// Returns the topic of a clause.
pub(crate) fn find_topic(
    parsed: ParsedClause<'_>,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let subject = subject_key(parsed, context)?;
    let mut known_topic = find_topic_of_subject(parsed, &subject, context)?;
    if known_topic.topic.attribute == "name" {
        known_topic.topic.subject =
            super::property::strip_speaker(&known_topic.topic.subject, context);
    }
    Some(known_topic)
}

fn find_topic_of_subject(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let is_owned_event =
        parsed.subject_kind == SubjectKind::Owned && super::occasion::is_about_event(parsed);
    super::identity::identity_topic(parsed, subject)
        .filter(|_| !is_owned_event)
        .or_else(|| super::naming::naming_topic(parsed, subject, context))
        .or_else(|| super::preference::preference_topic(parsed, subject))
        .or_else(|| super::activity::activity_topic(parsed, subject))
        .or_else(|| super::plan::plan_topic(parsed, subject))
        .or_else(|| super::property::property_topic(parsed, subject, context))
        .or_else(|| {
            super::condition::condition_topic(parsed, subject).filter(|_| context.is_spoken)
        })
}

/// Returns the subject in lower case, or `None` if its referent is unknown.
pub(crate) fn subject_key(parsed: ParsedClause<'_>, context: &ClauseContext<'_>) -> Option<String> {
    match parsed.subject_kind {
        SubjectKind::Speaker | SubjectKind::Group | SubjectKind::Elided => {
            Some(context.speaker_key.to_lowercase())
        }
        SubjectKind::Listener => context.listener.map(str::to_lowercase),
        SubjectKind::Pronoun => context.antecedent_key(parsed),
        SubjectKind::Owned if super::naming::trailing_name(parsed.subject()).is_some() => {
            super::naming::trailing_name(parsed.subject())
        }
        SubjectKind::Owned => Some(format!(
            "{}'s {}",
            context.speaker_key.to_lowercase(),
            phrase_key(parsed.subject().from(1))
        )),
        SubjectKind::Named | SubjectKind::Definite | SubjectKind::Plain => {
            Some(phrase_key(parsed.subject()))
        }
    }
    .filter(|key| !key.is_empty())
}

/// Returns a phrase in lower case without the determiners, adverbs and marks that open it.
pub(crate) fn phrase_key(clause: Clause<'_>) -> String {
    let mut at = 0;
    while is_determiner(clause.lower_at(at))
        || is_adverb(clause.lower_at(at))
        || clause
            .words
            .get(at)
            .is_some_and(|word| word.is_punctuation && !is_currency_mark(word.lower))
    {
        at += 1;
    }
    join_words(clause.from(at))
}

/// Checks whether a mark stands before an amount.
pub(crate) fn is_currency_mark(lower: &str) -> bool {
    matches!(lower, "$" | "€" | "£" | "#")
}

/// Joins the words in lower case with spaces. An ending stays with its word.
pub(crate) fn join_words(clause: Clause<'_>) -> String {
    let mut out = String::new();
    for word in clause.words {
        let is_punctuation =
            word.is_punctuation && !matches!(word.lower, "°" | "%" | "$" | "€" | "£" | "+" | "#");
        if is_punctuation {
            continue;
        }

        let is_attached = word.lower.starts_with('\'')
            || matches!(word.lower, "°" | "%" | "+")
            || out.ends_with(['$', '€', '£', '#', '°']);
        if !out.is_empty() && !is_attached {
            out.push(' ');
        }
        out.push_str(&word.raw.to_lowercase());
    }

    out
}

/// The most words in a value.
const VALUE_WORDS: usize = 8;

/// Returns the answer that begins at `at`, up to a mark, a conjunction or a word of time.
pub(crate) fn parse_value(clause: Clause<'_>, at: usize) -> String {
    phrase_key(find_object(clause, at))
}

/// Returns the words of an object that begins at `at`.
pub(crate) fn find_object<'w>(clause: Clause<'w>, at: usize) -> Clause<'w> {
    let mut first = at;
    while is_determiner(clause.lower_at(first)) && clause.lower_at(first) != "no"
        || is_adverb(clause.lower_at(first))
    {
        first += 1;
    }
    let end = (first..clause.len())
        .find(|&index| index >= first + VALUE_WORDS || ends_object(clause, index));
    clause.until_index(end.unwrap_or(clause.len())).from(first)
}

/// Checks whether the word at `at` ends an object before it.
fn ends_object(clause: Clause<'_>, at: usize) -> bool {
    let word = &clause.words[at];
    let is_stop = is_in_class(word.lower, OBJECT_END);
    let is_mark = word.is_punctuation
        && !matches!(
            word.lower,
            "°" | "%" | "$" | "€" | "£" | "+" | "#" | "\"" | "'"
        );
    is_stop || is_mark || is_tail(clause, at)
}

/// Checks whether words of time, manner or degree begin at `at`: `in the mornings`, `at all`. They
/// belong to no answer.
pub(crate) fn is_tail(clause: Clause<'_>, at: usize) -> bool {
    let next = clause.words.get(at + 1);
    let has_tail = |phrases: &PhraseList| phrases.end(clause, at + 1).is_some();
    let has_phrase = |phrases: &[&str]| clause.match_any(at + 1, phrases).is_some();
    let is_dated = next.is_some_and(|next| next.is_capitalized() && is_full_date_name(next.lower));
    let is_number = next.is_some_and(|next| next.is_number() || is_number_word(next.lower));

    match clause.lower_at(at) {
        "at" => {
            has_tail(&vocabulary().tails_after_at)
                || next
                    .is_some_and(|next| next.is_number() && clause.lower_at(at + 2).ends_with('m'))
        }
        "for" => has_tail(&vocabulary().tails_after_for) || is_number,
        "in" => has_tail(&vocabulary().tails_after_in) || is_dated || is_number,
        "on" => has_tail(&vocabulary().tails_after_on) || is_dated,
        "with" => has_tail(&vocabulary().tails_after_with),
        "over" => is_number || has_phrase(&["a", "the"]),
        "as" => has_phrase(&[
            "well", "usual", "always", "of", "soon", "long", "a child", "a kid", "planned",
            "before",
        ]),
        "most" | "each" | "all" => has_phrase(&[
            "day", "days", "morning", "mornings", "evening", "evenings", "week", "weeks", "year",
            "the time", "weekend",
        ]),
        "to" => has_phrase(&[
            "be honest",
            "be fair",
            "be sure",
            "be clear",
            "death",
            "bits",
        ]),
        "from" => has_phrase(&["now", "time", "then", "next"]) || is_dated,
        "of" => has_phrase(&["course", "late"]),
        "than" => true,
        "like" => has_phrase(&["crazy", "mad"]),
        "a" => has_phrase(&["lot", "bit", "little bit", "few times"]),
        "very" | "so" | "more" => has_phrase(&["much", "often", "than"]),
        lower => vocabulary().tail_words.has(lower),
    }
}

/// Checks whether a word is a number from two to twelve.
pub(super) fn is_number_word(lower: &str) -> bool {
    parse_number_word(lower).is_some_and(|number| number > 1)
}

/// Checks whether a value can be understood by itself.
pub(crate) fn is_meaningful(value: &str) -> bool {
    !value.is_empty()
        && !value.split(' ').all(|word| {
            is_pronoun(word)
                || matches!(
                    word,
                    "you"
                        | "me"
                        | "us"
                        | "her"
                        | "something"
                        | "anything"
                        | "everything"
                        | "so"
                        | "all"
                )
        })
}
