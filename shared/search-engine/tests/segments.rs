//! Tests that a segment returns exactly what was put into it.

use std::sync::Arc;

use bytes::Bytes;
use search_engine::{
    ChunkInput, ContainerIndex, Document, DocumentTimes, Embedder, ListedTime, Replacing,
    SearchHit, SearchQuery, Segment, SegmentError, StaticEmbedder, search_containers,
};

fn documents() -> Vec<Document> {
    (0..40)
        .map(|number| Document {
            id: format!("doc-{number:03}"),
            attributes: Bytes::from(format!("{{\"n\":{number}}}")),
            expires_at: (number % 5 == 3).then_some(1_000 + i64::from(number)),
            is_in_core: number % 7 == 2,
            times: (number % 4 > 0 && number % 3 > 0).then(|| times_of(number)),
            chunks: (0..number % 4)
                .map(|position| {
                    let text = format!(
                        "Chunk {position} of document {number} speaks of topic-{}. ",
                        number * 7 % 13
                    )
                    .repeat(8);
                    ChunkInput {
                        vector: StaticEmbedder.embed(&text),
                        headings: format!("Title {number} › Section {position}"),
                        text,
                        position,
                        start: position * 100,
                        end: position * 100 + 99,
                        model_vector: None,
                    }
                })
                .collect(),
        })
        .collect()
}

/// Returns the times of a document: the creation in the order of the numbers, the update in another.
fn times_of(number: u32) -> DocumentTimes {
    DocumentTimes {
        created_at: i64::from(number) * 10,
        updated_at: 1_000 + i64::from(number * 7 % 40),
    }
}

fn built() -> Vec<u8> {
    let mut index = index_of(["gone-1", "gone-2", "old"].map(|id| Document {
        id: id.into(),
        ..Document::default()
    }));
    let older = index
        .build_compacted(Replacing::ById)
        .expect("what the test wrote is valid");
    let older = Segment::open(Bytes::from(older)).expect("what the test wrote is valid");
    index = ContainerIndex::new();
    let pushed = index.push_segment(Arc::new(older));
    pushed.expect("what the test wrote is valid");

    for document in documents().into_iter().rev() {
        index.upsert_document(document);
    }
    index.remove_document("gone-2");
    index.remove_document("gone-1");
    index
        .build_tail_segment(Replacing::ById)
        .expect("what the test wrote is valid")
}

fn index_of(documents: impl IntoIterator<Item = Document>) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    for document in documents {
        index.upsert_document(document);
    }
    index
}

/// Returns the file of a segment with ids in runs.
fn built_with_runs() -> Vec<u8> {
    let file = index_of(documents()).build_compacted(Replacing::ByNumber);
    file.expect("what the test wrote is valid")
}

#[test]
fn documents_come_back_with_texts_and_vectors() {
    let read = |file: Vec<u8>| {
        let segment = Segment::open(Bytes::from(file)).expect("what the test wrote is valid");
        let found: Vec<Document> = segment.documents().map(Result::unwrap).collect();
        assert_eq!(found, documents());
        segment
    };
    read(built_with_runs());
    let segment = read(built());
    assert_eq!(
        segment.removed_ids().collect::<Vec<_>>(),
        ["gone-1", "gone-2"]
    );
}

#[test]
fn the_same_documents_give_the_same_file() {
    assert_eq!(built(), built());
}

#[test]
fn of_documents_with_one_id_the_last_is_kept() {
    let index = index_of(["first", "second"].map(|text| Document {
        id: "a".into(),
        chunks: vec![ChunkInput {
            text: text.into(),
            ..ChunkInput::default()
        }],
        ..Document::default()
    }));
    let file = index
        .build_compacted(Replacing::ById)
        .expect("what the test wrote is valid");
    let segment = Segment::open(Bytes::from(file)).expect("what the test wrote is valid");
    let found: Vec<Document> = segment.documents().map(Result::unwrap).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].chunks[0].text, "second");
}

fn use_all(file: Vec<u8>) -> Result<(Vec<Document>, Vec<SearchHit>), SegmentError> {
    let segment = Arc::new(Segment::open(Bytes::from(file))?);
    let documents = segment.documents().collect::<Result<Vec<_>, _>>()?;
    let mut index = ContainerIndex::new();
    index.push_segment(segment)?;
    let text = "document 7 topic-3 section";
    let hits = search_containers(
        &[&index],
        &SearchQuery::new(text, StaticEmbedder.embed(text)),
    )?
    .hits;
    Ok((documents, hits))
}

#[test]
fn a_flipped_byte_is_an_error_or_changes_nothing() {
    for file in [built(), built_with_runs()] {
        check_flipped_bytes(&file);
    }
}

fn check_flipped_bytes(file: &[u8]) {
    let expected = use_all(file.to_vec()).expect("what the test wrote is valid");
    let step = (file.len() / 4_000).max(1);
    let offsets = (0..512.min(file.len())).chain((512..file.len()).step_by(step));
    let mut errors = 0;
    for offset in offsets {
        for flip in [0x01, 0x80, 0xFF] {
            let mut broken = file.to_vec();
            broken[offset] ^= flip;
            match use_all(broken) {
                Ok(found) => assert_eq!(found, expected, "byte {offset}"),
                Err(_) => errors += 1,
            }
        }
    }

    assert!(errors > 1_000, "{errors}");
}

