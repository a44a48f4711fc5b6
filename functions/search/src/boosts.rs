//! Boosts: factors on the scores of candidates, by the days that a question names.
//!
//! A boost changes the order of the rows of one kind. The similarities of the rows stay the same and
//! are reassigned in the new order, so that the threshold and the mix of both kinds do not depend on
//! it.

use domain::Timestamp;
use extraction::QuestionDays;

use crate::engine::{FoundChunk, FoundMemory};
use crate::rank::{ResultRow, reorder_rows};

/// The number of candidates of each kind that are examined if a boost may apply.
pub(crate) const BOOST_CANDIDATES: usize = 100;
/// The factor of what was said on one of the question's days (`docs/benchmarks.md`, Dates and
/// speakers).
const DAY_FACTOR: f32 = 1.15;
/// The factor of what names one of these days and was said on another day.
const NAMED_DAY_FACTOR: f32 = 1.1;
/// The boosts of a question.
pub(crate) struct Boosts {
    days: QuestionDays,
}

impl Boosts {
    /// Returns the boosts of a question that is asked at `now`.
    pub(crate) fn new(question: &str, now: Timestamp) -> Self {
        Self {
            days: QuestionDays::find(question, now),
        }
    }

    /// Returns the number of candidates that are needed for an answer of `limit` rows.
    pub(crate) fn candidate_limit(&self, limit: usize) -> usize {
        if self.days.is_empty() {
            limit
        } else {
            limit.max(BOOST_CANDIDATES)
        }
    }

    /// Sorts rows of one kind by their boosted scores, and keeps the first `limit`. Rows without any
    /// boost keep their order.
    pub(crate) fn apply(&self, rows: &mut Vec<ResultRow>, limit: usize) {
        let mut scores = Vec::with_capacity(rows.len());
        let mut is_boosted = false;
        for row in rows.iter_mut() {
            let factor = match row {
                ResultRow::Chunk(found) => self.chunk_factor(found),
                ResultRow::Memory(found) => self.memory_factor(found),
            };
            is_boosted |= factor > 1.0;
            row.set_score(row.score() * factor);
            scores.push(row.score());
        }

        if is_boosted {
            reorder_rows(rows, scores);
        }
        rows.truncate(limit);
    }

    /// Returns the factor of a chunk, which is 1 unless it belongs to a conversation.
    fn chunk_factor(&self, found: &FoundChunk) -> f32 {
        let mut lines = found.hit.headings.lines();
        match lines.find_map(Timestamp::parse_long_date) {
            Some(day) => self.day_factor(self.days.include(day), &found.hit.text, day),
            None => 1.0,
        }
    }

    fn memory_factor(&self, found: &FoundMemory) -> f32 {
        let memory = &found.memory;
        let is_of_days = match memory.event {
            Some(event) => self.days.include_period(event),
            None => self.days.include(memory.said_at),
        };
        self.day_factor(is_of_days, &memory.text, memory.said_at)
    }

    /// Returns the factor of a text that was said at `said_at`.
    fn day_factor(&self, is_of_days: bool, text: &str, said_at: Timestamp) -> f32 {
        if is_of_days {
            DAY_FACTOR
        } else if !self.days.is_empty() && self.days.are_named_in(text, said_at) {
            NAMED_DAY_FACTOR
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::test_rows::{chunk_row, texts_of};

    const MAY: &str = "Monday, 8 May 2023\nAna, Ben";
    const JUNE: &str = "Thursday, 8 June 2023\nAna, Ben";

    /// Returns the texts of chunks in their order for a question, with their similarities.
    fn boosted(question: &str, chunks: &[(&str, &str, f32)]) -> Vec<(String, f32)> {
        let now = Timestamp::parse("now", "2023-07-01").unwrap();
        let mut rows = Vec::new();
        for (headings, text, score) in chunks {
            rows.push(chunk_row(headings, text, *score));
        }
        Boosts::new(question, now).apply(&mut rows, chunks.len());
        texts_of(&rows)
    }

    #[test]
    fn chunks_of_the_days_come_first_and_similarities_stay_sorted() {
        let chunks = [
            (JUNE, "Ana: I paint.", 0.9),
            (MAY, "Ana: I swim.", 0.85),
            ("Guide", "Ana: I row.", 0.8),
        ];
        let expected = [
            ("Ana: I swim.", 0.9),
            ("Ana: I paint.", 0.85),
            ("Ana: I row.", 0.8),
        ];
        let expected = expected.map(|(text, similarity)| (text.to_owned(), similarity));
        assert_eq!(boosted("What did Ana do in May?", &chunks), expected);
        assert_eq!(
            boosted("What did Ana do in May 2022?", &chunks)[0].0,
            "Ana: I paint."
        );
        assert_eq!(boosted("What does Ana do?", &chunks)[0].0, "Ana: I paint.");
    }

    #[test]
    fn a_text_that_names_a_day_counts_less_than_one_of_the_day() {
        let chunks = [
            (JUNE, "Ben: Nothing.", 0.9),
            (JUNE, "Ana: I swam on 8 May.", 0.85),
            (MAY, "Ana: I swam.", 0.84),
        ];
        let order = boosted("What did Ana do on 8 May 2023?", &chunks);
        assert_eq!(order[0].0, "Ana: I swam.");
        assert_eq!(order[1].0, "Ana: I swam on 8 May.");
    }
}
