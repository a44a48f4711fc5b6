//! The statements of a topic, and the part of them that is settled.
//!
//! When a topic changes, its open statements are applied again. Those are the newest ones. Older
//! statements are settled in blocks: what they gave does not change with what is said later, except for
//! the last version of each chain, which is computed with the open statements. The cost of a change
//! therefore does not grow with the number of statements. A change of a settled statement opens its block
//! and all later ones.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::zip;
use std::sync::Arc;

use domain::{DocumentId, IndexedDocument, MemoryEdit, MemoryId, Statement, Timestamp, TopicId};
use serde::{Deserialize, Serialize};

use super::memory::is_zero;
use super::records::{Record, Records};
use super::versions::TopicVersions;
use super::{DocumentStatements, Ledger, topic_id_of};

/// The fewest statements of a block.
pub(super) const BLOCK_STATEMENTS: usize = 8;
/// The most blocks whose versions are fetched together, enough for the longest history of versions that were
/// repeated a few times.
const MAX_PREFETCHED_BLOCKS: u32 = 64;
/// The number of steps of a binary search whose blocks are fetched together: 15 blocks. A topic of 100,000 statements
/// then takes four rounds of requests, not fourteen, and at most 60 blocks, not 14.
const SEARCH_STEPS_TOGETHER: u32 = 4;
/// A topic with more open statements than this settles the older ones, once there are enough for a block.
const MAX_OPEN_STATEMENTS: usize = 12;
/// The fewest statements that stay open. Documents that are processed at the same time may arrive out of
/// order, so the newest statements change most.
pub(super) const MIN_OPEN_STATEMENTS: usize = 4;

/// A statement of a topic: the document, and the position among its statements.
pub(super) type StatementRef = (DocumentId, usize);

/// The place of a statement of a document in the order in which the statements of a topic apply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct StatementKey {
    said_at: Timestamp,
    recorded_at: i64,
    document: DocumentId,
    start: usize,
}

impl StatementKey {
    /// Returns the place of a statement of `document`.
    pub(super) fn new(statement: &Statement, document: &IndexedDocument) -> Self {
        Self {
            said_at: statement.said_at,
            recorded_at: document.created_at,
            document: document.id.clone(),
            start: statement.start,
        }
    }
}

/// The statements of one topic, and its memories.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TopicEntry {
    /// The subject, if the statements answer one topic.
    pub(super) subject: Option<String>,
    /// The group, for other statements.
    pub(super) group: Option<String>,
    /// The statements that are applied anew with each change, with the memories that they support.
    #[serde(default, with = "pairs")]
    pub(super) open: BTreeMap<StatementRef, Option<MemoryId>>,
    /// The statements before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settled: Option<Settled>,
    /// Always empty. Rules before version 4 had the statements here, and programs with such rules read the
    /// corrections of this record.
    #[serde(skip_deserializing)]
    statements: [(); 0],
    /// Versions that callers wrote, with the memory that each replaces. While there are any, no
    /// statement is settled.
    pub(super) corrections: Vec<(MemoryId, Statement)>,
    /// The memories that are computed anew with each change: the last versions of the settled chains,
    /// and all versions that begin with an open statement.
    pub(super) memories: BTreeSet<MemoryId>,
}

impl Record for TopicEntry {
    fn estimated_bytes(&self) -> usize {
        // It changes while it is held, so the estimate must not depend on its content.
        2_000
    }
}

impl TopicEntry {
    /// Checks whether it has neither statements nor versions of callers.
    pub(super) fn is_empty(&self) -> bool {
        self.has_no_statements() && self.corrections.is_empty()
    }

    /// Checks whether it has no statements of documents.
    pub(super) fn has_no_statements(&self) -> bool {
        self.open.is_empty() && self.settled.is_none()
    }

    /// Checks whether it has settled statements from `from` on, or any.
    fn has_settled(&self, from: Option<&StatementKey>) -> bool {
        let settled = self.settled.as_ref();
        settled.is_some_and(|settled| from.is_none_or(|from| *from <= settled.through))
    }

    /// Returns the corrections as edits of callers. `topic` is the id of this topic.
    pub(super) fn edits(&self, topic: &TopicId) -> Vec<MemoryEdit> {
        let corrections = self.corrections.iter();
        let edits = corrections.map(|(memory, version)| MemoryEdit::Update {
            memory: memory.clone(),
            topic: topic.clone(),
            version: Box::new(version.clone()),
        });
        edits.collect()
    }

    /// Returns the chains of the settled statements.
    pub(super) fn settled_chains(&self) -> &[ChainState] {
        match &self.settled {
            Some(settled) => &settled.chains,
            None => &[],
        }
    }

    /// Returns the statements that a computation reads.
    pub(super) fn computed_statements(&self) -> impl Iterator<Item = &StatementRef> {
        let of_chains = self.settled_chains().iter();
        let of_chains = of_chains.flat_map(|chain| &chain.statements);
        self.open.keys().chain(of_chains)
    }

