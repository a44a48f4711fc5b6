//! Boosts: factors on the scores of candidates, by the days that a question names and by the role of
//! the speaker.
//!
//! A boost changes the order of the rows of one kind. The similarities of the rows stay the same and
//! are reassigned in the new order, so that the threshold and the mix of both kinds do not depend on
//! it. The same holds for memories about somebody else than the question asks about, which come later.

use std::collections::HashSet;

use domain::Timestamp;
use extraction::QuestionDays;
use memory_model::asker::QuestionPeople;
use search_engine::SearchHit;

use crate::engine::{FoundChunk, FoundMemory};
use crate::rank::{ResultRow, reorder_rows};

/// The number of candidates of each kind that are examined if a boost may apply.
pub(crate) const BOOST_CANDIDATES: usize = 100;
/// The factor of what was said on one of the question's days (`docs/benchmarks.md`, Dates and
/// speakers).
const DAY_FACTOR: f32 = 1.15;
/// The factor of what names one of these days and was said on another day.
const NAMED_DAY_FACTOR: f32 = 1.1;
/// The amount that is added to the factor of a chunk of which all text is the user's. The square root
/// of the share of the user's text decides how much of it is added, because the user's words are
/// few beside those of an answer.
const USER_WEIGHT: f32 = 0.5;
/// The factor of a memory about somebody else than the question asks about. It comes after the
/// asker's own facts that are almost as similar: "User moved to Lisbon" has .87 of the similarity of
/// "User's mom lives in Ohio" for "where do I live?".
const OTHER_PERSON_FACTOR: f32 = 0.75;

