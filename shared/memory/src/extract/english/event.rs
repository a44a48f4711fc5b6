//! Events of the past.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, is_pronoun};
use super::{ClauseContext, StatementDraft};

/// Verbs whose past form expresses a mood or talk rather than an event.
const MOOD_VERBS: &[&str] = &[
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
pub(crate) fn draft_event(
    reading: ParsedClause<'_>,
    env: &ClauseContext<'_>,
    dated: bool,
) -> Option<StatementDraft> {
    let rest = reading.rest();
    let happened = reading.verb.past || reading.verb.perfect;
    let ing = reading.verb.progressive && !reading.verb.past && reading.who != SubjectKind::Elided;
    if reading.verb.modal || reading.verb.future || reading.who == SubjectKind::Listener {
        return None;
    }

    let much = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.low))
        .count();
    let vague = is_pronoun(rest.lower_at(0)) || rest.lower_at(0) == "you";
    let event = |confidence: f32| Some(StatementDraft::new(MemoryKind::Event, confidence));
    if ing && reading.person() && much >= 2 && !vague && !reading.is(MOOD_VERBS) {
        return if env.chat || dated || reading.verb.perfect {
            event(0.55)
        } else {
            None
        };
    }

    if !happened || reading.verb.negated && !dated {
        return None;
    }

    let idle = reading.is(MOOD_VERBS) && !dated;
    let named = rest
        .words
        .iter()
        .any(|word| word.is_capitalized() && word.low != "i");

    match reading.who {
        SubjectKind::Pronoun => {
            (dated && much >= 2 && !idle).then(|| StatementDraft::new(MemoryKind::Event, 0.55))
        }
        SubjectKind::Definite | SubjectKind::Plain => {
            (dated && much >= 1).then(|| StatementDraft::new(MemoryKind::Event, 0.65))
        }
        SubjectKind::Elided if !env.chat => {
            (dated && named && !idle).then(|| StatementDraft::new(MemoryKind::Event, 0.55))
        }
        _ if idle || much < 2 && !dated || vague && much < 3 => None,
        _ => event(if dated { 0.75 } else { 0.6 }),
    }
}
