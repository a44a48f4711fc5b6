//! The form of the language files: sections of words. `shared/text/languages/README.md` documents
//! it.

use std::collections::HashSet;

use thiserror::Error;

/// The characters with which the cues of a rule are indented.
pub const INDENTATION: &str = "    ";

/// True if words that have no effect are faults: repetitions, and words with capitals. Such words
/// do no harm, so a released program, whose files have passed the tests, does not look for them.
pub const REJECTS_IDLE_WORDS: bool = cfg!(any(test, debug_assertions));

/// A language file as it is embedded.
#[derive(Debug, Clone, Copy)]
pub struct LanguageFile {
    /// The path of the file in the repository.
    pub path: &'static str,
    /// The content of the file.
    pub text: &'static str,
}

/// A fault in a language file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}, line {line}: {problem}")]
pub struct LanguageFileError {
    file: &'static str,
    line: usize,
    problem: String,
}

/// The sections of a language file, from which a loader takes those that it knows.
pub struct LanguageSections {
    file: &'static str,
    sections: Vec<Section>,
}

/// A section of a language file: a name in brackets and the lines after it.
#[derive(Debug)]
pub struct Section {
    file: &'static str,
    name: &'static str,
    line_number: usize,
    lines: Vec<Line>,
}

/// A line that is neither empty nor a comment.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The number of the line in the file, counted from one.
    pub number: usize,
    /// The text with its indentation.
    pub text: &'static str,
}

/// A line of a key and its words: `monday: montag`.
#[derive(Debug)]
pub struct Entry {
    /// The number of the line.
    pub line_number: usize,
    /// The text before the colon.
    pub key: &'static str,
    /// The words after the colon.
    pub words: Vec<&'static str>,
}

impl LanguageSections {
    /// Divides a file into its sections.
    pub fn parse(file: LanguageFile) -> Result<Self, LanguageFileError> {
        Self::parse_first(file, usize::MAX)
    }

    /// Returns the first sections of a file. The rest of the file is not read.
    pub fn parse_first(file: LanguageFile, count: usize) -> Result<Self, LanguageFileError> {
        let mut sections = Self {
            file: file.path,
            sections: Vec::new(),
        };

        for (index, text) in file.text.lines().enumerate() {
            let line = Line {
                number: index + 1,
                text,
            };

            if line.text.is_empty() || line.text.starts_with('#') {
                continue;
            }

            match line.text.strip_prefix('[') {
                Some(_) if sections.sections.len() == count => break,
                Some(rest) => sections.open(line, rest)?,
                None => sections.add(line)?,
            }
        }

        Ok(sections)
    }

    /// Begins a section. `rest` is its line without the first bracket.
    fn open(&mut self, line: Line, rest: &'static str) -> Result<(), LanguageFileError> {
        let Some(name) = rest.strip_suffix(']') else {
            return Err(self.error(
                line.number,
                "the name of a section ends with `]`".to_owned(),
            ));
        };
        if self.sections.iter().any(|section| section.name == name) {
            return Err(self.error(line.number, format!("there are two sections [{name}]")));
        }

        self.sections.push(Section {
            file: self.file,
            name,
            line_number: line.number,
            lines: Vec::new(),
        });

        Ok(())
    }

    fn add(&mut self, line: Line) -> Result<(), LanguageFileError> {
        match self.sections.last_mut() {
            Some(section) => {
                section.lines.push(line);
                Ok(())
            }
            None => Err(self.error(line.number, "a section must begin before this".to_owned())),
        }
    }

    /// Removes a section and returns it. Fails if the file does not have it.
    pub fn take(&mut self, name: &str) -> Result<Section, LanguageFileError> {
        let found = self
            .sections
            .iter()
            .position(|section| section.name == name);
        match found {
            Some(index) => Ok(self.sections.swap_remove(index)),
            None => Err(self.error(1, format!("the section [{name}] is missing"))),
        }
    }

    /// Checks that every section has been taken.
    pub fn finish(self) -> Result<(), LanguageFileError> {
        match self.sections.first() {
            Some(section) => Err(section.error_at(
                section.line_number,
                format!("there is no section named [{}]", section.name),
            )),
            None => Ok(()),
        }
    }

    fn error(&self, line: usize, problem: String) -> LanguageFileError {
        LanguageFileError {
            file: self.file,
            line,
            problem,
        }
    }
}