#[test]
fn a_cut_or_foreign_file_is_an_error() {
    let file = built();
    for length in (0..file.len()).step_by(97) {
        assert!(use_all(file[..length].to_vec()).is_err(), "{length}");
    }
    assert!(use_all(b"PK\x03\x04 something else entirely".to_vec()).is_err());
}

#[test]
fn a_file_of_a_later_version_says_so() {
    let mut file = built();
    file[8] = 9;
    assert_eq!(
        Segment::open(Bytes::from(file)).err(),
        Some(SegmentError::UnknownVersion(9))
    );
}

/// Returns the documents of a segment that an earlier version of the program wrote.
fn read_earlier(file: &'static [u8]) -> Vec<Document> {
    let segment = Segment::open(Bytes::from_static(file)).expect("an earlier version wrote it");
    segment.documents().map(Result::unwrap).collect()
}

#[test]
fn segments_of_earlier_versions_are_read() {
    let mut expected = documents();
    for document in &mut expected {
        document.expires_at = None;
        document.is_in_core = false;
        document.times = None;
    }
    let first = read_earlier(include_bytes!("data/segment-version-1.bin"));
    assert_eq!(first, expected);

    // The second version has vectors of a chosen model, here for the first chunk of each document.
    let mut second = read_earlier(include_bytes!("data/segment-version-2.bin"));
    for document in &mut second {
        for (number, chunk) in document.chunks.iter_mut().enumerate() {
            let vector = chunk.model_vector.take();
            assert_eq!(
                vector.map(|vector| vector.codes().len()),
                (number == 0).then_some(4)
            );
        }
    }
    assert_eq!(second, expected[..12]);

    // The third version has times of expiry, and the fourth one pages.
    let mut expected = documents();
    for document in &mut expected {
        document.is_in_core = false;
        document.times = None;
    }
    let third = read_earlier(include_bytes!("data/segment-version-3.bin"));
    assert_eq!(third, expected);
    let fourth = read_earlier(include_bytes!("data/segment-version-4.bin"));
    assert_eq!(fourth, expected);

    // The fifth version has attributes in the core, the sixth one packed sections, and the seventh one a
    // search part.
    let mut expected = documents();
    for document in &mut expected {
        document.times = None;
    }
    let fifth = read_earlier(include_bytes!("data/segment-version-5.bin"));
    assert_eq!(fifth, expected);
    let sixth = read_earlier(include_bytes!("data/segment-version-6.bin"));
    assert_eq!(sixth, expected);
    let seventh = read_earlier(include_bytes!("data/segment-version-7.bin"));
    assert_eq!(seventh, expected);
}

/// Returns the ids of an index with one of their times, in the order of the ids.
fn list(index: &ContainerIndex, time: ListedTime) -> Vec<(String, Option<i64>)> {
    let listed = index.list_documents(time).expect("nothing is missing");
    let mut ids: Vec<(String, Option<i64>)> = Vec::new();
    for document in listed {
        let id = index
            .document_at(document.place)
            .id()
            .expect("an id")
            .into_owned();
        assert_eq!(index.place_of(&id), Some(document.place));
        ids.push((id, document.time));
    }
    ids.sort();
    ids
}

#[test]
fn documents_with_chunks_are_listed_with_their_times() {
    let file = built_with_runs();
    let mut index = ContainerIndex::new();
    let segment = Segment::open(Bytes::from(file)).expect("what the test wrote is valid");
    index.push_segment(Arc::new(segment)).expect("the first");
    // A newer document, one that is removed, and two that replace others: with other times, and with none.
    let changed = |number: u32, id: &str, times: Option<DocumentTimes>| Document {
        id: id.to_owned(),
        times,
        ..documents()[number as usize].clone()
    };
    index.upsert_document(changed(1, "new", Some(times_of(900))));
    index.remove_document("doc-002");
    index.upsert_document(changed(5, "doc-005", Some(times_of(901))));
    index.upsert_document(changed(7, "doc-007", None));

    let expected = |time: fn(DocumentTimes) -> i64| {
        let mut expected = vec![("new".to_owned(), Some(time(times_of(900))))];
        for document in documents() {
            let times = match document.id.as_str() {
                "doc-002" => continue,
                "doc-005" => Some(times_of(901)),
                "doc-007" => None,
                _ => document.times,
            };
            if !document.chunks.is_empty() {
                expected.push((document.id, times.map(time)));
            }
        }
        expected.sort();
        expected
    };
    let created = expected(|times| times.created_at);
    let updated = expected(|times| times.updated_at);
    assert_eq!(list(&index, ListedTime::Created), created);
    assert_eq!(list(&index, ListedTime::Updated), updated);

    // It is the same behind a second segment, and once both are merged.
    let tail = index.build_tail_segment(Replacing::ByNumber);
    let tail = Segment::open(tail.expect("what the test wrote is valid").into());
    let merged = index.build_compacted(Replacing::ByNumber);
    let merged = Segment::open(merged.expect("what the test wrote is valid").into());
    let first = Segment::open(built_with_runs().into());
    for segments in [vec![first, tail], vec![merged]] {
        let mut index = ContainerIndex::new();
        for segment in segments {
            let segment = Arc::new(segment.expect("what the test wrote is valid"));
            index.push_segment(segment).expect("they follow each other");
        }
        assert_eq!(list(&index, ListedTime::Created), created);
        assert_eq!(list(&index, ListedTime::Updated), updated);
    }
}
