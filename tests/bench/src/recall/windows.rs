//! The baseline of evidence recall: BM25 over windows of three turns of a session.

use std::collections::BTreeSet;

use search_engine::StaticEmbedder;

use super::sessions::{Question, Session};
use crate::bm25::Bm25;

/// The turns of a window.
const WINDOW_TURNS: usize = 3;
/// The most windows that are ranked for a question.
const DEPTH: usize = 200;

/// A turn of a conversation.
struct Turn {
    id: String,
    /// The tokens of the speaker and the text.
    tokens: usize,
}

/// The windows of a conversation. Each turn is in up to three of them.
pub(super) struct TurnWindows {
    index: Bm25,
    turns: Vec<Turn>,
    /// The turns of each window, as a first place and a place after the last one.
    windows: Vec<(usize, usize)>,
}

/// The share of the evidence turns in the first windows, and the tokens of their turns. A turn that
/// is in several windows counts once.
pub(super) struct WindowRecall {
    pub(super) turns: f64,
    pub(super) tokens: f64,
}

impl TurnWindows {
    pub(super) fn new(sessions: &[Session]) -> Self {
        let (mut turns, mut windows, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for session in sessions {
            let mut lines = Vec::new();
            let first = turns.len();
            for turn in &session.turns {
                let line = format!("{}: {}", turn.speaker, turn.turn_text());
                turns.push(Turn {
                    id: turn.dia_id.clone(),
                    tokens: StaticEmbedder.count_tokens(&line),
                });
                lines.push(line);
            }

            let width = WINDOW_TURNS.min(lines.len().max(1));
            for (start, window) in lines.windows(width).enumerate() {
                windows.push((first + start, first + start + window.len()));
                texts.push(window.join("\n"));
            }
        }

        Self {
            index: Bm25::new(texts.iter().map(String::as_str)),
            turns,
            windows,
        }
    }

    /// Ranks the windows for a question. Returns the figures for each number of first windows: the
    /// entry 0 is of no window.
    pub(super) fn rank(&self, question: &Question) -> Vec<WindowRecall> {
        let wanted = question.evidence_turns();
        let mut shown = BTreeSet::new();
        let (mut found, mut tokens) = (0.0, 0.0);
        let mut figures = vec![WindowRecall {
            turns: 0.0,
            tokens: 0.0,
        }];

        for window in self.index.rank(&question.question, DEPTH) {
            let (start, end) = self.windows[window];
            for place in start..end {
                if shown.insert(place) {
                    let turn = &self.turns[place];
                    tokens += turn.tokens as f64;
                    found += f64::from(u8::from(wanted.contains(&turn.id)));
                }
            }

            figures.push(WindowRecall {
                turns: found / wanted.len() as f64,
                tokens,
            });
        }

        figures
    }
}

/// Returns the figures of the first `count` windows, or of all if there are fewer.
pub(super) fn first_windows(ranked: &[WindowRecall], count: usize) -> &WindowRecall {
    &ranked[count.min(ranked.len() - 1)]
}

/// Returns the figures of as many windows as fit into these tokens.
pub(super) fn windows_within(ranked: &[WindowRecall], tokens: f64) -> &WindowRecall {
    let fitting = ranked.iter().rposition(|figures| figures.tokens <= tokens);
    &ranked[fitting.unwrap_or(0)]
}
