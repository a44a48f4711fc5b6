//! Tests that the layout of documents does not change their ranking, and that writes take effect at
//! once.

mod support;

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use search_engine::{
    ChunkInput, ContainerIndex, Document, DocumentTimes, Embedder, ListedTime, Piece, Replacing,
    SearchHit, SearchQuery, Segment, SegmentError, StaticEmbedder, merge_segments,
    search_containers,
};
use support::build_anew;

const WORDS: [&str; 20] = [
    "painting",
    "dog",
    "paris",
    "order",
    "E0382",
    "camping",
    "running",
    "the",
    "coffee",
    "train",
    "green",
    "piano",
    "東京都",
    "ORD-2024-00017",
    "when",
    "violin",
    "mountain",
    "library",
    "perro",
    "canciones",
];

/// The number of segments into which segments are written anew.
const PIECES: usize = 2;
/// The time at which some documents expire.
const EXPIRY: i64 = 1_000;

#[derive(Debug, Clone)]
enum Step {
    Upsert(u8, Vec<String>),
    Remove(u8),
    Seal,
    Merge,
    Rewrite,
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..8)
        .prop_map(|words| words.join(" "))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..12, proptest::collection::vec(text(), 0..4)).prop_map(|(id, texts)| Step::Upsert(id, texts)),
        2 => (0u8..12).prop_map(Step::Remove),
        2 => Just(Step::Seal),
        1 => Just(Step::Merge),
        1 => Just(Step::Rewrite),
    ]
}

/// Checks whether the document of this id expires.
fn expires(id: &str) -> bool {
    id.ends_with(['1', '6'])
}

fn document(id: u8, texts: &[String]) -> Document {
    let chunk = |(position, text): (usize, &String)| ChunkInput {
        text: text.clone(),
        headings: format!("note {id}"),
        vector: StaticEmbedder.embed(text),
        position: position as u32,
        start: position as u32 * 10,
        end: position as u32 * 10 + 9,
        model_vector: None,
    };

    Document {
        id: format!("d{id}"),
        attributes: Bytes::from(format!("{{\"v\":{}}}", texts.len())),
        is_in_core: id.is_multiple_of(3),
        expires_at: expires(&format!("d{id}")).then_some(EXPIRY),
        // A document without chunks has no times in a segment.
        times: (id.is_multiple_of(2) && !texts.is_empty()).then(|| DocumentTimes {
            created_at: i64::from(id),
            updated_at: texts[0].len() as i64,
        }),
        chunks: texts.iter().enumerate().map(chunk).collect(),
    }
}

/// Segments with a tail, as a store keeps them.
struct Layered {
    replacing: Replacing,
    segments: Vec<Arc<Segment>>,
    index: ContainerIndex,
}

impl Layered {
    fn new(replacing: Replacing) -> Self {
        Self {
            replacing,
            segments: Vec::new(),
            index: ContainerIndex::new(),
        }
    }

    /// Adds a segment, which is not in the index yet.
    fn store(&mut self, file: Result<Vec<u8>, SegmentError>) {
        let file = file.expect("what the test wrote is valid");
        let segment = Segment::open(Bytes::from(file)).expect("what the test wrote is valid");
        self.segments.push(Arc::new(segment));
    }

    fn rebuild(&mut self) {
        self.index = ContainerIndex::new();
        for segment in &self.segments {
            let pushed = self.index.push_segment(segment.clone());
            pushed.expect("what the test wrote is valid");
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Seal => {
                self.store(self.index.build_tail_segment(self.replacing));
                self.rebuild();
            }
            Step::Merge if self.segments.len() >= 2 && self.index.is_tail_empty() => {
                let from = self.segments.len() / 2;
                let merged = merge_segments(&self.segments[from..], from);
                self.segments.truncate(from);
                self.store(merged);
                self.rebuild();
            }
            Step::Rewrite if self.index.is_tail_empty() => {
                let count = self.segments.len();
                self.segments.clear();
                for first in (0..count).step_by(2) {
                    for number in 0..PIECES {
                        let (places, count) = (first..count.min(first + 2), PIECES);
                        let piece = Piece { number, count };
                        self.store(self.index.build_merged(places, piece, self.replacing));
                    }
                }
                self.rebuild();
                let count = self.index.count_stored(0..self.segments.len());
                assert_eq!(count.stored, count.live, "what was replaced is gone");
            }
            other => write(&mut self.index, other),
        }
    }
}

fn write(index: &mut ContainerIndex, step: &Step) {
    match step {
        Step::Upsert(id, texts) => index.upsert_document(document(*id, texts)),
        Step::Remove(id) => {
            index.remove_document(&format!("d{id}"));
        }
        Step::Seal | Step::Merge | Step::Rewrite => {}
    }
}

