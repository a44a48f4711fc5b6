//! Tests that a merge writes the file that the documents alone would give.

mod support;

use std::sync::Arc;

use bytes::Bytes;
use search_engine::{
    ChunkInput, ContainerIndex, Document, DocumentTimes, Embedder, ModelVector, Replacing, Segment,
    SegmentError, StaticEmbedder, merge_segments,
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
        times: number.is_multiple_of(2).then_some(DocumentTimes {
            created_at: i64::from(number),
            updated_at: i64::from(round),
        }),
        chunks: (0..3).map(chunk).collect(),
    }
}

fn open(file: Vec<u8>) -> Arc<Segment> {
    Arc::new(Segment::open(Bytes::from(file)).expect("a segment"))
}

fn index_of(segments: &[Arc<Segment>]) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    for segment in segments {
        index.push_segment(segment.clone()).expect("a segment");
    }
    index
}

/// Writes, in each round, half of the documents anew, and removes some. Returns a
/// segment for each round but the last, which stays in the tail of the index.
fn layers(rounds: u32, replacing: Replacing) -> (Vec<Arc<Segment>>, ContainerIndex) {
    let mut segments = Vec::new();
    let mut index = ContainerIndex::new();
    for round in 0..rounds {
        for number in (round % 2..DOCUMENTS).step_by(2) {
            index.upsert_document(document(number, round));
        }
        for number in (round..DOCUMENTS).step_by(17) {
            index.remove_document(&format!("note-{number:03}"));
        }
        if round + 1 < rounds {
            segments.push(open(
                index.build_tail_segment(replacing).expect("a segment"),
            ));
            index = index_of(&segments);
        }
    }
    (segments, index)
}

const BOTH: [Replacing; 2] = [Replacing::ById, Replacing::ByNumber];

#[test]
fn segments_and_a_tail_become_what_their_documents_give() {
    for replacing in BOTH {
        let (_, index) = layers(4, replacing);
        assert!(index.len_chunks() > 700 && index.len_segments() == 3);
        let compacted = index.build_compacted(replacing).expect("a segment");
        assert!(compacted == build_anew(&index, replacing));
    }
}

#[test]
fn the_oldest_segments_become_what_their_documents_give() {
    for replacing in BOTH {
        let (segments, _) = layers(4, replacing);
        let merged = merge_segments(&segments, 0).expect("a segment");
        assert!(merged == build_anew(&index_of(&segments), replacing));
    }
}

#[test]
fn newer_segments_keep_removals_from_the_oldest() {
    for replacing in BOTH {
        let (segments, _) = layers(4, replacing);
        let merged = open(merge_segments(&segments[1..], 1).expect("a segment"));
        let has_ids = merged.removed_ids().len() > 0;
        assert_eq!(has_ids, replacing == Replacing::ById);
        let layered = index_of(&[segments[0].clone(), merged]);
        let expected = build_anew(&index_of(&segments), replacing);
        assert!(build_anew(&layered, replacing) == expected);
    }
}

#[test]
fn segments_of_different_kinds_are_refused() {
    let (by_id, _) = layers(2, Replacing::ById);
    let (by_number, _) = layers(3, Replacing::ByNumber);
    let kinds = SegmentError::Corrupt("segments of different kinds");
    let pair = [by_number[0].clone(), by_id[0].clone()];
    assert_eq!(merge_segments(&pair, 0), Err(kinds.clone()));
    assert_eq!(
        merge_segments(&[by_id[0].clone(), by_number[1].clone()], 0),
        Err(kinds)
    );

    // A segment that is not behind its older ones is damage.
    let misplaced = index_of(&[]).push_segment(by_number[1].clone());
    assert_eq!(misplaced, Err(SegmentError::Corrupt("deletions")));
}
