//! Writes parts of an index as one segment.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use fst::map::OpBuilder;
use fst::{Map, Streamer};

use super::part::IndexPart;
use crate::error::SegmentError;
use crate::segment::{ChunkRow, DocumentRow, ReplacedDocuments, SegmentWriter};

/// A piece of an index that is too large for one segment: its documents, in the order of their ids, in
/// pieces of as many documents each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The number of the piece, from 0.
    pub number: usize,
    /// The number of all pieces.
    pub count: usize,
}

impl Piece {
    /// Everything as one piece.
    pub const WHOLE: Self = Self {
        number: 0,
        count: 1,
    };

    /// Returns the piece of this many documents.
    fn of(self, documents: usize) -> Range<usize> {
        let start = |number| documents * number / self.count;
        start(self.number)..start(self.number + 1)
    }
}

/// The new number of a chunk that is not written: its document was deleted, or is in another piece.
const NOT_WRITTEN: u32 = u32::MAX;

/// A live document of a part.
struct LiveDocument<'a> {
    id: Cow<'a, str>,
    part: usize,
    document: u32,
}

/// Writes the live documents of `parts` as one segment, in the order of their ids, with the documents of older
/// segments that it replaces.
///
/// Terms, lengths and vectors are copied, not computed from the texts again. After a change of the
/// analysis, old indexes therefore have to be rebuilt from their documents.
pub(super) fn write_segment(
    parts: &[&IndexPart],
    replaced: ReplacedDocuments<'_>,
) -> Result<Vec<u8>, SegmentError> {
    write_piece(parts, replaced, Piece::WHOLE)
}

/// Writes a piece of what [`write_segment`] writes.
pub(super) fn write_piece(
    parts: &[&IndexPart],
    replaced: ReplacedDocuments<'_>,
    piece: Piece,
) -> Result<Vec<u8>, SegmentError> {
    let mut documents = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let living = part.living_with("")?.into_iter();
        documents.extend(living.map(|(document, id)| LiveDocument {
            id,
            part: number,
            document,
        }));
    }
    documents.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let documents = &documents[piece.of(documents.len())];

    let chunks = documents
        .iter()
        .map(|live| parts[live.part].chunks_of(live.document).len());
    let mut writer = SegmentWriter::new(chunks.sum(), replaced)?;
    writer.reserve_for(parts.iter().filter_map(|part| part.segment()), piece.count);
    let new_numbers = write_documents(parts, documents, &mut writer)?;
    write_terms(parts, &new_numbers, &mut writer)?;

    writer.finish()
}

/// Writes the documents and their chunks. Returns the new number of each chunk of each part.
fn write_documents(
    parts: &[&IndexPart],
    documents: &[LiveDocument<'_>],
    writer: &mut SegmentWriter<'_>,
) -> Result<Vec<Vec<u32>>, SegmentError> {
    let mut new_numbers: Vec<Vec<u32>> = parts
        .iter()
        .map(|part| vec![NOT_WRITTEN; part.len_chunks()])
        .collect();
    let mut texts: Vec<_> = parts.iter().map(|part| part.texts()).collect();

    for live in documents {
        let part = parts[live.part];
        for chunk in part.chunks_of(live.document) {
            let row = ChunkRow {
                place: part.chunk_place(chunk)?,
                length: part.lengths()[chunk as usize],
                vector: part.vector(chunk)?,
                inverse_norm: part.inverse_norms()?[chunk as usize],
                model_row: part.model_row(chunk),
                text: texts[live.part].read(chunk)?,
            };
            new_numbers[live.part][chunk as usize] = writer.push_chunk(&row)?;
        }
        writer.end_document(&DocumentRow {
            id: &live.id,
            stemmer_number: part.stemmer_number(live.document),
            attributes: part.attributes_of(live.document)?,
            is_in_core: part.is_in_core(live.document),
            expires_at: part.expires_at(live.document),
            times: part.times(live.document)?,
        })?;
    }
    Ok(new_numbers)
}

/// Writes the terms of all parts with the new numbers of their chunks.
fn write_terms(
    parts: &[&IndexPart],
    new_numbers: &[Vec<u32>],
    writer: &mut SegmentWriter<'_>,
) -> Result<(), SegmentError> {
    let tables: Vec<Map<Bytes>> = parts
        .iter()
        .map(|part| part.terms())
        .collect::<Result<_, _>>()?;
    let mut union = tables.iter().collect::<OpBuilder<'_>>().union();

    let mut postings: Vec<(u32, u32)> = Vec::new();
    while let Some((term, sources)) = union.next() {
        let text = std::str::from_utf8(term).map_err(|_| SegmentError::Corrupt("terms"))?;
        postings.clear();
        for source in sources {
            let Some(list) = parts[source.index].postings_of(text, source.value)? else {
                continue;
            };
            let new_numbers = &new_numbers[source.index];
            list.for_each_block(|chunks, frequencies| {
                for (&chunk, &frequency) in chunks.iter().zip(frequencies) {
                    let number = new_numbers.get(chunk as usize).copied();
                    postings.extend(
                        number
                            .filter(|&number| number != NOT_WRITTEN)
                            .map(|number| (number, frequency)),
                    );
                }
            });
        }

        if !postings.is_empty() {
            // Each segment's list stays ascending under the new numbers, and a stable sort merges such
            // runs cheaply. Only the list of a tail may not be.
            postings.sort_by_key(|&(number, _)| number);
            writer.push_term(term, &postings)?;
        }
    }
    Ok(())
}
