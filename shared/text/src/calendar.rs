//! The names of days, weekdays, months, seasons, units and numbers.

use std::str::FromStr;
use std::sync::LazyLock;

use crate::Language;
use crate::file::{Entry, LanguageFileError, LanguageSections, Section};
use crate::hash::WordTable;

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const SEASONS: [&str; 4] = ["spring", "summer", "autumn", "winter"];

const UNITS: [&str; 4] = ["day", "week", "month", "year"];

/// The names of days, weekdays, months, seasons, units and numbers in a language. Each may have
/// several. In most languages, a word may continue a name with an ending.
#[derive(Debug, Default)]
pub struct CalendarNames {
    /// Words for days. The first that is found counts.
    pub days: Vec<(Vec<&'static str>, DayOffset)>,
    /// The names of the weekdays, Monday to Sunday.
    pub weekdays: [Vec<&'static str>; 7],
    /// The names of the months, January to December.
    pub months: [Vec<&'static str>; 12],
    /// The names of the seasons, spring to winter.
    pub seasons: [Vec<&'static str>; 4],
    /// The names of day, week, month and year.
    pub units: [Vec<&'static str>; 4],
    /// The words for the numbers from one.
    pub numbers: Vec<Vec<&'static str>>,
}

/// The day that a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayOffset {
    /// No day. The word only looks like one.
    None,
    /// A number of days from today.
    Days(i32),
    /// A number of days from today, in the past or in the future.
    Either(i32),
}

impl CalendarNames {
    /// Loads the names of a language from its file. There are none in a language without a
    /// calendar.
    ///
    /// # Errors
    /// A fault of the file. A test reads every file.
    pub fn of(language: Language) -> Result<Self, LanguageFileError> {
        if !language.has_calendar() {
            return Ok(Self::default());
        }

        Self::load(&mut LanguageSections::parse(language.words_file())?)
    }

    fn load(sections: &mut LanguageSections) -> Result<Self, LanguageFileError> {
        Ok(Self {
            days: load_days(&sections.take("days")?)?,
            weekdays: sections.take("weekdays")?.words_of_keys(WEEKDAYS)?,
            months: sections.take("months")?.words_of_keys(MONTHS)?,
            seasons: sections.take("seasons")?.words_of_keys(SEASONS)?,
            units: sections.take("units")?.words_of_keys(UNITS)?,
            numbers: load_numbers(&sections.take("numbers")?)?,
        })
    }
}

fn load_days(section: &Section) -> Result<Vec<(Vec<&'static str>, DayOffset)>, LanguageFileError> {
    let mut days = Vec::new();
    for Entry {
        line_number,
        key,
        words,
    } in section.entries()?
    {
        let Some(offset) = parse_offset(key) else {
            let problem = format!("`{key}` is not a number of days or `none`");
            return Err(section.error_at(line_number, problem));
        };
        days.push((words, offset));
    }

    Ok(days)
}

fn parse_offset(key: &str) -> Option<DayOffset> {
    match key.strip_prefix('±') {
        Some(days) => i32::from_str(days).ok().map(DayOffset::Either),
        None if key == "none" => Some(DayOffset::None),
        None => i32::from_str(key).ok().map(DayOffset::Days),
    }
}

fn load_numbers(section: &Section) -> Result<Vec<Vec<&'static str>>, LanguageFileError> {
    let mut numbers = Vec::new();
    for entry in section.entries()? {
        let expected = numbers.len() + 1;
        if entry.key != expected.to_string() {
            return Err(section.error_at(entry.line_number, format!("`{expected}:` is expected")));
        }
        numbers.push(entry.words);
    }

    Ok(numbers)
}

/// The words for times and numbers in all languages at once, for texts whose language is not known.
/// Names that mean something else in another language are not among them.
#[derive(Debug, Default)]
pub struct CalendarWords {
    /// Words that name a time.
    times: WordTable<()>,
    /// Words that allow a time to be many years away.
    distant_times: WordTable<()>,
    /// Words for one exact day, with its distance from the day on which they are said.
    exact_days: WordTable<i32>,
    /// Numbers in words.
    numbers: WordTable<()>,
}

impl CalendarWords {
    /// Returns the words of all languages. The files are read once.
    ///
    /// They are a part of the program, and a test loads them, so there is no fault to report here.
    pub fn shared() -> &'static Self {
        static WORDS: LazyLock<CalendarWords> =
            LazyLock::new(|| CalendarWords::load().unwrap_or_default());
        &WORDS
    }

    fn load() -> Result<Self, LanguageFileError> {
        let mut words = Self::default();
        let languages = Language::ALL.iter();
        for language in languages.filter(|language| language.has_calendar()) {
            words.add(&mut LanguageSections::parse(language.words_file())?)?;
        }

        Ok(words)
    }

    /// Adds the words of a file.
    fn add(&mut self, sections: &mut LanguageSections) -> Result<(), LanguageFileError> {
        let names = CalendarNames::load(sections)?;
        let ambiguous = sections.take("ambiguous words")?.spaced_words()?;
        let is_clear = |word: &&'static str| !word.contains(' ') && !ambiguous.contains(word);

        for (words, offset) in &names.days {
            for word in words.iter().copied().filter(is_clear) {
                match offset {
                    DayOffset::Days(days) => self.exact_days.insert(word, *days),
                    DayOffset::Either(_) => None,
                    DayOffset::None => continue,
                };
                self.times.insert(word, ());
            }
        }

        let named_lists = [
            &names.weekdays[..],
            &names.months,
            &names.seasons,
            &names.units,
        ];
        for word in named_lists.into_iter().flatten().flatten().copied() {
            if is_clear(&word) {
                self.times.insert(word, ());
            }
        }

        for word in names.numbers.into_iter().flatten().filter(is_clear) {
            self.numbers.insert(word, ());
        }

        for (table, section) in [
            (&mut self.times, "other time words"),
            (&mut self.distant_times, "distant time words"),
            (&mut self.numbers, "other numbers"),
        ] {
            for word in sections.take(section)?.spaced_words()? {
                table.insert(word, ());
            }
        }

        Ok(())
    }

    /// Checks whether a word, in lower case, names a time.
    pub fn names_time(&self, lower: &str) -> bool {
        self.times.contains_key(lower)
    }

    /// Checks whether a word, in lower case, allows a time to be many years away: `born`.
    pub fn is_distant(&self, lower: &str) -> bool {
        self.distant_times.contains_key(lower)
    }

    /// Returns the distance in days of the one day that a word, in lower case, means.
    pub fn exact_day(&self, lower: &str) -> Option<i32> {
        self.exact_days.get(lower).copied()
    }

    /// Checks whether a word, in lower case, is a number.
    pub fn is_number(&self, lower: &str) -> bool {
        self.numbers.contains_key(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::LanguageFile;
    use crate::language::DETECTION_SECTIONS;

    #[test]
    fn every_file_can_be_loaded() {
        for language in Language::ALL {
            let mut sections = LanguageSections::parse(language.words_file())
                .unwrap_or_else(|error| panic!("{error}"));
            for section in ["common words", "marker letters", "stop words"] {
                let words = sections
                    .take(section)
                    .and_then(|section| section.spaced_words());
                words.unwrap_or_else(|error| panic!("{error}"));
            }

            if language.has_calendar() {
                let mut words = CalendarWords::default();
                words
                    .add(&mut sections)
                    .unwrap_or_else(|error| panic!("{error}"));
            }
            assert_eq!(sections.finish(), Ok(()), "{language:?}");

            let first = LanguageSections::parse_first(language.words_file(), DETECTION_SECTIONS);
            assert!(first.is_ok_and(|mut first| first.take("stop words").is_ok()));
        }
    }

    #[test]
    fn words_of_all_languages_are_told_from_their_homonyms() {
        let words = CalendarWords::shared();
        for time in [
            "sunday",
            "tagen",
            "février",
            "eod",
            "morgen",
            "недели",
            "сегодня",
        ] {
            assert_eq!(words.names_time(time), time != "недели", "{time}");
        }
        for other in [
            "an",
            "hier",
            "mon",
            "mes",
            "estate",
            "the day after tomorrow",
        ] {
            assert!(!words.names_time(other), "{other}");
        }

        assert_eq!(words.exact_day("tonight"), Some(0));
        assert_eq!(words.exact_day("übermorgen"), Some(2));
        assert_eq!(words.exact_day("morgen"), None);
        assert_eq!(words.exact_day("monday"), None);

        assert!(words.is_number("zwanzig") && words.is_number("cinq"));
        assert!(!words.is_number("one") && !words.is_number("due") && !words.is_number("sei"));
        assert!(words.is_distant("born") && !words.is_distant("week"));
    }

    #[test]
    fn languages_without_a_calendar_have_no_names() {
        let names = CalendarNames::of(Language::Dutch).unwrap();
        assert!(names.days.is_empty() && names.months.iter().all(Vec::is_empty));
    }

    #[test]
    fn faults_are_reported_with_file_line_and_remedy() {
        let months = "january, february, march, april, may, june, july, august, september, \
                      october, november, december";
        let german = Language::German.words_file();
        for (old, new, place, problem) in [
            (
                "monday: montag",
                "montag",
                "montag\n",
                "a key, a colon and words are expected",
            ),
            (
                "monday: montag",
                "tuesday: montag",
                "tuesday: m",
                "`monday:` is expected",
            ),
            (
                "december: dezember",
                "",
                "[months]",
                &format!("[months]: the keys are {months}"),
            ),
            ("2: zwei", "3: zwei", "3: zwei", "`2:` is expected"),
            (
                "0: heute",
                "now: heute",
                "now:",
                "`now` is not a number of days or `none`",
            ),
            (
                "[seasons]",
                "[season]",
                "#",
                "the section [seasons] is missing",
            ),
        ] {
            let text: &'static str = german.text.replacen(old, new, 1).leak();
            let line_number = text[..text.find(place).unwrap()].matches('\n').count() + 1;
            let file = LanguageFile { text, ..german };
            let fault = LanguageSections::parse(file)
                .and_then(|mut sections| CalendarNames::load(&mut sections))
                .err();

            let expected = format!("{}, line {line_number}: {problem}", german.path);
            assert_eq!(fault.map(|error| error.to_string()), Some(expected));
        }
    }
}
