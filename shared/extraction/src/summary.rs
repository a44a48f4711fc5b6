//! Summaries of texts: two or three sentences of the text itself, in its order.
//!
//! The sentences that share the most words with the others say what a text is about (the degree
//! centrality of [`LexRank`](https://doi.org/10.1613/jair.1523)). Early sentences, and those with
//! words of the title, are preferred. The method needs no language, only words, and its time is
//! proportional to the length of the text, of which it reads the beginning only.

mod candidates;
mod centrality;
mod plain_text;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use domain::document::{MAX_SUMMARY_BYTES, MAX_SUMMARY_CHARS};

use crate::{SourceText, is_order_to_model};

use candidates::{Candidate, ReadSentences, read_sentences};
use centrality::SentenceVectors;

pub use plain_text::is_hidden_character;

/// The number of candidates from which on a summary has three sentences instead of two.
const MIN_CANDIDATES_FOR_THREE: usize = 6;
/// The similarity from which on two sentences say the same.
const MAX_SIMILARITY: f32 = 0.6;

/// The weight of a place at the beginning of the text, compared to that of the centrality.
const LEAD_WEIGHT: f32 = 0.8;
/// The weight of the similarity to the title.
const TITLE_WEIGHT: f32 = 0.4;
/// The factor of a question in a document, which announces what others answer.
const QUESTION_FACTOR: f32 = 0.6;

/// Returns the summary of a text, or `None` if it has none: a single sentence, or nothing but
/// headings, tables, code and fragments.
///
/// The summary of a conversation consists of sentences of one user, whose "I" is one person, and
/// of nothing that an assistant said. A text of two sentences is its own summary if it is longer
/// than its title.
pub fn summarize(source: &SourceText<'_>, title: Option<&str>) -> Option<String> {
    let read = read_sentences(source, title);
    let candidates = &read.candidates;
    let vectors = SentenceVectors::new(candidates);
    let scores = score_candidates(&read, &vectors);

    let wanted = if candidates.len() < MIN_CANDIDATES_FOR_THREE {
        2
    } else {
        3
    };
    let speaker = find_main_speaker(candidates, &scores, wanted)?;
    let mut ranked: Vec<usize> = (0..candidates.len())
        .filter(|index| candidates[*index].speaker == speaker)
        .collect();
    ranked.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));

    let chosen = choose_sentences(candidates, &vectors, &ranked, wanted);
    let is_whole_short_text = read.sentence_count < 3;
    if chosen.is_empty() || (is_whole_short_text && chosen.len() < 2) {
        return None;
    }

    let summary = join_sentences(chosen.iter().map(|index| candidates[*index].text.as_str()));
    let title_length = title.map_or(0, |title| title.trim().chars().count());
    let repeats_title = is_whole_short_text && summary.chars().count() <= title_length;
    (!repeats_title).then_some(summary)
}

fn score_candidates(read: &ReadSentences<'_>, vectors: &SentenceVectors) -> Vec<f32> {
    let centralities = vectors.centralities();
    let title_similarities = vectors.similarities_to(read.title.as_deref().unwrap_or_default());

    // A notice at the top of a page takes no place.
    let mut place = 0;
    let mut scores = Vec::with_capacity(read.candidates.len());
    for (index, candidate) in read.candidates.iter().enumerate() {
        place += usize::from(!candidate.is_boilerplate);
        let mut score = centralities[index]
            + LEAD_WEIGHT / place.max(1) as f32
            + TITLE_WEIGHT * title_similarities[index];
        score *= candidate.quality;
        if candidate.is_question && !read.is_conversation {
            score *= QUESTION_FACTOR;
        }
        scores.push(score);
    }

    scores
}

/// Returns the speaker whose best sentences have the highest scores, or `None` if there are no
/// candidates. A speaker without a name, as that of a document, is `Some(None)`.
fn find_main_speaker<'a>(
    candidates: &[Candidate<'a>],
    scores: &[f32],
    wanted: usize,
) -> Option<Option<&'a str>> {
    let mut scores_by_speaker: BTreeMap<Option<&str>, Vec<f32>> = BTreeMap::new();
    for (candidate, score) in candidates.iter().zip(scores) {
        let speaker_scores = scores_by_speaker.entry(candidate.speaker).or_default();
        speaker_scores.push(*score);
    }

    let mut best: Option<(Option<&str>, f32)> = None;
    for (speaker, mut speaker_scores) in scores_by_speaker {
        speaker_scores.sort_by(|a, b| b.total_cmp(a));
        let total = speaker_scores.iter().take(wanted).sum();
        if best.is_none_or(|(_, best_total)| total > best_total) {
            best = Some((speaker, total));
        }
    }

    best.map(|(speaker, _)| speaker)
}

/// Returns the best candidates that fit into a summary, in the order of the text. None of them
/// repeats another one, and none gives orders to a model that reads the summary.
fn choose_sentences(
    candidates: &[Candidate<'_>],
    vectors: &SentenceVectors,
    ranked: &[usize],
    wanted: usize,
) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let (mut chars, mut bytes) = (0, 0);
    for index in ranked {
        let text = &candidates[*index].text;
        // Sentences are joined by a space.
        let (new_chars, new_bytes) = (chars + text.chars().count() + 1, bytes + text.len() + 1);
        let fits = new_chars <= MAX_SUMMARY_CHARS + 1 && new_bytes <= MAX_SUMMARY_BYTES + 1;
        let repeats_other = chosen
            .iter()
            .any(|other| vectors.similarity(*index, *other) > MAX_SIMILARITY);
        if !fits || repeats_other || is_order_to_model(text) {
            continue;
        }

        chosen.push(*index);
        (chars, bytes) = (new_chars, new_bytes);
        if chosen.len() == wanted {
            break;
        }
    }

    chosen.sort_unstable();
    chosen
}

/// Joins sentences: by a space, or by nothing after a full-width mark.
fn join_sentences<'a>(sentences: impl Iterator<Item = &'a str>) -> String {
    let mut summary = String::new();
    for sentence in sentences {
        let needs_space = summary
            .chars()
            .next_back()
            .is_some_and(|last| !crate::sentences::is_wide(last));
        if needs_space {
            summary.push(' ');
        }
        summary.push_str(sentence);
    }

    summary
}