    /// Checks whether a computation may settle open statements.
    pub(super) fn may_settle(&self) -> bool {
        self.corrections.is_empty() && self.open.len() > MAX_OPEN_STATEMENTS
    }

    /// Takes over what was computed, except for the memories themselves. Returns the blocks of the
    /// statements that were settled, each with its number.
    pub(super) fn settle(&mut self, computed: &TopicVersions) -> Vec<(u32, SettledBlock)> {
        for (_, reference, memory) in &computed.statements {
            self.open.insert(reference.clone(), memory.clone());
        }

        let mut blocks = Vec::new();
        let mut begun = computed.memories_by_beginning();
        for ((begin, before), (end, behind)) in
            zip(&computed.states, computed.states.iter().skip(1))
        {
            let Some(statements @ [.., (through, ..)]) = computed.statements.get(*begin..*end)
            else {
                break;
            };
            let number = self.settled.as_ref().map_or(0, |settled| settled.blocks);
            self.settled = Some(Settled {
                blocks: number + 1,
                through: through.clone(),
                chains: behind.clone(),
            });
            let statements = statements.iter().map(|(_, reference, _)| {
                let memory = self.open.remove(reference).flatten();
                (reference.clone(), memory)
            });
            let later = begun.split_off(end);
            let block = SettledBlock {
                chains: before.clone(),
                statements: statements.collect(),
                begun: std::mem::replace(&mut begun, later).into_values().collect(),
                through: through.clone(),
            };
            blocks.push((number, block));
        }

        let last_versions = self.settled_chains().iter();
        let last_versions = last_versions.map(|chain| chain.latest.clone());
        self.memories = last_versions.chain(begun.into_values()).collect();
        blocks
    }
}

/// The settled statements of a topic, of which the blocks are records of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Settled {
    /// The number of blocks.
    pub(super) blocks: u32,
    /// The place of the last statement.
    through: StatementKey,
    /// The chains after it.
    pub(super) chains: Vec<ChainState>,
}

/// A chain of versions at some point among the statements of its topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ChainState {
    /// The first version.
    pub(super) first_version: MemoryId,
    /// The number of versions before the last one.
    pub(super) former_versions: usize,
    /// The version before the last one.
    pub(super) parent: Option<MemoryId>,
    /// The last version.
    pub(super) latest: MemoryId,
    /// The statements of the last version that count.
    pub(super) statements: Vec<StatementRef>,
    /// The number of documents whose statements no longer count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) unlisted_sources: usize,
}

/// Statements of a topic that are settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SettledBlock {
    /// The chains before the first of these statements.
    chains: Vec<ChainState>,
    /// The statements in their order, with the memories that they support.
    statements: Vec<(StatementRef, Option<MemoryId>)>,
    /// The memories that begin with one of them.
    begun: Vec<MemoryId>,
    /// The place of the last of them.
    through: StatementKey,
}

impl Record for SettledBlock {
    fn estimated_bytes(&self) -> usize {
        let chains = self.chains.iter();
        let counted: usize = chains.map(|chain| 4 + chain.statements.len()).sum();
        200 + 60 * counted + 120 * self.statements.len()
    }
}

/// Returns the key of a block of a topic.
pub(super) fn block_key(topic: &TopicId, number: u32) -> String {
    format!("{topic}-{number}")
}

impl Ledger {
    /// Opens the settled statements of a topic from `from` on, or all of them, because they are about to
    /// change.
    pub(super) fn open_statements(&mut self, topic: &TopicId, from: Option<&StatementKey>) {
        let entry = self.topics.get(topic);
        if entry.is_none_or(|entry| !entry.has_settled(from)) {
            return;
        }
        let Some(entry) = self.topics.take(topic) else {
            return;
        };

        let mut entry = Arc::unwrap_or_clone(entry);
        let mut asked = 1;
        'opening: while entry.has_settled(from)
            && let Some(settled) = &entry.settled
        {
            // Twice as many blocks are asked for each time, so that a store can fetch them together.
            let end = settled.blocks;
            let first = match from {
                Some(_) => end.saturating_sub(asked),
                None => 0,
            };
            // The block before them is read to open the first of them.
            let keys: Vec<String> = (first.saturating_sub(1)..end)
                .map(|number| block_key(topic, number))
                .collect();
            self.blocks.fetch_all(keys.iter().collect());
            asked *= 2;

            for _ in first..end {
                if entry.has_settled(from) && !self.open_last_block(topic, &mut entry) {
                    // A block that is missing is yet to be fetched.
                    break 'opening;
                }
            }
        }
        self.topics.insert(topic.clone(), entry);
    }