/// The speaker of a turn of the user that has no name.
const UNNAMED_USER: &str = "User";
/// The speakers of other turns that have no name.
const OTHER_UNNAMED_SPEAKERS: &[&str] = &["Assistant", "System", "Tool"];

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
        let user_documents = documents_with_unnamed_user(rows);
        let mut scores = Vec::with_capacity(rows.len());
        let mut is_boosted = false;
        for row in rows.iter_mut() {
            let factor = match row {
                ResultRow::Chunk(found) => self.chunk_factor(found, &user_documents),
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
    fn chunk_factor(&self, found: &FoundChunk, user_documents: &HashSet<String>) -> f32 {
        let Some(conversation) = ConversationHeadings::parse(&found.hit.headings) else {
            return 1.0;
        };

        let text = &found.hit.text;
        let has_unnamed_user = user_documents.contains(&found.hit.document);
        let user_share = match conversation.user_name(has_unnamed_user) {
            Some(user) => user_text_share(text, user, conversation.names),
            None => 0.0,
        };

        self.day_factor(self.days.include(conversation.day), text, conversation.day)
            * (1.0 + USER_WEIGHT * user_share.sqrt())
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

/// Sorts the memories again, with those about somebody else than the question asks about after others
/// that are almost as similar.
pub(crate) fn sort_by_people(rows: &mut Vec<ResultRow>, people: &QuestionPeople) {
    let mut similarities = Vec::with_capacity(rows.len());
    let mut is_changed = false;
    for row in rows.iter_mut() {
        let mut similarity = row.similarity();
        if let ResultRow::Memory(found) = row
            && people.differ_from(&found.memory)
        {
            similarity *= OTHER_PERSON_FACTOR;
            row.set_score(row.score() * OTHER_PERSON_FACTOR);
            is_changed = true;
        }
        similarities.push(similarity);
    }

    if is_changed {
        reorder_rows(rows, similarities);
    }
}

/// Checks whether a chunk belongs to a conversation in which one side may be an assistant.
pub(crate) fn may_have_assistant(hit: &SearchHit) -> bool {
    ConversationHeadings::parse(&hit.headings)
        .is_some_and(|conversation| conversation.user_name(false).is_some())
}

/// The headings of a chunk of a conversation: the day of its first turn, and the names of all
/// speakers who have one.
struct ConversationHeadings<'a> {
    day: Timestamp,
    names: &'a str,
}

impl<'a> ConversationHeadings<'a> {
    /// Parses the headings of a chunk. Those of other documents have no day.
    fn parse(headings: &'a str) -> Option<Self> {
        let mut lines = headings.lines();
        let day = lines.find_map(Timestamp::parse_long_date)?;
        let names = lines.next().unwrap_or_default();
        Some(Self { day, names })
    }

    /// Returns the name before the turns of the user, or `None` if several speakers have names: then
    /// people talk with each other, and all count alike.
    fn user_name(&self, has_unnamed_user: bool) -> Option<&'a str> {
        if self.names.is_empty() {
            Some(UNNAMED_USER)
        } else if self.names.contains(", ") {
            None
        } else if has_unnamed_user {
            // The name is that of the assistant.
            Some(UNNAMED_USER)
        } else {
            Some(self.names)
        }
    }
}

/// Returns the share of a chunk's text that is in turns of the user, in a conversation of whose speakers at most one
/// has a name. The rest of a long turn, which was cut into several chunks, does not count as the user's.
fn user_text_share(text: &str, user: &str, name: &str) -> f32 {
    let mut is_user = false;
    let mut user_len = 0;
    for paragraph in text.split("\n\n") {
        if let Some((speaker, _)) = paragraph.split_once(": ") {
            if speaker == user {
                is_user = true;
            } else if [UNNAMED_USER, name].contains(&speaker)
                || OTHER_UNNAMED_SPEAKERS.contains(&speaker)
            {
                is_user = false;
            }
        }
        if is_user {
            user_len += paragraph.len();
        }
    }

    user_len as f32 / text.len().max(1) as f32
}

/// Returns the documents with a turn of a user without a name, among those of the rows.
fn documents_with_unnamed_user(rows: &[ResultRow]) -> HashSet<String> {
    let mut documents = HashSet::new();
    for row in rows {
        let ResultRow::Chunk(found) = row else {
            continue;
        };
        let mut paragraphs = found.hit.text.split("\n\n");
        let is_user = |paragraph: &str| {
            let speaker = paragraph.split_once(": ").map(|(speaker, _)| speaker);
            speaker == Some(UNNAMED_USER)
        };
        if paragraphs.any(is_user) {
            documents.insert(found.hit.document.clone());
        }
    }

    documents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::test_rows::{chunk_row, memory_row, texts_of};

    const MAY: &str = "Monday, 8 May 2023\nAna, Ben";
    const JUNE: &str = "Thursday, 8 June 2023\nAna, Ben";
    const CHAT: &str = "Monday, 8 May 2023";

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

    #[test]
    fn the_user_counts_more_than_the_assistant_but_not_among_people() {
        let long_answer = "Assistant: You swim. ".to_owned() + &"Swimming helps. ".repeat(20);
        for (headings, user) in [(CHAT, "User"), ("Monday, 8 May 2023\nAna", "Ana")] {
            let words = format!("{user}: I swim.");
            let chunks = [
                (headings, long_answer.as_str(), 0.9),
                (headings, words.as_str(), 0.7),
            ];
            assert_eq!(boosted("Who swims?", &chunks)[0].0, words);
        }

        let chunks = [(MAY, "Ben: You swim.", 0.9), (MAY, "Ana: I swim.", 0.7)];
        assert_eq!(boosted("Who swims?", &chunks)[0].0, "Ben: You swim.");
        let chunks = [
            ("Manual", "Ben: You swim.", 0.9),
            ("Manual", "User: I swim.", 0.7),
        ];
        assert_eq!(boosted("Who swims?", &chunks)[0].0, "Ben: You swim.");
    }

    #[test]
    fn the_name_of_an_assistant_is_not_that_of_the_user() {
        let headings = "Monday, 8 May 2023\nClaude";
        let chunks = [
            (headings, "Claude: You swim.", 0.9),
            (headings, "User: I swim.", 0.7),
        ];
        assert_eq!(boosted("Who swims?", &chunks)[0].0, "User: I swim.");
    }

    #[test]
    fn a_fact_about_another_comes_after_the_asker_s_own() {
        let mut rows = vec![
            memory_row("User's mom lives in Ohio.", 0.98),
            memory_row("User moved to Lisbon.", 0.85),
        ];
        sort_by_people(&mut rows, &QuestionPeople::find("Where does my mom live?"));
        assert_eq!(rows[0].text(), "User's mom lives in Ohio.");
        sort_by_people(&mut rows, &QuestionPeople::find("Where do I live?"));
        let expected = [
            ("User moved to Lisbon.".to_owned(), 0.98),
            ("User's mom lives in Ohio.".to_owned(), 0.85),
        ];
        assert_eq!(texts_of(&rows), expected);

        let mut rows = vec![
            memory_row("User's mom lives in Ohio.", 0.98),
            memory_row("User likes tea.", 0.62),
        ];
        sort_by_people(&mut rows, &QuestionPeople::find("Where do I live?"));
        assert_eq!(rows[0].text(), "User's mom lives in Ohio.");
    }

    #[test]
    fn the_share_of_the_user_decides() {
        assert_eq!(
            user_text_share("User: I swim.\n\nDaily.", "User", ""),
            19.0 / 21.0
        );
        assert_eq!(
            user_text_share("Assistant: Hi.\n\nUser: Hello.", "User", ""),
            12.0 / 28.0
        );
        assert_eq!(user_text_share("and that is why.", "User", ""), 0.0);
        assert_eq!(
            user_text_share("User: Hi.\n\nClaude: Hello.", "User", "Claude"),
            9.0 / 25.0
        );
    }
}
