//! The counts of a part of an hour, by the minute.

use serde::{Deserialize, Serialize};

use crate::activity::{Hour, RequestRecord, RequestTally, TimeSpan};
use crate::time::Timestamp;

/// The number of counts above which slices are joined. With 150 bytes each before compression, the counts of
/// an hour fit into one item of a table.
const MAX_CELLS: usize = 4_000;

/// The counts of an hour from its beginning up to a moment, in slices of time.
///
/// A slice is a minute. Neighbours are joined if their counts have very many dimensions. A minute without
/// requests has no slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallySlices {
    hour: Hour,
    counted_to: Timestamp,
    slices: Vec<(TimeSpan, RequestTally)>,
}

impl TallySlices {
    /// Returns slices of an hour of which nothing is counted.
    pub const fn new(hour: Hour) -> Self {
        Self {
            hour,
            counted_to: hour.start_time(),
            slices: Vec::new(),
        }
    }

    /// Returns the moment up to which the requests are counted.
    pub const fn counted_to(&self) -> Timestamp {
        self.counted_to
    }

    /// Checks whether the whole hour is counted.
    pub fn is_complete(&self) -> bool {
        self.counted_to >= self.hour.end_time()
    }

    /// Counts a request that follows the requests before it.
    pub fn count(&mut self, record: &RequestRecord) {
        if let Some((span, tally)) = self.slices.last_mut()
            && span.contains(record.at)
        {
            tally.count(record);
            return;
        }

        let mut tally = RequestTally::default();
        tally.count(record);
        self.slices.push((TimeSpan::of_minute(record.at), tally));
    }

    /// Declares that the requests before `to`, the end of a minute, are counted.
    pub fn finish(&mut self, to: Timestamp) {
        self.counted_to = to;
        while self.cell_count() > MAX_CELLS && self.slices.len() > 1 {
            self.join_neighbours();
        }
    }

    /// Declares that the requests before the last minute with a request are counted, and drops what was
    /// counted of that minute. Returns `false` and changes nothing if no minute is whole.
    pub fn finish_whole_minutes(&mut self) -> bool {
        let Some(start) = self.slices.last().map(|(span, _)| span.start_time()) else {
            return false;
        };
        if start <= self.counted_to {
            return false;
        }

        self.slices.pop();
        self.finish(start);
        true
    }

    /// Returns the sum of all slices.
    pub fn total(&self) -> RequestTally {
        let mut total = RequestTally::default();
        for (_, tally) in &self.slices {
            total.add(tally);
        }
        total
    }

    /// Divides the part of `span` within the hour, in the order of time: parts with their counts, and parts
    /// without, whose requests have to be counted. A part without requests may be left out.
    pub fn divide(self, span: TimeSpan) -> Vec<(TimeSpan, Option<RequestTally>)> {
        let mut parts = Vec::new();
        for (slice, tally) in self.slices {
            if let Some(part) = slice.intersection(span) {
                parts.push((part, (part == slice).then_some(tally)));
            }
        }
        let rest = TimeSpan::for_hour(self.hour).since(self.counted_to);
        parts.extend(rest.intersection(span).map(|part| (part, None)));
        parts
    }

    fn cell_count(&self) -> usize {
        let counts = self.slices.iter().map(|(_, tally)| tally.cells.len());
        counts.sum()
    }

    /// Joins each two slices that follow each other.
    fn join_neighbours(&mut self) {
        let mut joined = Vec::with_capacity(self.slices.len().div_ceil(2));
        for pair in self.slices.chunks(2) {
            let (mut span, mut tally) = pair[0].clone();
            for (next, counts) in &pair[1..] {
                span = span.extended_to(*next);
                tally.add(counts);
            }
            joined.push((span, tally));
        }
        self.slices = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::RequestType;

    const HOUR: Hour = Hour(484_649);

    fn second(seconds: i64) -> Timestamp {
        HOUR.start_time().plus_seconds(seconds)
    }

    fn span(from: i64, to: i64) -> TimeSpan {
        TimeSpan::for_hour(HOUR)
            .since(second(from))
            .until(second(to))
    }

    fn record(at: Timestamp, key: usize) -> RequestRecord {
        RequestRecord {
            id: at.to_string(),
            at,
            kind: RequestType::Search,
            route: "POST /v4/search".into(),
            status: 200,
            error: None,
            micros: 1,
            key: format!("k{key}"),
            key_name: "a key".into(),
            containers: Vec::new(),
            input: None,
            output: None,
        }
    }

    /// Returns slices with a request at each of the seconds.
    fn slices_of(seconds: impl IntoIterator<Item = i64>) -> TallySlices {
        let mut slices = TallySlices::new(HOUR);
        for at in seconds {
            slices.count(&record(second(at), 0));
        }
        slices
    }

    /// Returns the parts with their numbers of requests.
    fn parts_of(slices: &TallySlices, span: TimeSpan) -> Vec<(TimeSpan, Option<u64>)> {
        let parts = slices.clone().divide(span).into_iter();
        let count = |tally: RequestTally| tally.total_where(|_| true).map_or(0, |cell| cell.count);
        parts
            .map(|(span, tally)| (span, tally.map(count)))
            .collect()
    }

    #[test]
    fn a_span_takes_the_slices_that_it_holds_and_leaves_the_rest_to_be_counted() {
        let mut slices = slices_of([0, 59, 60, 200, 239, 240]);
        assert!(slices.finish_whole_minutes());
        assert_eq!(slices.counted_to(), second(240));
        assert!(!slices.is_complete());

        let whole = TimeSpan::for_hour(HOUR);
        let counted = [
            (span(0, 60), Some(2)),
            (span(60, 120), Some(1)),
            (span(180, 240), Some(2)),
        ];
        let rest = (span(240, 3600), None);
        assert_eq!(parts_of(&slices, whole), [&counted[..], &[rest]].concat());
        assert_eq!(
            parts_of(&slices, span(30, 230)),
            [(span(30, 60), None), counted[1], (span(180, 230), None)]
        );
        assert_eq!(parts_of(&slices, span(130, 170)), []);
        assert_eq!(parts_of(&slices, span(250, 260)), [(span(250, 260), None)]);

        slices.finish(HOUR.end_time());
        assert!(slices.is_complete());
        assert_eq!(parts_of(&slices, whole), counted);
    }

    #[test]
    fn a_minute_that_is_not_whole_is_not_counted() {
        assert!(!slices_of([]).finish_whole_minutes());
        let mut slices = slices_of([0, 30]);
        assert!(!slices.finish_whole_minutes());
        slices.count(&record(second(61), 0));
        assert!(slices.finish_whole_minutes());
        assert!(!slices.finish_whole_minutes(), "nothing was counted since");
        slices.count(&record(second(61), 0));
        assert!(!slices.finish_whole_minutes());
    }

    #[test]
    fn minutes_with_many_keys_are_joined() {
        let mut slices = TallySlices::new(HOUR);
        for minute in 0..60 {
            for key in 0..100 {
                slices.count(&record(second(minute * 60), key));
            }
        }
        let total = slices.total();
        slices.finish(HOUR.end_time());
        assert_eq!((slices.cell_count(), slices.slices.len()), (3_000, 30));
        assert_eq!(slices.total(), total);
        assert_eq!(parts_of(&slices, span(60, 240)).len(), 2);
        assert_eq!(slices.slices[1].0, span(120, 240));
    }
}
