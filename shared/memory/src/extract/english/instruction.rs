//! Standing instructions for the assistant.

use domain::MemoryKind;

use super::lexicon::{Form, base, content, verb};
use super::lists::{List, Phrases};
use super::topic::{Known, value};
use super::words::Clause;
use super::{Draft, Env};

/// Phrases that ask for something.
static ASKING: Phrases = Phrases::new(
    "please;can you please;could you please;i want you to;i need you to;i 'd like you to;you should;you must;\
     remember to;make sure to;be sure to",
);
/// Phrases that ask to keep something in mind.
static KEEPING: Phrases =
    Phrases::new("remember that;keep in mind that;note that;don't forget that;do n't forget that");
/// Words before an instruction that is to hold from now on.
static STANDING: Phrases = Phrases::new(
    "always;never;from now on;in future;in the future;going forward;whenever;every time;by default",
);
static EVER: Phrases = Phrases::new("do n't ever;never ever;do not ever");
/// Words within or after such an instruction.
const LATER: &[&str] = &[
    "from now on",
    "going forward",
    "in the future",
    "in future",
    "by default",
    "at all times",
    "whenever i",
    "every time i",
    "when i ask",
];
/// Verbs for things that an assistant does repeatedly, so that asking once means asking for every
/// time.
static REPEATED: List =
    List::new("do stop avoid use keep answer respond reply write speak address format include");

/// Drafts a standing instruction. Returns the index of its first word as well.
pub(crate) fn draft(clause: Clause<'_>, env: &Env<'_>) -> Option<(usize, Draft)> {
    let at = ASKING.end(clause, 0).unwrap_or(0);
    let draft = Draft::new(MemoryKind::Instruction, 0.9).lasting(true);
    if let Some(named) = call_me(clause, at, env) {
        return Some((at, draft.known(named)));
    }

    if let Some(end) = KEEPING.end(clause, at) {
        return (clause.len() > end + 2 && !env.chat).then_some((at, draft));
    }

    let rest = clause.from(at);
    let draft = match manner(rest, env) {
        Some(known) => draft.known(known),
        None => draft,
    };

    (!env.chat && stands(rest, at > 0)).then_some((at, draft))
}

/// Checks whether an instruction is to hold from now on.
fn stands(rest: Clause<'_>, asked: bool) -> bool {
    let lead = STANDING.end(rest, 0).or_else(|| EVER.end(rest, 0));
    let first = lead.unwrap_or(0);
    let first =
        first + usize::from(rest.low(first) == ",") + usize::from(rest.low(first + 1) == "please");
    let always = imperative(rest, first) && (lead.is_some() || rest.find_any(LATER).is_some());
    let repeated = asked && REPEATED.has(rest.low(0)) && imperative(rest, 0);
    (always || repeated) && rest.words.iter().filter(|word| content(word.low)).count() >= 2
}

/// Returns the topic of how answers are to be: `give me short answers`, `keep answers short`,
/// `answer in German`.
fn manner(rest: Clause<'_>, env: &Env<'_>) -> Option<Known> {
    const GIVING: &[&str] = &[
        "give", "send", "write", "use", "provide", "keep", "make", "answer", "reply", "respond",
    ];
    let at = rest
        .words
        .iter()
        .position(|word| GIVING.contains(&base(word.low)))?;
    let denied = rest.to(at).has(&["never", "n't", "not"]);
    let what = rest.from(at + 1);
    let what = what.from(usize::from(matches!(what.low(0), "me" | "us")));
    let (attribute, value) = match (rest.low(at), what.low(0)) {
        ("answer" | "reply" | "respond" | "write", "in")
            if what.words.get(1).is_some_and(|word| word.capital()) =>
        {
            ("answer language".to_owned(), value(what, 1))
        }
        ("keep" | "make", _) => {
            let what = what.from(usize::from(matches!(
                what.low(0),
                "your" | "the" | "my" | "all"
            )));
            let noun = what.words.first().filter(|word| word.low.ends_with('s'))?;
            (format!("prefers {}", noun.low), value(what, 1))
        }
        ("answer" | "reply" | "respond", _) => return None,
        _ => super::preference::which(what)?,
    };

    let known = Known::new(
        env.key.to_lowercase(),
        &attribute,
        value,
        MemoryKind::Instruction,
        true,
    )?;

    Some(known.negated(denied))
}

/// Checks whether an imperative stands at `at`: a verb in its base form, possibly negated.
fn imperative(clause: Clause<'_>, at: usize) -> bool {
    let at = clause
        .any(at, &["do n't", "do not", "never", "always"])
        .unwrap_or(at);
    let low = clause.low(at);
    let noun = matches!(
        clause.low(at + 1),
        "is" | "are" | "was" | "were" | "has" | "had" | "'s" | "of"
    );

    (matches!(verb(low), Some((_, Form::Base)))
        || matches!(
            low,
            "be" | "format"
                | "address"
                | "cite"
                | "translate"
                | "assume"
                | "double-check"
                | "refer"
                | "summarize"
        ))
        && !noun
}

/// Returns the topic of `Call me Al`.
fn call_me(clause: Clause<'_>, at: usize, env: &Env<'_>) -> Option<Known> {
    let end = clause.any(
        at,
        &[
            "call me",
            "just call me",
            "you can call me",
            "refer to me as",
            "address me as",
        ],
    )?;
    clause
        .words
        .get(end)
        .filter(|word| word.capital() && word.low != "i")?;

    Known::new(
        env.key.to_lowercase(),
        "name to use",
        value(clause, end),
        MemoryKind::Instruction,
        true,
    )
}
