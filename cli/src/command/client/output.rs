//! The output of commands: JSON for programs, and text for people.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use console::{Style, Term, measure_text_width};
use serde_json::Value;

/// The width of paragraphs where the terminal is wider.
const READABLE_WIDTH: usize = 100;

/// The width below which no text is wrapped by its author.
const MIN_WRAPPED_WIDTH: usize = 40;

/// The outcome of a command, which its exit code tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Failed,
    PartlyFailed,
    NothingFound,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Failed => Self::FAILURE,
            // 2 is what clap ends with when it refuses the command line.
            Outcome::PartlyFailed => Self::from(3),
            Outcome::NothingFound => Self::from(4),
        }
    }
}

/// The standard output of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    /// The answer is printed as JSON.
    pub(super) is_json: bool,
    has_colors: bool,
    /// The width of the terminal, or `None` without one.
    terminal_width: Option<usize>,
}

impl Output {
    /// Returns the standard output of this process. It has colours on a terminal, unless `NO_COLOR`
    /// is set.
    pub(super) fn stdout(is_json: bool) -> Self {
        let terminal = Term::stdout();
        let width = terminal.size_checked().map(|(_, columns)| columns.into());
        Self {
            is_json,
            has_colors: terminal.features().colors_supported(),
            terminal_width: width,
        }
    }

    /// Returns an output without colours, which is `terminal_width` columns wide.
    #[cfg(test)]
    pub(super) fn plain(terminal_width: Option<usize>) -> Self {
        Self {
            is_json: false,
            has_colors: false,
            terminal_width,
        }
    }

    /// Returns the width of the terminal, or `None` without one: a program that reads the output
    /// gets everything.
    pub(super) fn terminal_width(&self) -> Option<usize> {
        self.terminal_width
    }

    /// Returns the lines of a text as they are shown behind `indent` columns. Without a terminal they are the lines
    /// of the text.
    pub(super) fn wrap(&self, text: &str, indent: usize) -> Vec<String> {
        match self.terminal_width {
            Some(width) => wrap_lines(text, width.clamp(30, READABLE_WIDTH) - indent),
            None => {
                let text = clean_text(text);
                text.lines()
                    .map(|line| line.trim_end().to_owned())
                    .collect()
            }
        }
    }

