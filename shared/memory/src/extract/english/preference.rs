//! Likes, wishes and opinions of a person.

use domain::MemoryKind;

use super::StatementDraft;
use super::grammar::{ParsedClause, SubjectKind};
use super::identity::says_no_longer;
use super::lexicon::{is_content_word, is_preposition, is_pronoun};
use super::lists::PhraseList;
use super::topic::{KnownTopic, find_object, is_meaningful, parse_value, phrase_key};
use super::words::Clause;

const LIKING: &[&str] = &["like", "love", "enjoy", "adore"];
const DISLIKING: &[&str] = &["hate", "dislike"];

/// Returns the topic of a preference.
pub(crate) fn preference_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    if is_rather(reading) {
        return rather_topic(reading, subject);
    }

    if reading.verb.future || reading.verb.modal && !is_cannot_stand(reading) {
        return None;
    }

    let rest = reading.rest();
    let ended = reading.verb.negated || says_no_longer(reading) || reading.verb.used;
    let new = |attribute: &str, value: String, negated: bool| {
        let says = is_meaningful(&value);
        let known = KnownTopic::new(
            subject.to_owned(),
            attribute,
            value,
            MemoryKind::Preference,
            true,
        )?;
        says.then(|| known.with_negation(negated))
    };

    let likes = |at: usize, negated: bool| {
        let whole = find_object(rest, at);
        // "Window seats on planes" are window seats, but "walks on the beach" are not walks.
        let end = (2..whole.len()).find(|&at| matches!(whole.lower_at(at), "in" | "on" | "at"));
        let what = phrase_key(whole.until_index(end.unwrap_or(whole.len())));
        // "Your idea", "how it looks" and "this song" do not name anything.
        let pointing = [
            "you", "your", "how", "what", "when", "where", "this", "these", "those", "that", "it",
            "its",
        ];
        if pointing.contains(&rest.lower_at(at)) {
            return None;
        }
        new(&format!("likes {what}"), what, negated)
    };

    let now = !reading.verb.past || reading.verb.used;

    match reading.verb.base {
        "prefer" if now => preferred_topic(rest, ended, &new),
        _ if reading.is(LIKING) && now => likes(usize::from(rest.lower_at(0) == "to"), ended),
        _ if reading.is(DISLIKING) && now => likes(0, !ended),
        "stand" if is_cannot_stand(reading) => likes(0, true),
        "eat" | "drink" if ended && now && !reading.verb.perfect => {
            let what = parse_value(rest, 0);
            new(&format!("{}s {what}", reading.verb.base), what, true)
        }
        "stop"
            if matches!(
                super::lexicon::verb_base(rest.lower_at(0)),
                "like" | "love" | "enjoy"
            ) =>
        {
            likes(1, true)
        }
        "be" if now => {
            let at = rest.match_any(
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
fn is_cannot_stand(reading: ParsedClause<'_>) -> bool {
    reading.verb.base == "stand" && reading.verb.modal && reading.verb.negated
}

/// Returns the topic of `tea over coffee`, `tea rather than coffee` and `email for bills`.
fn preferred_topic(
    rest: Clause<'_>,
    ended: bool,
    new: &dyn Fn(&str, String, bool) -> Option<KnownTopic>,
) -> Option<KnownTopic> {
    let over = rest.find_any(&["over", "rather than", "instead of", ", not", "to"]);
    if let Some((at, end)) = over.filter(|(at, _)| *at > 0) {
        let (one, other) = (
            phrase_key(find_object(rest.until_index(at), 0)),
            parse_value(rest, end),
        );
        if is_meaningful(&other) && !one.is_empty() {
            let (first, second) = if one < other {
                (&one, &other)
            } else {
                (&other, &one)
            };
            return new(&format!("prefers {first} / {second}"), one.clone(), ended);
        }
    }

    if let Some((at, end)) = rest.find_phrase("for") {
        return new(
            &format!("prefers for {}", parse_value(rest, end)),
            phrase_key(find_object(rest.until_index(at), 0)),
            ended,
        );
    }

    preferred_kind_topic(rest, ended, new).or_else(|| {
        let what = parse_value(rest, 0);
        new(&format!("likes {what}"), what, ended)
    })
}

/// Returns the topic of `prefers light mode`, `meetings in the morning` and `morning meetings`:
/// which mode, which meetings.
fn preferred_kind_topic(
    rest: Clause<'_>,
    ended: bool,
    new: &dyn Fn(&str, String, bool) -> Option<KnownTopic>,
) -> Option<KnownTopic> {
    const BETWEEN: &[&str] = &[
        "in", "on", "at", "with", "without", "from", "by", "over", "before", "after",
    ];
    let end = rest
        .until_index(10)
        .words
        .iter()
        .position(|word| word.mark)
        .unwrap_or(rest.len());
    let rest = rest.until_index(end);
    if let Some(end) = rest.match_any(0, &["to be called", "being called", "to be addressed as"]) {
        return new("name to use", parse_value(rest, end), ended);
    }

    if matches!(rest.lower_at(0), "my" | "our" | "the")
        && rest.len() == 3
        && !is_preposition(rest.lower_at(2))
    {
        return new(
            &format!("prefers {}", rest.lower_at(1)),
            rest.lower_at(2).to_owned(),
            ended,
        );
    }

    let action = usize::from(rest.lower_at(0) == "to");
    let between = rest.index_of_any(action, BETWEEN);
    if between < rest.len() && between > action {
        let verb = super::lexicon::verb_base(rest.lower_at(between - 1));
        let head = match (action, verb) {
            (0, "") => rest.lower_at(between - 1).to_owned(),
            (_, "") => return None,
            (_, verb) => verb.to_owned(),
        };
        let more = phrase_key(rest.until_index(between - 1).from(action));
        let which = [more, phrase_key(object_after_preposition(rest, between))]
            .into_iter()
            .filter(|part| !part.is_empty());
        return new(
            &format!("prefers {head}"),
            which.collect::<Vec<_>>().join(" "),
            ended,
        );
    }

    let whole = find_object(rest, 0);
    let last = whole
        .words
        .last()
        .filter(|last| whole.len() > 1 && action == 0 && !last.is_capitalized())?;
    let which = phrase_key(whole.until_index(whole.len() - 1));

    new(&format!("prefers {}", last.low), which, ended)
}

/// Returns the topic of `I'd rather have short answers`.
fn rather_topic(reading: ParsedClause<'_>, subject: &str) -> Option<KnownTopic> {
    let (_, at) = reading.clause.find_phrase("rather")?;
    let rest = reading.clause.from(at);
    let rest = rest.from(usize::from(matches!(
        rest.lower_at(0),
        "have" | "get" | "receive" | "see" | "take"
    )));
    let new = |attribute: &str, value: String, negated: bool| {
        let known = KnownTopic::new(
            subject.to_owned(),
            attribute,
            value,
            MemoryKind::Preference,
            true,
        )?;
        Some(known.with_negation(negated)).filter(|known| is_meaningful(&known.topic.value))
    };

    let denied = matches!(rest.lower_at(0), "not" | "n't");

    if denied || rest.contains_any(&["than"]) {
        None
    } else {
        preferred_kind_topic(rest, false, &new)
    }
}

/// Splits `short answers` into the attribute for the answers and the value `short`.
pub(super) fn split_kind(what: Clause<'_>) -> Option<(String, String)> {
    let whole = find_object(what, 0);
    let end = (0..whole.len())
        .find(|&at| is_preposition(whole.lower_at(at)))
        .unwrap_or(whole.len());
    let last = whole.words[..end]
        .last()
        .filter(|last| end > 1 && !last.is_capitalized())?;
    Some((
        format!("prefers {}", last.low),
        phrase_key(whole.until_index(end - 1)),
    ))
}

/// Returns the words after a preposition, up to those that say since when or how long.
fn object_after_preposition(rest: Clause<'_>, at: usize) -> Clause<'_> {
    let stops = [
        "now", "these", "lately", "again", "because", "since", "when", "whenever", "and", "but",
        "so", "as", "any", "anymore", "instead", "too", "recently",
    ];
    rest.until_index(rest.index_of_any(at + 1, &stops))
        .from(at + 1)
}

/// Predicates that express an opinion.
static OPINION_PREDICATES: PhraseList = PhraseList::new(
    "skeptical;sceptical;convinced;against;in favor of;in favour of;opposed to;concerned about;\
     concerned that;worried about;worried that;bullish on;doubtful",
);

/// Nouns that announce an opinion: `my read is that …`.
pub(crate) const OPINION_NOUNS: &[&str] = &[
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
pub(crate) fn draft_preference(reading: ParsedClause<'_>) -> Option<StatementDraft> {
    if !reading.person() && reading.who != SubjectKind::Pronoun {
        return None;
    }

    let rest = reading.rest();
    let says_much = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.low))
        .count();
    let about_other = is_pronoun(rest.lower_at(0))
        || matches!(
            rest.lower_at(0),
            "you" | "your" | "how" | "what" | "when" | "its" | "all"
        );
    if reading.who == SubjectKind::Pronoun && !reading.is(&["prefer"]) {
        return None;
    }

    let draft = |confidence: f32, lasting: bool| {
        Some(StatementDraft::new(MemoryKind::Preference, confidence).lasting(lasting))
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
                && reading.clause.lower_at(reading.verb.first) == "'d"
                && says_much < 2;
        return if vague {
            None
        } else {
            draft(0.8, !reading.verb.modal)
        };
    }

    if is_rather(reading) && says_much >= 2 {
        return draft(0.75, true);
    }

    if now && reading.is(&["want", "wish"]) && !reading.verb.negated {
        return if about_other || says_much < 2 {
            None
        } else {
            draft(0.6, false)
        };
    }

    is_opinion(reading, says_much, about_other)
        .then(|| StatementDraft::new(MemoryKind::Preference, 0.65).opinion())
}

/// Checks for `I'd rather …`.
fn is_rather(reading: ParsedClause<'_>) -> bool {
    let words = reading.clause.from(reading.verb.first).until_index(4);
    words.contains_any(&["rather"])
        && (words.contains_any(&["'d"]) || words.contains_any(&["would"]))
}

/// Checks whether the clause says what somebody thinks of something that can be named.
fn is_opinion(reading: ParsedClause<'_>, says_much: usize, about_other: bool) -> bool {
    let rest = reading.rest();
    if reading.verb.past || reading.verb.future || says_much < 3 {
        return false;
    }

    match reading.verb.base {
        "think" | "believe" | "feel" | "suspect" | "doubt" | "disagree" => {
            let at = usize::from(rest.lower_at(0) == "that");
            !about_other
                && !is_pronoun(rest.lower_at(at))
                && !matches!(rest.lower_at(at), "about" | "of" | "so" | "you" | "like")
                && (reading.verb.base != "feel" || at == 1)
                && !reading.verb.progressive
        }
        "find" => {
            !about_other
                && !reading.verb.perfect
                && !reading.verb.progressive
                && !reading.verb.modal
        }
        "be" if reading.who == SubjectKind::Owned => {
            reading.clause.lower_at(reading.subject_end - 1).len() > 3
                && OPINION_NOUNS.contains(&reading.clause.lower_at(reading.subject_end - 1))
        }
        "be" => OPINION_PREDICATES.end(rest, 0).is_some(),
        _ => false,
    }
}
