//! The output of commands: JSON for programs, and text for people.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use console::{Style, Term, measure_text_width};
use serde_json::Value;

/// The width of paragraphs where the terminal is wider, or where there is none.
const READABLE_WIDTH: usize = 100;

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

    /// Returns the width of paragraphs.
    pub(super) fn paragraph_width(&self) -> usize {
        self.terminal_width
            .unwrap_or(READABLE_WIDTH)
            .clamp(30, READABLE_WIDTH)
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

/// Breaks a text into lines of at most `width` columns. Line breaks of the text stay.
pub(super) fn wrap_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in clean_text(text).lines() {
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

/// Returns a time in UTC to the minute, as in `2026-05-04 13:07`.
pub(super) fn short_time(time: &str) -> String {
    let minutes = time.get(..16).unwrap_or(time);
    minutes.replace('T', " ")
}

/// Returns a number with its noun, as in `1 document` or `2 documents`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {plural}"),
    }
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
        for (terminal, paragraph) in [(Some(80), 80), (Some(400), 100), (Some(5), 30), (None, 100)]
        {
            assert_eq!(Output::plain(terminal).paragraph_width(), paragraph);
        }
    }

    #[test]
    fn numbers_have_the_right_form_of_their_noun() {
        assert_eq!(count(1, "memory"), "1 memory");
        assert_eq!(count(0, "memory"), "0 memories");
        assert_eq!(count(2, "document"), "2 documents");
    }

    #[test]
    fn a_time_is_shown_to_the_minute() {
        assert_eq!(short_time("2026-05-04T13:07:09.123Z"), "2026-05-04 13:07");
        assert_eq!(short_time("soon"), "soon");
    }
}
