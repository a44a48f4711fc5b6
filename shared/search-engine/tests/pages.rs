//! Tests of segments of which only the beginning is known, and which are fetched page by page.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use search_engine::{
    ChunkInput, ContainerIndex, Document, DocumentTimes, DocumentView, Embedder, FirstReads,
    ListedTime, PageSource, QuantizedVector, Replacing, SearchHit, SearchProgress, SearchQuery,
    Segment, SegmentError, StaticEmbedder, continue_search, search_containers,
};

/// The most times that a search may have to wait for pages: for posting lists, for vectors and texts of
/// the best candidates, and for those of hits that the estimates did not predict.
const MAX_ROUNDS: usize = 3;

/// The most ranges that are fetched at once.
const MAX_RANGES: usize = 128;

/// A segment of which pages are fetched.
struct StoredSegment {
    file: Bytes,
    segment: Arc<Segment>,
    fetched: usize,
}

impl StoredSegment {
    /// Opens a file for searches: its core and its search part.
    fn open(file: Vec<u8>) -> Self {
        Self::open_beginning(file, |first_reads| first_reads.search)
    }

    fn open_beginning(file: Vec<u8>, choose: impl Fn(FirstReads) -> usize) -> Self {
        let file = Bytes::from(file);
        let len = choose(Segment::first_reads(&file).expect("what the test wrote is valid"));
        let beginning = Bytes::copy_from_slice(&file[..len]);
        let segment = Segment::open_beginning(beginning, file.len()).expect("a beginning");
        Self {
            segment: Arc::new(segment),
            file,
            fetched: len,
        }
    }

    /// Fetches what is missing. Returns `false` if nothing is.
    fn fetch_missing(&mut self) -> bool {
        let missing = self.segment.missing(MAX_RANGES);
        for range in &missing {
            self.fetched += range.len();
            let bytes = self.file.slice(range.clone());
            self.segment
                .insert(range.clone(), &bytes)
                .expect("the bytes of the file");
        }
        !missing.is_empty()
    }
}

fn index_of(segments: impl IntoIterator<Item = Arc<Segment>>) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    for segment in segments {
        let pushed = index.push_segment(segment);
        pushed.expect("what the test wrote is valid");
    }
    index
}

fn search(index: &ContainerIndex, query: &SearchQuery<'_>) -> Result<Vec<SearchHit>, SegmentError> {
    search_containers(&[index], query).map(|found| found.hits)
}

/// Searches and fetches what is missing, until nothing is. Returns the hits and the number of times.
fn search_fetching(
    segments: &mut [StoredSegment],
    query: &SearchQuery<'_>,
) -> (Vec<SearchHit>, usize) {
    let index = index_of(segments.iter().map(|stored| stored.segment.clone()));
    let mut progress = SearchProgress::default();
    for round in 0.. {
        let hits = continue_search(&[&index], query, &mut progress).map(|found| found.hits);
        let mut is_missing = false;
        for stored in segments.iter_mut() {
            is_missing |= stored.fetch_missing();
        }
        if !is_missing {
            let hits = hits.expect("nothing is missing");
            // Results that are kept from earlier rounds make no difference.
            assert_eq!(search(&index, query).as_ref(), Ok(&hits));
            return (hits, round);
        }
    }
    unreachable!("the loop returns")
}

fn document(number: usize, chunks: usize) -> Document {
    let mut inputs = Vec::new();
    for position in 0..chunks {
        let text = format!(
            "Note {number} part {position} about topic{} and place{}.",
            number * 7 % 31,
            (number + position) * 5 % 17
        );
        inputs.push(ChunkInput {
            vector: StaticEmbedder.embed(&text),
            headings: format!("Title {number}"),
            text,
            position: position as u32,
            ..ChunkInput::default()
        });
    }
    Document {
        id: format!("doc-{number:06}"),
        attributes: Bytes::from(format!("{{\"n\":{number}}}")),
        is_in_core: false,
        expires_at: number.is_multiple_of(11).then_some(1_000),
        times: None,
        chunks: inputs,
    }
}

/// Returns the file of a segment with these documents.
fn segment_of(documents: impl IntoIterator<Item = Document>) -> Vec<u8> {
    layers([documents.into_iter().collect()], Replacing::ById).remove(0)
}

