//! The validation of a model's proposals.

use domain::{EventPeriod, MemoryKind, Statement, Timestamp, Topic, Trust};
use serde::Deserialize;
use serde_json::{Map, Value};

use extraction::{Passage, Role, SourceText, TextOrigin, is_hidden_character, is_order_to_model};

use super::answer::{ModelAnswerError, ParsedAnswer, Proposal, ProposedTopic, parse_answer};
use super::dates;
use super::grounding::SourceEvidence;
use super::outcome::sort_and_dedup;
use super::polarity::{agrees_in_polarity, is_negated, is_negated_or_ended};
use super::prompt::{ModelRequest, ShownSentence};
use super::summary::check_summary;
use super::words::tokenize_words;

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
const DEFAULT_CONFIDENCE: f32 = 0.7;

/// The reason why a proposal was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProposalRejection {
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
    ContextOnly,
    /// It denies what the sentences say, or says what they deny.
    Polarity,
    /// It had expired when it was said.
    Expired,
    /// It is an instruction of somebody other than the user.
    Instruction,
    /// It repeats an order to a model that somebody other than the user wrote.
    ModelOrder,
}

/// The parts of an answer that the source supports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedAnswer {
    /// The statements, in the order of the text.
    pub statements: Vec<Statement>,
    /// The summary of the source, if the request asked for one.
    pub summary: Option<String>,
}

/// Returns the parts of an answer that the source supports.
///
/// Place, speaker, time and trust of a statement come from the sentences that it cites, whatever
/// the model says about them. Its words, names, numbers and denials must come from those sentences
/// too. A summary that is rejected is left out, and the statements stay.
///
/// # Errors
/// [`ModelAnswerError`] if the answer cannot be read, or if it proposes statements and all of them
/// are rejected.
pub fn validate_answer(
    answer: &str,
    request: &ModelRequest<'_>,
    source: &SourceText<'_>,
) -> Result<CheckedAnswer, ModelAnswerError> {
    let ParsedAnswer { proposals, summary } = parse_answer(answer)?;
    let mut statements = Vec::new();
    for proposal in proposals.iter().take(MAX_PROPOSALS) {
        if let Ok(statement) = check_proposal(proposal, request, source) {
            statements.push(statement);
        }
    }

    if statements.is_empty() && !proposals.is_empty() {
        return Err(ModelAnswerError::Unsupported);
    }

    let summary = match summary {
        Some(summary) if request.wants_summary => check_summary(&summary, request, source),
        _ => None,
    };
    Ok(CheckedAnswer {
        statements: sort_and_dedup(statements),
        summary,
    })
}

/// The sentences that a proposal cites, with what follows from them.
struct CitedSentences<'a> {
    sentences: Vec<ShownSentence<'a>>,
    passages: Vec<Passage<'a>>,
    /// The passage that says it: that of the speaker whom the model names, or else the last one.
    main_passage: Passage<'a>,
    trust: Trust,
}

/// Turns a proposal into a statement.
///
/// # Errors
/// The [`ProposalRejection`] that names the first failed check.
pub(super) fn check_proposal(
    proposal: &Proposal,
    request: &ModelRequest<'_>,
    source: &SourceText<'_>,
) -> Result<Statement, ProposalRejection> {
    let cited = resolve_citation(proposal, request, source)?;
    let text = clean_text(&proposal.text)?;
    let kind = parse_kind(&proposal.kind, &cited)?;

    let sentences: Vec<&str> = cited
        .sentences
        .iter()
        .map(|shown_sentence| shown_sentence.sentence.text)
        .collect();

    if !cited.is_the_users() && sentences.iter().any(|sentence| is_order_to_model(sentence)) {
        return Err(ProposalRejection::ModelOrder);
    }

    let event = dates::resolve_event(
        non_null_text(&proposal.event_date),
        cited.main_passage.said_at,
        &sentences,
    );
    let evidence = cited.evidence(&sentences, event);
    evidence.support(&text, &request.context_words)?;
    if !agrees_in_polarity(&text, &sentences) {
        return Err(ProposalRejection::Polarity);
    }

    let forget_after = dates::parse_expiry(non_null_text(&proposal.forget_after));
    if let Some(time) = forget_after
        && time <= cited.main_passage.said_at
    {
        return Err(ProposalRejection::Expired);
    }

    let topic = match parse_topic(proposal.topic.as_ref(), &text, &sentences, &evidence) {
        Some(topic) if topic.subject == "user" && !cited.means_the_user(&sentences) => None,
        topic => topic,
    };
    Ok(cited.statement(
        proposal,
        CheckedProposal {
            text,
            kind,
            event,
            forget_after,
            topic,
        },
    ))
}