    pub(super) fn bold(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    pub(super) fn dim(&self, text: &str) -> String {
        self.paint(Style::new().dim(), text)
    }

    pub(super) fn red(&self, text: &str) -> String {
        self.paint(Style::new().red(), text)
    }

    pub(super) fn green(&self, text: &str) -> String {
        self.paint(Style::new().green(), text)
    }

    fn paint(&self, style: Style, text: &str) -> String {
        match self.has_colors {
            true => style.force_styling(true).apply_to(text).to_string(),
            false => text.to_owned(),
        }
    }

    /// Prints a text that ends with a line break.
    pub(super) fn print(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Prints an answer for programs.
    pub(super) fn print_json(&self, answer: &Value) -> io::Result<()> {
        self.print(&format!("{answer:#}\n"))
    }
}

/// Prints a remark to standard error, where it does not mix with the answer.
pub(super) fn print_note(text: &str) {
    // A remark that cannot be printed is no reason to fail.
    writeln!(io::stderr(), "{text}").ok();
}

/// Prints a remark that only people need.
pub(super) fn print_note_to_person(text: &str) {
    if io::stderr().is_terminal() {
        print_note(&Style::new().dim().for_stderr().apply_to(text).to_string());
    }
}

/// Returns a text of a document as it can be shown: without the characters that command a terminal
/// or change the direction of writing.
pub(super) fn clean_text(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => Some('\n'),
        '\t' => Some(' '),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
        c if c.is_control() => None,
        c => Some(c),
    };
    text.chars().filter_map(shown).collect()
}

/// Returns a text in one line.
pub(super) fn one_line(text: &str) -> String {
    let text = clean_text(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Breaks a text into lines of at most `width` columns. Line breaks of the text stay, unless it was wrapped there.
fn wrap_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in unwrap_lines(&clean_text(text)) {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let needed = measure_text_width(&line) + 1 + measure_text_width(word);
            if !line.is_empty() && needed > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Joins the lines of each paragraph that was wrapped at a width of its own. Code, tables, headings and the beginnings
/// of list items keep their lines.
fn unwrap_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut joined: Vec<String> = Vec::new();
    let mut is_code = false;
    for paragraph in lines.chunk_by(|line, next| !line.trim().is_empty() && !next.trim().is_empty())
    {
        let widths = paragraph.iter().map(|line| measure_text_width(line));
        let widest = widths.max().unwrap_or(0);
        let mut previous = "";
        for line in paragraph {
            let is_fence = line.trim_start().starts_with("```");
            let may_join = !is_code && !is_fence && is_wrapped(previous, line, widest);
            match joined.last_mut() {
                Some(last) if may_join => *last += &format!(" {}", line.trim()),
                _ => joined.push((*line).to_owned()),
            }
            is_code ^= is_fence;
            previous = line;
        }
    }
    joined
}

/// Checks whether a line of a paragraph, which is `widest` columns wide, ends where it does because the first word of
/// the next one had no room.
fn is_wrapped(line: &str, next: &str, widest: usize) -> bool {
    let word = next.split_whitespace().next().unwrap_or_default();
    let needed = measure_text_width(line) + 1 + measure_text_width(word);
    let is_full = widest >= MIN_WRAPPED_WIDTH && needed > widest;

    let number = word.trim_end_matches(['.', ')']);
    let is_numbered = number.len() < word.len() && number.bytes().all(|byte| byte.is_ascii_digit());
    let begins_item = is_numbered || ["-", "*", "+", "•"].contains(&word);
    let is_block =
        |line: &&str| line.starts_with("    ") || line.trim_start().starts_with(['#', '|', '>']);
    let ends_sentence = line.trim_end().ends_with(['.', '!', '?', ':', ';']);
    is_full && !begins_item && !ends_sentence && ![line, next].iter().any(is_block)
}

/// Returns a time in UTC to the minute, as in `2026-05-04 13:07`.
pub(super) fn short_time(time: &str) -> String {
    let minutes = time.get(..16).unwrap_or(time);
    minutes.replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_command_the_terminal() {
        let text = "a\u{1b}[31mred\u{7}\r\u{9b}2J\u{202e}b\tc\nd";
        assert_eq!(clean_text(text), "a[31mred2Jb c\nd");
    }

    #[test]
    fn lines_break_between_words_and_keep_paragraphs() {
        assert_eq!(
            wrap_lines("one two three\n\nfour incomprehensibilities", 9),
            ["one two", "three", "", "four", "incomprehensibilities"]
        );
        assert_eq!(wrap_lines("日本 日本 日本", 10), ["日本 日本", "日本"]);
    }

    #[test]
    fn paragraphs_fit_the_terminal_but_stay_readable() {
        let text = "word ".repeat(50);
        for (terminal, widest) in [(80, 79), (400, 99), (5, 29)] {
            let lines = Output::plain(Some(terminal)).wrap(&text, 0);
            let width = lines.iter().map(String::len).max();
            assert_eq!(width, Some(widest), "{terminal}");
        }
        assert_eq!(Output::plain(None).wrap(&text, 4), [text.trim_end()]);
        assert_eq!(
            Output::plain(None).wrap("if x:\n    y", 4),
            ["if x:", "    y"]
        );
    }

    #[test]
    fn a_wrapped_paragraph_is_wrapped_anew() {
        let text = "The ferry to Barreiro leaves the harbour\nat nine and comes back late in the\nevening. It is small and\nslow.";
        let lines = [
            "The ferry to Barreiro",
            "leaves the harbour at",
            "nine and comes back",
            "late in the evening.",
            "It is small and",
            "slow.",
        ];
        assert_eq!(wrap_lines(text, 22), lines);
        for kept in [
            "Ada: I am on the ferry\nBob: I am in the office of the harbour master",
            "- the first of the things that we have to buy\n- the second",
            "The first line of two, which is a long line\n1. the first of the items",
            "```\nlet a = one_two_three_four_five_six_seven_eight\nlet b = a\n```",
            "| a | of the cells of this table this is the widest |\n| cell | cell |",
            "# The rules of the harbour of the city of Lisbon\nThey apply to all",
        ] {
            assert_eq!(wrap_lines(kept, 60).join("\n"), kept);
        }
    }

    #[test]
    fn a_time_is_shown_to_the_minute() {
        assert_eq!(short_time("2026-05-04T13:07:09.123Z"), "2026-05-04 13:07");
        assert_eq!(short_time("soon"), "soon");
    }
}
