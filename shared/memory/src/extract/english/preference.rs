//! Likes, wishes and opinions of a person.

use domain::MemoryKind;

use super::Draft;
use super::grammar::{Reading, Who};
use super::identity::no_longer;
use super::lexicon::{content, preposition, pronoun};
use super::lists::Phrases;
use super::topic::{Known, object, phrase_key, says, value};
use super::words::Clause;

const LIKING: &[&str] = &["like", "love", "enjoy", "adore"];
const DISLIKING: &[&str] = &["hate", "dislike"];

/// Returns the topic of a preference.
pub(crate) fn known(reading: Reading<'_>, subject: &str) -> Option<Known> {
    if rather(reading) {
        return rather_known(reading, subject);
    }

    if reading.verb.future || reading.verb.modal && !stands(reading) {
        return None;
    }

    let rest = reading.rest();
    let ended = reading.verb.negated || no_longer(reading) || reading.verb.used;
    let new = |attribute: &str, value: String, negated: bool| {
        let says = says(&value);
        let known = Known::new(
            subject.to_owned(),
            attribute,
            value,
            MemoryKind::Preference,
            true,
        )?;
        says.then(|| known.negated(negated))
    };

    let likes = |at: usize, negated: bool| {
        let whole = object(rest, at);
        // "Window seats on planes" are window seats, but "walks on the beach" are not walks.
        let end = (2..whole.len()).find(|&at| matches!(whole.low(at), "in" | "on" | "at"));
        let what = phrase_key(whole.to(end.unwrap_or(whole.len())));
        // "Your idea", "how it looks" and "this song" do not name anything.
        let pointing = [
            "you", "your", "how", "what", "when", "where", "this", "these", "those", "that", "it",
            "its",
        ];
        if pointing.contains(&rest.low(at)) {
            return None;
        }
        new(&format!("likes {what}"), what, negated)
    };

    let now = !reading.verb.past || reading.verb.used;

    match reading.verb.base {
        "prefer" if now => preferred(rest, ended, &new),
        _ if reading.is(LIKING) && now => likes(usize::from(rest.low(0) == "to"), ended),
        _ if reading.is(DISLIKING) && now => likes(0, !ended),
        "stand" if stands(reading) => likes(0, true),
        "eat" | "drink" if ended && now && !reading.verb.perfect => {
            let what = value(rest, 0);
            new(&format!("{}s {what}", reading.verb.base), what, true)
        }
        "stop" if matches!(super::lexicon::base(rest.low(0)), "like" | "love" | "enjoy") => {
            likes(1, true)
        }
        "be" if now => {
            let at = rest.any(
                0,
                &[
                    "a fan of",
                    "a big fan of",
                    "a huge fan of",
                    "fond of",
                    "into",
                    "keen on",
                ],
            )?;
            likes(at, ended)
        }
        _ => None,
    }
}

/// Checks for `can't stand`.
fn stands(reading: Reading<'_>) -> bool {
    reading.verb.base == "stand" && reading.verb.modal && reading.verb.negated
}

/// Returns the topic of `tea over coffee`, `tea rather than coffee` and `email for bills`.
fn preferred(
    rest: Clause<'_>,
    ended: bool,
    new: &dyn Fn(&str, String, bool) -> Option<Known>,
) -> Option<Known> {
    let over = rest.find_any(&["over", "rather than", "instead of", ", not", "to"]);
    if let Some((at, end)) = over.filter(|(at, _)| *at > 0) {
        let (one, other) = (phrase_key(object(rest.to(at), 0)), value(rest, end));
        if says(&other) && !one.is_empty() {
            let (first, second) = if one < other {
                (&one, &other)
            } else {
                (&other, &one)
            };
            return new(&format!("prefers {first} / {second}"), one.clone(), ended);
        }
    }

    if let Some((at, end)) = rest.find("for") {
        return new(
            &format!("prefers for {}", value(rest, end)),
            phrase_key(object(rest.to(at), 0)),
            ended,
        );
    }

    kind_of(rest, ended, new).or_else(|| {
        let what = value(rest, 0);
        new(&format!("likes {what}"), what, ended)
    })
}

/// Returns the topic of `prefers light mode`, `meetings in the morning` and `morning meetings`:
/// which mode, which meetings.
fn kind_of(
    rest: Clause<'_>,
    ended: bool,
    new: &dyn Fn(&str, String, bool) -> Option<Known>,
) -> Option<Known> {
    const BETWEEN: &[&str] = &[
        "in", "on", "at", "with", "without", "from", "by", "over", "before", "after",
    ];
    let end = rest
        .to(10)
        .words
        .iter()
        .position(|word| word.mark)
        .unwrap_or(rest.len());
    let rest = rest.to(end);
    if let Some(end) = rest.any(0, &["to be called", "being called", "to be addressed as"]) {
        return new("name to use", value(rest, end), ended);
    }

    if matches!(rest.low(0), "my" | "our" | "the") && rest.len() == 3 && !preposition(rest.low(2)) {
        return new(
            &format!("prefers {}", rest.low(1)),
            rest.low(2).to_owned(),
            ended,
        );
    }

    let action = usize::from(rest.low(0) == "to");
    let between = rest.until(action, BETWEEN);
    if between < rest.len() && between > action {
        let verb = super::lexicon::base(rest.low(between - 1));
        let head = match (action, verb) {
            (0, "") => rest.low(between - 1).to_owned(),
            (_, "") => return None,
            (_, verb) => verb.to_owned(),
        };
        let more = phrase_key(rest.to(between - 1).from(action));
        let which = [more, phrase_key(object_after(rest, between))]
            .into_iter()
            .filter(|part| !part.is_empty());
        return new(
            &format!("prefers {head}"),
            which.collect::<Vec<_>>().join(" "),
            ended,
        );
    }

    let whole = object(rest, 0);
    let last = whole
        .words
        .last()
        .filter(|last| whole.len() > 1 && action == 0 && !last.capital())?;
    let which = phrase_key(whole.to(whole.len() - 1));

    new(&format!("prefers {}", last.low), which, ended)
}

