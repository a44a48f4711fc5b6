//! Facts about things.

use domain::MemoryKind;

use super::classes::{JUDGING, is_in_class};
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::is_content_word;
use super::topic::is_number_word;
use super::words::Clause;
use super::{ClauseContext, StatementDraft};

/// Drafts a statement about something named or definite.
pub(crate) fn draft_fact(
    parsed: ParsedClause<'_>,
    context: &ClauseContext<'_>,
) -> Option<StatementDraft> {
    let rest = parsed.rest();
    let content_word_count = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.lower))
        .count();
    let is_later = parsed.verb.future || rest.find_phrase("by then").is_some();
    if parsed.verb.modal
        || is_later
        || content_word_count == 0
        || parsed.subject_kind == SubjectKind::Listener
    {
        return None;
    }

    let is_specific = rest.words.iter().any(|word| word.is_number()) || count_names(rest) > 0;
    let is_general = matches!(
        parsed.subject_kind,
        SubjectKind::Plain | SubjectKind::Definite
    ) && !context.is_group_chat
        && !parsed.verb.past;
    // A statement to an assistant about something that is not the speaker's is mostly about the
    // moment or the task: `room is pitch black`, `Standard is in column D`.
    let is_of_others = is_general || parsed.subject_kind == SubjectKind::Named;
    let is_passing = is_of_others && context.is_spoken && !context.is_announced;
    let fact = |confidence: f32| {
        let draft = StatementDraft::new(MemoryKind::Fact, confidence);
        Some(draft.lasting(!parsed.verb.past && !is_passing))
    };
    if context.is_announced {
        return fact(0.75);
    }

    let is_continuation = is_general
        || parsed.subject_kind == SubjectKind::Pronoun
            && !matches!(
                parsed.clause.lower_at(0),
                "this" | "that" | "there" | "here"
            );
    if context.after_opinion && is_continuation {
        return Some(StatementDraft::new(MemoryKind::Preference, 0.5).opinion());
    }

    if matches!(
        parsed.subject_kind,
        SubjectKind::Speaker | SubjectKind::Group
    ) {
        return is_lasting_state(parsed, content_word_count)
            .then(|| StatementDraft::new(MemoryKind::Fact, 0.6));
    }

    fact(thing_confidence(
        parsed,
        context,
        content_word_count,
        is_specific,
    )?)
}

/// Returns the confidence of a statement about a thing, or `None` if it says too little.
fn thing_confidence(
    parsed: ParsedClause<'_>,
    context: &ClauseContext<'_>,
    content_word_count: usize,
    is_specific: bool,
) -> Option<f32> {
    let rest = parsed.rest();
    let is_judged = is_judgement(rest);
    let (is_informative, confidence) = match parsed.subject_kind {
        SubjectKind::Named if context.is_group_chat => (is_specific && !is_judged, 0.55),
        SubjectKind::Named => (
            is_specific || !is_judged,
            if is_specific { 0.65 } else { 0.55 },
        ),
        SubjectKind::Definite => {
            let is_identified =
                is_specific || count_names(parsed.subject()) > 0 || context.is_first;
            (is_identified && (has_number(rest) || !is_judged), 0.55)
        }
        SubjectKind::Owned => (!is_judged && (content_word_count >= 2 || is_specific), 0.6),
        SubjectKind::Plain => (
            !is_judged
                && (has_number(rest)
                    || (context.is_first || context.follows_announcement)
                        && content_word_count >= 2),
            0.5,
        ),
        _ => return None,
    };

    is_informative.then_some(confidence)
}

/// Checks for lasting states: `I have two cats`, `I've been painting for seven years`,
/// `we own a boat`.
fn is_lasting_state(parsed: ParsedClause<'_>, content_word_count: usize) -> bool {
    let rest = parsed.rest();
    let is_vague = super::lexicon::is_pronoun(rest.lower_at(0));
    match parsed.verb.base {
        "have" | "own" | "use" | "run" | "speak" | "play" | "teach" | "study" | "volunteer"
        | "practice" | "collect" | "keep" | "drive" => {
            !is_vague
                && content_word_count >= 1
                && rest.lower_at(0) != "to"
                && !matches!(rest.lower_at(0), "a" if matches!(rest.lower_at(1), "great" | "good" | "blast" | "question"))
        }
        "work" | "go" | "live" | "train" | "help" | "create" | "make" => {
            !is_vague && content_word_count >= 2
        }
        "be" => content_word_count >= 2 && has_number(rest),
        _ => false,
    }
}

/// Counts the words that are names: capitalized words after the first one.
fn count_names(clause: Clause<'_>) -> usize {
    clause
        .words
        .iter()
        .skip(1)
        .filter(|word| word.is_capitalized() && word.lower != "i")
        .count()
}

fn has_number(clause: Clause<'_>) -> bool {
    clause
        .words
        .iter()
        .any(|word| word.is_number() || is_number_word(word.lower))
}

/// Checks whether the clause judges rather than informs: `better`, `tighter`, `great`.
pub(crate) fn is_judgement(clause: Clause<'_>) -> bool {
    clause
        .words
        .iter()
        .any(|word| is_in_class(word.lower, JUDGING))
}
