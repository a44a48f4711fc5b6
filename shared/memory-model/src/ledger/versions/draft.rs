//! One version of a memory while it is computed: its statements, and what they say together.

use std::collections::BTreeMap;

use domain::{
    Attribution, DocumentId, IndexedDocument, MemoryId, SourceMedium, Statement, Timestamp, Trust,
};
use serde_json::{Map, Value};

use crate::ledger::SupportingSpan;
use crate::ledger::topics::{ChainState, StatementKey, StatementRef};
use crate::words::{content_words, is_negated, split_words};

/// The most statements of a version that count. If there are more, these count: the first, the first that
/// decides the content, the first with the highest trust, and the newest.
///
/// A sentence that stands in every document of a container would otherwise make its memory larger and
/// slower with each of them.
const MAX_VERSION_STATEMENTS: usize = 32;

/// A statement with everything that decides its place in the order.
pub(super) struct PlacedStatement<'a> {
    pub(super) statement: &'a Statement,
    /// The document of the statement; `None` for a version that a caller wrote.
    pub(super) document: Option<&'a IndexedDocument>,
    /// The position among the statements of the document; 0 without one.
    index: usize,
    pub(super) answer: String,
    pub(super) negated: bool,
}

impl<'a> PlacedStatement<'a> {
    /// Places the statement at `index` of a document, or a version that a caller wrote.
    pub(super) fn new(
        statement: &'a Statement,
        document: Option<&'a IndexedDocument>,
        index: usize,
    ) -> Self {
        let (answer, negated) = match &statement.topic {
            Some(topic) => (split_words(&topic.value).join(" "), topic.negated),
            None if document.is_none() => (content_words(&statement.text).join(" "), false),
            None => (String::new(), is_negated(&statement.text)),
        };
        Self {
            statement,
            document,
            index,
            answer,
            negated,
        }
    }

    /// Returns the text from which the id of a version that begins with this statement is derived,
    /// together with the topic and the number of earlier versions with the same text. A version
    /// that a caller wrote has a text of its own.
    pub(super) fn id_text(&self) -> String {
        match (self.document, self.negated) {
            (None, _) => format!("edit {} {}", self.statement.said_at, self.statement.text),
            (_, true) => format!("not {}", self.answer),
            (_, false) => self.answer.clone(),
        }
    }

    /// Returns the answer, and whether the statement denies it. A statement repeats another one if
    /// both are equal.
    pub(super) fn value(&self) -> (&str, bool) {
        (&self.answer, self.negated)
    }

    pub(super) fn recorded_at(&self) -> Timestamp {
        match self.document {
            Some(document) => Timestamp::from_millis(document.created_at),
            None => self.statement.said_at,
        }
    }

    /// Returns the id of the document; `None` for a version that a caller wrote.
    fn document_id(&self) -> Option<&'a DocumentId> {
        self.document.map(|document| &document.id)
    }

    /// Returns the sort key of the statement. Ties are broken by values that never change.
    pub(super) fn sort_key(&self) -> (Timestamp, bool, Timestamp, Option<&'a DocumentId>, usize) {
        (
            self.statement.said_at,
            self.document.is_none(),
            self.recorded_at(),
            self.document_id(),
            self.statement.start,
        )
    }

    /// Returns the place of the statement among those of documents; `None` for a version that a caller
    /// wrote.
    pub(super) fn key(&self) -> Option<StatementKey> {
        let document = self.document?;
        Some(StatementKey::new(self.statement, document))
    }

    /// Returns where the statement is found; `None` for a version that a caller wrote.
    pub(super) fn reference(&self) -> Option<StatementRef> {
        Some((self.document?.id.clone(), self.index))
    }
}

/// A version to which statements may still be added.
pub(super) struct VersionDraft<'a> {
    pub(super) id: MemoryId,
    /// The number of earlier versions with the same id text; `None` if the version was restored.
    pub(super) occurrence: Option<usize>,
    /// The statements that count, in their order, at most [`MAX_VERSION_STATEMENTS`]. All give the same
    /// answer.
    statements: Vec<PlacedStatement<'a>>,
    /// The number of documents whose statements no longer count.
    pub(super) unlisted_sources: usize,
    /// The time at which it was said that it replaces the version before it, and the time at which that
    /// was recorded.
    pub(super) replaced_former: (Timestamp, Timestamp),
    /// The number of open statements before it began; `None` if it began with a settled one.
    pub(super) begun_after: Option<usize>,
}