impl Section {
    /// Returns the lines of the section.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the words of a list that separates them by `|`.
    pub fn words(&self) -> Result<Vec<&'static str>, LanguageFileError> {
        let mut words = Vec::new();
        for line in &self.lines {
            self.add_words(line.number, line.text, &mut words)?;
        }

        Ok(words)
    }

    /// Returns the words of a list that separates them by spaces.
    pub fn spaced_words(&self) -> Result<Vec<&'static str>, LanguageFileError> {
        let mut words = Vec::new();
        for line in &self.lines {
            for word in line.text.split(' ').filter(|word| !word.is_empty()) {
                if REJECTS_IDLE_WORDS && has_capital(word) {
                    let problem = format!("`{word}` has a capital, so it never matches");
                    return Err(self.error_at(line.number, problem));
                }
                words.push((word, line.number));
            }
        }

        let mut seen = HashSet::new();
        for (word, line_number) in &words {
            if REJECTS_IDLE_WORDS && !seen.insert(word) {
                return Err(self.error_at(*line_number, format!("`{word}` is repeated")));
            }
        }

        Ok(words.into_iter().map(|(word, _)| word).collect())
    }

    /// Returns the letters of a list that separates them by spaces.
    pub fn letters(&self) -> Result<Vec<char>, LanguageFileError> {
        let mut letters = Vec::new();
        for word in self.spaced_words()? {
            let mut chars = word.chars();
            match (chars.next(), chars.next()) {
                (Some(letter), None) => letters.push(letter),
                _ => return Err(self.error(format!("`{word}` is not a single letter"))),
            }
        }

        Ok(letters)
    }

    /// Returns the only line of the section.
    pub fn single_line(&self) -> Result<Line, LanguageFileError> {
        match self.lines[..] {
            [line] => Ok(line),
            _ => Err(self.error("one line is expected".to_owned())),
        }
    }

    /// Returns the lines of a list of keys and their words.
    pub fn entries(&self) -> Result<Vec<Entry>, LanguageFileError> {
        let mut entries = Vec::new();
        for line in &self.lines {
            let Some((key, text)) = line.text.split_once(':') else {
                let problem = "a key, a colon and words are expected".to_owned();
                return Err(self.error_at(line.number, problem));
            };

            let mut words = Vec::new();
            self.add_words(line.number, text, &mut words)?;
            entries.push(Entry {
                line_number: line.number,
                key: key.trim(),
                words,
            });
        }

        Ok(entries)
    }

    /// Returns the words of a list that has exactly these keys, in this order.
    pub fn words_of_keys<const N: usize>(
        &self,
        keys: [&str; N],
    ) -> Result<[Vec<&'static str>; N], LanguageFileError> {
        let entries = self.entries()?;
        for (entry, key) in entries.iter().zip(keys) {
            if entry.key != key {
                return Err(self.error_at(entry.line_number, format!("`{key}:` is expected")));
            }
        }

        let words: Vec<_> = entries.into_iter().map(|entry| entry.words).collect();
        words
            .try_into()
            .map_err(|_| self.error(format!("the keys are {}", keys.join(", "))))
    }

    /// Adds the words of a text, which are separated by `|`.
    fn add_words(
        &self,
        line_number: usize,
        text: &'static str,
        words: &mut Vec<&'static str>,
    ) -> Result<(), LanguageFileError> {
        for item in text.split('|') {
            let word = strip_quotes(item.trim());
            if word.is_empty() {
                return Err(self.error_at(line_number, "a word is empty".to_owned()));
            }
            if REJECTS_IDLE_WORDS && has_capital(word) {
                let problem = format!("`{word}` has a capital, so it never matches");
                return Err(self.error_at(line_number, problem));
            }
            if REJECTS_IDLE_WORDS && words.contains(&word) {
                return Err(self.error_at(line_number, format!("`{word}` is repeated")));
            }
            words.push(word);
        }

        Ok(())
    }

    /// Returns an error about the section as a whole.
    pub fn error(&self, problem: String) -> LanguageFileError {
        self.error_at(self.line_number, format!("[{}]: {problem}", self.name))
    }

    /// Returns an error about a line of the section.
    pub fn error_at(&self, line: usize, problem: String) -> LanguageFileError {
        LanguageFileError {
            file: self.file,
            line,
            problem,
        }
    }
}

/// Returns a word without the quotation marks that keep spaces at its ends.
fn strip_quotes(word: &str) -> &str {
    word.strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(word)
}

/// Checks whether a word has a capital. Texts are compared in lower case.
pub fn has_capital(word: &str) -> bool {
    word.chars().any(char::is_uppercase)
}