/// Returns the topic of `I'd rather have short answers`.
fn rather_known(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let (_, at) = reading.clause.find("rather")?;
    let rest = reading.clause.from(at);
    let rest = rest.from(usize::from(matches!(
        rest.low(0),
        "have" | "get" | "receive" | "see" | "take"
    )));
    let new = |attribute: &str, value: String, negated: bool| {
        let known = Known::new(
            subject.to_owned(),
            attribute,
            value,
            MemoryKind::Preference,
            true,
        )?;
        Some(known.negated(negated)).filter(|known| says(&known.topic.value))
    };

    let denied = matches!(rest.low(0), "not" | "n't");

    if denied || rest.has(&["than"]) {
        None
    } else {
        kind_of(rest, false, &new)
    }
}

/// Splits `short answers` into the attribute for the answers and the value `short`.
pub(super) fn which(what: Clause<'_>) -> Option<(String, String)> {
    let whole = object(what, 0);
    let end = (0..whole.len())
        .find(|&at| preposition(whole.low(at)))
        .unwrap_or(whole.len());
    let last = whole.words[..end]
        .last()
        .filter(|last| end > 1 && !last.capital())?;
    Some((
        format!("prefers {}", last.low),
        phrase_key(whole.to(end - 1)),
    ))
}

/// Returns the words after a preposition, up to those that say since when or how long.
fn object_after(rest: Clause<'_>, at: usize) -> Clause<'_> {
    let stops = [
        "now", "these", "lately", "again", "because", "since", "when", "whenever", "and", "but",
        "so", "as", "any", "anymore", "instead", "too", "recently",
    ];
    rest.to(rest.until(at + 1, &stops)).from(at + 1)
}

/// Predicates that express an opinion.
static STANCES: Phrases = Phrases::new(
    "skeptical;sceptical;convinced;against;in favor of;in favour of;opposed to;concerned about;\
     concerned that;worried about;worried that;bullish on;doubtful",
);

/// Nouns that announce an opinion: `my read is that …`.
pub(crate) const VIEWS: &[&str] = &[
    "take",
    "view",
    "opinion",
    "read",
    "position",
    "stance",
    "belief",
    "preference",
    "feeling",
];

/// Drafts a statement of what somebody likes, wants or thinks.
pub(crate) fn draft(reading: Reading<'_>) -> Option<Draft> {
    if !reading.person() && reading.who != Who::Pronoun {
        return None;
    }

    let rest = reading.rest();
    let says_much = rest.words.iter().filter(|word| content(word.low)).count();
    let about_other = pronoun(rest.low(0))
        || matches!(
            rest.low(0),
            "you" | "your" | "how" | "what" | "when" | "its" | "all"
        );
    if reading.who == Who::Pronoun && !reading.is(&["prefer"]) {
        return None;
    }

    let draft = |confidence: f32, lasting: bool| {
        Some(Draft::new(MemoryKind::Preference, confidence).lasting(lasting))
    };
    let now = !reading.verb.past && !reading.verb.future;
    if now
        && reading.is(&[
            "prefer", "like", "love", "enjoy", "hate", "dislike", "adore", "favor", "favour",
        ])
    {
        let vague = about_other
            || says_much == 0
            || reading.verb.modal
                && reading.clause.low(reading.verb.first) == "'d"
                && says_much < 2;
        return if vague {
            None
        } else {
            draft(0.8, !reading.verb.modal)
        };
    }

    if rather(reading) && says_much >= 2 {
        return draft(0.75, true);
    }

    if now && reading.is(&["want", "wish"]) && !reading.verb.negated {
        return if about_other || says_much < 2 {
            None
        } else {
            draft(0.6, false)
        };
    }

    opinion(reading, says_much, about_other)
        .then(|| Draft::new(MemoryKind::Preference, 0.65).opinion())
}

/// Checks for `I'd rather …`.
fn rather(reading: Reading<'_>) -> bool {
    let words = reading.clause.from(reading.verb.first).to(4);
    words.has(&["rather"]) && (words.has(&["'d"]) || words.has(&["would"]))
}

/// Checks whether the clause says what somebody thinks of something that can be named.
fn opinion(reading: Reading<'_>, says_much: usize, about_other: bool) -> bool {
    let rest = reading.rest();
    if reading.verb.past || reading.verb.future || says_much < 3 {
        return false;
    }

    match reading.verb.base {
        "think" | "believe" | "feel" | "suspect" | "doubt" | "disagree" => {
            let at = usize::from(rest.low(0) == "that");
            !about_other
                && !pronoun(rest.low(at))
                && !matches!(rest.low(at), "about" | "of" | "so" | "you" | "like")
                && (reading.verb.base != "feel" || at == 1)
                && !reading.verb.progressive
        }
        "find" => {
            !about_other
                && !reading.verb.perfect
                && !reading.verb.progressive
                && !reading.verb.modal
        }
        "be" if reading.who == Who::Owned => {
            reading.clause.low(reading.subject_end - 1).len() > 3
                && VIEWS.contains(&reading.clause.low(reading.subject_end - 1))
        }
        "be" => STANCES.end(rest, 0).is_some(),
        _ => false,
    }
}
