//! The caller's filter, called at most once per document.

use super::SearchScope;
use crate::index::DocumentView;

#[derive(Clone, Copy, PartialEq)]
enum FilterDecision {
    Unknown,
    Admitted,
    Rejected,
}

/// A cache of the filter's decisions, by part and document.
pub(super) struct FilterCache<'a> {
    admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    decisions: Vec<Vec<FilterDecision>>,
}

impl<'a> FilterCache<'a> {
    pub(super) fn new(
        scope: &SearchScope<'_>,
        admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    ) -> Self {
        let decisions = match admit {
            Some(_) => scope
                .parts
                .iter()
                .map(|(_, p)| vec![FilterDecision::Unknown; p.len_documents() as usize])
                .collect(),
            None => Vec::new(),
        };
        Self { admit, decisions }
    }

    /// Checks whether there is a filter at all.
    pub(super) fn filters(&self) -> bool {
        self.admit.is_some()
    }

    /// Checks whether a chunk is live and its document passes the filter.
    pub(super) fn admits_chunk(
        &mut self,
        scope: &SearchScope<'_>,
        part: usize,
        chunk: u32,
    ) -> bool {
        let source = scope.parts[part].1;
        if source.liveness.is_deleted_chunk(chunk) {
            return false;
        }
        self.admit.is_none() || self.admits_document(scope, part, source.document_of(chunk))
    }

    pub(super) fn admits_document(
        &mut self,
        scope: &SearchScope<'_>,
        part: usize,
        document: u32,
    ) -> bool {
        let Some(admit) = self.admit else { return true };
        let decision = &mut self.decisions[part][document as usize];
        if *decision == FilterDecision::Unknown {
            let admitted = admit(&scope.parts[part].1.view(document));
            *decision = if admitted {
                FilterDecision::Admitted
            } else {
                FilterDecision::Rejected
            };
        }
        *decision == FilterDecision::Admitted
    }
}