/// The checked parts of a proposal.
struct CheckedProposal {
    text: String,
    kind: MemoryKind,
    event: Option<EventPeriod>,
    forget_after: Option<Timestamp>,
    topic: Option<Topic>,
}

fn resolve_citation<'a>(
    proposal: &Proposal,
    request: &ModelRequest<'a>,
    source: &SourceText<'a>,
) -> Result<CitedSentences<'a>, ProposalRejection> {
    let mut numbers = proposal.sentences.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
        return Err(ProposalRejection::Span);
    };
    if last.saturating_sub(*first) >= MAX_CITED as i64 {
        return Err(ProposalRejection::Span);
    }

    let (mut sentences, mut passages) = (Vec::new(), Vec::new());
    for number in numbers {
        let shown_sentence = find_sentence(request, number).ok_or(ProposalRejection::Span)?;
        let Some(passage) = source.passages.get(shown_sentence.passage_index) else {
            return Err(ProposalRejection::Span);
        };
        sentences.push(shown_sentence);
        passages.push(*passage);
    }

    let speaker = non_null_text(&proposal.speaker);
    let main_passage = find_main_passage(&passages, speaker).ok_or(ProposalRejection::Span)?;

    // The least trusted passage decides.
    let has_trust = |trust: Trust| {
        passages
            .iter()
            .any(|passage| source.trust_of(passage) == trust)
    };
    let trust = if has_trust(Trust::External) {
        Trust::External
    } else if has_trust(Trust::Assistant) {
        Trust::Assistant
    } else {
        source.trust
    };

    Ok(CitedSentences {
        sentences,
        passages,
        main_passage,
        trust,
    })
}

/// Returns the sentence with this number, counted from 1, if the request shows it.
fn find_sentence<'a>(request: &ModelRequest<'a>, number: i64) -> Option<ShownSentence<'a>> {
    let at = usize::try_from(number.checked_sub(1)?).ok()?;
    request.sentences.get(at).copied()
}

/// Returns the last passage of the speaker, or else the last passage.
fn find_main_passage<'a>(passages: &[Passage<'a>], speaker: Option<&str>) -> Option<Passage<'a>> {
    if let Some(speaker) = speaker {
        let speaker = speaker.to_lowercase();
        for passage in passages.iter().rev() {
            if let Some(name) = passage.speaker
                && name.trim().to_lowercase() == speaker
            {
                return Some(*passage);
            }
        }
    }

    passages.last().copied()
}

