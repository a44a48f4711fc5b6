//! Forgotten sentences are masked in the chunks that are shown beside memories.
//!
//! A chunk may hold the sentence of a forgotten memory among others that are still wanted, so the
//! sentence is masked and the chunk stays. A chunk of nothing else is left out. The documents
//! themselves, and the search of documents, show what was sent: who does not want it there deletes
//! the document.

use container_index::IndexedMemories;
use domain::DocumentId;
use search_engine::SearchHit;

use crate::engine::FoundChunk;

/// The text in place of a forgotten sentence.
const MASK: &str = "[forgotten]";

/// Masks the forgotten sentences of the chunks that were found, and leaves out chunks of nothing
/// else.
pub(crate) fn mask_found(found: &mut Vec<FoundChunk>, memories: &[IndexedMemories]) {
    found.retain_mut(|found| {
        let spans = forgotten_spans(memories, &found.document.id);
        if spans.is_empty() {
            return true;
        }

        found.hit.text = mask_text(&found.hit.text, found.hit.start as usize, &spans);
        has_words(&found.hit.text)
    });
}

/// Checks whether a part of the document of a hit may be forgotten.
pub(crate) fn may_be_forgotten(hit: &SearchHit, memories: &[IndexedMemories]) -> bool {
    let Some(document) = DocumentId::parse(&hit.document) else {
        return false;
    };
    let mut ledgers = memories.iter().map(IndexedMemories::ledger);
    ledgers.any(|ledger| ledger.has_masked(&document))
}

/// Returns the parts of a document that state what is forgotten, as positions in its canonical text.
pub(crate) fn forgotten_spans(
    memories: &[IndexedMemories],
    document: &DocumentId,
) -> Vec<(usize, usize)> {
    let spans = memories
        .iter()
        .flat_map(|memories| memories.ledger().forgotten_spans(document));
    spans.collect()
}

/// Replaces the parts of a chunk that lie within the spans. The chunk begins at `start` in the
/// canonical text.
pub(crate) fn mask_text(text: &str, start: usize, spans: &[(usize, usize)]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut is_masking = false;
    for (index, c) in text.chars().enumerate() {
        let at = start + index;
        let is_forgotten = spans.iter().any(|&(from, to)| from <= at && at < to);
        if !is_forgotten {
            masked.push(c);
        } else if !is_masking {
            masked.push_str(MASK);
        }
        is_masking = is_forgotten;
    }

    masked
}

/// Checks whether anything is left beside the mask.
fn has_words(masked: &str) -> bool {
    masked.replace(MASK, "").contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_forgotten_part_is_masked() {
        let text = "Ich heiße Ada. Ich bin krank. Ich koche.";
        assert_eq!(
            mask_text(text, 100, &[(115, 129)]),
            "Ich heiße Ada. [forgotten] Ich koche."
        );
        assert_eq!(mask_text(text, 0, &[(115, 129)]), text);
        assert!(!has_words("[forgotten]."));
    }
}
