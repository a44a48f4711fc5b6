//! Recall over the tokens of an answer, for several numbers of results.

use anyhow::Result;
use search::DEFAULT_THRESHOLD;

use super::AskedQuestion;
use super::windows::{WindowRecall, first_windows};
use crate::plot::{Curve, CurvePoint, YScale, draw_plot};

/// The numbers of results of a search that are measured.
const LIMITS: [usize; 9] = [1, 2, 3, 5, 8, 10, 15, 20, 30];
/// The numbers of windows that are measured. A window is shorter than a chunk.
const WINDOW_LIMITS: [usize; 10] = [1, 2, 3, 5, 8, 10, 20, 30, 50, 100];

/// The sums of one number of results.
#[derive(Default, Clone, Copy)]
struct PointSums {
    turns: f64,
    tokens: f64,
}

/// The sums of both systems for each number of results.
#[derive(Default)]
pub(super) struct CurveSums {
    questions: f64,
    service: [PointSums; LIMITS.len()],
    windows: [PointSums; WINDOW_LIMITS.len()],
}

impl CurveSums {
    /// Asks a question with each number of results and adds the figures.
    pub(super) async fn add(
        &mut self,
        asked: &AskedQuestion<'_>,
        ranked: &[WindowRecall],
    ) -> Result<()> {
        self.questions += 1.0;
        for (place, limit) in LIMITS.into_iter().enumerate() {
            let answer = asked.search(limit, DEFAULT_THRESHOLD).await?;
            let figures = asked.score(&answer);
            self.service[place].turns += figures.turns;
            self.service[place].tokens += figures.tokens;
        }

        for (place, limit) in WINDOW_LIMITS.into_iter().enumerate() {
            let windows = first_windows(ranked, limit);
            self.windows[place].turns += windows.turns;
            self.windows[place].tokens += windows.tokens;
        }

        Ok(())
    }

    fn points(&self, limits: &[usize], sums: &[PointSums]) -> Vec<CurvePoint> {
        let mut points = Vec::new();
        for (limit, sums) in limits.iter().zip(sums) {
            points.push(CurvePoint {
                x: sums.tokens / self.questions.max(1.0),
                y: sums.turns / self.questions.max(1.0),
                label: limit.to_string(),
            });
        }

        points
    }
}

/// Draws both curves as SVG.
pub(super) fn draw_curve(sums: &CurveSums) -> String {
    let curves = [
        Curve {
            name: "Recollect, hybrid search",
            points: sums.points(&LIMITS, &sums.service),
        },
        Curve {
            name: "BM25, windows of 3 turns",
            points: sums.points(&WINDOW_LIMITS, &sums.windows),
        },
    ];
    let description = format!(
        "Mean share of the evidence turns of {} questions over conversations that the first results show, \
         over the mean tokens of these results. A number at a point is the number of results or windows.",
        sums.questions
    );
    let axis_names = ["tokens", "evidence turns found"];
    draw_plot(&curves, YScale::Share, axis_names, &description)
}
