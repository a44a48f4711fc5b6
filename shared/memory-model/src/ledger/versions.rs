//! The versions of the memories of one topic, computed from its statements in the order in which
//! they were said.

mod draft;
mod forgets;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{DocumentId, MemoryId, MemoryKind, Statement, Timestamp, TopicId};
use serde_json::{Map, Value};

use super::retract::Retractions;
use super::topics::{
    BLOCK_STATEMENTS, ChainState, MIN_OPEN_STATEMENTS, StatementKey, StatementRef, TopicEntry,
};
use super::{DocumentStatements, Memory, MemoryEdits, MemoryRelation, Records};
use draft::{PlacedStatement, VersionDraft};

/// The most chains of a topic. Further statements become versions of the last chain. A text made to
/// have more would cost every reader of its container time in proportion to their square.
const MAX_TOPIC_CHAINS: usize = 64;

/// Versions of which each replaces the one before; the last is the current one. A topic has several
/// chains where statements may not replace each other.
struct VersionChain<'a> {
    /// The first version.
    first_version: MemoryId,
    /// The number of versions before `versions`. They are settled.
    settled_versions: usize,
    /// The last of them.
    settled_parent: Option<MemoryId>,
    versions: Vec<VersionDraft<'a>>,
}

impl<'a> VersionChain<'a> {
    fn new(first: VersionDraft<'a>) -> Self {
        Self {
            first_version: first.id.clone(),
            settled_versions: 0,
            settled_parent: None,
            versions: vec![first],
        }
    }

    fn latest(&self) -> Option<&VersionDraft<'a>> {
        self.versions.last()
    }

    /// Returns the versions before the last one that are not settled.
    fn former(&self) -> &[VersionDraft<'a>] {
        self.versions.split_last().map_or(&[], |(_, former)| former)
    }

    fn has(&self, memory: &MemoryId) -> bool {
        self.versions.iter().any(|version| version.id == *memory)
    }

    fn state(&self) -> Option<ChainState> {
        let (latest, former) = self.versions.split_last()?;
        let parent = former.last().map(|version| &version.id);
        let statements = latest.statements().iter();
        Some(ChainState {
            first_version: self.first_version.clone(),
            former_versions: self.settled_versions + former.len(),
            parent: parent.or(self.settled_parent.as_ref()).cloned(),
            latest: latest.id.clone(),
            statements: statements.filter_map(PlacedStatement::reference).collect(),
            unlisted_sources: latest.unlisted_sources,
        })
    }
}

/// A version that replaces the last one of a chain, although it is in another chain.
struct Successor {
    id: MemoryId,
    replaced_former: (Timestamp, Timestamp),
}

/// Everything besides its own statements that the versions of a topic depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct VersionSources<'a> {
    /// The documents of the container.
    pub(super) documents: &'a Records<DocumentId, DocumentStatements>,
    /// The edits of callers.
    pub(super) edits: &'a Records<MemoryId, MemoryEdits>,
    /// The memories of the container, without those that are computed.
    pub(super) memories: &'a Records<MemoryId, Memory>,
    /// The statements that take back others.
    pub(super) retractions: &'a Retractions,
}

/// A document, and the position of one of its statements.
type FoundStatement = (Arc<DocumentStatements>, usize);

/// The result of [`compute_versions`].
pub(super) struct TopicVersions {
    /// The computed memories, grouped by chain. Each has the number of open statements before its first
    /// one, or `None` if that one is settled.
    pub(super) memories: Vec<(Option<usize>, Memory)>,
    /// The open statements in their order, each with its place and the memory that it supports.
    pub(super) statements: Vec<(StatementKey, StatementRef, Option<MemoryId>)>,
    /// The chains before each block of statements that can be settled, and after the last of them, each
    /// with the number of open statements before that point.
    pub(super) states: Vec<(usize, Vec<ChainState>)>,
}

impl TopicVersions {
    /// Returns the ids of the memories that begin with an open statement, by the number of open statements
    /// before that one.
    pub(super) fn memories_by_beginning(&self) -> BTreeMap<usize, MemoryId> {
        let memories = self.memories.iter();
        let begun = memories.filter_map(|(begun_after, memory)| {
            begun_after.map(|begun_after| (begun_after, memory.id.clone()))
        });
        begun.collect()
    }
}

