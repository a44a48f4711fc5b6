//! Sentences of a conversation that state their fact after a lead-in: `Small change: I …`,
//! `Scratch that, the …`.

use super::grammar::{parse_clause, skip_adverbs};
use super::lists::WordList;
use super::words::Clause;

/// A position at which a statement may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatementStart {
    /// The end of the lead-in.
    pub(crate) end: usize,
    /// The index of the first word after it.
    pub(crate) at: usize,
    /// True after a colon or dash: the lead-in announces the statement.
    pub(crate) announced: bool,
}

/// Returns the positions after a colon, a comma or a conjunction at which a statement of its own
/// may begin, in order.
pub(crate) fn find_starts(clause: Clause<'_>) -> impl Iterator<Item = StatementStart> + '_ {
    (1..clause.len().saturating_sub(2))
        .filter_map(move |end| start_at(clause, end))
        .take(4)
}

fn start_at(clause: Clause<'_>, end: usize) -> Option<StatementStart> {
    let before = clause.until_index(end);
    let announced = matches!(clause.lower_at(end), ":" | "—" | "-");
    let mark = usize::from(announced || matches!(clause.lower_at(end), "," | ";" | "!" | "…"));
    let at = end + mark;
    let joint = usize::from(matches!(clause.lower_at(at), "and" | "but" | "so"));
    if mark + joint == 0 && is_reported(clause, end) {
        return Some(StatementStart {
            end: 0,
            at: end,
            announced: false,
        });
    }

    if mark + joint == 0 || joint == 1 && mark == 0 && parse_clause(before).is_none() {
        return None;
    }

    let subject = announced || begins_clause(clause, at + joint);
    let free = if announced {
        !is_third_party(before)
    } else {
        !is_supposition(before) && !is_third_party(before)
    };

    (subject && free).then_some(StatementStart { end, at, announced })
}

/// Words before a reported fact.
const REPORTING: &[&str] = &[
    "mention",
    "know",
    "remember",
    "forget",
    "out",
    "mind",
    "note",
    "learned",
    "learnt",
    "realized",
    "realised",
    "confirmed",
    "heard",
    "say",
    "add",
    "told me",
    "told us",
    "tell you",
    "told you",
    "says",
    "said",
];

/// Checks whether a fact of the speaker's begins at `at` and the words before it only report it:
/// `I forgot to mention that …`.
fn is_reported(clause: Clause<'_>, at: usize) -> bool {
    if !begins_clause(clause, at) {
        return false;
    }

    let before = clause.until_index(at);
    let that = usize::from(clause.lower_at(at - 1) == "that");
    let told = |end: usize| {
        REPORTING.iter().any(|words| {
            let long = words.split(' ').count();
            end >= long && clause.match_phrase(end - long, words).is_some()
        })
    };

    let near = told(at - that) || that == 1 && (at.saturating_sub(3)..at).any(told);
    let known = matches!(
        before.lower_at(0),
        "i" | "we" | "please" | "keep" | "remember" | "note" | "my" | "the" | "just"
    ) || clause.match_phrase(0, "do n't forget").is_some();
    let denied = before.contains_any(&["not", "n't", "never"])
        && clause.match_phrase(0, "do n't forget").is_none();

    near && known && !denied && !is_supposition(before)
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
fn is_supposition(before: Clause<'_>) -> bool {
    before.contains_any(&[
        "if", "unless", "whether", "would", "could", "should", "might", "imagine", "suppose",
        "wish", "maybe", "perhaps", "until", "when", "whenever", "or", "nor", "neither", "used",
    ])
}

/// Checks whether the clause hands over a text to work on after a colon. The rest of the turn is
/// then not read as facts.
pub(crate) fn hands_over_text(clause: Clause<'_>) -> bool {
    let end = clause.until_index(24).index_of_any(0, &[":"]);
    let before = clause.until_index(end);
    clause.lower_at(end) == ":" && asks_for_work(before) && !asks_to_notice(before)
}

/// Checks whether what follows is a text to work on, an example or the words of somebody else.
fn is_third_party(before: Clause<'_>) -> bool {
    let own = matches!(before.lower_at(0), "i" | "we") || before.find_phrase("i said").is_some();
    before.contains_any(&["\""])
        || asks_for_work(before) && !asks_to_notice(before)
        || !own && before.words.iter().any(|word| FOREIGN.has(word.low))
}

/// Verbs for work on a text.
static TASKS: WordList = WordList::new(
    "translate rewrite rephrase paraphrase proofread summarize summarise correct edit fix polish improve \
     shorten spell pronounce write add put say type reply respond post send continue complete repeat \
     explain answer analyze analyse classify check",
);
/// Words for a text.
static TEXTS: WordList = WordList::new(
    "translation grammar sentence sentences phrase text paragraph lyrics caption headline poem story \
     prompt essay following follows quote",
);
/// Words for examples, for reasons and for the words of somebody else.
static FOREIGN: WordList = WordList::new(
    "example examples e.g quote joke character scene because why reason argument rationale imagine \
     suppose if pretend says said wrote writes claims claimed replied answered reads thinks goes dear \
     subject roleplay \"",
);

/// Checks whether the words ask for work on a text, or name a text.
fn asks_for_work(before: Clause<'_>) -> bool {
    let asked = |at: usize| {
        let last = before.lower_at(at.saturating_sub(1));
        at == 0
            || matches!(
                last,
                "please" | "you" | "and" | "then" | "just" | "now" | "also" | "," | "quickly"
            )
            || last == "to" && before.contains_any(&["you"])
    };
    let own = matches!(before.lower_at(0), "i" | "we") && !before.contains_any(&["you"]);
    let ordered = (0..before.len()).any(|at| TASKS.has(before.lower_at(at)) && asked(at));
    !own && (ordered || before.words.iter().any(|word| TEXTS.has(word.low)))
}

/// Checks whether the words ask to take notice.
fn asks_to_notice(before: Clause<'_>) -> bool {
    const HEEDING: &[&str] = &[
        "note", "remember", "save", "store", "update", "know", "listen", "forget", "ignore",
        "notice", "record", "mind", "notes", "memory", "profile",
    ];
    before.contains_any(HEEDING)
}
