//! Events of the past.

use domain::MemoryKind;

use super::grammar::{Reading, Who};
use super::lexicon::{content, pronoun};
use super::{Draft, Env};

/// Verbs whose past form expresses a mood or talk rather than an event.
const IDLE: &[&str] = &[
    "think",
    "feel",
    "know",
    "hear",
    "say",
    "hope",
    "want",
    "mean",
    "seem",
    "like",
    "love",
    "guess",
    "wonder",
    "notice",
    "look",
    "believe",
    "need",
    "thank",
    "wish",
    "have",
    "be",
    "see",
    "forget",
    "enjoy",
    "appreciate",
    "realize",
    "let",
    "understand",
    "ask",
    "tell",
    "mention",
    "read",
    "agree",
    "care",
    "suppose",
    "worry",
];

/// Drafts a statement of something that somebody did or that happened.
pub(crate) fn draft(reading: Reading<'_>, env: &Env<'_>, dated: bool) -> Option<Draft> {
    let rest = reading.rest();
    let happened = reading.verb.past || reading.verb.perfect;
    let ing = reading.verb.progressive && !reading.verb.past && reading.who != Who::Elided;
    if reading.verb.modal || reading.verb.future || reading.who == Who::Listener {
        return None;
    }

    let much = rest.words.iter().filter(|word| content(word.low)).count();
    let vague = pronoun(rest.low(0)) || rest.low(0) == "you";
    let event = |confidence: f32| Some(Draft::new(MemoryKind::Event, confidence));
    if ing && reading.person() && much >= 2 && !vague && !reading.is(IDLE) {
        return if env.chat || dated || reading.verb.perfect {
            event(0.55)
        } else {
            None
        };
    }

    if !happened || reading.verb.negated && !dated {
        return None;
    }

    let idle = reading.is(IDLE) && !dated;
    let named = rest
        .words
        .iter()
        .any(|word| word.capital() && word.low != "i");

    match reading.who {
        Who::Pronoun => (dated && much >= 2 && !idle).then(|| Draft::new(MemoryKind::Event, 0.55)),
        Who::Definite | Who::Plain => {
            (dated && much >= 1).then(|| Draft::new(MemoryKind::Event, 0.65))
        }
        Who::Elided if !env.chat => {
            (dated && named && !idle).then(|| Draft::new(MemoryKind::Event, 0.55))
        }
        _ if idle || much < 2 && !dated || vague && much < 3 => None,
        _ => event(if dated { 0.75 } else { 0.6 }),
    }
}