/// Returns the files of segments with these documents, the oldest first.
fn layers(layers: impl IntoIterator<Item = Vec<Document>>, replacing: Replacing) -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = Vec::new();
    for documents in layers {
        let mut index = whole(&files);
        for document in documents {
            index.upsert_document(document);
        }
        let file = index.build_tail_segment(replacing);
        files.push(file.expect("what the test wrote is valid"));
    }
    files
}

fn whole(files: &[Vec<u8>]) -> ContainerIndex {
    let open = |file: &Vec<u8>| Segment::open(Bytes::from(file.clone())).expect("a segment");
    index_of(files.iter().map(|file| Arc::new(open(file))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn searches_of_cores_find_what_searches_of_whole_files_find(
        counts in proptest::collection::vec(1usize..120, 1..4),
        asked in 0usize..400,
        limit in 1usize..30,
        filtered in any::<bool>(),
        by_number in any::<bool>(),
        now in proptest::option::of(0i64..2_000),
    ) {
        let mut first = 0;
        let mut documents = Vec::new();
        for count in counts {
            let layer = (first..first + count).map(|number| document(number, number % 4));
            documents.push(layer.collect());
            // Some documents are in two segments, of which the later one counts.
            first += count * 3 / 4;
        }
        let replacing = if by_number { Replacing::ByNumber } else { Replacing::ById };
        let files = layers(documents, replacing);

        let text = format!("topic{} place{} note {asked}", asked % 31, asked % 17);
        let is_even = |view: &DocumentView<'_>| {
            view.attributes().is_ok_and(|bytes| bytes[bytes.len() - 2].is_multiple_of(2))
        };
        let query = SearchQuery {
            limit,
            live_at: now,
            admit: filtered.then_some(&is_even),
            ..SearchQuery::new(&text, StaticEmbedder.embed(&text))
        };
        let expected = search(&whole(&files), &query).expect("whole files");
        let mut stored: Vec<StoredSegment> = files.into_iter().map(StoredSegment::open).collect();
        let (hits, rounds) = search_fetching(&mut stored, &query);
        prop_assert_eq!(hits, expected);
        prop_assert!(rounds <= MAX_ROUNDS, "{} rounds", rounds);
    }
}

/// Asks questions about stories of the pages of two segments of which the later one replaces some stories.
/// `change` sets up each query. Checks that nearly all hits of the whole segments are found, and that the
/// best hit has the cosine of its vector.
fn check_estimates(replacing: Replacing, change: impl Fn(&mut SearchQuery<'_>)) {
    let stories = [0..900, 800..1_700].map(|numbers| numbers.map(story).collect());
    let files = layers(stories, replacing);
    let whole = whole(&files);
    let (mut shared, mut total) = (0, 0);
    for number in 0..30 {
        let text = story_text(number * 97 % 1_700, number % 3);
        let words: Vec<&str> = text.split(' ').skip(2).take(6).collect();
        let question = words.join(" ");
        let mut query = SearchQuery::new(&question, StaticEmbedder.embed(&question));
        change(&mut query);
        let expected = search(&whole, &query).expect("whole files");
        let stored = files.iter().cloned().map(StoredSegment::open);
        let mut stored: Vec<StoredSegment> = stored.collect();
        let (hits, rounds) = search_fetching(&mut stored, &query);
        assert!(rounds <= MAX_ROUNDS, "{rounds} rounds");
        assert!(stored.iter().all(|stored| !stored.segment.is_whole()));

        let best = |hits: &[SearchHit]| {
            let best = hits.first().expect("a hit");
            (best.document.clone(), best.position, best.scores.vector)
        };
        assert_eq!(best(&hits), best(&expected), "{question}");
        let place = |hit: &SearchHit| (hit.document.clone(), hit.position);
        let expected: Vec<_> = expected.iter().map(place).collect();
        shared += hits
            .iter()
            .map(place)
            .filter(|hit| expected.contains(hit))
            .count();
        total += expected.len();
    }
    assert!(shared * 100 >= total * 97, "{shared} of {total} hits");
}

#[test]
fn estimated_cosines_hardly_change_the_hits() {
    for replacing in [Replacing::ById, Replacing::ByNumber] {
        check_estimates(replacing, |_| {});
        check_estimates(replacing, |query| query.limit = 40);
        check_estimates(replacing, |query| query.live_at = Some(2_000));
        check_estimates(replacing, |query| query.vector = QuantizedVector::ZERO);
        check_estimates(replacing, |query| {
            query.only_document = Some("story-000850");
        });
    }
    check_estimates(Replacing::ById, |query| query.admit = Some(&is_even));
}

fn is_even(view: &DocumentView<'_>) -> bool {
    view.id()
        .is_ok_and(|id| id.ends_with(['0', '2', '4', '6', '8']))
}

#[test]
fn a_segment_that_is_completed_during_a_search_changes_no_hit() {
    let file = segment_of((0..900).map(story));
    let question = "train garden letter winter";
    let query = SearchQuery::new(question, StaticEmbedder.embed(question));
    let mut stored = [StoredSegment::open(file)];
    let (expected, _) = search_fetching(&mut stored, &query);

    let stored = StoredSegment::open(stored[0].file.to_vec());
    let complete = |_: &DocumentView<'_>| {
        while let Some(range) = stored.segment.first_unfetched(64 * 1024) {
            let bytes = stored.file.slice(range.clone());
            stored
                .segment
                .insert(range, &bytes)
                .expect("the bytes of the file");
        }
        true
    };
    let query = SearchQuery {
        admit: Some(&complete),
        ..query
    };
    let index = index_of([stored.segment.clone()]);
    let hits = search(&index, &query).expect("everything was fetched");
    assert_eq!(hits, expected);
}

#[test]
fn a_list_reads_the_times_of_all_segments_at_once() {
    let segment_of = |numbers: Range<usize>| {
        let mut index = ContainerIndex::new();
        for number in numbers {
            let created_at = number as i64;
            index.upsert_document(Document {
                times: Some(DocumentTimes {
                    created_at,
                    updated_at: -created_at,
                }),
                ..document(number, 1)
            });
        }
        let file = index.build_compacted(Replacing::ByNumber);
        let file = file.expect("what the test wrote is valid");
        StoredSegment::open_beginning(file, |first_reads| first_reads.core)
    };
    let mut segments = [segment_of(0..1_500), segment_of(1_500..3_000)];
    let index = index_of(segments.iter().map(|stored| stored.segment.clone()));

    let missing = index.list_documents(ListedTime::Updated);
    assert_eq!(missing.err(), Some(SegmentError::NotFetched));
    let before: usize = segments.iter().map(|stored| stored.fetched).sum();
    assert!(segments.iter_mut().all(StoredSegment::fetch_missing));
    let after: usize = segments.iter().map(|stored| stored.fetched).sum();
    // 8 bytes for each document, and the rest of the first and the last page of each segment.
    assert!(after - before <= 3_000 * 8 + 4 * 4096, "{}", after - before);

    let listed = index.list_documents(ListedTime::Updated);
    let listed = listed.expect("nothing is missing");
    let mut times: Vec<i64> = listed.filter_map(|document| document.time).collect();
    times.sort_unstable();
    assert!(times.into_iter().eq(-2_999..=0));
}

#[test]
fn pages_of_an_earlier_version_are_read() {
    let file = include_bytes!("data/segment-version-4.bin").to_vec();
    let expected = Segment::open(Bytes::from(file.clone())).expect("an earlier version wrote it");
    let mut stored = StoredSegment::open(file);
    assert!(!stored.segment.is_whole());
    stored.segment.ask_for_all();
    assert!(stored.fetch_missing() && stored.segment.is_whole());
    assert!(stored.segment.documents().eq(expected.documents()));
}

/// Returns a document of three chunks with words that others share.
fn story(number: usize) -> Document {
    let mut chunks = Vec::new();
    for position in 0..3 {
        let text = story_text(number, position);
        chunks.push(ChunkInput {
            vector: StaticEmbedder.embed(&text),
            text,
            position: position as u32,
            ..ChunkInput::default()
        });
    }
    Document {
        id: format!("story-{number:06}"),
        chunks,
        expires_at: number.is_multiple_of(11).then_some(1_000),
        ..Document::default()
    }
}

fn story_text(number: usize, position: usize) -> String {
    const WORDS: [&str; 40] = [
        "train",
        "garden",
        "letter",
        "winter",
        "harbour",
        "piano",
        "doctor",
        "bread",
        "mountain",
        "window",
        "river",
        "teacher",
        "market",
        "bicycle",
        "painting",
        "kitchen",
        "festival",
        "library",
        "storm",
        "bridge",
        "cousin",
        "ticket",
        "orchard",
        "violin",
        "museum",
        "lantern",
        "village",
        "recipe",
        "journey",
        "neighbour",
        "summer",
        "island",
        "camera",
        "forest",
        "station",
        "wedding",
        "sailor",
        "clock",
        "blanket",
        "theatre",
    ];
    let mut state = ((number * 3 + position) as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut words = Vec::new();
    for _ in 0..30 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        words.push(WORDS[(state >> 33) as usize % WORDS.len()]);
    }
    words.join(" ")
}

#[test]
fn attributes_in_the_core_need_no_page() {
    let documents = (0..60).map(|number| Document {
        is_in_core: number % 7 == 2,
        ..document(number, 1)
    });
    let stored = StoredSegment::open(segment_of(documents));
    let index = index_of([stored.segment.clone()]);
    for number in 0..60 {
        let found = index
            .document(&format!("doc-{number:06}"))
            .expect("indexed");
        let expected = match number % 7 {
            2 => Ok(document(number, 1).attributes),
            _ => Err(SegmentError::NotFetched),
        };
        assert_eq!(found.attributes(), expected, "{number}");
    }
}

/// Returns a vector that depends on `number`. Vectors of near numbers are near.
fn vector_of(number: usize) -> QuantizedVector {
    let mut values = [0f32; 256];
    for (dimension, value) in values.iter_mut().enumerate() {
        *value = ((number as f32) / 900.0 + dimension as f32 * 1.7).sin();
    }
    QuantizedVector::from_f32(&values)
}

#[test]
fn a_search_of_a_large_segment_fetches_a_small_part_of_it() {
    let documents = (0..70_000).map(|number| Document {
        id: format!("doc-{number:06}"),
        attributes: Bytes::from(format!(
            "{{\"n\":{number},\"source\":\"import of a folder\"}}"
        )),
        chunks: vec![ChunkInput {
            text: format!(
                "Entry {number} of ward{} and street{}",
                number % 997,
                number % 89
            ),
            vector: vector_of(number),
            ..ChunkInput::default()
        }],
        ..Document::default()
    });
    let file = segment_of(documents);
    let size = file.len();
    let query = SearchQuery::new("ward123 street34", vector_of(34_000));
    let expected = search(&whole(std::slice::from_ref(&file)), &query).expect("a whole file");
    assert_eq!(expected.len(), 10);

    let mut stored = [StoredSegment::open(file)];
    let core = stored[0].fetched;
    let (hits, rounds) = search_fetching(&mut stored, &query);
    assert_eq!(hits, expected);
    assert!(rounds <= MAX_ROUNDS, "{rounds} rounds");
    assert!(core < size / 3, "the core has {core} of {size} bytes");
    let fetched = stored[0].fetched - core;
    assert!(
        fetched < size / 3,
        "fetched {fetched} of {size} bytes beside the core"
    );
    assert!(!stored[0].segment.is_whole());

    // The same again needs nothing more.
    let (again, rounds) = search_fetching(&mut stored, &query);
    assert_eq!((again, rounds), (expected, 0));

    // Everything can be asked for.
    stored[0].segment.ask_for_all();
    assert!(stored[0].fetch_missing() && stored[0].segment.is_whole());
    let documents = stored[0].segment.documents().map(Result::unwrap);
    assert_eq!(documents.count(), 70_000);
}

#[test]
fn documents_are_read_without_the_search_part_and_searches_fetch_it() {
    let documents = (0..3_000).map(|number| document(number, 3)).collect();
    let file = layers([documents], Replacing::ByNumber).remove(0);
    let first_reads = Segment::first_reads(&file).expect("what the test wrote is valid");
    assert!(first_reads.core * 4 < first_reads.search, "{first_reads:?}");

    let query = SearchQuery::new("topic7 place3", StaticEmbedder.embed("topic7 place3"));
    let (expected, rounds) = search_fetching(&mut [StoredSegment::open(file.clone())], &query);
    let mut stored = [StoredSegment::open_beginning(file, |reads| reads.core)];
    let index = index_of([stored[0].segment.clone()]);
    let read = || index.document("doc-000042")?.attributes().ok();
    assert_eq!(read(), None);
    stored[0].fetch_missing();
    assert_eq!(read(), Some(document(42, 3).attributes));
    let fetched = stored[0].fetched - first_reads.core;
    assert!(fetched <= 64 * 1024, "{fetched} bytes for one document");

    assert_eq!(search_fetching(&mut stored, &query), (expected, rounds + 1));
}

#[test]
fn other_bytes_than_those_of_the_file_are_refused() {
    let stored = StoredSegment::open(segment_of((0..400).map(|number| document(number, 3))));
    stored.segment.ask_for_all();
    let missing: Vec<Range<usize>> = stored.segment.missing(MAX_RANGES);
    for range in &missing {
        let mut bytes = stored.file[range.clone()].to_vec();
        bytes[range.len() / 2] ^= 1;
        let refused = stored
            .segment
            .insert(range.clone(), &Bytes::from(bytes.clone()));
        assert_eq!(refused, Err(SegmentError::Corrupt("page checksum")));
        bytes.pop();
        let refused = stored.segment.insert(range.clone(), &Bytes::from(bytes));
        assert_eq!(refused, Err(SegmentError::Corrupt("cut off")));
    }
    // The pages with other bytes are still missing.
    stored.segment.ask_for_all();
    let still_missing = stored.segment.missing(MAX_RANGES);
    for range in &missing {
        let changed = range.start + range.len() / 2;
        assert!(still_missing.iter().any(|range| range.contains(&changed)));
    }
    assert!(Segment::open_beginning(stored.file.slice(..100), stored.file.len()).is_err());
    assert!(
        Segment::open_beginning(
            stored.file.slice(..stored.file.len() - 1),
            stored.file.len()
        )
        .is_err()
    );
}

#[test]
fn the_rest_of_a_file_can_be_fetched_part_by_part() {
    const PART_BYTES: usize = 64 * 1024;
    let documents = (0..3_000).map(|number| document(number, 3));
    let mut stored = [StoredSegment::open(segment_of(documents))];
    // A search has fetched some pages.
    let query = SearchQuery::new("topic7 place3", StaticEmbedder.embed("topic7 place3"));
    let (expected, rounds) = search_fetching(&mut stored, &query);
    assert!(rounds > 0);

    let [StoredSegment { file, segment, .. }] = &stored;
    let unfetched = file.len() - stored[0].fetched;
    let mut parts = 0;
    while let Some(range) = segment.first_unfetched(PART_BYTES) {
        assert!((1..=PART_BYTES).contains(&range.len()), "{range:?}");
        let bytes = file.slice(range.clone());
        segment
            .insert(range, &bytes)
            .expect("the bytes of the file");
        parts += 1;
    }
    assert!(segment.is_whole());
    assert!(parts >= unfetched / PART_BYTES, "{parts} parts");
    assert!(parts <= file.len() / PART_BYTES + 1, "{parts} parts");
    assert_eq!(search_fetching(&mut stored, &query), (expected, 0));
}

/// The pages of a file, of which one byte may be damaged.
#[derive(Debug)]
struct Pages {
    file: Bytes,
    damaged: Option<usize>,
}

impl PageSource for Pages {
    fn read(&self, range: Range<usize>) -> Option<Bytes> {
        let mut bytes = self.file.get(range.clone())?.to_vec();
        if let Some(damaged) = self.damaged.filter(|place| range.contains(place)) {
            bytes[damaged - range.start] ^= 1;
        }
        Some(bytes.into())
    }
}

#[test]
fn a_search_of_a_file_with_a_source_lacks_nothing() {
    let file = Bytes::from(segment_of((0..600).map(|number| document(number, 3))));
    let query = SearchQuery::new("which harbour", StaticEmbedder.embed("which harbour"));
    let mut stored = [StoredSegment::open(file.to_vec())];
    let (expected, _) = search_fetching(&mut stored, &query);

    let open = |damaged: Option<usize>| {
        let stored = StoredSegment::open(file.to_vec());
        let pages = Pages {
            file: file.clone(),
            damaged,
        };
        stored.segment.read_pages_from(Box::new(pages));
        stored.segment
    };
    let intact = open(None);
    let index = index_of([intact.clone()]);
    assert_eq!(search(&index, &query).as_ref(), Ok(&expected));
    assert!(intact.documents().all(|document| document.is_ok()));
    assert_eq!(intact.misses(), 0);
    assert!(intact.bytes_after_beginning() > 0);

    // A damaged page is missing.
    let damaged = open(Some(file.len() - 1));
    assert!(damaged.documents().any(|document| document.is_err()));
    assert!(damaged.misses() > 0);
}
