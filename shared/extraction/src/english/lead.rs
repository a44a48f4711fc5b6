//! Sentences of a conversation that state their fact after a lead-in: `Small change: I …`,
//! `Scratch that, the …`.

use super::grammar::{parse_clause, skip_adverbs};
use super::vocabulary::vocabulary;
use super::words::{Clause, split_words};

/// A position at which a statement may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatementStart {
    /// The end of the lead-in.
    pub(crate) end: usize,
    /// The index of the first word after it.
    pub(crate) at: usize,
    /// True after a colon or dash: the lead-in announces the statement.
    pub(crate) is_announced: bool,
}

/// Returns the positions after a colon, a comma or a conjunction at which a statement of its own
/// may begin, in order.
pub(crate) fn find_starts(clause: Clause<'_>) -> impl Iterator<Item = StatementStart> + '_ {
    (1..clause.len().saturating_sub(2))
        .filter_map(move |end| start_at(clause, end))
        .take(4)
}

fn start_at(clause: Clause<'_>, end: usize) -> Option<StatementStart> {
    let lead_clause = clause.until_index(end);
    let is_announced = matches!(clause.lower_at(end), ":" | "—" | "-");
    let punctuation_len =
        usize::from(is_announced || matches!(clause.lower_at(end), "," | ";" | "!" | "…"));
    let at = end + punctuation_len;
    let conjunction_len = usize::from(matches!(clause.lower_at(at), "and" | "but" | "so"));
    if punctuation_len + conjunction_len == 0 && is_reported(clause, end) {
        return Some(StatementStart {
            end: 0,
            at: end,
            is_announced: false,
        });
    }

    if punctuation_len + conjunction_len == 0
        || conjunction_len == 1 && punctuation_len == 0 && parse_clause(lead_clause).is_none()
    {
        return None;
    }

    let has_subject = is_announced || begins_clause(clause, at + conjunction_len);
    let is_assertable = if is_announced {
        !is_third_party(lead_clause)
    } else {
        !is_supposition(lead_clause) && !is_third_party(lead_clause)
    };

    (has_subject && is_assertable).then_some(StatementStart {
        end,
        at,
        is_announced,
    })
}

/// Checks whether a fact of the speaker's begins at `at` and the words before it only report it:
/// `I forgot to mention that …`.
fn is_reported(clause: Clause<'_>, at: usize) -> bool {
    if !begins_clause(clause, at) {
        return false;
    }

    let lead_clause = clause.until_index(at);
    let that_len = usize::from(clause.lower_at(at - 1) == "that");
    let ends_with_report = |end: usize| {
        (0..end).any(|start| {
            let mut reports = vocabulary().reports.standing(clause, start);
            reports.any(|(_, report_end)| report_end == end)
        })
    };

    let is_near = ends_with_report(at - that_len)
        || that_len == 1 && (at.saturating_sub(3)..at).any(ends_with_report);
    let is_known_reporter = match lead_clause.lower_at(0) {
        "i" | "we" | "please" | "keep" | "remember" | "note" | "just" => true,
        "my" | "the" => !quotes_somebody(lead_clause),
        _ => false,
    } || clause.match_phrase(0, "do n't forget").is_some();
    let is_negated = lead_clause.contains_any(&["not", "n't", "never"])
        && clause.match_phrase(0, "do n't forget").is_none();

    is_near && is_known_reporter && !is_negated && !is_supposition(lead_clause)
}

/// Checks whether the words before tell what somebody says who does not have to know: `my ex said`,
/// but not `my doctor said`.
fn quotes_somebody(lead_clause: Clause<'_>) -> bool {
    let is_said = lead_clause.contains_any(&["claims", "said", "say", "says", "tells", "told"]);
    is_said && !lead_clause.has_word_in(&vocabulary().authorities)
}

/// Checks whether a clause with a subject of its own may begin at `at`.
fn begins_clause(clause: Clause<'_>, at: usize) -> bool {
    matches!(
        clause.lower_at(skip_adverbs(clause, at)),
        "i" | "we" | "my" | "our" | "the"
    ) || clause
        .match_any(at, &["it turns out", "turns out"])
        .is_some()
        || clause
            .words
            .get(at)
            .is_some_and(|word| word.is_capitalized())
}

/// Checks whether the words before are a supposition.
fn is_supposition(lead_clause: Clause<'_>) -> bool {
    lead_clause.contains_any(&[
        "if", "unless", "whether", "would", "could", "should", "might", "imagine", "suppose",
        "wish", "maybe", "perhaps", "until", "when", "whenever", "or", "nor", "neither", "used",
    ])
}

/// Checks whether the clause hands over a text to work on after a colon. The rest of the turn is
/// then not read as facts.
pub(crate) fn hands_over_text(clause: Clause<'_>) -> bool {
    let end = clause.until_index(24).index_of_any(0, &[":"]);
    let lead_clause = clause.until_index(end);
    clause.lower_at(end) == ":" && asks_for_work(lead_clause) && !asks_to_notice(lead_clause)
}

/// Checks whether what follows is a text to work on, an example or the words of somebody else.
fn is_third_party(lead_clause: Clause<'_>) -> bool {
    let is_own = matches!(lead_clause.lower_at(0), "i" | "we")
        || lead_clause.find_phrase("i said").is_some();
    lead_clause.contains_any(&["\""])
        || asks_for_work(lead_clause) && !asks_to_notice(lead_clause)
        || !is_own
            && lead_clause
                .words
                .iter()
                .any(|word| vocabulary().foreign_words.has(word.lower))
}

/// Checks whether the words ask for work on a text, or name a text.
fn asks_for_work(lead_clause: Clause<'_>) -> bool {
    let is_request = |at: usize| {
        let last = lead_clause.lower_at(at.saturating_sub(1));
        at == 0
            || matches!(
                last,
                "please" | "you" | "and" | "then" | "just" | "now" | "also" | "," | "quickly"
            )
            || last == "to" && lead_clause.contains_any(&["you"])
    };
    let is_own =
        matches!(lead_clause.lower_at(0), "i" | "we") && !lead_clause.contains_any(&["you"]);
    let is_ordered = (0..lead_clause.len())
        .any(|at| vocabulary().text_tasks.has(lead_clause.lower_at(at)) && is_request(at));
    !is_own
        && (is_ordered
            || lead_clause
                .words
                .iter()
                .any(|word| vocabulary().text_nouns.has(word.lower)))
}

/// Checks whether the words ask to take notice.
fn asks_to_notice(lead_clause: Clause<'_>) -> bool {
    lead_clause.has_word_in(&vocabulary().notice_words)
}

/// Tasks that are done with a text only.
const EDITING_TASKS: [&str; 10] = [
    "correct",
    "edit",
    "improve",
    "paraphrase",
    "polish",
    "proofread",
    "rephrase",
    "rewrite",
    "shorten",
    "translate",
];

/// The most words of a line that hands over the text below it.
const MAX_EDITING_WORDS: usize = 8;

/// Checks whether the words before a colon announce a text to work on: `can you proofread this`.
pub(crate) fn announces_text(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let clause = Clause { words: &words };
    asks_for_work(clause) && !asks_to_notice(clause)
}

/// Checks whether the words before a colon announce what somebody wrote: `my friend's message`.
pub(crate) fn announces_message(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let clause = Clause { words: &words };
    let last = clause.len().wrapping_sub(1);
    clause.lower_at(last.wrapping_sub(1)) == "'s"
        && matches!(
            clause.lower_at(last),
            "comment" | "email" | "letter" | "message" | "post" | "reply" | "text" | "tweet"
        )
}

/// Checks whether a line asks to work on the text below it: `improve this text`, `check my email`.
pub(crate) fn asks_to_edit(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let words = split_words(line, &lower);
    let clause = Clause { words: &words };
    let names_text = clause.contains_any(&["bio", "email", "letter", "message"])
        || clause.has_word_in(&vocabulary().text_nouns);
    let points_below = clause.contains_any(&["this", "these", "following", "below"]);
    let is_task = clause.contains_any(&EDITING_TASKS) && (names_text || points_below)
        || clause.contains_any(&["check", "fix"]) && names_text;
    clause.len() <= MAX_EDITING_WORDS && is_task && asks_for_work(clause)
}