impl CitedSentences<'_> {
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
            || !sentences.iter().any(|sentence| {
                tokenize_words(sentence)
                    .iter()
                    .any(|word| word.lower == "user")
            })
    }

    fn evidence(&self, sentences: &[&str], event: Option<EventPeriod>) -> SourceEvidence {
        let mut evidence = SourceEvidence::new(sentences);
        for passage in &self.passages {
            if let Some(name) = passage.speaker {
                evidence.add(name);
            }
        }
        // The "I" of a fetched page is not the user.
        if self.trust != Trust::External {
            evidence.add("user");
        }
        if let Some(event) = event {
            evidence.add(&dates::spell_period(event));
        }
        evidence
    }

    fn statement(&self, proposal: &Proposal, checked: CheckedProposal) -> Statement {
        let (start, end) = match (self.sentences.first(), self.sentences.last()) {
            (Some(first), Some(last)) => (first.sentence.start, last.sentence.end),
            _ => (0, 0),
        };
        let max_confidence = if self.trust == Trust::Assistant {
            MAX_ASSISTANT_CONFIDENCE
        } else {
            MAX_CONFIDENCE
        };

        let confidence = match proposal.confidence {
            Some(confidence) if confidence.is_finite() => confidence,
            _ => DEFAULT_CONFIDENCE,
        };
        let speaker = match self.main_passage.speaker.map(str::trim) {
            Some(name) if !name.is_empty() => Some(name.to_owned()),
            _ => None,
        };
        let origin = self.passages.iter().find_map(|passage| passage.origin);
        let is_lasting = checked.forget_after.is_none()
            && !matches!(checked.kind, MemoryKind::Event | MemoryKind::Plan);
        Statement {
            text: checked.text,
            start,
            end,
            kind: checked.kind,
            is_static: is_lasting && proposal.is_static == Some(true),
            confidence: confidence.clamp(0.0, max_confidence),
            trust: self.trust,
            speaker,
            attribution: origin.map(TextOrigin::attribution),
            said_at: self.main_passage.said_at,
            event: checked.event,
            forget_after: checked.forget_after,
            forget_reason: checked.forget_after.map(|_| "it is over".to_owned()),
            topic: checked.topic,
            aspects: Vec::new(),
            retraction: None,
            metadata: Map::new(),
        }
    }
}

/// Returns the text in one line.
///
/// # Errors
/// [`ProposalRejection::Text`] for characters without a shape, which could hide an order from a
/// person.
fn clean_text(text: &str) -> Result<String, ProposalRejection> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = text.chars().count();
    if !(3..=MAX_TEXT_CHARS).contains(&length) || text.contains(is_hidden_character) {
        return Err(ProposalRejection::Text);
    }
    Ok(text)
}

fn parse_kind(name: &str, cited: &CitedSentences<'_>) -> Result<MemoryKind, ProposalRejection> {
    let name = Value::String(name.trim().to_lowercase());
    let Ok(kind) = MemoryKind::deserialize(name) else {
        return Err(ProposalRejection::Kind);
    };
    if kind == MemoryKind::Instruction && !cited.is_the_users() {
        return Err(ProposalRejection::Instruction);
    }
    Ok(kind)
}

/// Returns the topic, if its subject and value are in the cited sentences. A wrong topic would let
/// the statement replace another one; without a topic, both stay.
fn parse_topic(
    proposed: Option<&Value>,
    text: &str,
    sentences: &[&str],
    evidence: &SourceEvidence,
) -> Option<Topic> {
    let proposed = ProposedTopic::deserialize(proposed?).ok()?;
    let normalize = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };

    let topic = Topic {
        subject: normalize(&proposed.subject),
        attribute: normalize(&proposed.attribute),
        value: normalize(&proposed.value),
        negated: proposed.negated,
    };

    let has_valid_length = |text: &str| !text.is_empty() && text.chars().count() <= MAX_TOPIC_CHARS;
    let is_ended = is_negated_or_ended(text)
        || sentences
            .iter()
            .any(|sentence| is_negated_or_ended(sentence));
    let is_reversed = if topic.negated {
        !is_ended
    } else {
        is_negated(text)
    };
    if is_reversed
        || !has_valid_length(&topic.subject)
        || !has_valid_length(&topic.attribute)
        || !has_valid_length(&topic.value)
    {
        return None;
    }

    let is_supported = evidence.has_all(&topic.subject) && evidence.has_all(&topic.value);
    is_supported.then_some(topic)
}

/// Returns the value of a field. Models have many spellings for no value.
fn non_null_text(field: &Option<String>) -> Option<&str> {
    let text = field.as_deref()?.trim();
    let is_null = ["", "null", "none", "n/a", "unknown"]
        .iter()
        .any(|null_word| text.eq_ignore_ascii_case(null_word));
    (!is_null).then_some(text)
}
