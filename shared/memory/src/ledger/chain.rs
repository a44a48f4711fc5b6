//! The fold of one topic: computes the versions of its memories from its statements, in the order
//! in which they were said.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{
    Attribution, DocumentId, IndexedDocument, MemoryId, MemoryKind, SourceMedium, Statement,
    Timestamp, TopicId, Trust,
};
use serde_json::Value;

use super::{
    DocumentStatements, ForgetRecord, Memory, MemoryEdits, MemoryRelation, SupportingSpan,
    TopicEntry,
};
use crate::words::{content_words, is_negated, split_words};

/// A statement with everything that decides its place in the fold.
struct PlacedStatement<'a> {
    statement: &'a Statement,
    /// The document of the statement; `None` for a version that a caller wrote.
    document: Option<&'a IndexedDocument>,
    answer: String,
    negated: bool,
}

impl<'a> PlacedStatement<'a> {
    fn new(statement: &'a Statement, document: Option<&'a IndexedDocument>) -> Self {
        let (answer, negated) = match &statement.topic {
            Some(topic) => (split_words(&topic.value).join(" "), topic.negated),
            None if document.is_none() => (content_words(&statement.text).join(" "), false),
            None => (String::new(), is_negated(&statement.text)),
        };
        Self {
            statement,
            document,
            answer,
            negated,
        }
    }

    /// Returns the value from which the id of a version is derived, together with the number of
    /// earlier versions of the same value.
    fn name(&self) -> String {
        match (self.document, self.negated) {
            (None, _) => format!("edit {} {}", self.statement.said_at, self.statement.text),
            (_, true) => format!("not {}", self.answer),
            (_, false) => self.answer.clone(),
        }
    }

    /// Returns the key that repetitions have in common.
    fn value(&self) -> (&str, bool) {
        (&self.answer, self.negated)
    }

    fn recorded_at(&self) -> Timestamp {
        self.document.map_or(self.statement.said_at, |document| {
            Timestamp::from_millis(document.created_at)
        })
    }

    /// Returns the sort key of the fold. Ties are broken by values that never change.
    fn place(&self) -> (Timestamp, bool, Timestamp, &str, usize) {
        let id = self.document.map_or("", |document| document.id.as_str());
        (
            self.statement.said_at,
            self.document.is_none(),
            self.recorded_at(),
            id,
            self.statement.start,
        )
    }
}

/// A version while it is being folded.
struct VersionDraft<'a> {
    id: MemoryId,
    claims: Vec<PlacedStatement<'a>>,
}

impl<'a> VersionDraft<'a> {
    /// Returns the trust of the user's own words if there are any, or else that of the most trusted
    /// claim.
    fn trust(&self) -> Trust {
        let all = self.claims.iter().map(|claim| claim.statement.trust);
        all.min_by_key(|trust| (!trust.is_own_words(), *trust))
            .unwrap_or_default()
    }

    /// Returns the claims that decide the content of the version. If the user's own words are among
    /// them, those of others are left out.
    fn deciding(&self) -> impl Iterator<Item = &PlacedStatement<'a>> + Clone {
        let is_own = self.trust().is_own_words();
        self.claims
            .iter()
            .filter(move |claim| !is_own || claim.statement.trust.is_own_words())
    }

    /// Returns where the version was read, if it is not in the user's own words.
    fn attribution(&self) -> Option<Attribution> {
        let trust = self.trust();
        let claim = self
            .claims
            .iter()
            .find(|claim| claim.statement.trust == trust && !trust.is_own_words())?;
        let document = claim.document;
        let known = || document?.authorship.as_ref()?.attribution.clone();
        let shown = || {
            document
                .map(|document| Attribution::of_document(document.kind, document.title.as_deref()))
        };

        match trust {
            Trust::Assistant => Some(Attribution::new(SourceMedium::Assistant, None)),
            _ => claim
                .statement
                .attribution
                .clone()
                .or_else(known)
                .or_else(shown),
        }
    }
}

/// The most lines of a topic. Further statements become versions of the last line. A text made to
/// have more would cost every reader of its container time in proportion to their square.
const MAX_TOPIC_LINES: usize = 64;

/// The number of occurrences of one answer in a topic that are searched for an earlier forget.
const MAX_FORGET_OCCURRENCES: usize = 8;

/// Versions that follow each other. A topic has several lines where statements may not replace each
/// other.
type VersionLine<'a> = Vec<VersionDraft<'a>>;

