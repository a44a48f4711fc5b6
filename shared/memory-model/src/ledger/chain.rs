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
    statements: Vec<PlacedStatement<'a>>,
}

impl<'a> VersionDraft<'a> {
    /// Returns the trust of the user's own words if there are any, or else that of the most trusted
    /// claim.
    fn trust(&self) -> Trust {
        let trusts = self.statements.iter().map(|placed| placed.statement.trust);
        trusts
            .min_by_key(|trust| (!trust.is_own_words(), *trust))
            .unwrap_or_default()
    }

    /// Returns the claims that decide the content of the version. If the user's own words are among
    /// them, those of others are left out.
    fn deciding(&self) -> impl Iterator<Item = &PlacedStatement<'a>> + Clone {
        let is_own = self.trust().is_own_words();
        self.statements
            .iter()
            .filter(move |placed| !is_own || placed.statement.trust.is_own_words())
    }

    /// Returns where the version was read, if it is not in the user's own words.
    fn attribution(&self) -> Option<Attribution> {
        let trust = self.trust();
        let placed = self
            .statements
            .iter()
            .find(|placed| placed.statement.trust == trust && !trust.is_own_words())?;
        let document = placed.document;
        let from_authorship = || document?.authorship.as_ref()?.attribution.clone();
        let from_title = || {
            document
                .map(|document| Attribution::of_document(document.kind, document.title.as_deref()))
        };

        match trust {
            Trust::Assistant => Some(Attribution::new(SourceMedium::Assistant, None)),
            _ => placed
                .statement
                .attribution
                .clone()
                .or_else(from_authorship)
                .or_else(from_title),
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
    topic_entry: &TopicEntry,
    documents: &HashMap<DocumentId, Arc<DocumentStatements>>,
    edits: &HashMap<MemoryId, MemoryEdits>,
) -> Vec<Memory> {
    let mut ordered: Vec<(Option<&MemoryId>, PlacedStatement<'_>)> = Vec::new();
    for (document, index) in &topic_entry.statements {
        let located = documents.get(document).and_then(|document_statements| {
            Some((
                document_statements.statements.get(*index)?,
                &document_statements.document,
            ))
        });
        // Only the user may instruct, so instructions in the words of others are dropped.
        let located = located.filter(|(statement, _)| {
            statement.kind != MemoryKind::Instruction || statement.trust.is_own_words()
        });
        ordered.extend(
            located.map(|(statement, document)| {
                (None, PlacedStatement::new(statement, Some(document)))
            }),
        );
    }

    ordered.extend(
        topic_entry
            .edits
            .iter()
            .map(|(memory, version)| (Some(memory), PlacedStatement::new(version, None))),
    );
    ordered.sort_by(|(_, a), (_, b)| a.place().cmp(&b.place()));
    let mut fold = TopicFold {
        topic,
        edits,
        lines: Vec::new(),
        occurrences: HashMap::new(),
    };

    for (replaced, placed) in ordered {
        match replaced {
            Some(memory) => fold.edit(memory, placed),
            None => fold.state(placed),
        }
    }

    fold.memories()
}

struct TopicFold<'a, 'b> {
    topic: &'b TopicId,
    edits: &'b HashMap<MemoryId, MemoryEdits>,
    lines: Vec<VersionLine<'a>>,
    /// The number of versions that each value has begun.
    occurrences: HashMap<String, usize>,
}

impl<'a> TopicFold<'a, '_> {
    fn version(&mut self, placed: PlacedStatement<'a>) -> VersionDraft<'a> {
        let name = placed.name();
        let occurrence = self.occurrences.entry(name.clone()).or_insert(0);
        *occurrence += 1;
        VersionDraft {
            id: MemoryId::derived(self.topic, &name, *occurrence - 1),
            statements: vec![placed],
        }
    }

    /// Adds a document's statement: it repeats a current version, replaces one, or begins a line.
    fn state(&mut self, placed: PlacedStatement<'a>) {
        let repeated_line = self
            .lines
            .iter()
            .position(|line| line.last().is_some_and(|last| self.repeats(last, &placed)));
        let (placed, earlier) = match repeated_line {
            Some(line) => match self.confirm(line, placed) {
                Some(corrected) => corrected,
                None => return,
            },
            None => (placed, Vec::new()),
        };

        if let Some(ended_version) = self.ended(&placed) {
            ended_version.statements.push(placed);
            return;
        }

        let replaced_line = self
            .lines
            .iter()
            .position(|line| line.last().is_some_and(|last| may_replace(last, &placed)));
        let replaced_line =
            replaced_line.or((self.lines.len() >= MAX_TOPIC_LINES).then_some(MAX_TOPIC_LINES - 1));
        let mut version = self.version(placed);
        version.statements.splice(0..0, earlier);

        match replaced_line {
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
        placed: PlacedStatement<'a>,
    ) -> Option<(PlacedStatement<'a>, Vec<PlacedStatement<'a>>)> {
        let is_own =
            |line: &VersionLine<'_>| line.last().is_some_and(|last| last.trust().is_own_words());
        let is_replaceable = |line: &VersionLine<'_>| {
            is_own(line) && line.last().is_some_and(|last| may_replace(last, &placed))
        };

        let is_confirmation = placed.statement.trust.is_own_words() && !is_own(&self.lines[line]);
        if is_confirmation && self.lines.iter().any(is_replaceable) {
            let earlier = self
                .lines
                .remove(line)
                .pop()
                .map_or_else(Vec::new, |last| last.statements);
            return Some((placed, earlier));
        }

        self.lines[line].last_mut()?.statements.push(placed);
        None
    }

    /// Returns the former version that a denial refers to. It has been replaced already, so the
    /// denial changes nothing.
    fn ended(&mut self, placed: &PlacedStatement<'_>) -> Option<&mut VersionDraft<'a>> {
        if !placed.negated || placed.answer.is_empty() {
            return None;
        }
        let former_versions = self.lines.iter_mut().flat_map(|line| {
            line.split_last_mut()
                .map(|(_, former_versions)| former_versions)
        });
        former_versions
            .flatten()
            .find(|version| version.statements[0].value() == (&placed.answer, false))
    }

    /// Adds a caller's version to the line of the memory that it replaces. If that memory no longer
    /// exists, the version goes to the first line, or begins one in an empty topic.
    fn edit(&mut self, memory: &MemoryId, placed: PlacedStatement<'a>) {
        let line = self
            .lines
            .iter()
            .position(|line| line.iter().any(|version| version.id == *memory));
        let version = self.version(placed);
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
        if self.edits.is_empty() {
            return None;
        }
        let (name, said_at) = (
            version.statements[0].name(),
            version.statements.last()?.statement.said_at,
        );
        let ids = (0..MAX_FORGET_OCCURRENCES)
            .map(|occurrence| MemoryId::derived(self.topic, &name, occurrence));
        let forgets = ids.filter_map(|id| self.edits.get(&id)?.forgotten.as_ref());
        forgets
            .filter(|(at, _)| *at >= said_at)
            .max_by_key(|(at, _)| *at)
    }

    /// Checks whether the claim says what the version says. A statement that is repeated after the
    /// version was forgotten begins a new version.
    fn repeats(&self, last: &VersionDraft<'_>, placed: &PlacedStatement<'_>) -> bool {
        let is_same = last
            .statements
            .iter()
            .any(|other| other.value() == placed.value());
        is_same
            && self
                .forgotten(last)
                .is_none_or(|(at, _)| *at >= placed.statement.said_at)
    }

    fn memories(&self) -> Vec<Memory> {
        let mut memories = Vec::new();
        for line in &self.lines {
            let root = &line[0].id;
            for (index, version) in line.iter().enumerate() {
                let mut memory = self.memory(version, root);
                memory.version = u32::try_from(index + 1).unwrap_or(u32::MAX);
                memory.topic_answer = version.statements[0].statement.topic.clone();
                if let Some(previous) = index.checked_sub(1).map(|before| &line[before].id) {
                    memory.parent = Some(previous.clone());
                    memory
                        .relations
                        .insert(previous.clone(), MemoryRelation::Updates);
                }
                if let Some(next) = line.get(index + 1) {
                    memory.is_latest = false;
                    memory.superseded_at = next
                        .deciding()
                        .next()
                        .map(|placed| placed.statement.said_at);
                    memory
                        .reverse_relations
                        .insert(next.id.clone(), MemoryRelation::Updates);
                    memory.updated_at = memory.updated_at.max(next.statements[0].recorded_at());
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
            .unwrap_or(&version.statements[0])
            .statement;
        let newest = deciding.clone().last().unwrap_or(&version.statements[0]);
        let trust = version.trust();
        let edits = self.edits.get(&version.id);
        let forgotten = self.forgotten(version).cloned();
        let forgotten = forgotten.map(|(at, reason)| ForgetRecord { at, reason });
        let recorded_times = version.statements.iter().map(PlacedStatement::recorded_at);
        let updated_at = recorded_times
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
                && deciding.clone().any(|placed| placed.statement.is_static),
            is_inference: false,
            review: edits
                .and_then(MemoryEdits::review)
                .filter(|review| *review == ReviewDecision::Approve),
            confidence: combined_confidence(version),
            trust,
            speaker: deciding
                .clone()
                .find_map(|placed| placed.statement.speaker.clone()),
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
            event: deciding.clone().find_map(|placed| placed.statement.event),
            said_at: first.said_at,
            superseded_at: None,
            created_at: recorded_times.min().unwrap_or(first.said_at),
            updated_at: updated_at.unwrap_or(first.said_at),
            metadata: version_metadata(version),
        }
    }
}

/// Checks whether the claim may replace the version. It may not if others contradict the user, if
/// its document is limited to other documents, or if it denies a different answer.
fn may_replace(last: &VersionDraft<'_>, placed: &PlacedStatement<'_>) -> bool {
    let has_authority = placed.statement.trust.may_replace(last.trust());
    let denies_other = placed.negated && last.statements[0].answer != placed.answer;
    has_authority && !denies_other && considers_documents_of(placed, last)
}

/// Checks whether the claim's document takes the documents of the version into account. It does
/// unless its `filter_by_metadata` excludes all of them.
fn considers_documents_of(placed: &PlacedStatement<'_>, version: &VersionDraft<'_>) -> bool {
    let Some(metadata_filter) = placed
        .document
        .and_then(|document| document.filter_by_metadata.as_ref())
    else {
        return true;
    };

    let matches_filter = |document: &IndexedDocument| {
        metadata_filter.iter().all(|(key, value)| {
            document
                .metadata
                .get(key)
                .is_some_and(|actual| match value {
                    Value::Array(accepted_values) => accepted_values.contains(actual),
                    value => value == actual,
                })
        })
    };

    version
        .statements
        .iter()
        .filter_map(|other| other.document)
        .any(matches_filter)
}

/// Records contradictions between the current versions of one topic that say different things.
fn link_contradictions(lines: &[VersionLine<'_>], memories: &mut [Memory]) {
    let latest_versions: Vec<(&MemoryId, (&str, bool))> = lines
        .iter()
        .filter_map(|line| line.last())
        .map(|version| (&version.id, version.statements[0].value()))
        .filter(|(_, (answer, _))| !answer.is_empty())
        .collect();

    for memory in memories.iter_mut().filter(|memory| memory.is_latest) {
        let own_value = latest_versions
            .iter()
            .find(|(id, _)| **id == memory.id)
            .map(|(_, value)| *value);
        let others = latest_versions.iter().filter(|(id, value)| {
            // Two different answers contradict each other, and so do an answer and its denial.
            let (left, right) = (own_value.unwrap_or_default(), *value);
            let has_negation = left.1 || right.1;
            let is_contradiction = if has_negation {
                left.0 == right.0 && left.1 != right.1
            } else {
                left.0 != right.0
            };
            **id != memory.id && is_contradiction
        });
        memory.contradicts = others.map(|(id, _)| (*id).clone()).collect();
    }
}

/// Computes the probability that at least one document is right, assuming that they are
/// independent. Claims of others do not add to the confidence of the user's own words.
fn combined_confidence(version: &VersionDraft<'_>) -> f32 {
    const MAX_CONFIDENCE: f32 = 0.99;
    let mut by_document: BTreeMap<&str, f32> = BTreeMap::new();
    for placed in version.deciding() {
        let best = by_document
            .entry(placed.document.map_or("", |document| document.id.as_str()))
            .or_insert(0.0);
        *best = best.max(placed.statement.confidence.clamp(0.0, 1.0));
    }

    let error_probability: f32 = by_document
        .values()
        .map(|confidence| 1.0 - confidence)
        .product();
    if version
        .statements
        .iter()
        .any(|placed| placed.document.is_none())
    {
        1.0
    } else {
        (1.0 - error_probability).min(MAX_CONFIDENCE)
    }
}

fn version_sources(version: &VersionDraft<'_>) -> Vec<SupportingSpan> {
    let support = |placed: &PlacedStatement<'_>| {
        let document = placed.document?.id.clone();
        Some(SupportingSpan {
            document,
            start: placed.statement.start,
            end: placed.statement.end,
        })
    };
    version.statements.iter().filter_map(support).collect()
}

fn version_metadata(version: &VersionDraft<'_>) -> serde_json::Map<String, Value> {
    let own_metadata = version
        .statements
        .iter()
        .rev()
        .map(|placed| &placed.statement.metadata)
        .find(|own_metadata| !own_metadata.is_empty());
    let documents = version
        .statements
        .iter()
        .rev()
        .filter_map(|placed| placed.document);

    own_metadata
        .or_else(|| {
            documents
                .map(|document| &document.metadata)
                .find(|metadata| !metadata.is_empty())
        })
        .cloned()
        .unwrap_or_default()
}
