//! The fold of one topic: from statements in the order in which they were said to versions of memories.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::memory::Review;
use domain::{
    Attribution, DocumentId, Medium, MemoryId, MemoryKind, SearchDocument, Statement, Timestamp,
    TopicId, Trust,
};
use serde_json::Value;

use super::{Acts, Claims, Forgotten, Memory, Relation, Support, Told};
use crate::words::{essence, is_negated, words};

/// A statement where it stands in time.
struct Claim<'a> {
    statement: &'a Statement,
    /// The document that states it; none for a version that a caller wrote.
    document: Option<&'a SearchDocument>,
    answer: String,
    negated: bool,
}

impl<'a> Claim<'a> {
    fn new(statement: &'a Statement, document: Option<&'a SearchDocument>) -> Self {
        let (answer, negated) = match &statement.topic {
            Some(topic) => (words(&topic.value).join(" "), topic.negated),
            None if document.is_none() => (essence(&statement.text).join(" "), false),
            None => (String::new(), is_negated(&statement.text)),
        };
        Self {
            statement,
            document,
            answer,
            negated,
        }
    }

    /// What the ids of its versions are made of, beside how many came before.
    fn name(&self) -> String {
        match (self.document, self.negated) {
            (None, _) => format!("edit {} {}", self.statement.said_at, self.statement.text),
            (_, true) => format!("not {}", self.answer),
            (_, false) => self.answer.clone(),
        }
    }

    /// What a repetition has in common with it.
    fn value(&self) -> (&str, bool) {
        (&self.answer, self.negated)
    }

    fn recorded_at(&self) -> Timestamp {
        self.document.map_or(self.statement.said_at, |document| {
            Timestamp::from_millis(document.created_at)
        })
    }

    /// The order of the fold. Ties are broken by what never changes.
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

/// A version while it is folded.
struct Version<'a> {
    id: MemoryId,
    claims: Vec<Claim<'a>>,
}

impl<'a> Version<'a> {
    /// The user's own words, where there are any, else the most trusted of the others'.
    fn trust(&self) -> Trust {
        let all = self.claims.iter().map(|claim| claim.statement.trust);
        all.min_by_key(|trust| (!trust.is_own(), *trust))
            .unwrap_or_default()
    }

    /// The claims that decide what the version is: where the user says it as well, nothing of what others add.
    fn deciding(&self) -> impl Iterator<Item = &Claim<'a>> + Clone {
        let is_own = self.trust().is_own();
        self.claims
            .iter()
            .filter(move |claim| !is_own || claim.statement.trust.is_own())
    }

    /// Where it was read, when it is not the user's own.
    fn attribution(&self) -> Option<Attribution> {
        let trust = self.trust();
        let claim = self
            .claims
            .iter()
            .find(|claim| claim.statement.trust == trust && !trust.is_own())?;
        let document = claim.document;
        let known = || document?.authorship.as_ref()?.attribution.clone();
        let shown = || {
            document.map(|document| Attribution::of_shown(document.kind, document.title.as_deref()))
        };

        match trust {
            Trust::Assistant => Some(Attribution::new(Medium::Assistant, None)),
            _ => claim
                .statement
                .attribution
                .clone()
                .or_else(known)
                .or_else(shown),
        }
    }
}

/// The most lines of a topic; statements beyond are versions of the last one. A text made to have more would cost every
/// reader of its container the square of them.
const MOST_LINES: usize = 64;

/// How often a topic may come back to the same answer for an earlier forget to be looked for.
const MOST_OCCURRENCES: usize = 8;

/// Versions that follow each other. A topic has several lines where statements may not replace each other.
type Line<'a> = Vec<Version<'a>>;

