//! The caller's filter, called at most once per document.

use super::Scope;
use crate::index::DocumentView;

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Unknown,
    In,
    Out,
}

/// A cache of the filter's decisions, by part and document.
pub(super) struct Admission<'a> {
    admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    verdicts: Vec<Vec<Verdict>>,
}

impl<'a> Admission<'a> {
    pub(super) fn new(
        scope: &Scope<'_>,
        admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    ) -> Self {
        let verdicts = match admit {
            Some(_) => scope
                .parts
                .iter()
                .map(|(_, p)| vec![Verdict::Unknown; p.len_documents() as usize])
                .collect(),
            None => Vec::new(),
        };
        Self { admit, verdicts }
    }

    /// Checks whether there is a filter at all.
    pub(super) fn filters(&self) -> bool {
        self.admit.is_some()
    }

    /// Checks whether a chunk is live and its document passes the filter.
    pub(super) fn admits_chunk(&mut self, scope: &Scope<'_>, part: usize, chunk: u32) -> bool {
        let source = scope.parts[part].1;
        if source.live.is_dead_chunk(chunk) {
            return false;
        }
        self.admit.is_none() || self.admits_document(scope, part, source.document_of(chunk))
    }

    pub(super) fn admits_document(
        &mut self,
        scope: &Scope<'_>,
        part: usize,
        document: u32,
    ) -> bool {
        let Some(admit) = self.admit else { return true };
        let verdict = &mut self.verdicts[part][document as usize];
        if *verdict == Verdict::Unknown {
            let admitted = admit(&scope.parts[part].1.view(document));
            *verdict = if admitted { Verdict::In } else { Verdict::Out };
        }
        *verdict == Verdict::In
    }
}
