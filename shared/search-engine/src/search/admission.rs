//! The chunks that may be hits: those of documents that have not expired and pass the caller's filter,
//! which is called at most once per document.

use super::{SearchQuery, SearchScope};
use crate::index::{BitSet, DocumentView};

#[derive(Clone, Copy, PartialEq)]
enum FilterDecision {
    Unknown,
    Admitted,
    Rejected,
}

/// The expired chunks, and a cache of the filter's decisions, by part and document.
pub(super) struct FilterCache<'a> {
    admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    decisions: Vec<Vec<FilterDecision>>,
    /// The chunks of expired documents, by part.
    expired: Vec<BitSet>,
}

impl<'a> FilterCache<'a> {
    pub(super) fn new(scope: &SearchScope<'_>, query: &SearchQuery<'a>) -> Self {
        let admit = query.admit;
        let decisions = match admit {
            Some(_) => scope
                .parts
                .iter()
                .map(|(_, p)| vec![FilterDecision::Unknown; p.len_documents() as usize])
                .collect(),
            None => Vec::new(),
        };

        let mut expired = Vec::with_capacity(scope.parts.len());
        for (_, part) in &scope.parts {
            let mut chunks = BitSet::default();
            let documents = query.live_at.map(|now| part.expired(now));
            for document in documents.into_iter().flatten() {
                part.chunks_of(document)
                    .for_each(|chunk| chunks.insert(chunk));
            }
            expired.push(chunks);
        }

        Self {
            admit,
            decisions,
            expired,
        }
    }

    /// Checks whether the caller's filter may leave out chunks.
    pub(super) fn has_filter(&self) -> bool {
        self.admit.is_some()
    }

    /// Returns the chunks of expired documents of a part, ascending.
    pub(super) fn expired_chunks(&self, part: usize) -> impl Iterator<Item = u32> {
        self.expired[part].iter()
    }

    /// Checks whether a chunk is live and has not expired, and its document passes the filter.
    pub(super) fn admits_chunk(
        &mut self,
        scope: &SearchScope<'_>,
        part: usize,
        chunk: u32,
    ) -> bool {
        let source = scope.parts[part].1;
        if source.liveness.is_deleted_chunk(chunk) || self.expired[part].contains(chunk) {
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
        let first_chunk = scope.parts[part].1.chunks_of(document).start;
        if self.expired[part].contains(first_chunk) {
            return false;
        }
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