impl<'a> VersionDraft<'a> {
    /// Begins a version.
    pub(super) fn new(
        id: MemoryId,
        occurrence: usize,
        first: PlacedStatement<'a>,
        begun_after: usize,
    ) -> Self {
        Self {
            id,
            occurrence: Some(occurrence),
            replaced_former: (first.statement.said_at, first.recorded_at()),
            statements: vec![first],
            unlisted_sources: 0,
            begun_after: Some(begun_after),
        }
    }

    /// Restores the last version of a chain. Returns `None` without a statement.
    pub(super) fn restore(
        state: &ChainState,
        statements: Vec<PlacedStatement<'a>>,
    ) -> Option<Self> {
        let first = statements.first()?;
        Some(Self {
            id: state.latest.clone(),
            occurrence: None,
            unlisted_sources: state.unlisted_sources,
            replaced_former: (first.statement.said_at, first.recorded_at()),
            statements,
            begun_after: None,
        })
    }

    /// Adds a statement that repeats the version.
    pub(super) fn push(&mut self, placed: PlacedStatement<'a>) {
        self.statements.push(placed);
        if self.statements.len() <= MAX_VERSION_STATEMENTS {
            return;
        }

        let trust = self.trust();
        let mut statements = self.statements.iter();
        let first_deciding = statements.position(|placed| decides(placed, trust));
        let mut statements = self.statements.iter();
        let first_trusted = statements.position(|placed| placed.statement.trust == trust);
        let kept = [Some(0), first_deciding, first_trusted];
        if let Some(dropped) =
            (0..self.statements.len()).find(|position| !kept.contains(&Some(*position)))
        {
            let dropped = self.statements.remove(dropped).document_id();
            let mut others = self.statements.iter();
            if others.all(|placed| placed.document_id() != dropped) {
                self.unlisted_sources += 1;
            }
        }
    }

    /// Returns the first statement.
    pub(super) fn first(&self) -> &PlacedStatement<'a> {
        &self.statements[0]
    }

    /// Returns the statements that count.
    pub(super) fn statements(&self) -> &[PlacedStatement<'a>] {
        &self.statements
    }

    /// Returns the trust of the user's own words if there are any, or else that of the most trusted
    /// statement.
    pub(super) fn trust(&self) -> Trust {
        let trusts = self.statements.iter().map(|placed| placed.statement.trust);
        trusts
            .min_by_key(|trust| (!trust.is_own_words(), *trust))
            .unwrap_or_default()
    }

    /// Returns the statements that decide the content of the version.
    pub(super) fn deciding(&self) -> impl Iterator<Item = &PlacedStatement<'a>> + Clone {
        let trust = self.trust();
        let statements = self.statements.iter();
        statements.filter(move |placed| decides(placed, trust))
    }

    /// Returns where the version was read, if it is not in the user's own words.
    pub(super) fn attribution(&self) -> Option<Attribution> {
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

    /// Computes the probability that at least one document is right, assuming that they are
    /// independent. Claims of others do not add to the confidence of the user's own words.
    pub(super) fn confidence(&self) -> f32 {
        const MAX_CONFIDENCE: f32 = 0.99;
        let mut statements = self.statements.iter();
        let is_written_by_caller = statements.any(|placed| placed.document.is_none());
        if is_written_by_caller {
            return 1.0;
        }

        let mut by_document: BTreeMap<Option<&DocumentId>, f32> = BTreeMap::new();
        for placed in self.deciding() {
            let best = by_document.entry(placed.document_id()).or_insert(0.0);
            *best = best.max(placed.statement.confidence.clamp(0.0, 1.0));
        }

        let error_probability: f32 = by_document
            .values()
            .map(|confidence| 1.0 - confidence)
            .product();
        (1.0 - error_probability).min(MAX_CONFIDENCE)
    }

    /// Returns the spans that state it.
    pub(super) fn sources(&self) -> Vec<SupportingSpan> {
        let mut sources = Vec::new();
        for placed in &self.statements {
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
    pub(super) fn metadata(&self) -> Map<String, Value> {
        for placed in self.statements.iter().rev() {
            if !placed.statement.metadata.is_empty() {
                return placed.statement.metadata.clone();
            }
        }

        for placed in self.statements.iter().rev() {
            if let Some(document) = placed.document
                && !document.metadata.is_empty()
            {
                return document.metadata.clone();
            }
        }

        Map::new()
    }
}

/// Checks whether a statement of a version with this trust decides its content. If the version has the
/// user's own words, those of others do not.
fn decides(placed: &PlacedStatement<'_>, trust: Trust) -> bool {
    !trust.is_own_words() || placed.statement.trust.is_own_words()
}