/// Computes the versions of the memories of a topic, from the chains that are settled and the open
/// statements.
pub(super) fn compute_versions(
    topic: &TopicId,
    topic_entry: &TopicEntry,
    sources: VersionSources<'_>,
) -> TopicVersions {
    let find = |(document, index): &StatementRef| -> Option<FoundStatement> {
        let document_statements = sources.documents.get(document)?;
        (*index < document_statements.statements.len()).then_some((document_statements, *index))
    };
    let settled = topic_entry.settled_chains().iter();
    let settled: Vec<(&ChainState, Vec<FoundStatement>)> = settled
        .map(|chain| (chain, chain.statements.iter().filter_map(find).collect()))
        .collect();
    let open: Vec<FoundStatement> = topic_entry.open.keys().filter_map(find).collect();

    let mut ordered: Vec<(Option<&MemoryId>, PlacedStatement<'_>)> = Vec::new();
    for (document, index) in &open {
        ordered.push((None, place(document, *index)));
    }
    for (memory, version) in &topic_entry.corrections {
        ordered.push((Some(memory), PlacedStatement::new(version, None, 0)));
    }
    ordered.sort_by(|(_, a), (_, b)| a.sort_key().cmp(&b.sort_key()));

    let mut chains = TopicChains {
        topic,
        sources,
        has_settled: topic_entry.settled.is_some(),
        chains: Vec::new(),
        ended_chains: Vec::new(),
        ids: HashSet::new(),
        begun_after: 0,
    };
    for (state, statements) in &settled {
        chains.restore(state, statements);
    }

    let last_end = match topic_entry.may_settle() {
        true => ordered.len().saturating_sub(MIN_OPEN_STATEMENTS),
        false => 0,
    };
    let mut states = vec![(0, chains.states())];
    let mut statements = Vec::new();
    for (position, (replaced, placed)) in ordered.into_iter().enumerate() {
        let block_begun = states.last().map_or(0, |(begun, _)| *begun);
        if position <= last_end && position - block_begun >= chains.block_statements() {
            states.push((position, chains.states()));
        }
        chains.begun_after = position;
        let located = placed.key().zip(placed.reference());
        let memory = match replaced {
            Some(memory) => Some(chains.add_correction(memory, placed)),
            // Only the user may instruct, so instructions in the words of others are dropped.
            None if placed.statement.kind == MemoryKind::Instruction
                && !placed.statement.trust.is_own_words() =>
            {
                None
            }
            None => Some(chains.add_statement(placed)),
        };
        if let Some((key, reference)) = located {
            statements.push((key, reference, memory));
        }
    }

    TopicVersions {
        memories: chains.into_memories(),
        statements,
        states,
    }
}

fn place<'a>(document: &'a DocumentStatements, index: usize) -> PlacedStatement<'a> {
    PlacedStatement::new(&document.statements[index], Some(&document.document), index)
}

/// The chains of a topic while its statements are applied.
struct TopicChains<'a, 'b> {
    topic: &'b TopicId,
    sources: VersionSources<'b>,
    /// True if the topic has versions that are settled.
    has_settled: bool,
    chains: Vec<VersionChain<'a>>,
    /// Chains whose last version was taken over by another chain.
    ended_chains: Vec<(VersionChain<'a>, Successor)>,
    /// The ids of the versions that are computed.
    ids: HashSet<MemoryId>,
    /// The number of statements before the present one.
    begun_after: usize,
}

impl<'a> TopicChains<'a, '_> {
    /// Restores a chain from its state before the open statements.
    fn restore(&mut self, state: &ChainState, statements: &'a [FoundStatement]) {
        let statements = statements.iter();
        let statements = statements.map(|(document, index)| place(document, *index));
        // It has statements, unless they are yet to be fetched.
        let Some(latest) = VersionDraft::restore(state, statements.collect()) else {
            return;
        };
        self.ids.insert(state.latest.clone());
        self.chains.push(VersionChain {
            first_version: state.first_version.clone(),
            settled_versions: state.former_versions,
            settled_parent: state.parent.clone(),
            versions: vec![latest],
        });
    }

