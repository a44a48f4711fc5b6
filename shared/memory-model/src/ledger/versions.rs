//! The versions of the memories of one topic, computed from its statements in the order in which
//! they were said.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{
    Attribution, DocumentId, IndexedDocument, MemoryId, MemoryKind, SourceMedium, Statement,
    Timestamp, TopicId, Trust,
};
use serde_json::{Map, Value};

use super::retract::Retractions;
use super::{
    DocumentStatements, ForgetRecord, Memory, MemoryEdits, MemoryRelation, Records, SupportingSpan,
    TopicEntry,
};
use crate::words::{content_words, is_negated, split_words};

/// A statement with everything that decides its place in the order.
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

    /// Returns the text from which the id of a version that begins with this statement is derived,
    /// together with the topic and the number of earlier versions with the same text. A version
    /// that a caller wrote has a text of its own.
    fn id_text(&self) -> String {
        match (self.document, self.negated) {
            (None, _) => format!("edit {} {}", self.statement.said_at, self.statement.text),
            (_, true) => format!("not {}", self.answer),
            (_, false) => self.answer.clone(),
        }
    }

    /// Returns the answer, and whether the statement denies it. A statement repeats another one if
    /// both are equal.
    fn value(&self) -> (&str, bool) {
        (&self.answer, self.negated)
    }

    fn recorded_at(&self) -> Timestamp {
        match self.document {
            Some(document) => Timestamp::from_millis(document.created_at),
            None => self.statement.said_at,
        }
    }

    /// Returns the id of the document; empty for a version that a caller wrote.
    fn document_id(&self) -> &str {
        match self.document {
            Some(document) => document.id.as_str(),
            None => "",
        }
    }

    /// Returns the sort key of the statement. Ties are broken by values that never change.
    fn sort_key(&self) -> (Timestamp, bool, Timestamp, &str, usize) {
        (
            self.statement.said_at,
            self.document.is_none(),
            self.recorded_at(),
            self.document_id(),
            self.statement.start,
        )
    }
}

/// A version to which statements may still be added.
struct VersionDraft<'a> {
    id: MemoryId,
    statements: Vec<PlacedStatement<'a>>,
}

impl<'a> VersionDraft<'a> {
    /// Returns the trust of the user's own words if there are any, or else that of the most trusted
    /// statement.
    fn trust(&self) -> Trust {
        let trusts = self.statements.iter().map(|placed| placed.statement.trust);
        trusts
            .min_by_key(|trust| (!trust.is_own_words(), *trust))
            .unwrap_or_default()
    }

    /// Returns the statements that decide the content of the version. If the user's own words are
    /// among them, those of others are left out.
    fn deciding(&self) -> impl Iterator<Item = &PlacedStatement<'a>> + Clone {
        let is_own = self.trust().is_own_words();
        self.statements
            .iter()
            .filter(move |placed| !is_own || placed.statement.trust.is_own_words())
    }

    /// Returns where the version was read, if it is not in the user's own words.
    fn attribution(&self) -> Option<Attribution> {
        let trust = self.trust();
        if trust.is_own_words() {
            return None;
        }
        if trust == Trust::Assistant {
            return Some(Attribution::new(SourceMedium::Assistant, None));
        }

        let placed = self
            .statements
            .iter()
            .find(|placed| placed.statement.trust == trust)?;
        if placed.statement.attribution.is_some() {
            return placed.statement.attribution.clone();
        }

        let document = placed.document?;
        if let Some(authorship) = &document.authorship
            && authorship.attribution.is_some()
        {
            return authorship.attribution.clone();
        }

        let title = document.title.as_deref();
        Some(Attribution::of_document(document.kind, title))
    }
}

/// The most chains of a topic. Further statements become versions of the last chain. A text made to
/// have more would cost every reader of its container time in proportion to their square.
const MAX_TOPIC_CHAINS: usize = 64;

/// The number of occurrences of one answer in a topic that are searched for an earlier forget.
const MAX_FORGET_OCCURRENCES: usize = 8;

/// Versions of which each replaces the one before; the last is the current one. A topic has several
/// chains where statements may not replace each other.
type VersionChain<'a> = Vec<VersionDraft<'a>>;