fn answer_queries(index: &ContainerIndex) -> Vec<Vec<SearchHit>> {
    let queries = [
        "painting dog",
        "where is E0382",
        "東京",
        "ORD-2024-00017 train",
        "canciones del perro",
        "the when",
    ];
    let ask = |text: &str, live_at| {
        let query = SearchQuery {
            limit: 50,
            live_at,
            ..SearchQuery::new(text, StaticEmbedder.embed(text))
        };
        search_containers(&[index], &query)
            .expect("what the test wrote is valid")
            .hits
    };

    let mut answers = Vec::new();
    for text in queries {
        let all = ask(text, None);
        let unexpired = ask(text, Some(EXPIRY));
        assert_eq!(ask(text, Some(EXPIRY - 1)), all);
        assert!(unexpired.iter().all(|hit| !expires(&hit.document)));
        answers.extend([all, unexpired]);
    }
    answers
}

fn list_documents(index: &ContainerIndex) -> Vec<(String, Bytes, Option<i64>, u32)> {
    let mut all: Vec<_> = index
        .documents()
        .map(|d| {
            let attributes = d.attributes().expect("what the test wrote is valid");
            let id = d.id().expect("what the test wrote is valid").into_owned();
            (id, attributes, d.expires_at(), d.chunks)
        })
        .collect();
    all.sort();
    all
}

/// Returns the ids of the documents that have chunks, each with its times.
fn list_times(index: &ContainerIndex) -> Vec<(String, Option<i64>, Option<i64>)> {
    let list = |time| index.list_documents(time).expect("nothing is missing");
    let both = list(ListedTime::Created).zip(list(ListedTime::Updated));
    let mut times: Vec<_> = both
        .map(|(created, updated)| {
            assert_eq!(created.place, updated.place);
            let document = index.document_at(created.place);
            let id = document.id().expect("what the test wrote is valid");
            (id.into_owned(), created.time, updated.time)
        })
        .collect();
    times.sort();
    times
}

/// Counts the chunks of the documents that have not expired at `now`.
fn count_live_chunks(index: &ContainerIndex, now: i64) -> usize {
    let live = index
        .documents()
        .filter(|document| document.expires_at().is_none_or(|time| time > now));
    live.map(|document| document.chunks as usize).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn layout_changes_no_answer(steps in proptest::collection::vec(step(), 1..40)) {
        for replacing in [Replacing::ById, Replacing::ByNumber] {
            check_layouts(&steps, replacing)?;
        }
    }
}

/// Applies steps to an index without segments and to one with segments, and compares their answers.
fn check_layouts(steps: &[Step], replacing: Replacing) -> Result<(), TestCaseError> {
    let (mut plain, mut layered) = (ContainerIndex::new(), Layered::new(replacing));
    for step in steps {
        write(&mut plain, step);
        layered.apply(step);
    }

    prop_assert_eq!(list_documents(&plain), list_documents(&layered.index));
    prop_assert_eq!(list_times(&plain), list_times(&layered.index));
    prop_assert_eq!(plain.len_chunks(), layered.index.len_chunks());
    for now in [EXPIRY - 1, EXPIRY] {
        prop_assert_eq!(
            layered.index.count_live_chunks(now),
            count_live_chunks(&plain, now)
        );
    }
    let expected = answer_queries(&plain);
    prop_assert_eq!(&expected, &answer_queries(&layered.index));
    let compacted = layered
        .index
        .build_compacted(replacing)
        .expect("what the test wrote is valid");
    prop_assert!(
        compacted == build_anew(&plain, replacing),
        "a merge writes what the documents alone would give"
    );
    let compacted = Segment::open(Bytes::from(compacted)).expect("what the test wrote is valid");
    let mut single = ContainerIndex::new();
    single
        .push_segment(Arc::new(compacted))
        .expect("what the test wrote is valid");
    prop_assert_eq!(&expected, &answer_queries(&single));
    prop_assert_eq!(list_documents(&plain), list_documents(&single));
    prop_assert_eq!(list_times(&plain), list_times(&single));
    Ok(())
}

fn note(id: &str, text: &str) -> Document {
    let chunk = ChunkInput {
        text: text.into(),
        vector: StaticEmbedder.embed(text),
        ..ChunkInput::default()
    };
    Document {
        id: id.into(),
        chunks: vec![chunk],
        ..Document::default()
    }
}

fn find_ids(index: &ContainerIndex, text: &str) -> Vec<String> {
    let hits = search_containers(
        &[index],
        &SearchQuery::new(text, StaticEmbedder.embed(text)),
    )
    .expect("what the test wrote is valid")
    .hits;
    hits.into_iter()
        .filter(|hit| hit.similarity >= 0.6)
        .map(|hit| hit.text)
        .collect()
}