    /// Reads the versions that begin in the last settled blocks of a topic, so that a store can fetch them
    /// together. A walk from parent to parent would fetch them one after another.
    pub(super) fn prefetch_settled_versions(&self, topic: &TopicId) {
        let entry = self.topics.get(topic);
        let settled = entry.as_ref().and_then(|entry| entry.settled.as_ref());
        let end = settled.map_or(0, |settled| settled.blocks);
        let first = end.saturating_sub(MAX_PREFETCHED_BLOCKS);
        // All blocks are asked for before their versions are.
        let blocks = (first..end).filter_map(|number| self.blocks.get(&block_key(topic, number)));
        let blocks: Vec<Arc<SettledBlock>> = blocks.collect();
        for id in blocks.iter().flat_map(|block| &block.begun) {
            self.memories.get(id);
        }
    }

    /// Opens the last block of a topic. Returns `false` if it is missing.
    fn open_last_block(&mut self, topic: &TopicId, entry: &mut TopicEntry) -> bool {
        let Some(settled) = &entry.settled else {
            return false;
        };
        let Some(last) = settled.blocks.checked_sub(1) else {
            return false;
        };
        let before = match last.checked_sub(1) {
            Some(before) => self.blocks.get(&block_key(topic, before)).map(Some),
            None => Some(None),
        };
        let (Some(before), Some(block)) = (before, self.blocks.get(&block_key(topic, last))) else {
            return false;
        };
        self.blocks.take(&block_key(topic, last));

        entry.settled = before.map(|before| Settled {
            blocks: last,
            through: before.through.clone(),
            chains: block.chains.clone(),
        });
        let last_versions = block.chains.iter().map(|chain| &chain.latest);
        let computed = last_versions.chain(&block.begun);
        entry.memories.extend(computed.cloned());
        entry.open.extend(block.statements.iter().cloned());
        true
    }

    /// Returns the documents that have a statement on the same topic. Those whose statements were
    /// all said before `since` may be missing.
    pub fn documents_on_topic_of(
        &self,
        statement: &Statement,
        since: Timestamp,
    ) -> Vec<Arc<DocumentStatements>> {
        let topic = topic_id_of(&self.container, statement);
        let Some(entry) = self.topics.get(&topic) else {
            return Vec::new();
        };

        let mut ids: BTreeSet<DocumentId> = entry.open.keys().map(|(id, _)| id.clone()).collect();
        let blocks = entry.settled.as_ref().map_or(0, |settled| settled.blocks);
        for number in (0..blocks).rev() {
            let Some(block) = self.blocks.get(&block_key(&topic, number)) else {
                break;
            };
            if block.through.said_at < since {
                break;
            }
            ids.extend(block.statements.iter().map(|((id, _), _)| id.clone()));
        }
        ids.iter().filter_map(|id| self.documents.get(id)).collect()
    }

    /// Returns the memory that a statement of a document supports.
    pub(super) fn memory_of_statement(
        &self,
        document_statements: &DocumentStatements,
        index: usize,
    ) -> Option<MemoryId> {
        let statement = document_statements.statements.get(index)?;
        let document = &document_statements.document;
        let topic = topic_id_of(&self.container, statement);
        let entry = self.topics.get(&topic)?;
        let reference = (document.id.clone(), index);
        if let Some(memory) = entry.open.get(&reference) {
            return memory.clone();
        }

        let settled = entry.settled.as_ref()?;
        let key = StatementKey::new(statement, document);
        let block = |number: u32| self.blocks.get(&block_key(&topic, number));
        let (mut first, mut end) = (0, settled.blocks);
        while first < end {
            let middle = u32::midpoint(first, end);
            let Some(found) = block(middle) else {
                // It is yet to be fetched, together with those that the search may need next.
                self.ask_for_blocks(&topic, first, end, SEARCH_STEPS_TOGETHER);
                return None;
            };
            if found.through < key {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        // Two statements of a document may have one place, and be in blocks beside each other.
        for block in (first..settled.blocks).map_while(block) {
            let mut statements = block.statements.iter();
            if let Some((_, memory)) = statements.find(|(other, _)| *other == reference) {
                return memory.clone();
            }
            if block.through > key {
                break;
            }
        }
        None
    }

    /// Asks for the blocks of a topic that the next `steps` steps of a binary search between `first` and `end` may
    /// need.
    fn ask_for_blocks(&self, topic: &TopicId, first: u32, end: u32, steps: u32) {
        if steps == 0 || first >= end {
            return;
        }
        let middle = u32::midpoint(first, end);
        self.blocks.get(&block_key(topic, middle));
        self.ask_for_blocks(topic, first, middle, steps - 1);
        self.ask_for_blocks(topic, middle + 1, end, steps - 1);
    }
}

/// The records of blocks.
pub(super) type Blocks = Records<String, SettledBlock>;

/// Maps as lists of pairs, because the keys of JSON objects are strings.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