    /// Returns the number of statements that a block ending here must have. A block stores the counted
    /// statements of all chains, so it has more of its own if there are many of those.
    fn block_statements(&self) -> usize {
        let latest = self.chains.iter().filter_map(VersionChain::latest);
        let counted: usize = latest.map(|version| version.statements().len()).sum();
        BLOCK_STATEMENTS.max(counted / 4)
    }

    /// Returns the states of all chains.
    fn states(&self) -> Vec<ChainState> {
        self.chains.iter().filter_map(VersionChain::state).collect()
    }

    fn begin_version(&mut self, placed: PlacedStatement<'a>) -> VersionDraft<'a> {
        let id_text = placed.id_text();
        let occurrence = self.count_occurrences(&id_text);
        let id = self.occurrence_id(&id_text, occurrence);
        self.ids.insert(id.clone());
        VersionDraft::new(id, occurrence, placed, self.begun_after)
    }

    fn occurrence_id(&self, id_text: &str, occurrence: usize) -> MemoryId {
        MemoryId::derived(self.topic, id_text, occurrence)
    }

    /// Counts the versions with an id of this text. Their occurrences are numbered without gaps, so a
    /// binary search finds the first number that is free.
    fn count_occurrences(&self, id_text: &str) -> usize {
        let exists = |occurrence: usize| {
            let id = self.occurrence_id(id_text, occurrence);
            self.ids.contains(&id) || (self.has_settled && self.sources.memories.contains(&id))
        };
        let mut free = 0;
        while exists(free) {
            free = 2 * free + 1;
        }
        let mut taken = free / 2;
        while taken < free {
            let middle = usize::midpoint(taken, free);
            if exists(middle) {
                taken = middle + 1;
            } else {
                free = middle;
            }
        }
        free
    }

    /// Returns the index of the first chain whose current version satisfies `predicate`.
    fn find_chain(&self, predicate: impl Fn(&VersionDraft<'a>) -> bool) -> Option<usize> {
        self.chains
            .iter()
            .position(|chain| chain.latest().is_some_and(&predicate))
    }

    /// Adds a document's statement: it repeats a current version, replaces one, or begins a chain.
    /// Returns the memory that it supports.
    fn add_statement(&mut self, placed: PlacedStatement<'a>) -> MemoryId {
        if let Some(chain) = self.find_chain(|last| self.repeats(last, &placed)) {
            return self.add_repetition(chain, placed);
        }
        if let Some(former) = self.find_denied_version(&placed) {
            return former;
        }

        let chain = self.find_replaced_chain(&placed);
        let version = self.begin_version(placed);
        self.add_version(chain, version)
    }

    /// Returns the chain whose current version the statement replaces.
    fn find_replaced_chain(&self, placed: &PlacedStatement<'_>) -> Option<usize> {
        match self.find_chain(|last| may_succeed(placed, last)) {
            None if self.chains.len() >= MAX_TOPIC_CHAINS => Some(MAX_TOPIC_CHAINS - 1),
            found => found,
        }
    }

    /// Adds a version to the end of a chain, or begins one. Returns its id.
    fn add_version(&mut self, chain: Option<usize>, version: VersionDraft<'a>) -> MemoryId {
        let id = version.id.clone();
        match chain.and_then(|chain| self.chains.get_mut(chain)) {
            Some(chain) => chain.versions.push(version),
            None => self.chains.push(VersionChain::new(version)),
        }
        id
    }

    /// Adds a statement to the current version of `chain`, which it repeats. Returns the id of that
    /// version.
    ///
    /// There is one exception. If only others have stated this version so far, and the user now
    /// repeats it after having said something else, the version must replace what the user said
    /// before. It moves to the end of another chain, and its former chain ends.
    fn add_repetition(&mut self, chain: usize, placed: PlacedStatement<'a>) -> MemoryId {
        let is_own = |version: &VersionDraft<'a>| version.trust().is_own_words();
        let is_of_others = !self.chains[chain].latest().is_some_and(is_own);
        let is_confirmed_by_user = placed.statement.trust.is_own_words() && is_of_others;
        let replaces_own = |last: &VersionDraft<'a>| is_own(last) && may_succeed(&placed, last);

        if is_confirmed_by_user && self.find_chain(replaces_own).is_some() {
            self.move_confirmed(chain, placed)
        } else {
            let version = self.chains[chain].versions.last_mut();
            let version = version.expect("a chain has a current version");
            version.push(placed);
            version.id.clone()
        }
    }

    /// Moves the current version of `chain` to the end of the chain that the confirming statement
    /// continues. Returns its id.
    fn move_confirmed(&mut self, chain: usize, placed: PlacedStatement<'a>) -> MemoryId {
        let mut ended = self.chains.remove(chain);
        let version = ended.versions.pop();
        let mut version = version.expect("a chain has a current version");
        let successor = Successor {
            id: version.id.clone(),
            replaced_former: version.replaced_former,
        };
        self.ended_chains.push((ended, successor));

        let replaced = self.find_replaced_chain(&placed);
        version.replaced_former = (placed.statement.said_at, placed.recorded_at());
        version.push(placed);
        self.add_version(replaced, version)
    }

    /// Returns the former version that a denial refers to. It has been replaced already, so the
    /// denial changes nothing.
    fn find_denied_version(&self, placed: &PlacedStatement<'_>) -> Option<MemoryId> {
        if !placed.negated || placed.answer.is_empty() {
            return None;
        }

        let chains = self.chains.iter();
        let by_caller = chains.flat_map(VersionChain::former).find(|version| {
            let first = version.first();
            first.document.is_none() && first.value() == (&placed.answer, false)
        });
        if let Some(version) = by_caller {
            return Some(version.id.clone());
        }

        let last_occurrence = self.count_occurrences(&placed.answer).checked_sub(1)?;
        let id = self.occurrence_id(&placed.answer, last_occurrence);
        let is_current = self.find_chain(|last| last.id == id).is_some();
        (!is_current).then_some(id)
    }

    /// Adds a caller's version to the chain of the memory that it replaces. If that memory no longer
    /// exists, the version goes to the first chain, or begins one in an empty topic. Returns its id.
    fn add_correction(&mut self, memory: &MemoryId, placed: PlacedStatement<'a>) -> MemoryId {
        let mut memory = memory;
        let mut ended = self.ended_chains.iter();
        // A chain that ended later may have the successor of one that ended before.
        while let Some((_, successor)) = ended.find(|(chain, _)| chain.has(memory)) {
            memory = &successor.id;
        }
        let chain = self.chains.iter().position(|chain| chain.has(memory));
        let version = self.begin_version(placed);
        self.add_version(Some(chain.unwrap_or(0)), version)
    }

    /// Checks whether the statement says what the version says. One that is repeated after the
    /// version was forgotten begins a new version.
    fn repeats(&self, last: &VersionDraft<'_>, placed: &PlacedStatement<'_>) -> bool {
        if last.first().value() != placed.value() {
            return false;
        }

        match self.forgotten_by_edit(last) {
            Some(forgotten) => forgotten.at >= placed.statement.said_at,
            None => true,
        }
    }

    fn into_memories(self) -> Vec<(Option<usize>, Memory)> {
        let mut memories = Vec::new();
        for chain in &self.chains {
            self.add_memories(chain, None, &mut memories);
        }
        link_contradictions(&self.chains, &mut memories);
        for (chain, successor) in &self.ended_chains {
            self.add_memories(chain, Some(successor), &mut memories);
        }
        memories
    }

    /// Adds the memories of the versions of a chain that are not settled. `successor` replaces the last of
    /// them.
    fn add_memories(
        &self,
        chain: &VersionChain<'_>,
        successor: Option<&Successor>,
        memories: &mut Vec<(Option<usize>, Memory)>,
    ) {
        let mut parent = chain.settled_parent.as_ref();
        for (index, version) in chain.versions.iter().enumerate() {
            let mut memory = self.build_memory(version, &chain.first_version);
            let number = chain.settled_versions + index + 1;
            memory.version = u32::try_from(number).unwrap_or(u32::MAX);
            if let Some(parent) = parent {
                memory.parent = Some(parent.clone());
                memory
                    .relations
                    .insert(parent.clone(), MemoryRelation::Updates);
            }
            parent = Some(&version.id);

            let next = match chain.versions.get(index + 1) {
                Some(next) => Some((&next.id, next.replaced_former)),
                None => successor.map(|next| (&next.id, next.replaced_former)),
            };
            if let Some((next, (said_at, recorded_at))) = next {
                memory.is_latest = false;
                memory.replaced_at = Some(said_at);
                memory
                    .reverse_relations
                    .insert(next.clone(), MemoryRelation::Updates);
                memory.updated_at = memory.updated_at.max(recorded_at);
            } else if let Some(ended_at) = self.ended_at(version) {
                memory.is_latest = false;
                memory.replaced_at = Some(ended_at);
            }

            memories.push((version.begun_after, memory));
        }
    }

    fn build_memory(&self, version: &VersionDraft<'_>, root: &MemoryId) -> Memory {
        let deciding = version.deciding();
        let first = deciding.clone().next().unwrap_or(version.first()).statement;
        let newest = deciding.clone().last().unwrap_or(version.first());
        let trust = version.trust();
        let edits = self.sources.edits.get(&version.id);
        let review = edits.as_deref().and_then(MemoryEdits::review);
        let is_approved = review == Some(ReviewDecision::Approve);
        let forgotten = self
            .forgotten_by_edit(version)
            .or_else(|| self.forgotten_by_request(version));

        let mut created_at = version.first().recorded_at();
        let mut updated_at = created_at;
        for placed in version.statements() {
            created_at = created_at.min(placed.recorded_at());
            updated_at = updated_at.max(placed.recorded_at());
        }
        if let Some(forgotten) = &forgotten {
            updated_at = updated_at.max(forgotten.at);
        }

        Memory {
            id: version.id.clone(),
            topic: self.topic.clone(),
            topic_answer: version.first().statement.topic.clone(),
            changed_aspects: changed_aspects_of(first),
            text: first.text.clone(),
            kind: first.kind,
            is_static: trust.is_own_words()
                && deciding.clone().any(|placed| placed.statement.is_static),
            is_inference: false,
            review: is_approved.then_some(ReviewDecision::Approve),
            confidence: version.confidence(),
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
            sources: version.sources(),
            unlisted_sources: version.unlisted_sources,
            forgotten,
            forget_after: newest.statement.forget_after,
            forget_reason: newest.statement.forget_reason.clone(),
            event: deciding.clone().find_map(|placed| placed.statement.event),
            said_at: first.said_at,
            replaced_at: None,
            created_at,
            updated_at,
            metadata: version.metadata(),
        }
    }
}

/// Checks whether the statement may begin the version that replaces `last`. It may not in three
/// cases: the words of others would replace the user's, it denies another answer than that of the
/// version, or its document considers only other documents.
fn may_succeed(placed: &PlacedStatement<'_>, last: &VersionDraft<'_>) -> bool {
    let is_trusted_enough = placed.statement.trust.may_replace(last.trust());
    let denies_other = placed.negated && last.first().answer != placed.answer;
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

    for other in version.statements() {
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
fn link_contradictions(chains: &[VersionChain<'_>], memories: &mut [(Option<usize>, Memory)]) {
    let mut latest_versions: Vec<(&MemoryId, (&str, bool))> = Vec::new();
    for chain in chains {
        let Some(version) = chain.latest() else {
            continue;
        };
        let (answer, negated) = version.first().value();
        if !answer.is_empty() {
            latest_versions.push((&version.id, (answer, negated)));
        }
    }

    for (_, memory) in memories {
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

/// Returns the aspects that a statement changes or ends.
fn changed_aspects_of(statement: &Statement) -> Vec<String> {
    match &statement.retraction {
        Some(retraction) => retraction.aspects.clone(),
        None => Vec::new(),
    }
}