#[test]
fn a_snapshot_does_not_see_later_writes() {
    let mut index = ContainerIndex::new();
    index.upsert_document(note("a", "the violin is in the library"));
    let snapshot = index.clone();
    index.upsert_document(note("a", "the piano is in the kitchen"));
    index.upsert_document(note("b", "a train to Paris"));
    assert_eq!(
        find_ids(&snapshot, "violin library"),
        ["the violin is in the library"]
    );
    assert!(find_ids(&index, "violin library").is_empty());
    assert_eq!((snapshot.len_documents(), index.len_documents()), (1, 2));
}

#[test]
fn a_segment_pushed_under_a_tail_is_older_than_the_tail() {
    let mut older = ContainerIndex::new();
    older.upsert_document(note("a", "the violin is in the library"));
    older.upsert_document(note("b", "a train to Paris"));
    let segment = Arc::new(
        Segment::open(Bytes::from(
            older
                .build_tail_segment(Replacing::ById)
                .expect("what the test wrote is valid"),
        ))
        .expect("what the test wrote is valid"),
    );
    let mut index = ContainerIndex::new();
    index.upsert_document(note("a", "the piano is in the kitchen"));
    index
        .push_segment(segment)
        .expect("what the test wrote is valid");
    assert_eq!(index.len_documents(), 2);
    assert!(find_ids(&index, "violin library").is_empty());
    assert_eq!(find_ids(&index, "train Paris"), ["a train to Paris"]);
}

#[test]
fn a_document_written_over_and_over_does_not_fill_the_tail() {
    let mut index = ContainerIndex::new();
    for round in 0..2_000 {
        index.upsert_document(note("a", &format!("round {round}")));
    }
    assert_eq!(index.len_chunks(), 1);
    assert!(index.tail_chunks() < 300, "{}", index.tail_chunks());
}

/// Returns an index of notes, of which most expire, in three segments of growing size, or in one.
fn index_of_notes(segments: usize) -> ContainerIndex {
    let mut layered = Layered::new(Replacing::ById);
    for number in 0..6_000 {
        let words = [number % 7, number % 11 + 3, number % 17, number * 13 % 20];
        let text = words.map(|word| WORDS[word]).join(" ");
        layered.index.upsert_document(Document {
            expires_at: (number % 20 != 0).then_some(EXPIRY),
            ..note(&format!("note-{number}"), &format!("{text} {number}"))
        });
        if segments == 3 && (number == 1_499 || number == 3_499) {
            layered.apply(&Step::Seal);
        }
    }
    layered.apply(&Step::Seal);
    assert_eq!(layered.index.len_segments(), segments);
    layered.index
}

#[test]
fn the_nearest_rows_of_all_segments_are_chosen_by_their_signs() {
    const LIMIT: usize = 10;
    let (mut whole, mut parts) = (index_of_notes(1), index_of_notes(3));
    for question in [
        "painting in paris",
        "a green piano",
        "coffee at the library",
    ] {
        // No note has these words, so that only the signs lead to the hits.
        let mut query = SearchQuery::new("helicopter", StaticEmbedder.embed(question));
        query.config.prefilter_from = 1_024;
        query.config.prefilter_keep = 1;
        query.config.prefilter_divisor = 40;
        query.config.vector_candidates = LIMIT;
        query.limit = LIMIT;
        let mut every_row = query;
        every_row.config.prefilter_from = usize::MAX;
        let find = |index: &ContainerIndex, query: &SearchQuery<'_>| {
            search_containers(&[index], query)
                .expect("whole files")
                .hits
        };

        // More rows than the signs leave are deleted, and then others expire.
        let nearest = SearchQuery {
            limit: 300,
            ..every_row
        };
        for hit in find(&whole, &nearest) {
            assert!(whole.remove_document(&hit.document));
            assert!(parts.remove_document(&hit.document));
        }
        for live_at in [None, Some(EXPIRY + 1)] {
            query.live_at = live_at;
            every_row.live_at = live_at;
            let hits = find(&whole, &query);
            assert_eq!(find(&parts, &query), hits, "{question}");
            let exact = find(&whole, &every_row);
            let worst = |hits: &[SearchHit]| hits[LIMIT - 1].scores.vector;
            let (found, best) = (worst(&hits), worst(&exact));
            assert!(found > best - 0.03, "{found} and {best} of {question}");
        }
    }
}

#[test]
fn an_empty_index_answers_nothing() {
    let index = ContainerIndex::new();
    assert!(find_ids(&index, "anything").is_empty());
    assert!(
        search_containers(
            &[],
            &SearchQuery::new("anything", StaticEmbedder.embed("anything"))
        )
        .expect("what the test wrote is valid")
        .hits
        .is_empty()
    );

    let file = index
        .build_tail_segment(Replacing::ById)
        .expect("what the test wrote is valid");
    let mut index = ContainerIndex::new();
    let segment = Segment::open(Bytes::from(file)).expect("what the test wrote is valid");
    let pushed = index.push_segment(Arc::new(segment));
    pushed.expect("what the test wrote is valid");
    assert!(find_ids(&index, "anything").is_empty());
}
