//! The validation of a model's proposals.

use domain::{MemoryKind, Period, Statement, Timestamp, Topic, Trust};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::extract::{Passage, Quoted, Role, Source};

use super::addressed::addresses_a_model;
use super::answer::{Garbage, Proposal, ProposedTopic, read};
use super::dates;
use super::grounding::Evidence;
use super::outcome::in_order;
use super::polarity::{agrees, denies, denies_or_ends};
use super::prompt::{Request, Shown};
use super::words::words;

/// The most proposals that are read of one answer; those after them are ignored.
const MAX_PROPOSALS: usize = 100;
/// The most characters of a statement. A longer one is a summary.
const MAX_TEXT_CHARS: usize = 500;
/// The most sentences that a statement may cite, and the number of sentences that they may span.
const MAX_CITED: usize = 6;
const MAX_TOPIC_CHARS: usize = 80;
/// The most confidence of a statement, because models are overconfident.
const MAX_CONFIDENCE: f32 = 0.95;
/// The most confidence of an assistant's statement, which may be wrong about a person.
const MAX_ASSISTANT_CONFIDENCE: f32 = 0.6;
const UNSAID_CONFIDENCE: f32 = 0.7;

/// The reason why a proposal was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// It cites no sentences, sentences that were not shown, or sentences that are far apart.
    Span,
    /// It is too short or too long, or has invisible characters.
    Text,
    /// Its kind is unknown.
    Kind,
    /// It has too many words that are not in the cited sentences.
    Invented,
    /// It has a name that is not in the cited sentences.
    Name,
    /// It has a number that is not in the cited sentences.
    Number,
    /// It repeats the guidance or another memory.
    Borrowed,
    /// It denies what the sentences say, or says what they deny.
    Denial,
    /// It had expired when it was said.
    Expired,
    /// It is an instruction of somebody other than the user.
    Instruction,
    /// It repeats an order to a model that somebody other than the user wrote.
    Order,
}

/// Returns the statements of an answer that the source supports, in the order of the text.
///
/// Place, speaker, time and trust of a statement come from the sentences that it cites, whatever
/// the model says about them. Its words, names, numbers and denials must come from those sentences
/// too.
///
/// # Errors
/// [`Garbage`] if the answer cannot be read, or if it proposes something and all of it is rejected.
pub fn validate(
    answer: &str,
    request: &Request<'_>,
    source: &Source<'_>,
) -> Result<Vec<Statement>, Garbage> {
    let proposals = read(answer)?;
    let checked = proposals
        .iter()
        .take(MAX_PROPOSALS)
        .map(|proposal| check(proposal, request, source));
    let statements: Vec<_> = checked.filter_map(Result::ok).collect();
    if statements.is_empty() && !proposals.is_empty() {
        return Err(Garbage::Unsupported);
    }

    Ok(in_order(statements))
}

/// The sentences that a proposal cites, with what follows from them.
struct Cited<'a> {
    shown: Vec<Shown<'a>>,
    passages: Vec<Passage<'a>>,
    /// The passage that says it: that of the speaker whom the model names, or else the last one.
    main: Passage<'a>,
    trust: Trust,
}

/// Turns a proposal into a statement.
///
/// # Errors
/// The [`Rejection`] that names the first failed check.
pub(super) fn check(
    proposal: &Proposal,
    request: &Request<'_>,
    source: &Source<'_>,
) -> Result<Statement, Rejection> {
    let cited = cite(proposal, request, source)?;
    let text = clean(&proposal.text)?;
    let kind = kind(&proposal.kind, &cited)?;

    let sentences: Vec<&str> = cited
        .shown
        .iter()
        .map(|shown| shown.sentence.text)
        .collect();

    if !cited.is_the_users() && sentences.iter().any(|sentence| addresses_a_model(sentence)) {
        return Err(Rejection::Order);
    }

    let event = dates::event(said(&proposal.event_date), cited.main.said_at, &sentences);
    let evidence = cited.evidence(&sentences, event);
    evidence.support(&text, &request.borrowed)?;
    if !agrees(&text, &sentences) {
        return Err(Rejection::Denial);
    }

    let forget_after = dates::expiry(said(&proposal.forget_after));
    if forget_after.is_some_and(|time| time <= cited.main.said_at) {
        return Err(Rejection::Expired);
    }

    let topic = topic(proposal.topic.as_ref(), &text, &sentences, &evidence)
        .filter(|topic| topic.subject != "user" || cited.means_the_user(&sentences));
    Ok(cited.statement(
        proposal,
        Found {
            text,
            kind,
            event,
            forget_after,
            topic,
        },
    ))
}

/// The checked parts of a proposal.
struct Found {
    text: String,
    kind: MemoryKind,
    event: Option<Period>,
    forget_after: Option<Timestamp>,
    topic: Option<Topic>,
}

