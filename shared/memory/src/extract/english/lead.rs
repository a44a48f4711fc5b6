//! Sentences of a conversation that come to their fact late: `Small change: I …`, `Scratch that, the …`.

use super::grammar::{read, skip_adverbs};
use super::lists::List;
use super::words::Clause;

/// A place where a statement may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The end of what leads in.
    pub(crate) end: usize,
    /// The first word after it.
    pub(crate) at: usize,
    /// After a colon: what leads in announces it.
    pub(crate) announced: bool,
}

/// The places after a colon, a comma or a conjunction where a statement of its own may begin, in their order.
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

/// Words before what is reported.
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

/// Whether a fact of the speaker's begins at `at` that the words before only report: `I forgot to mention that …`.
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

/// Whether a clause with a subject of its own may begin at `at`.
fn begins(clause: Clause<'_>, at: usize) -> bool {
    matches!(
        clause.low(skip_adverbs(clause, at)),
        "i" | "we" | "my" | "our" | "the"
    ) || clause.any(at, &["it turns out", "turns out"]).is_some()
        || clause.words.get(at).is_some_and(|word| word.capital())
}

/// Whether the words before suppose something.
fn supposes(before: Clause<'_>) -> bool {
    before.has(&[
        "if", "unless", "whether", "would", "could", "should", "might", "imagine", "suppose",
        "wish", "maybe", "perhaps", "until", "when", "whenever", "or", "nor", "neither", "used",
    ])
}

/// Whether the clause hands over a text to work on after a colon, so that nothing in the turn after it is told as a fact.
pub(crate) fn hands_over(clause: Clause<'_>) -> bool {
    let end = clause.to(24).until(0, &[":"]);
    let before = clause.to(end);
    clause.low(end) == ":" && works(before) && !heeds(before)
}

/// Whether what follows is a text to work on, an example, or what somebody else says.
fn of_another(before: Clause<'_>) -> bool {
    let own = matches!(before.low(0), "i" | "we") || before.find("i said").is_some();
    before.has(&["\""])
        || works(before) && !heeds(before)
        || !own && before.words.iter().any(|word| FOREIGN.has(word.low))
}

/// What a text is given for.
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
/// Words of examples, reasons and what somebody else says.
static FOREIGN: List = List::new(
    "example examples e.g quote joke character scene because why reason argument rationale imagine \
     suppose if pretend says said wrote writes claims claimed replied answered reads thinks goes dear \
     subject roleplay \"",
);

/// Whether the words ask for work on a text, or name one.
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

/// Whether they ask to take notice.
fn heeds(before: Clause<'_>) -> bool {
    const HEEDING: &[&str] = &[
        "note", "remember", "save", "store", "update", "know", "listen", "forget", "ignore",
        "notice", "record", "mind", "notes", "memory", "profile",
    ];
    before.has(HEEDING)
}