pub(super) fn fold_topic(
    topic: &TopicId,
    claims: &TopicEntry,
    told: &HashMap<DocumentId, Arc<DocumentStatements>>,
    acts: &HashMap<MemoryId, MemoryEdits>,
) -> Vec<Memory> {
    let mut ordered: Vec<(Option<&MemoryId>, PlacedStatement<'_>)> = Vec::new();
    for (document, place) in &claims.stated {
        let stated = told
            .get(document)
            .and_then(|told| Some((told.statements.get(*place)?, &told.document)));
        // Only the user may instruct, so instructions in the words of others are dropped.
        let stated = stated.filter(|(statement, _)| {
            statement.kind != MemoryKind::Instruction || statement.trust.is_own_words()
        });
        ordered.extend(
            stated.map(|(statement, document)| {
                (None, PlacedStatement::new(statement, Some(document)))
            }),
        );
    }

    ordered.extend(
        claims
            .edits
            .iter()
            .map(|(memory, version)| (Some(memory), PlacedStatement::new(version, None))),
    );
    ordered.sort_by(|(_, a), (_, b)| a.place().cmp(&b.place()));
    let mut fold = TopicFold {
        topic,
        acts,
        lines: Vec::new(),
        used: HashMap::new(),
    };

    for (replaced, claim) in ordered {
        match replaced {
            Some(memory) => fold.edit(memory, claim),
            None => fold.state(claim),
        }
    }

    fold.memories()
}

struct TopicFold<'a, 'b> {
    topic: &'b TopicId,
    acts: &'b HashMap<MemoryId, MemoryEdits>,
    lines: Vec<VersionLine<'a>>,
    /// The number of versions that each value has begun.
    used: HashMap<String, usize>,
}

impl<'a> TopicFold<'a, '_> {
    fn version(&mut self, claim: PlacedStatement<'a>) -> VersionDraft<'a> {
        let value = claim.name();
        let occurrence = self.used.entry(value.clone()).or_insert(0);
        *occurrence += 1;
        VersionDraft {
            id: MemoryId::derived(self.topic, &value, *occurrence - 1),
            claims: vec![claim],
        }
    }

    /// Adds a document's statement: it repeats a current version, replaces one, or begins a line.
    fn state(&mut self, claim: PlacedStatement<'a>) {
        let repeated = self
            .lines
            .iter()
            .position(|line| line.last().is_some_and(|last| self.repeats(last, &claim)));
        let (claim, earlier) = match repeated {
            Some(line) => match self.confirm(line, claim) {
                Some(corrected) => corrected,
                None => return,
            },
            None => (claim, Vec::new()),
        };

        if let Some(ended) = self.ended(&claim) {
            ended.claims.push(claim);
            return;
        }

        let replaced = self
            .lines
            .iter()
            .position(|line| line.last().is_some_and(|last| may_replace(last, &claim)));
        let replaced =
            replaced.or((self.lines.len() >= MAX_TOPIC_LINES).then_some(MAX_TOPIC_LINES - 1));
        let mut version = self.version(claim);
        version.claims.splice(0..0, earlier);

        match replaced {
            Some(line) => self.lines[line].push(version),
            None => self.lines.push(vec![version]),
        }
    }

    /// Adds a claim to the current version that it repeats, and returns `None`.
    ///
    /// There is one exception. If only others have stated this version so far, and the user now
    /// repeats it after having said something else, the claim must replace what the user said
    /// before. The line of the others is then removed, and the claim is returned together with the
    /// claims of that line.
    fn confirm(
        &mut self,
        line: usize,
        claim: PlacedStatement<'a>,
    ) -> Option<(PlacedStatement<'a>, Vec<PlacedStatement<'a>>)> {
        let is_own =
            |line: &VersionLine<'_>| line.last().is_some_and(|last| last.trust().is_own_words());
        let said = |line: &VersionLine<'_>| {
            is_own(line) && line.last().is_some_and(|last| may_replace(last, &claim))
        };

        let confirms = claim.statement.trust.is_own_words() && !is_own(&self.lines[line]);
        if confirms && self.lines.iter().any(said) {
            let earlier = self
                .lines
                .remove(line)
                .pop()
                .map_or_else(Vec::new, |last| last.claims);
            return Some((claim, earlier));
        }

        self.lines[line].last_mut()?.claims.push(claim);
        None
    }

    /// Returns the former version that a denial refers to. It has been replaced already, so the
    /// denial changes nothing.
    fn ended(&mut self, claim: &PlacedStatement<'_>) -> Option<&mut VersionDraft<'a>> {
        if !claim.negated || claim.answer.is_empty() {
            return None;
        }
        let former = self
            .lines
            .iter_mut()
            .flat_map(|line| line.split_last_mut().map(|(_, former)| former));
        former
            .flatten()
            .find(|version| version.claims[0].value() == (&claim.answer, false))
    }

    /// Adds a caller's version to the line of the memory that it replaces. If that memory no longer
    /// exists, the version goes to the first line, or begins one in an empty topic.
    fn edit(&mut self, memory: &MemoryId, claim: PlacedStatement<'a>) {
        let line = self
            .lines
            .iter()
            .position(|line| line.iter().any(|version| version.id == *memory));
        let version = self.version(claim);
        match line.or((!self.lines.is_empty()).then_some(0)) {
            Some(line) => self.lines[line].push(version),
            None => self.lines.push(vec![version]),
        }
    }

    /// Returns when and why a version was forgotten.
    ///
    /// The occurrence number of a version changes when an earlier document is added or removed. A
    /// forget of any occurrence of the same value therefore counts, if it is not older than the
    /// version's last statement.
    fn forgotten(&self, version: &VersionDraft<'_>) -> Option<&(Timestamp, Option<String>)> {
        if self.acts.is_empty() {
            return None;
        }
        let (name, said_at) = (
            version.claims[0].name(),
            version.claims.last()?.statement.said_at,
        );
        let ids = (0..MAX_FORGET_OCCURRENCES)
            .map(|occurrence| MemoryId::derived(self.topic, &name, occurrence));
        let acts = ids.filter_map(|id| self.acts.get(&id)?.forgotten.as_ref());
        acts.filter(|(at, _)| *at >= said_at)
            .max_by_key(|(at, _)| *at)
    }

    /// Checks whether the claim says what the version says. A statement that is repeated after the
    /// version was forgotten begins a new version.
    fn repeats(&self, last: &VersionDraft<'_>, claim: &PlacedStatement<'_>) -> bool {
        let same = last
            .claims
            .iter()
            .any(|known| known.value() == claim.value());
        same && self
            .forgotten(last)
            .is_none_or(|(at, _)| *at >= claim.statement.said_at)
    }

    fn memories(&self) -> Vec<Memory> {
        let mut memories = Vec::new();
        for line in &self.lines {
            let root = &line[0].id;
            for (place, version) in line.iter().enumerate() {
                let mut memory = self.memory(version, root);
                memory.version = u32::try_from(place + 1).unwrap_or(u32::MAX);
                memory.topic_answer = version.claims[0].statement.topic.clone();
                if let Some(previous) = place.checked_sub(1).map(|before| &line[before].id) {
                    memory.parent = Some(previous.clone());
                    memory
                        .relations
                        .insert(previous.clone(), MemoryRelation::Updates);
                }
                if let Some(next) = line.get(place + 1) {
                    memory.is_latest = false;
                    memory.superseded_at =
                        next.deciding().next().map(|claim| claim.statement.said_at);
                    memory
                        .reverse_relations
                        .insert(next.id.clone(), MemoryRelation::Updates);
                    memory.updated_at = memory.updated_at.max(next.claims[0].recorded_at());
                }
                memories.push(memory);
            }
        }

        link_contradictions(&self.lines, &mut memories);
        memories
    }

    fn memory(&self, version: &VersionDraft<'_>, root: &MemoryId) -> Memory {
        let deciding = version.deciding();
        let first = deciding
            .clone()
            .next()
            .unwrap_or(&version.claims[0])
            .statement;
        let newest = deciding.clone().last().unwrap_or(&version.claims[0]);
        let trust = version.trust();
        let acts = self.acts.get(&version.id);
        let forgotten = self.forgotten(version).cloned();
        let forgotten = forgotten.map(|(at, reason)| ForgetRecord { at, reason });
        let recorded = version.claims.iter().map(PlacedStatement::recorded_at);
        let updated = recorded
            .clone()
            .chain(forgotten.iter().map(|forgotten| forgotten.at))
            .max();

        Memory {
            id: version.id.clone(),
            topic: self.topic.clone(),
            topic_answer: None,
            text: first.text.clone(),
            kind: first.kind,
            is_static: trust.is_own_words()
                && deciding.clone().any(|claim| claim.statement.is_static),
            is_inference: false,
            review: acts
                .and_then(MemoryEdits::review)
                .filter(|review| *review == ReviewDecision::Approve),
            confidence: combined_confidence(version),
            trust,
            speaker: deciding
                .clone()
                .find_map(|claim| claim.statement.speaker.clone()),
            attribution: version.attribution(),
            version: 1,
            is_latest: true,
            parent: None,
            first_version: root.clone(),
            relations: BTreeMap::new(),
            reverse_relations: BTreeMap::new(),
            contradicts: Vec::new(),
            sources: version_sources(version),
            forgotten,
            forget_after: newest.statement.forget_after,
            forget_reason: newest.statement.forget_reason.clone(),
            event: deciding.clone().find_map(|claim| claim.statement.event),
            said_at: first.said_at,
            superseded_at: None,
            created_at: recorded.min().unwrap_or(first.said_at),
            updated_at: updated.unwrap_or(first.said_at),
            metadata: version_metadata(version),
        }
    }
}

/// Checks whether the claim may replace the version. It may not if others contradict the user, if
/// its document is limited to other documents, or if it denies a different answer.
fn may_replace(last: &VersionDraft<'_>, claim: &PlacedStatement<'_>) -> bool {
    let may = claim.statement.trust.may_replace(last.trust());
    let denies_other = claim.negated && last.claims[0].answer != claim.answer;
    may && !denies_other && considers_documents_of(claim, last)
}

/// Checks whether the claim's document takes the documents of the version into account. It does
/// unless its `filter_by_metadata` excludes all of them.
fn considers_documents_of(claim: &PlacedStatement<'_>, version: &VersionDraft<'_>) -> bool {
    let Some(wanted) = claim
        .document
        .and_then(|document| document.filter_by_metadata.as_ref())
    else {
        return true;
    };

    let has = |document: &IndexedDocument| {
        wanted.iter().all(|(key, value)| {
            document.metadata.get(key).is_some_and(|held| match value {
                Value::Array(any) => any.contains(held),
                value => value == held,
            })
        })
    };

    version
        .claims
        .iter()
        .filter_map(|known| known.document)
        .any(has)
}

/// Records contradictions between the current versions of one topic that say different things.
fn link_contradictions(lines: &[VersionLine<'_>], memories: &mut [Memory]) {
    let heads: Vec<(&MemoryId, (&str, bool))> = lines
        .iter()
        .filter_map(|line| line.last())
        .map(|version| (&version.id, version.claims[0].value()))
        .filter(|(_, (answer, _))| !answer.is_empty())
        .collect();

    for memory in memories.iter_mut().filter(|memory| memory.is_latest) {
        let own = heads
            .iter()
            .find(|(id, _)| **id == memory.id)
            .map(|(_, value)| *value);
        let others = heads.iter().filter(|(id, value)| {
            // Two different answers contradict each other, and so do an answer and its denial.
            let (one, two) = (own.unwrap_or_default(), *value);
            let denied = one.1 || two.1;
            let apart = if denied {
                one.0 == two.0 && one.1 != two.1
            } else {
                one.0 != two.0
            };
            **id != memory.id && apart
        });
        memory.contradicts = others.map(|(id, _)| (*id).clone()).collect();
    }
}

/// Computes the probability that at least one document is right, assuming that they are
/// independent. Claims of others do not add to the confidence of the user's own words.
fn combined_confidence(version: &VersionDraft<'_>) -> f32 {
    const MOST: f32 = 0.99;
    let mut by_document: BTreeMap<&str, f32> = BTreeMap::new();
    for claim in version.deciding() {
        let best = by_document
            .entry(claim.document.map_or("", |document| document.id.as_str()))
            .or_insert(0.0);
        *best = best.max(claim.statement.confidence.clamp(0.0, 1.0));
    }

    let wrong: f32 = by_document
        .values()
        .map(|confidence| 1.0 - confidence)
        .product();
    if version.claims.iter().any(|claim| claim.document.is_none()) {
        1.0
    } else {
        (1.0 - wrong).min(MOST)
    }
}

fn version_sources(version: &VersionDraft<'_>) -> Vec<SupportingSpan> {
    let support = |claim: &PlacedStatement<'_>| {
        let document = claim.document?.id.clone();
        Some(SupportingSpan {
            document,
            start: claim.statement.start,
            end: claim.statement.end,
        })
    };
    version.claims.iter().filter_map(support).collect()
}

fn version_metadata(version: &VersionDraft<'_>) -> serde_json::Map<String, Value> {
    let own = version
        .claims
        .iter()
        .rev()
        .map(|claim| &claim.statement.metadata)
        .find(|own| !own.is_empty());
    let documents = version
        .claims
        .iter()
        .rev()
        .filter_map(|claim| claim.document);

    own.or_else(|| {
        documents
            .map(|document| &document.metadata)
            .find(|shown| !shown.is_empty())
    })
    .cloned()
    .unwrap_or_default()
}