fn cite<'a>(
    proposal: &Proposal,
    request: &Request<'a>,
    source: &Source<'a>,
) -> Result<Cited<'a>, Rejection> {
    let mut numbers = proposal.sentences.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let (first, last) = numbers.first().zip(numbers.last()).ok_or(Rejection::Span)?;
    if last.saturating_sub(*first) >= MAX_CITED as i64 {
        return Err(Rejection::Span);
    }

    let shown = |number: &i64| {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        request.shown.get(at).copied()
    };

    let shown: Vec<Shown<'a>> = numbers
        .iter()
        .map(shown)
        .collect::<Option<_>>()
        .ok_or(Rejection::Span)?;
    let passages = shown
        .iter()
        .map(|shown| source.passages.get(shown.passage).copied());
    let passages: Vec<Passage<'a>> = passages.collect::<Option<_>>().ok_or(Rejection::Span)?;
    let speaker = said(&proposal.speaker).map(str::to_lowercase);
    let speaks = |passage: &&Passage<'a>| {
        speaker.is_some() && passage.speaker.map(|name| name.trim().to_lowercase()) == speaker
    };

    let main = passages
        .iter()
        .rev()
        .find(speaks)
        .or(passages.last())
        .copied()
        .ok_or(Rejection::Span)?;
    // The least trusted passage decides.
    let of = |trust: Trust| {
        passages
            .iter()
            .any(|passage| source.trust_of(passage) == trust)
    };

    let doubtful = [Trust::External, Trust::Assistant]
        .into_iter()
        .find(|trust| of(*trust));
    let trust = doubtful.unwrap_or(source.trust);

    Ok(Cited {
        shown,
        passages,
        main,
        trust,
    })
}

impl Cited<'_> {
    /// Checks whether the user alone says all of it, to the service itself.
    fn is_the_users(&self) -> bool {
        self.trust <= Trust::User
            && self
                .passages
                .iter()
                .all(|passage| passage.role == Role::User)
    }

    /// Checks whether "user" means the user. In a document that uses the word itself, it may mean
    /// anybody.
    fn means_the_user(&self, sentences: &[&str]) -> bool {
        self.passages
            .iter()
            .all(|passage| passage.role != Role::Author)
            || !sentences
                .iter()
                .any(|sentence| words(sentence).iter().any(|word| word.lower == "user"))
    }

    fn evidence(&self, sentences: &[&str], event: Option<Period>) -> Evidence {
        let mut evidence = Evidence::new(sentences.iter().copied());
        for name in self.passages.iter().filter_map(|passage| passage.speaker) {
            evidence.add(name);
        }
        // The "I" of a fetched page is not the user.
        if self.trust != Trust::External {
            evidence.add("user");
        }
        if let Some(event) = event {
            evidence.add(&dates::spellings(event));
        }
        evidence
    }

    fn statement(&self, proposal: &Proposal, found: Found) -> Statement {
        let span = |shown: &[Shown<'_>]| {
            shown
                .first()
                .zip(shown.last())
                .map(|(first, last)| (first.sentence.start, last.sentence.end))
        };

        let (start, end) = span(&self.shown).unwrap_or_default();
        let most = if self.trust == Trust::Assistant {
            MAX_ASSISTANT_CONFIDENCE
        } else {
            MAX_CONFIDENCE
        };

        let confidence = proposal
            .confidence
            .filter(|confidence| confidence.is_finite());
        let lasts = found.forget_after.is_none()
            && !matches!(found.kind, MemoryKind::Event | MemoryKind::Plan);
        Statement {
            text: found.text,
            start,
            end,
            kind: found.kind,
            is_static: lasts && proposal.is_static.unwrap_or(false),
            confidence: confidence.unwrap_or(UNSAID_CONFIDENCE).clamp(0.0, most),
            trust: self.trust,
            speaker: self
                .main
                .speaker
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty()),
            attribution: self
                .passages
                .iter()
                .find_map(|passage| passage.quoted)
                .map(Quoted::attribution),
            said_at: self.main.said_at,
            event: found.event,
            forget_after: found.forget_after,
            forget_reason: found.forget_after.map(|_| "it is over".to_owned()),
            topic: found.topic,
            metadata: Map::new(),
        }
    }
}

/// Returns the text in one line.
///
/// # Errors
/// [`Rejection::Text`] for characters without a shape, which could hide an order from a person.
fn clean(text: &str) -> Result<String, Rejection> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = text.chars().count();
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    };
    if !(3..=MAX_TEXT_CHARS).contains(&length) || text.contains(hidden) {
        return Err(Rejection::Text);
    }
    Ok(text)
}

fn kind(name: &str, cited: &Cited<'_>) -> Result<MemoryKind, Rejection> {
    let name = Value::String(name.trim().to_lowercase());
    let kind = MemoryKind::deserialize(name).map_err(|_| Rejection::Kind)?;
    if kind == MemoryKind::Instruction && !cited.is_the_users() {
        return Err(Rejection::Instruction);
    }
    Ok(kind)
}

/// Returns the topic, if its subject and value are in the cited sentences. A wrong topic would let
/// the statement replace another one; without a topic, both stay.
fn topic(
    proposed: Option<&Value>,
    text: &str,
    sentences: &[&str],
    evidence: &Evidence,
) -> Option<Topic> {
    let proposed = ProposedTopic::deserialize(proposed?).ok()?;
    let line = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };

    let topic = Topic {
        subject: line(&proposed.subject),
        attribute: line(&proposed.attribute),
        value: line(&proposed.value),
        negated: proposed.negated,
    };

    let fits = |text: &str| !text.is_empty() && text.chars().count() <= MAX_TOPIC_CHARS;
    let ends = denies_or_ends(text) || sentences.iter().any(|sentence| denies_or_ends(sentence));
    let turned = if topic.negated { !ends } else { denies(text) };
    let holds = fits(&topic.subject) && fits(&topic.attribute) && fits(&topic.value) && !turned;

    (holds && evidence.has_all(&topic.subject) && evidence.has_all(&topic.value)).then_some(topic)
}

/// Returns the value of a field. Models have many spellings for no value.
fn said(field: &Option<String>) -> Option<&str> {
    let text = field.as_deref().map(str::trim)?;
    let nothing = ["", "null", "none", "n/a", "unknown"]
        .iter()
        .any(|nothing| text.eq_ignore_ascii_case(nothing));
    (!nothing).then_some(text)
}
