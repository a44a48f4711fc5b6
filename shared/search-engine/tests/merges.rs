//! Tests that a merge writes the file that the documents alone would give.

mod support;

use std::sync::Arc;

use bytes::Bytes;
use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, ModelVector, Segment, StaticEmbedder,
    merge_segments,
};
use support::build_anew;

/// Enough documents for several blocks of texts, and for terms with packed blocks of postings.
const DOCUMENTS: u32 = 300;

/// Returns a document of three chunks. Each third one has vectors of a model, in two sizes.
fn document(number: u32, round: u32) -> Document {
    let chunk = |position: u32| {
        let text = format!(
            "Chunk {position} of note {number}, written in round {round}, is about topic {}. ",
            number * 7 % 13
        )
        .repeat(4);
        let dimensions = 8 + 8 * (number as usize % 2);
        let values: Vec<f32> = (0..dimensions)
            .map(|index| (index as u32 + number) as f32)
            .collect();
        let vector = ModelVector::quantize(Arc::from("model"), &values);
        ChunkInput {
            vector: StaticEmbedder.embed(&text),
            model_vector: vector.filter(|_| number.is_multiple_of(3)),
            headings: format!("Note {number}"),
            text,
            position,
            start: position * 100,
            end: position * 100 + 99,
        }
    };
    Document {
        id: format!("note-{number:03}"),
        attributes: Bytes::from(format!("{{\"round\":{round}}}")),
        is_in_core: number.is_multiple_of(3),
        expires_at: number.is_multiple_of(7).then_some(i64::from(round)),
        chunks: (0..3).map(chunk).collect(),
    }
}

fn open(file: Vec<u8>) -> Arc<Segment> {
    Arc::new(Segment::open(Bytes::from(file)).expect("a segment"))
}

fn index_of(segments: &[Arc<Segment>]) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    for segment in segments {
        index.push_segment(segment.clone());
    }
    index
}

/// Writes, in each round, half of the documents anew, removes some and changes some. Returns a
/// segment for each round but the last, which stays in the tail of the index.
fn layers(rounds: u32) -> (Vec<Arc<Segment>>, ContainerIndex) {
    let mut segments = Vec::new();
    let mut index = ContainerIndex::new();
    for round in 0..rounds {
        for number in (round % 2..DOCUMENTS).step_by(2) {
            index.upsert_document(document(number, round));
        }
        for number in (round..DOCUMENTS).step_by(17) {
            index.remove_document(&format!("note-{number:03}"));
        }
        for number in (round..DOCUMENTS).step_by(11) {
            let attributes = Bytes::from(format!("{{\"changed\":{round}}}"));
            index.update_attributes(&format!("note-{number:03}"), attributes);
        }
        if round + 1 < rounds {
            segments.push(open(index.build_tail_segment().expect("a segment")));
            index = index_of(&segments);
        }
    }
    (segments, index)
}

#[test]
fn segments_and_a_tail_become_what_their_documents_give() {
    let (_, index) = layers(4);
    assert!(index.len_chunks() > 700 && index.len_segments() == 3);
    assert!(index.build_compacted().expect("a segment") == build_anew(&index));
}

#[test]
fn the_oldest_segments_become_what_their_documents_give() {
    let (segments, _) = layers(4);
    let merged = merge_segments(&segments, true).expect("a segment");
    assert!(merged == build_anew(&index_of(&segments)));
}

#[test]
fn newer_segments_keep_removals_and_changes_of_the_oldest() {
    let (segments, _) = layers(4);
    let merged = open(merge_segments(&segments[1..], false).expect("a segment"));
    assert!(merged.removed_ids().len() > 0 && merged.patched_attributes().len() > 0);
    let layered = index_of(&[segments[0].clone(), merged]);
    assert!(build_anew(&layered) == build_anew(&index_of(&segments)));
}
