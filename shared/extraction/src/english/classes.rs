//! Classes of small words.

use super::vocabulary::vocabulary;
use crate::dates::EnglishCalendar;
use text::WordTable;
use text::file::{LanguageFileError, LanguageSections};

/// Forms of be, have and do.
pub(super) const AUXILIARY: u16 = 1 << 0;
/// Modal verbs.
pub(super) const MODAL: u16 = 1 << 1;
/// Adverbs that may stand between a subject and its verb.
pub(super) const ADVERB: u16 = 1 << 2;
/// Words that open a noun phrase.
pub(super) const DETERMINER: u16 = 1 << 3;
/// Prepositions.
pub(super) const PREPOSITION: u16 = 1 << 4;
/// Pronouns that need another sentence to be understood.
pub(super) const PRONOUN: u16 = 1 << 5;
/// Other words without a meaning of their own.
const OTHER: u16 = 1 << 6;
/// All words without a meaning of their own.
pub(super) const SMALL: u16 = (1 << 7) - 1;
/// Words that judge rather than inform.
pub(super) const JUDGING: u16 = 1 << 7;
/// Nouns for occasions that take place at a time.
pub(super) const EVENT: u16 = 1 << 8;
/// Words that end an object before them.
pub(super) const OBJECT_END: u16 = 1 << 9;
/// Words that may begin a date, besides digits.
pub(crate) const DATE: u16 = 1 << 10;

/// The classes with the sections of their words.
const SECTIONS: [(u16, &str); 11] = [
    (AUXILIARY, "auxiliaries"),
    (MODAL, "modal verbs"),
    (ADVERB, "adverbs"),
    (DETERMINER, "determiners"),
    (PREPOSITION, "prepositions"),
    (PRONOUN, "pronouns"),
    (OTHER, "other small words"),
    (JUDGING, "judging words"),
    (EVENT, "event nouns"),
    (OBJECT_END, "object ends"),
    (DATE, "date openings"),
];

/// The classes of each word, as bits.
pub(crate) type WordClasses = WordTable<u16>;

/// Loads the words of all classes. The words of the calendar may begin a date.
pub(super) fn load_classes(
    sections: &mut LanguageSections,
    calendar: &EnglishCalendar,
) -> Result<WordClasses, LanguageFileError> {
    let mut classes = WordClasses::default();
    for (class, section) in SECTIONS {
        for word in sections.take(section)?.spaced_words()? {
            *classes.entry(word).or_default() |= class;
        }
    }
    for word in calendar.words() {
        *classes.entry(word).or_default() |= DATE;
    }

    Ok(classes)
}

/// Checks whether a word belongs to one of `classes`.
pub(crate) fn is_in_class(lower: &str, classes: u16) -> bool {
    let known_classes = vocabulary().classes.get(lower);
    known_classes.is_some_and(|known| known & classes != 0)
}