/// The effect of a statement that repeats a current version.
enum Repetition<'a> {
    /// It was added to that version.
    Added,
    /// It replaces another version, together with the statements of the version that it repeats,
    /// whose chain was removed.
    Replaces {
        placed: PlacedStatement<'a>,
        repeated: Vec<PlacedStatement<'a>>,
    },
}

/// Everything besides its own statements that the versions of a topic depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct VersionSources<'a> {
    /// The documents of the container.
    pub(super) documents: &'a Records<DocumentId, DocumentStatements>,
    /// The edits of callers.
    pub(super) edits: &'a Records<MemoryId, MemoryEdits>,
    /// The statements that take back others.
    pub(super) retractions: &'a Retractions,
}

/// Returns all versions of the memories of a topic, those of one chain after each other.
pub(super) fn compute_versions(
    topic: &TopicId,
    topic_entry: &TopicEntry,
    sources: VersionSources<'_>,
) -> Vec<Memory> {
    let mut stated: Vec<(Arc<DocumentStatements>, usize)> = Vec::new();
    for (document, index) in &topic_entry.statements {
        if let Some(document_statements) = sources.documents.get(document) {
            stated.push((document_statements, *index));
        }
    }

    let mut ordered: Vec<(Option<&MemoryId>, PlacedStatement<'_>)> = Vec::new();
    for (document_statements, index) in &stated {
        let Some(statement) = document_statements.statements.get(*index) else {
            continue;
        };

        // Only the user may instruct, so instructions in the words of others are dropped.
        if statement.kind == MemoryKind::Instruction && !statement.trust.is_own_words() {
            continue;
        }

        let document = &document_statements.document;
        ordered.push((None, PlacedStatement::new(statement, Some(document))));
    }

    for (memory, version) in &topic_entry.corrections {
        ordered.push((Some(memory), PlacedStatement::new(version, None)));
    }

    ordered.sort_by(|(_, a), (_, b)| a.sort_key().cmp(&b.sort_key()));
    let mut versions = TopicVersions {
        topic,
        sources,
        chains: Vec::new(),
        occurrences: HashMap::new(),
    };

    for (replaced, placed) in ordered {
        match replaced {
            Some(memory) => versions.add_correction(memory, placed),
            None => versions.add_statement(placed),
        }
    }

    versions.into_memories()
}

struct TopicVersions<'a, 'b> {
    topic: &'b TopicId,
    sources: VersionSources<'b>,
    chains: Vec<VersionChain<'a>>,
    /// The number of versions by the text of [`PlacedStatement::id_text`].
    occurrences: HashMap<String, usize>,
}

impl<'a> TopicVersions<'a, '_> {
    fn begin_version(&mut self, placed: PlacedStatement<'a>) -> VersionDraft<'a> {
        let id_text = placed.id_text();
        let occurrence = self.occurrences.entry(id_text.clone()).or_insert(0);
        *occurrence += 1;
        VersionDraft {
            id: MemoryId::derived(self.topic, &id_text, *occurrence - 1),
            statements: vec![placed],
        }
    }

    /// Returns the index of the first chain whose current version satisfies `predicate`.
    fn find_chain(&self, predicate: impl Fn(&VersionDraft<'a>) -> bool) -> Option<usize> {
        self.chains
            .iter()
            .position(|chain| chain.last().is_some_and(&predicate))
    }

    /// Adds a document's statement: it repeats a current version, replaces one, or begins a chain.
    fn add_statement(&mut self, placed: PlacedStatement<'a>) {
        let repeated_chain = self.find_chain(|last| self.repeats(last, &placed));
        let (placed, repeated) = match repeated_chain {
            None => (placed, Vec::new()),
            Some(chain) => match self.add_repetition(chain, placed) {
                Repetition::Added => return,
                Repetition::Replaces { placed, repeated } => (placed, repeated),
            },
        };

        if let Some(denied_version) = self.find_denied_version(&placed) {
            denied_version.statements.push(placed);
            return;
        }

        let replaced_chain = match self.find_chain(|last| may_succeed(&placed, last)) {
            None if self.chains.len() >= MAX_TOPIC_CHAINS => Some(MAX_TOPIC_CHAINS - 1),
            found => found,
        };
        let mut version = self.begin_version(placed);
        version.statements.splice(0..0, repeated);

        match replaced_chain {
            Some(chain) => self.chains[chain].push(version),
            None => self.chains.push(vec![version]),
        }
    }

    /// Adds a statement to the current version of `chain`, which it repeats.
    ///
    /// There is one exception. If only others have stated this version so far, and the user now
    /// repeats it after having said something else, the statement must replace what the user said
    /// before. The chain of the others is then removed.
    fn add_repetition(&mut self, chain: usize, placed: PlacedStatement<'a>) -> Repetition<'a> {
        let is_own = |version: &VersionDraft<'a>| version.trust().is_own_words();
        let is_of_others = !self.chains[chain].last().is_some_and(is_own);
        let is_confirmed_by_user = placed.statement.trust.is_own_words() && is_of_others;
        let replaces_own = |last: &VersionDraft<'a>| is_own(last) && may_succeed(&placed, last);

        if is_confirmed_by_user && self.find_chain(replaces_own).is_some() {
            let repeated = match self.chains.remove(chain).pop() {
                Some(version) => version.statements,
                None => Vec::new(),
            };
            return Repetition::Replaces { placed, repeated };
        }

        if let Some(version) = self.chains[chain].last_mut() {
            version.statements.push(placed);
        }
        Repetition::Added
    }

    /// Returns the former version that a denial refers to. It has been replaced already, so the
    /// denial changes nothing.
    fn find_denied_version(
        &mut self,
        placed: &PlacedStatement<'_>,
    ) -> Option<&mut VersionDraft<'a>> {
        if !placed.negated || placed.answer.is_empty() {
            return None;
        }

        for chain in &mut self.chains {
            let Some((_, former_versions)) = chain.split_last_mut() else {
                continue;
            };
            for version in former_versions {
                if version.statements[0].value() == (&placed.answer, false) {
                    return Some(version);
                }
            }
        }

        None
    }

    /// Adds a caller's version to the chain of the memory that it replaces. If that memory no longer
    /// exists, the version goes to the first chain, or begins one in an empty topic.
    fn add_correction(&mut self, memory: &MemoryId, placed: PlacedStatement<'a>) {
        let chain = self
            .chains
            .iter()
            .position(|chain| chain.iter().any(|version| version.id == *memory));
        let version = self.begin_version(placed);
        match self.chains.get_mut(chain.unwrap_or(0)) {
            Some(chain) => chain.push(version),
            None => self.chains.push(vec![version]),
        }
    }

    /// Returns when and why a version was forgotten.
    ///
    /// The occurrence number in the id of a version changes when an earlier document is added or
    /// removed. A forget of any occurrence of the same text therefore counts, if it is not older
    /// than the version's last statement.
    fn forgotten_by_edit(&self, version: &VersionDraft<'_>) -> Option<ForgetRecord> {
        if self.sources.edits.is_known_empty() {
            return None;
        }

        let id_text = version.statements[0].id_text();
        let said_at = version.statements.last()?.statement.said_at;
        let mut forgets = Vec::new();
        for occurrence in 0..MAX_FORGET_OCCURRENCES {
            let id = MemoryId::derived(self.topic, &id_text, occurrence);
            if let Some(edits) = self.sources.edits.get(&id)
                && let Some(forgotten) = &edits.forgotten
                && forgotten.at >= said_at
            {
                forgets.push(forgotten.clone());
            }
        }

        forgets.into_iter().max_by_key(|forgotten| forgotten.at)
    }

    /// Returns when a version was forgotten because a conversation asks for it: all of its statements
    /// are taken back.
    fn forgotten_by_request(&self, version: &VersionDraft<'_>) -> Option<ForgetRecord> {
        self.taken_back(version, Retractions::find_forget)
    }

    /// Returns when a version ended, if a later statement ends all of its statements.
    fn ended_at(&self, version: &VersionDraft<'_>) -> Option<Timestamp> {
        self.taken_back(version, Retractions::find_end)
    }

    /// Returns the result of `find` for the last statement of a version, if it finds something for
    /// each of them.
    fn taken_back<T>(
        &self,
        version: &VersionDraft<'_>,
        find: impl Fn(&Retractions, &Statement, &DocumentStatements) -> Option<T>,
    ) -> Option<T> {
        let mut last = None;
        for placed in &version.statements {
            let document = self.document_of(placed)?;
            last = Some(find(self.sources.retractions, placed.statement, &document)?);
        }

        last
    }

    /// Returns the document of a statement with all of its statements.
    fn document_of(&self, placed: &PlacedStatement<'_>) -> Option<Arc<DocumentStatements>> {
        let document = placed.document?;
        self.sources.documents.get(&document.id)
    }

    /// Checks whether the statement says what the version says. One that is repeated after the
    /// version was forgotten begins a new version.
    fn repeats(&self, last: &VersionDraft<'_>, placed: &PlacedStatement<'_>) -> bool {
        let is_same = last
            .statements
            .iter()
            .any(|other| other.value() == placed.value());
        if !is_same {
            return false;
        }

        match self.forgotten_by_edit(last) {
            Some(forgotten) => forgotten.at >= placed.statement.said_at,
            None => true,
        }
    }

    fn into_memories(self) -> Vec<Memory> {
        let mut memories = Vec::new();
        for chain in &self.chains {
            let root = &chain[0].id;
            for (index, version) in chain.iter().enumerate() {
                let mut memory = self.build_memory(version, root);
                memory.version = u32::try_from(index + 1).unwrap_or(u32::MAX);
                memory.topic_answer = version.statements[0].statement.topic.clone();

                if index > 0 {
                    let previous = &chain[index - 1].id;
                    memory.parent = Some(previous.clone());
                    memory
                        .relations
                        .insert(previous.clone(), MemoryRelation::Updates);
                }

                if let Some(next) = chain.get(index + 1) {
                    memory.is_latest = false;
                    if let Some(placed) = next.deciding().next() {
                        memory.replaced_at = Some(placed.statement.said_at);
                    }
                    memory
                        .reverse_relations
                        .insert(next.id.clone(), MemoryRelation::Updates);
                    memory.updated_at = memory.updated_at.max(next.statements[0].recorded_at());
                } else if let Some(ended_at) = self.ended_at(version) {
                    memory.is_latest = false;
                    memory.replaced_at = Some(ended_at);
                }

                memories.push(memory);
            }
        }

        link_contradictions(&self.chains, &mut memories);
        memories
    }

    fn build_memory(&self, version: &VersionDraft<'_>, root: &MemoryId) -> Memory {
        let deciding = version.deciding();
        let first = deciding
            .clone()
            .next()
            .unwrap_or(&version.statements[0])
            .statement;
        let newest = deciding.clone().last().unwrap_or(&version.statements[0]);
        let trust = version.trust();
        let edits = self.sources.edits.get(&version.id);
        let review = edits.as_deref().and_then(MemoryEdits::review);
        let is_approved = review == Some(ReviewDecision::Approve);
        let forgotten = self
            .forgotten_by_edit(version)
            .or_else(|| self.forgotten_by_request(version));

        let mut created_at = version.statements[0].recorded_at();
        let mut updated_at = created_at;
        for placed in &version.statements {
            created_at = created_at.min(placed.recorded_at());
            updated_at = updated_at.max(placed.recorded_at());
        }
        if let Some(forgotten) = &forgotten {
            updated_at = updated_at.max(forgotten.at);
        }

        Memory {
            id: version.id.clone(),
            topic: self.topic.clone(),
            topic_answer: None,
            changed_aspects: changed_aspects_of(first),
            text: first.text.clone(),
            kind: first.kind,
            is_static: trust.is_own_words()
                && deciding.clone().any(|placed| placed.statement.is_static),
            is_inference: false,
            review: is_approved.then_some(ReviewDecision::Approve),
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
            replaced_at: None,
            created_at,
            updated_at,
            metadata: version_metadata(version),
        }
    }
}

/// Checks whether the statement may begin the version that replaces `last`. It may not in three
/// cases: the words of others would replace the user's, it denies another answer than that of the
/// version, or its document considers only other documents.
fn may_succeed(placed: &PlacedStatement<'_>, last: &VersionDraft<'_>) -> bool {
    let is_trusted_enough = placed.statement.trust.may_replace(last.trust());
    let denies_other = placed.negated && last.statements[0].answer != placed.answer;
    is_trusted_enough && !denies_other && considers_documents_of(placed, last)
}

/// Checks whether the statement's document takes the documents of the version into account. It does
/// unless its `filter_by_metadata` excludes all of them.
fn considers_documents_of(placed: &PlacedStatement<'_>, version: &VersionDraft<'_>) -> bool {
    let Some(document) = placed.document else {
        return true;
    };
    let Some(metadata_filter) = &document.filter_by_metadata else {
        return true;
    };

    for other in &version.statements {
        if let Some(document) = other.document
            && satisfies_filter(&document.metadata, metadata_filter)
        {
            return true;
        }
    }

    false
}

/// Checks whether the metadata have, for each key of the filter, its value or one of its values.
fn satisfies_filter(metadata: &Map<String, Value>, metadata_filter: &Map<String, Value>) -> bool {
    for (key, value) in metadata_filter {
        let Some(actual) = metadata.get(key) else {
            return false;
        };
        let is_accepted = match value {
            Value::Array(accepted_values) => accepted_values.contains(actual),
            value => value == actual,
        };
        if !is_accepted {
            return false;
        }
    }

    true
}

/// Records contradictions between the current versions of one topic that say different things.
fn link_contradictions(chains: &[VersionChain<'_>], memories: &mut [Memory]) {
    let mut latest_versions: Vec<(&MemoryId, (&str, bool))> = Vec::new();
    for chain in chains {
        let Some(version) = chain.last() else {
            continue;
        };
        let (answer, negated) = version.statements[0].value();
        if !answer.is_empty() {
            latest_versions.push((&version.id, (answer, negated)));
        }
    }

    for memory in memories {
        if !memory.is_latest {
            continue;
        }

        let own_version = latest_versions.iter().find(|(id, _)| **id == memory.id);
        let own_value = match own_version {
            Some((_, value)) => *value,
            None => ("", false),
        };
        for (id, value) in &latest_versions {
            if **id != memory.id && is_contradiction(own_value, *value) {
                memory.contradicts.push((*id).clone());
            }
        }
    }
}

/// Checks whether two values contradict each other: two different answers do, and so do an answer
/// and its denial.
fn is_contradiction(left: (&str, bool), right: (&str, bool)) -> bool {
    let has_negation = left.1 || right.1;
    if has_negation {
        left.0 == right.0 && left.1 != right.1
    } else {
        left.0 != right.0
    }
}

/// Computes the probability that at least one document is right, assuming that they are
/// independent. Claims of others do not add to the confidence of the user's own words.
fn combined_confidence(version: &VersionDraft<'_>) -> f32 {
    const MAX_CONFIDENCE: f32 = 0.99;
    let is_written_by_caller = version
        .statements
        .iter()
        .any(|placed| placed.document.is_none());
    if is_written_by_caller {
        return 1.0;
    }

    let mut by_document: BTreeMap<&str, f32> = BTreeMap::new();
    for placed in version.deciding() {
        let best = by_document.entry(placed.document_id()).or_insert(0.0);
        *best = best.max(placed.statement.confidence.clamp(0.0, 1.0));
    }

    let error_probability: f32 = by_document
        .values()
        .map(|confidence| 1.0 - confidence)
        .product();
    (1.0 - error_probability).min(MAX_CONFIDENCE)
}

/// Returns the aspects that a statement changes or ends.
fn changed_aspects_of(statement: &Statement) -> Vec<String> {
    match &statement.retraction {
        Some(retraction) => retraction.aspects.clone(),
        None => Vec::new(),
    }
}

fn version_sources(version: &VersionDraft<'_>) -> Vec<SupportingSpan> {
    let mut sources = Vec::new();
    for placed in &version.statements {
        if let Some(document) = placed.document {
            sources.push(SupportingSpan {
                document: document.id.clone(),
                start: placed.statement.start,
                end: placed.statement.end,
            });
        }
    }

    sources
}

/// Returns the newest metadata of the statements, or else those of the newest document that has
/// any.
fn version_metadata(version: &VersionDraft<'_>) -> Map<String, Value> {
    for placed in version.statements.iter().rev() {
        if !placed.statement.metadata.is_empty() {
            return placed.statement.metadata.clone();
        }
    }

    for placed in version.statements.iter().rev() {
        if let Some(document) = placed.document
            && !document.metadata.is_empty()
        {
            return document.metadata.clone();
        }
    }

    Map::new()
}
