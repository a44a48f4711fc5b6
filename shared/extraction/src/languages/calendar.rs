//! The names of weekdays, months and numbers in a language, from its file.

use super::Language;
use super::file::{LanguageFileError, LanguageSections, Section};

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

/// The names of weekdays, months and numbers in a language. Each may have several.
#[derive(Debug)]
pub(crate) struct CalendarNames {
    /// The names of the weekdays, Monday to Sunday.
    pub(crate) weekdays: [Vec<&'static str>; 7],
    /// The names of the months, January to December.
    pub(crate) months: [Vec<&'static str>; 12],
    /// The words for the numbers from one.
    pub(crate) numbers: Vec<Vec<&'static str>>,
}

impl CalendarNames {
    /// Loads the names of a language from its file.
    pub(crate) fn of(language: Language) -> Result<Self, LanguageFileError> {
        Self::load(&mut LanguageSections::parse(language.source())?)
    }

    /// Loads the names from the sections of a file.
    pub(crate) fn load(sections: &mut LanguageSections) -> Result<Self, LanguageFileError> {
        Ok(Self {
            weekdays: sections.take("weekdays")?.words_of_keys(WEEKDAYS)?,
            months: sections.take("months")?.words_of_keys(MONTHS)?,
            numbers: load_numbers(&sections.take("numbers")?)?,
        })
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
