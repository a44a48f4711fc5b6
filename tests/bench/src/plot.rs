//! Line plots as SVG. Their colours follow the colour scheme of the reader.

use std::fmt::Write;

/// The size of the picture and the place of the plot in it.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 368.0;
/// The first digits of the numbers of a logarithmic axis.
const DIGITS: [f64; 3] = [1.0, 2.0, 5.0];
/// The powers of ten that a logarithmic axis can show.
const POWERS: [f64; 7] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
/// The step between the numbers of an axis of shares, which ends at 1.
const SHARE_STEP: f64 = 0.1;

/// The colours in both schemes. Their contrast to white, and to black, is at least 4.5.
const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.grid { stroke: #d0d7de; }
.curve { fill: none; stroke-width: 2; }
.small { font-size: 11px; }
.c0 { stroke: #0550ae; } .f0 { fill: #0550ae; }
.c1 { stroke: #953800; stroke-dasharray: 6 4; } .f1 { fill: #953800; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .grid { stroke: #484f58; }
  .c0 { stroke: #79c0ff; } .f0 { fill: #79c0ff; }
  .c1 { stroke: #ffa657; } .f1 { fill: #ffa657; }
}";

/// A point with the text beside it.
pub(crate) struct CurvePoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) label: String,
}

/// A curve with its name. There are colours for two curves.
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<CurvePoint>,
}

/// The scale of the y axis. The x axis is always logarithmic.
#[derive(Clone, Copy)]
pub(crate) enum YScale {
    /// Shares, up to 1.
    Share,
    /// Positive numbers, logarithmic.
    Logarithmic,
}

/// The numbers of an axis. The first and the last are its ends.
struct Axis {
    numbers: Vec<f64>,
    is_logarithmic: bool,
}

impl Axis {
    /// Returns the shortest logarithmic axis on which all values are.
    fn logarithmic(values: impl Iterator<Item = f64> + Clone) -> Self {
        let first = values.clone().fold(f64::MAX, f64::min);
        let last = values.fold(first, f64::max);

        let mut numbers = Vec::new();
        for power in POWERS {
            numbers.extend(DIGITS.map(|digit| digit * power));
        }
        let start = numbers.iter().rposition(|number| *number <= first);
        let end = numbers.iter().position(|number| *number >= last);
        let end = end.unwrap_or(numbers.len() - 1);
        let start = start.unwrap_or(0).min(end.saturating_sub(1));

        Self {
            numbers: numbers[start..=end].to_vec(),
            is_logarithmic: true,
        }
    }

    /// Returns an axis that begins below the lowest share and ends at 1.
    fn shares(values: impl Iterator<Item = f64>) -> Self {
        let lowest = values.fold(1.0, f64::min);
        let start = ((lowest / SHARE_STEP).floor() * SHARE_STEP).min(1.0 - SHARE_STEP);
        let steps = ((1.0 - start) / SHARE_STEP).round() as usize;
        let numbers = (0..=steps).map(|step| start + step as f64 * SHARE_STEP);

        Self {
            numbers: numbers.collect(),
            is_logarithmic: false,
        }
    }

    /// Returns the place of a value: 0 at the start of the axis, 1 at its end.
    fn place(&self, value: f64) -> f64 {
        let scaled = |value: f64| {
            if self.is_logarithmic {
                value.max(1.0).ln()
            } else {
                value
            }
        };
        let start = scaled(self.numbers[0]);
        let end = scaled(self.numbers[self.numbers.len() - 1]);
        (scaled(value) - start) / (end - start)
    }

    fn label(&self, number: f64) -> String {
        if self.is_logarithmic {
            number.to_string()
        } else {
            format!("{number:.1}")
        }
    }
}

/// Both axes of a plot.
struct Axes {
    x: Axis,
    y: Axis,
}

impl Axes {
    fn new(curves: &[Curve], y_scale: YScale) -> Self {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let y_values = points().map(|point| point.y);
        Self {
            x: Axis::logarithmic(points().map(|point| point.x)),
            y: match y_scale {
                YScale::Share => Axis::shares(y_values),
                YScale::Logarithmic => Axis::logarithmic(y_values),
            },
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.place(value) * (BOTTOM - TOP)
    }
}

/// Draws curves over the named axes. The description is read out by screen readers.
pub(crate) fn draw_plot(
    curves: &[Curve],
    y_scale: YScale,
    axis_names: [&str; 2],
    description: &str,
) -> String {
    let axes = Axes::new(curves, y_scale);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>{} over {}</title>\n<desc>{description}</desc>\n<style>\n{STYLE}\n</style>\n",
        axis_names[1], axis_names[0]
    );
    draw_axes(&mut svg, &axes, axis_names);
    for (number, curve) in curves.iter().enumerate() {
        draw_points(&mut svg, &axes, number, curve);
    }

    svg.push_str("</svg>\n");
    svg
}

fn draw_axes(svg: &mut String, axes: &Axes, names: [&str; 2]) {
    for number in &axes.x.numbers {
        let place = (axes.x(*number), BOTTOM + 20.0);
        add_text(svg, "", "middle", place, &axes.x.label(*number));
    }
    for number in &axes.y.numbers {
        let y = axes.y(*number);
        let line = format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\n"
        );
        svg.push_str(&line);
        let place = (LEFT - 8.0, y + 4.0);
        add_text(svg, "", "end", place, &axes.y.label(*number));
    }

    add_text(svg, "", "end", (RIGHT, BOTTOM + 40.0), names[0]);
    add_text(svg, "", "start", (LEFT, TOP - 10.0), names[1]);
}

fn draw_points(svg: &mut String, axes: &Axes, number: usize, curve: &Curve) {
    let mut path = String::new();
    for point in &curve.points {
        let separator = if path.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(
            path,
            "{separator}{:.1},{:.1}",
            axes.x(point.x),
            axes.y(point.y)
        );
    }
    svg.push_str(&format!(
        "<polyline class=\"curve c{number}\" points=\"{path}\"/>\n"
    ));

    // The numbers of the first curve stand above it, those of the second below it.
    let (right, down) = if number == 0 {
        (-6.0, -8.0)
    } else {
        (8.0, 14.0)
    };
    for point in &curve.points {
        let (x, y) = (axes.x(point.x), axes.y(point.y));
        let circle = format!("<circle class=\"f{number}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n");
        svg.push_str(&circle);
        add_text(
            svg,
            &format!("small f{number}"),
            "middle",
            (x + right, y + down),
            &point.label,
        );
    }

    let y = BOTTOM - 40.0 + 20.0 * number as f64;
    let class = format!("f{number}");
    add_text(svg, &class, "end", (RIGHT - 8.0, y), curve.name);
}

fn add_text(svg: &mut String, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
    let line = format!(
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"
    );
    svg.push_str(&line);
}