pub(super) fn fold(
    topic: &TopicId,
    claims: &Claims,
    told: &HashMap<DocumentId, Arc<Told>>,
    acts: &HashMap<MemoryId, Acts>,
) -> Vec<Memory> {
    let mut ordered: Vec<(Option<&MemoryId>, Claim<'_>)> = Vec::new();
    for (document, place) in &claims.stated {
        let stated = told
            .get(document)
            .and_then(|told| Some((told.statements.get(*place)?, &told.document)));
        // An order that is not the user's is nobody's to keep.
        let stated = stated.filter(|(statement, _)| {
            statement.kind != MemoryKind::Instruction || statement.trust.is_own()
        });
        ordered.extend(
            stated.map(|(statement, document)| (None, Claim::new(statement, Some(document)))),
        );
    }

    ordered.extend(
        claims
            .edits
            .iter()
            .map(|(memory, version)| (Some(memory), Claim::new(version, None))),
    );
    ordered.sort_by(|(_, a), (_, b)| a.place().cmp(&b.place()));
    let mut fold = Fold {
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

struct Fold<'a, 'b> {
    topic: &'b TopicId,
    acts: &'b HashMap<MemoryId, Acts>,
    lines: Vec<Line<'a>>,
    /// How often each value has begun a version.
    used: HashMap<String, usize>,
}

impl<'a> Fold<'a, '_> {
    fn version(&mut self, claim: Claim<'a>) -> Version<'a> {
        let value = claim.name();
        let occurrence = self.used.entry(value.clone()).or_insert(0);
        *occurrence += 1;
        Version {
            id: MemoryId::derived(self.topic, &value, *occurrence - 1),
            claims: vec![claim],
        }
    }

    /// A document's statement: repeats a present version, replaces one, or begins a line.
    fn state(&mut self, claim: Claim<'a>) {
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
            .position(|line| line.last().is_some_and(|last| replaces(last, &claim)));
        let replaced = replaced.or((self.lines.len() >= MOST_LINES).then_some(MOST_LINES - 1));
        let mut version = self.version(claim);
        version.claims.splice(0..0, earlier);

        match replaced {
            Some(line) => self.lines[line].push(version),
            None => self.lines.push(vec![version]),
        }
    }

    /// Adds a claim to the present version that it repeats. Where the user says what so far only others said, and has said
    /// something else before, the claim is given back, to take the place of that together with what the others said.
    fn confirm(&mut self, line: usize, claim: Claim<'a>) -> Option<(Claim<'a>, Vec<Claim<'a>>)> {
        let is_own = |line: &Line<'_>| line.last().is_some_and(|last| last.trust().is_own());
        let said = |line: &Line<'_>| {
            is_own(line) && line.last().is_some_and(|last| replaces(last, &claim))
        };

        let confirms = claim.statement.trust.is_own() && !is_own(&self.lines[line]);
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

    /// The former version that a denial speaks of: it has been replaced already, so nothing changes.
    fn ended(&mut self, claim: &Claim<'_>) -> Option<&mut Version<'a>> {
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

    /// A caller's version takes the place of the line that the memory is in; a line of its own when that is gone.
    fn edit(&mut self, memory: &MemoryId, claim: Claim<'a>) {
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

    /// When and why a version was forgotten. Its number among those that say the same changes when a document before it
    /// comes or goes, so what was forgotten under any number counts for all that was said by then.
    fn forgotten(&self, version: &Version<'_>) -> Option<&(Timestamp, Option<String>)> {
        if self.acts.is_empty() {
            return None;
        }
        let (name, said_at) = (
            version.claims[0].name(),
            version.claims.last()?.statement.said_at,
        );
        let ids = (0..MOST_OCCURRENCES)
            .map(|occurrence| MemoryId::derived(self.topic, &name, occurrence));
        let acts = ids.filter_map(|id| self.acts.get(&id)?.forgotten.as_ref());
        acts.filter(|(at, _)| *at >= said_at)
            .max_by_key(|(at, _)| *at)
    }

    /// Whether the claim says what the version says. What was forgotten and is said again later is a new version.
    fn repeats(&self, last: &Version<'_>, claim: &Claim<'_>) -> bool {
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
                memory.answers = version.claims[0].statement.topic.clone();
                if let Some(previous) = place.checked_sub(1).map(|before| &line[before].id) {
                    memory.parent = Some(previous.clone());
                    memory.relations.insert(previous.clone(), Relation::Updates);
                }
                if let Some(next) = line.get(place + 1) {
                    memory.is_latest = false;
                    memory.superseded_at =
                        next.deciding().next().map(|claim| claim.statement.said_at);
                    memory.related_by.insert(next.id.clone(), Relation::Updates);
                    memory.updated_at = memory.updated_at.max(next.claims[0].recorded_at());
                }
                memories.push(memory);
            }
        }

        contradict(&self.lines, &mut memories);
        memories
    }

    fn memory(&self, version: &Version<'_>, root: &MemoryId) -> Memory {
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
        let forgotten = forgotten.map(|(at, reason)| Forgotten { at, reason });
        let recorded = version.claims.iter().map(Claim::recorded_at);
        let updated = recorded
            .clone()
            .chain(forgotten.iter().map(|forgotten| forgotten.at))
            .max();

        Memory {
            id: version.id.clone(),
            topic: self.topic.clone(),
            answers: None,
            text: first.text.clone(),
            kind: first.kind,
            is_static: trust.is_own() && deciding.clone().any(|claim| claim.statement.is_static),
            is_inference: false,
            review: acts
                .and_then(Acts::review)
                .filter(|review| *review == Review::Approve),
            confidence: confidence(version),
            trust,
            speaker: deciding
                .clone()
                .find_map(|claim| claim.statement.speaker.clone()),
            attribution: version.attribution(),
            version: 1,
            is_latest: true,
            parent: None,
            root: root.clone(),
            relations: BTreeMap::new(),
            related_by: BTreeMap::new(),
            contradicts: Vec::new(),
            sources: supports(version),
            forgotten,
            forget_after: newest.statement.forget_after,
            forget_reason: newest.statement.forget_reason.clone(),
            event: deciding.clone().find_map(|claim| claim.statement.event),
            said_at: first.said_at,
            superseded_at: None,
            created_at: recorded.min().unwrap_or(first.said_at),
            updated_at: updated.unwrap_or(first.said_at),
            metadata: metadata(version),
        }
    }
}

/// Whether the claim may take the version's place: not what others say that of what the user says, not one that looks
/// at other documents only, and not the denial of something else.
fn replaces(last: &Version<'_>, claim: &Claim<'_>) -> bool {
    let may = claim.statement.trust.may_replace(last.trust());
    let denies_other = claim.negated && last.claims[0].answer != claim.answer;
    may && !denies_other && considers(claim, last)
}

/// Whether the claim's document looks at the documents of the version: at all, unless it names metadata to look at.
fn considers(claim: &Claim<'_>, version: &Version<'_>) -> bool {
    let Some(wanted) = claim
        .document
        .and_then(|document| document.filter_by_metadata.as_ref())
    else {
        return true;
    };

    let has = |document: &SearchDocument| {
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

/// Present versions of one topic that say different things know of each other.
fn contradict(lines: &[Line<'_>], memories: &mut [Memory]) {
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
            // Two answers, or the same answer both given and denied.
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

/// The chance that at least one document is right, were they independent; what others add to the user's words makes them
/// no surer.
fn confidence(version: &Version<'_>) -> f32 {
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

fn supports(version: &Version<'_>) -> Vec<Support> {
    let support = |claim: &Claim<'_>| {
        let document = claim.document?.id.clone();
        Some(Support {
            document,
            start: claim.statement.start,
            end: claim.statement.end,
        })
    };
    version.claims.iter().filter_map(support).collect()
}

fn metadata(version: &Version<'_>) -> serde_json::Map<String, Value> {
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
