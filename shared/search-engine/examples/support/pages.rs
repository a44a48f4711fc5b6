//! The hits of a segment that is read page by page, beside those of the whole segment.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use search_engine::{
    ContainerIndex, Embedder, SearchHit, SearchProgress, SearchQuery, Segment, SegmentError,
    StaticEmbedder, continue_search, search_containers,
};

/// The most ranges that are fetched at once.
const MAX_RANGES: usize = 128;

/// Sums over all questions.
#[derive(Default)]
struct PageFigures {
    shared: f64,
    same_first: f64,
    rounds: f64,
    bytes: f64,
}

/// Asks every question of a file of which the core and the search part are known. Prints how many of the
/// ten hits of the whole file are found, and what is read.
#[expect(clippy::print_stdout, reason = "a report is this program's purpose")]
pub(crate) fn compare_pages(file: &Bytes, questions: &[&str]) -> Result<(), Box<dyn Error>> {
    let first_read = file.slice(..Segment::first_reads(file)?.search);
    let whole = index_of(Segment::open(file.clone())?.into())?;
    let mut sum = PageFigures::default();
    for question in questions {
        let query = SearchQuery::new(question, StaticEmbedder.embed(question));
        let expected = search_containers(&[&whole], &query)?.hits;
        let found = search_pages(file, &first_read, &query, &mut sum)?;
        let is_found = |hit: &&SearchHit| found.iter().any(|other| is_same(hit, other));
        let shared = expected.iter().filter(is_found).count();
        sum.shared += shared as f64 / expected.len().max(1) as f64;
        let has_same_first = match (expected.first(), found.first()) {
            (Some(expected), Some(found)) => is_same(expected, found),
            (expected, found) => expected.is_none() && found.is_none(),
        };
        sum.same_first += f64::from(u8::from(has_same_first));
    }

    let count = questions.len() as f64;
    println!(
        "  by pages: {:.1} of {:.1} MB first; of {count} questions, shared hits {:.4}, same first \
         hit {:.4}; {:.2} rounds and {:.0} KB each",
        first_read.len() as f64 / 1e6,
        file.len() as f64 / 1e6,
        sum.shared / count,
        sum.same_first / count,
        sum.rounds / count,
        sum.bytes / count / 1e3
    );
    Ok(())
}

fn index_of(segment: Arc<Segment>) -> Result<ContainerIndex, SegmentError> {
    let mut index = ContainerIndex::new();
    index.push_segment(segment)?;
    Ok(index)
}

fn is_same(a: &SearchHit, b: &SearchHit) -> bool {
    (&a.document, a.position) == (&b.document, b.position)
}

/// Searches the beginning of a file, and reads the pages that the search needs. Adds what was read to `sum`.
fn search_pages(
    file: &Bytes,
    first_read: &Bytes,
    query: &SearchQuery<'_>,
    sum: &mut PageFigures,
) -> Result<Vec<SearchHit>, SegmentError> {
    let segment = Arc::new(Segment::open_beginning(first_read.clone(), file.len())?);
    let index = index_of(segment.clone())?;
    let mut progress = SearchProgress::default();
    loop {
        let found = continue_search(&[&index], query, &mut progress);
        let missing = segment.missing(MAX_RANGES);
        if missing.is_empty() {
            return Ok(found?.hits);
        }
        sum.rounds += 1.0;
        for range in missing {
            sum.bytes += range.len() as f64;
            segment.insert(range.clone(), &file.slice(range))?;
        }
    }
}
