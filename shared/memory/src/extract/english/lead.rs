//! Sentences of a conversation that state their fact after a lead-in: `Small change: I …`,
//! `Scratch that, the …`.

use super::grammar::{read, skip_adverbs};
use super::lists::List;
use super::words::Clause;

/// A position at which a statement may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The end of the lead-in.
    pub(crate) end: usize,
    /// The index of the first word after it.
    pub(crate) at: usize,
    /// True after a colon or dash: the lead-in announces the statement.
    pub(crate) announced: bool,
}

/// Returns the positions after a colon, a comma or a conjunction at which a statement of its own
/// may begin, in order.
pub(crate) fn starts(clause: Clause<'_>) -> impl Iterator<Item = Start> + '_ {
    (1..clause.len().saturating_sub(2))
        .filter_map(move |end| start(clause, end))
        .take(4)
}

fn start(clause: Clause<'_>, end: usize) -> Option<Start> {
    let before = clause.to(end);
    let announced = matches!(clause.low(end), ":" | "—" | "-");
    let mark = usize::from(announced || matches!(clause.low(end), "," | ";" | "!" | "…"));
    let at = end + mark;
    let joint = usize::from(matches!(clause.low(at), "and" | "but" | "so"));
    if mark + joint == 0 && reported(clause, end) {
        return Some(Start {
            end: 0,
            at: end,
            announced: false,
        });
    }

    if mark + joint == 0 || joint == 1 && mark == 0 && read(before).is_none() {
        return None;
    }

    let subject = announced || begins(clause, at + joint);
    let free = if announced {
        !of_another(before)
    } else {
        !supposes(before) && !of_another(before)
    };

    (subject && free).then_some(Start { end, at, announced })
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
fn reported(clause: Clause<'_>, at: usize) -> bool {
    if !begins(clause, at) {
        return false;
    }

    let before = clause.to(at);
    let that = usize::from(clause.low(at - 1) == "that");
    let told = |end: usize| {
        REPORTING.iter().any(|words| {
            let long = words.split(' ').count();
            end >= long && clause.phrase(end - long, words).is_some()
        })
    };

    let near = told(at - that) || that == 1 && (at.saturating_sub(3)..at).any(told);
    let known = matches!(
        before.low(0),
        "i" | "we" | "please" | "keep" | "remember" | "note" | "my" | "the" | "just"
    ) || clause.phrase(0, "do n't forget").is_some();
    let denied =
        before.has(&["not", "n't", "never"]) && clause.phrase(0, "do n't forget").is_none();

    near && known && !denied && !supposes(before)
}

/// Checks whether a clause with a subject of its own may begin at `at`.
fn begins(clause: Clause<'_>, at: usize) -> bool {
    matches!(
        clause.low(skip_adverbs(clause, at)),
        "i" | "we" | "my" | "our" | "the"
    ) || clause.any(at, &["it turns out", "turns out"]).is_some()
        || clause.words.get(at).is_some_and(|word| word.capital())
}

/// Checks whether the words before are a supposition.
fn supposes(before: Clause<'_>) -> bool {
    before.has(&[
        "if", "unless", "whether", "would", "could", "should", "might", "imagine", "suppose",
        "wish", "maybe", "perhaps", "until", "when", "whenever", "or", "nor", "neither", "used",
    ])
}

/// Checks whether the clause hands over a text to work on after a colon. The rest of the turn is
/// then not read as facts.
pub(crate) fn hands_over(clause: Clause<'_>) -> bool {
    let end = clause.to(24).until(0, &[":"]);
    let before = clause.to(end);
    clause.low(end) == ":" && works(before) && !heeds(before)
}

/// Checks whether what follows is a text to work on, an example or the words of somebody else.
fn of_another(before: Clause<'_>) -> bool {
    let own = matches!(before.low(0), "i" | "we") || before.find("i said").is_some();
    before.has(&["\""])
        || works(before) && !heeds(before)
        || !own && before.words.iter().any(|word| FOREIGN.has(word.low))
}

/// Verbs for work on a text.
static TASKS: List = List::new(
    "translate rewrite rephrase paraphrase proofread summarize summarise correct edit fix polish improve \
     shorten spell pronounce write add put say type reply respond post send continue complete repeat \
     explain answer analyze analyse classify check",
);
/// Words for a text.
static TEXTS: List = List::new(
    "translation grammar sentence sentences phrase text paragraph lyrics caption headline poem story \
     prompt essay following follows quote",
);
/// Words for examples, for reasons and for the words of somebody else.
static FOREIGN: List = List::new(
    "example examples e.g quote joke character scene because why reason argument rationale imagine \
     suppose if pretend says said wrote writes claims claimed replied answered reads thinks goes dear \
     subject roleplay \"",
);

/// Checks whether the words ask for work on a text, or name a text.
fn works(before: Clause<'_>) -> bool {
    let asked = |at: usize| {
        let last = before.low(at.saturating_sub(1));
        at == 0
            || matches!(
                last,
                "please" | "you" | "and" | "then" | "just" | "now" | "also" | "," | "quickly"
            )
            || last == "to" && before.has(&["you"])
    };
    let own = matches!(before.low(0), "i" | "we") && !before.has(&["you"]);
    let ordered = (0..before.len()).any(|at| TASKS.has(before.low(at)) && asked(at));
    !own && (ordered || before.words.iter().any(|word| TEXTS.has(word.low)))
}

/// Checks whether the words ask to take notice.
fn heeds(before: Clause<'_>) -> bool {
    const HEEDING: &[&str] = &[
        "note", "remember", "save", "store", "update", "know", "listen", "forget", "ignore",
        "notice", "record", "mind", "notes", "memory", "profile",
    ];
    before.has(HEEDING)
}
