//! The edits and statements by which the versions of a topic are forgotten or ended.

use std::sync::Arc;

use domain::{Statement, Timestamp};

use super::TopicChains;
use super::draft::{PlacedStatement, VersionDraft};
use crate::ledger::retract::Retractions;
use crate::ledger::{DocumentStatements, ForgetRecord};

/// The number of occurrences of one answer in a topic that are searched for a forget: so many from the
/// first one, and so many on each side of the version's own.
const MAX_FORGET_OCCURRENCES: usize = 8;

impl TopicChains<'_, '_> {
    /// Returns when and why a version was forgotten.
    ///
    /// The occurrence number in the id of a version changes when an earlier document is added or
    /// removed. A forget of another occurrence of the same text therefore counts as well, if it is not
    /// older than the version's last statement.
    pub(super) fn forgotten_by_edit(&self, version: &VersionDraft<'_>) -> Option<ForgetRecord> {
        if self.sources.edits.is_known_empty() {
            return None;
        }

        let id_text = version.first().id_text();
        let said_at = version.statements().last()?.statement.said_at;
        let mut forgets = Vec::new();
        for occurrence in self.searched_occurrences(version, &id_text) {
            let id = self.occurrence_id(&id_text, occurrence);
            if let Some(edits) = self.sources.edits.get(&id)
                && let Some(forgotten) = &edits.forgotten
                && forgotten.at >= said_at
            {
                forgets.push(forgotten.clone());
            }
        }

        forgets.into_iter().max_by_key(|forgotten| forgotten.at)
    }

    /// Returns the numbers of the occurrences whose forgets may count for a version, each once.
    fn searched_occurrences(
        &self,
        version: &VersionDraft<'_>,
        id_text: &str,
    ) -> impl Iterator<Item = usize> {
        let near = match self.occurrence_of(version, id_text) {
            Some(own) if own >= MAX_FORGET_OCCURRENCES => {
                let first = (own - MAX_FORGET_OCCURRENCES).max(MAX_FORGET_OCCURRENCES);
                first..own + MAX_FORGET_OCCURRENCES + 1
            }
            _ => 0..0,
        };
        (0..MAX_FORGET_OCCURRENCES).chain(near)
    }

    /// Returns the number of the occurrence that a version is. That of a restored version is found by its
    /// id. It is one of the first or one of the last.
    fn occurrence_of(&self, version: &VersionDraft<'_>, id_text: &str) -> Option<usize> {
        if version.occurrence.is_some() {
            return version.occurrence;
        }

        let is_own = |occurrence: &usize| self.occurrence_id(id_text, *occurrence) == version.id;
        if let Some(first) = (0..MAX_FORGET_OCCURRENCES).find(is_own) {
            return Some(first);
        }
        let count = self.count_occurrences(id_text);
        (MAX_FORGET_OCCURRENCES..count).rev().find(is_own)
    }

    /// Returns when a version was forgotten because a conversation asks for it: all of its statements
    /// are taken back.
    pub(super) fn forgotten_by_request(&self, version: &VersionDraft<'_>) -> Option<ForgetRecord> {
        self.taken_back(version, Retractions::find_forget)
    }

    /// Returns when a version ended, if a later statement ends all of its statements.
    pub(super) fn ended_at(&self, version: &VersionDraft<'_>) -> Option<Timestamp> {
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
        for placed in version.statements() {
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
}
