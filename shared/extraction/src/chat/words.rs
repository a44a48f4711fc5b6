//! The words of messages, from the file of each language.

use std::iter;
use std::ops::Range;
use std::sync::OnceLock;

use text::calendar::CalendarNames;
use text::file::{LanguageFile, LanguageFileError, LanguageSections};
use text::{Language, WordTable};

use crate::languages::chat_file_of;

/// A list of words and phrases in lower case, found by their first word.
#[derive(Default)]
pub(super) struct Phrases {
    by_first_word: WordTable<Vec<&'static str>>,
    by_last_word: WordTable<Vec<&'static str>>,
    /// Phrases of scripts without spaces, which are found anywhere.
    unspaced: Vec<&'static str>,
}

impl Phrases {
    fn new(phrases: Vec<&'static str>) -> Self {
        let mut list = Self::default();
        for phrase in phrases {
            if phrase.starts_with(is_unspaced) {
                list.unspaced.push(phrase);
            } else {
                let first = first_word(phrase);
                list.by_first_word.entry(first).or_default().push(phrase);
                let last = last_word(phrase);
                list.by_last_word.entry(last).or_default().push(phrase);
            }
        }

        list
    }

    /// Returns the length of the longest phrase with which a text in lower case begins.
    pub(super) fn opening_len(&self, lower: &str) -> Option<usize> {
        let spaced = self.by_first_word.get(first_word(lower));
        let candidates = spaced.into_iter().flatten().chain(&self.unspaced);
        longest(candidates.filter(|phrase| begins_with(lower, phrase)))
    }

    /// Returns the length of the longest phrase with which a text in lower case ends.
    pub(super) fn ending_len(&self, lower: &str) -> Option<usize> {
        let spaced = self.by_last_word.get(last_word(lower));
        let candidates = spaced.into_iter().flatten().chain(&self.unspaced);
        longest(candidates.filter(|phrase| ends_with(lower, phrase)))
    }

    /// Checks whether a word is one of the phrases.
    pub(super) fn is(&self, word: &str) -> bool {
        self.opening_len(word) == Some(word.len())
    }

    /// Checks whether a word is a part of one of the phrases.
    pub(super) fn contain_word(&self, word: &str) -> bool {
        let mut phrases = self.by_first_word.values().flatten();
        phrases.any(|phrase| phrase.split(' ').any(|part| part == word))
    }

    /// Returns the phrases of scripts without spaces.
    pub(super) fn unspaced(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.unspaced.iter().copied()
    }

    /// Returns the first position at which one of the phrases stands.
    pub(super) fn find(&self, lower: &LowerText) -> Option<usize> {
        let unspaced = self.unspaced.iter();
        let unspaced = unspaced.filter_map(|phrase| lower.text.find(phrase)).min();
        unspaced.or_else(|| {
            let mut words = lower.words.iter();
            let found = words.find(|word| self.stand_at(lower, word))?;
            Some(found.start)
        })
    }

    /// Checks whether one of the phrases stands anywhere in a text.
    pub(super) fn occur_in(&self, lower: &LowerText) -> bool {
        let is_unspaced = |phrase: &&str| lower.text.contains(*phrase);
        self.unspaced.iter().any(is_unspaced)
            || lower.words.iter().any(|word| self.stand_at(lower, word))
    }

    /// Returns the range of the last of the phrases in a text. Of those that begin at one place, the
    /// longest counts.
    pub(super) fn find_last(&self, lower: &LowerText) -> Option<Range<usize>> {
        let found = self.find_ranges(lower);
        found.max_by_key(|range| (range.start, range.end))
    }

    /// Returns the range of every phrase that stands anywhere in a text.
    pub(super) fn find_ranges<'l>(
        &'l self,
        lower: &'l LowerText,
    ) -> impl Iterator<Item = Range<usize>> + 'l {
        let has_unspaced = lower.text.contains(is_unspaced);
        let unspaced = self.unspaced.iter().filter(move |_| has_unspaced);
        let unspaced = unspaced.flat_map(|phrase| {
            let found = lower.text.match_indices(*phrase);
            found.map(|(at, found)| at..at + found.len())
        });
        let spaced = lower.words.iter().flat_map(|word| {
            let candidates = self.by_first_word.get(&lower.text[word.clone()]);
            let rest = &lower.text[word.start..];
            let candidates = candidates.into_iter().flatten();
            let found = candidates.filter(move |phrase| begins_with(rest, phrase));
            found.map(|phrase| word.start..word.start + phrase.len())
        });
        unspaced.chain(spaced)
    }

    /// Checks whether one of the phrases begins with a word of a text.
    fn stand_at(&self, lower: &LowerText, word: &Range<usize>) -> bool {
        let candidates = self.by_first_word.get(&lower.text[word.clone()]);
        let rest = &lower.text[word.start..];
        candidates.is_some_and(|phrases| phrases.iter().any(|phrase| begins_with(rest, phrase)))
    }
}

/// Lists of phrases with a key each. A phrase may have several keys.
#[derive(Default)]
pub(crate) struct KeyedPhrases {
    phrases: Phrases,
    keys: WordTable<Vec<&'static str>>,
}

impl KeyedPhrases {
    /// Loads a section of keys and phrases. A key may have several lines.
    pub(crate) fn load(
        sections: &mut LanguageSections,
        section: &str,
    ) -> Result<Self, LanguageFileError> {
        let mut keys: WordTable<Vec<&'static str>> = WordTable::default();
        for entry in sections.take(section)?.entries()? {
            for word in entry.words {
                keys.entry(word).or_default().push(entry.key);
            }
        }

        Ok(Self {
            phrases: Phrases::new(keys.keys().copied().collect()),
            keys,
        })
    }

    /// Returns the keys of the phrases that stand in a text, each once and in order.
    pub(super) fn keys_in(&self, lower: &LowerText) -> Vec<&'static str> {
        let matches = self.matches_in(lower);
        let mut keys: Vec<&'static str> = matches.iter().map(|found| found.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the phrases that stand in a text, each with a key. A phrase inside a longer one does not
    /// count: `i live` in `i live alone`.
    pub(super) fn matches_in(&self, lower: &LowerText) -> Vec<KeyedMatch> {
        let ranges: Vec<Range<usize>> = self.phrases.find_ranges(lower).collect();
        let is_inside = |range: &Range<usize>| {
            ranges.iter().any(|other| {
                other.start <= range.start && range.end <= other.end && other.len() > range.len()
            })
        };

        let mut matches = Vec::new();
        for range in ranges.iter().filter(|range| !is_inside(range)) {
            let keys = self.keys_of(&lower.text[range.clone()]);
            matches.extend(keys.map(|key| KeyedMatch {
                range: range.clone(),
                key,
            }));
        }
        matches
    }

    /// Returns the keys of the longest phrase with which a text in lower case begins, and its length.
    pub(super) fn opening_keys(&self, lower: &str) -> Option<(&[&'static str], usize)> {
        let len = self.phrases.opening_len(lower)?;
        Some((self.keys.get(&lower[..len])?, len))
    }

    /// Returns the keys of a phrase.
    pub(super) fn keys_of(&self, phrase: &str) -> impl Iterator<Item = &'static str> + '_ {
        self.keys.get(phrase).into_iter().flatten().copied()
    }
}

/// A phrase of a text with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyedMatch {
    pub(super) range: Range<usize>,
    pub(super) key: &'static str,
}

/// A text in lower case with the ranges of its words, which many lists look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LowerText {
    pub(super) text: String,
    pub(super) words: Vec<Range<usize>>,
}

impl LowerText {
    pub(super) fn new(text: &str) -> Self {
        let text = lower_in_place(text);
        let words = word_ranges(&text).collect();
        Self { text, words }
    }
}

/// Returns a text in lower case with the same positions. A character whose lower case has another length stays as
/// it is.
pub(super) fn lower_in_place(text: &str) -> String {
    let mut lower = String::with_capacity(text.len());
    for character in text.chars() {
        let bytes: usize = character.to_lowercase().map(char::len_utf8).sum();
        if bytes == character.len_utf8() {
            lower.extend(character.to_lowercase());
        } else {
            lower.push(character);
        }
    }
    lower
}

/// Returns the ranges of the words of a text.
pub(super) fn word_ranges(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    iter::from_fn(move || {
        let start = from + text[from..].find(is_word_char)?;
        from = start + first_word(&text[start..]).len();
        Some(start..from)
    })
}

/// Returns the words of a text.
pub(super) fn words_of(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let words: Vec<&str> = word_ranges(text).map(|range| &text[range]).collect();
    words.into_iter()
}

/// Returns the length of the longest of some phrases.
fn longest<'p>(phrases: impl Iterator<Item = &'p &'static str>) -> Option<usize> {
    phrases.map(|phrase| phrase.len()).max()
}

/// Checks for a character of a word as people type it: `w/`, `i'm`.
pub(super) fn is_word_char(c: char) -> bool {
    match c {
        '\'' | '’' | '/' | '-' => true,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        c => c.is_alphanumeric() || is_combining(c),
    }
}

/// Checks for a vowel sign or another mark that belongs to the letter before it.
fn is_combining(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{0900}'..='\u{0903}' | '\u{093a}'..='\u{094f}')
}

/// Returns the word with which a text begins.
pub(super) fn first_word(lower: &str) -> &str {
    let end = lower.find(|c| !is_word_char(c)).unwrap_or(lower.len());
    &lower[..end]
}

/// Returns the word with which a text ends.
fn last_word(lower: &str) -> &str {
    let mut start = lower.len();
    for (at, c) in lower.char_indices().rev() {
        if !is_word_char(c) {
            break;
        }
        start = at;
    }
    &lower[start..]
}

fn begins_with(lower: &str, phrase: &str) -> bool {
    let Some(rest) = lower.strip_prefix(phrase) else {
        return false;
    };

    phrase.starts_with(is_unspaced) || !rest.starts_with(is_word_char)
}

fn ends_with(lower: &str, phrase: &str) -> bool {
    let Some(rest) = lower.strip_suffix(phrase) else {
        return false;
    };

    phrase.starts_with(is_unspaced) || !rest.ends_with(is_word_char)
}

/// Checks for a character of a script that puts no spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// The names of weekdays and months and the words for numbers, each in a table.
#[derive(Default)]
pub(super) struct CalendarWords {
    pub(super) weekdays: WordTable<()>,
    pub(super) months: WordTable<()>,
    pub(super) numbers: WordTable<()>,
}

impl CalendarWords {
    fn load(language: Language) -> Result<Self, LanguageFileError> {
        let table_of = |lists: &[Vec<&'static str>]| {
            let words = lists.iter().flatten();
            words.map(|word| (*word, ())).collect()
        };

        let names = CalendarNames::of(language)?;
        Ok(Self {
            weekdays: table_of(&names.weekdays),
            months: table_of(&names.months),
            numbers: table_of(&names.numbers),
        })
    }
}

/// Declares the lists with the sections from which they are loaded.
macro_rules! chat_words {
    ($($(#[$note:meta])* $list:ident = $section:literal,)*) => {
        /// The words of a language's messages.
        #[derive(Default)]
        pub(super) struct ChatWords {
            $($(#[$note])* pub(super) $list: Phrases,)*
            /// Usual spellings, by how people type them.
            pub(super) spellings: WordTable<&'static str>,
            /// Words that a request to forget something also means, by the word of the request.
            pub(super) related_words: WordTable<Vec<&'static str>>,
            /// Phrases of which one must be in a remark with an ending, by the ending.
            pub(super) words_of_endings: WordTable<Phrases>,
            /// Phrases of which one must be in a request to forget, by its opening.
            pub(super) words_of_requests: WordTable<Phrases>,
            /// Words by which a request to forget names an aspect.
            pub(super) aspect_nouns: KeyedPhrases,
            /// Clauses that say that an aspect has changed if they are all that is said.
            pub(super) whole_aspect_changes: KeyedPhrases,
            /// Words without a meaning of their own.
            pub(super) stop_words: WordTable<()>,
            /// Names of weekdays and months, and words for numbers.
            pub(super) calendar: CalendarWords,
        }

        impl ChatWords {
            fn load(language: Language, file: LanguageFile) -> Result<Self, LanguageFileError> {
                let mut sections = LanguageSections::parse(file)?;
                let words = Self {
                    $($list: Phrases::new(sections.take($section)?.words()?),)*
                    spellings: load_spellings(&mut sections)?,
                    related_words: load_related_words(&mut sections)?,
                    words_of_endings: load_needed_words(&mut sections, "words that an ending needs")?,
                    words_of_requests: load_needed_words(&mut sections, "words that a request needs")?,
                    aspect_nouns: KeyedPhrases::load(&mut sections, "aspect nouns")?,
                    whole_aspect_changes: KeyedPhrases::load(&mut sections, "whole aspect changes")?,
                    stop_words: language.stop_words()?.into_iter().map(|word| (word, ())).collect(),
                    calendar: CalendarWords::load(language)?,
                };
                sections.finish()?;

                Ok(words)
            }
        }
    };
}

chat_words! {
    /// Openings of a clause of its own after a comma or a conjunction.
    clause_openings = "clause openings",
    /// Conjunctions before a clause of its own.
    clause_conjunctions = "clause conjunctions",
    /// Openings of a clause that begins without any mark.
    run_on_openings = "run-on openings",
    /// Words after which such an opening continues the clause.
    clause_carriers = "clause carriers",
    /// Words that end a remark.
    closings = "closings",
    /// Words that begin a remark wherever they stand.
    changes_of_subject = "changes of subject",
    /// Phrases within a clause that carry no content.
    asides = "asides",
    /// Phrases after which a value replaces the one before it.
    corrections = "corrections",
    /// Words after a mark, after which a value replaces one of the same form.
    weak_corrections = "weak corrections",
    /// Words between such a phrase and the value.
    correction_links = "correction links",
    /// Words that deny the value after them.
    denials = "denials",
    /// Words after a denied value, in languages that deny after it.
    denying_links = "denying links",
    /// Particles after a subject that such a denial leaves as it is.
    topic_particles = "topic particles",
    /// Openings of a remark about another subject than the one before it.
    new_subjects = "new subjects",
    /// Openings of questions.
    question_openings = "question openings",
    /// Words of questions that `yes` does not answer.
    open_question_words = "open question words",
    /// Endings of questions.
    question_endings = "question endings",
    /// Openings of requests and of polite phrases.
    request_openings = "request openings",
    /// Words that make a remark a request wherever they stand.
    request_words = "request words",
    /// Words that make a remark a supposition.
    suppositions = "suppositions",
    /// Openings of a supposition.
    supposition_openings = "supposition openings",
    /// Openings of a question whose rest is told: `is it normal that`.
    presuppositions = "presuppositions",
    /// Words that say how the assistant is to answer from now on.
    standing_phrases = "standing phrases",
    /// Requests to remember what follows: `can you keep in mind`.
    remembering_requests = "remembering requests",
    /// Openings of such a request without polite words.
    profile_additions = "profile additions",
    /// Orders about every answer, at the beginning of a request.
    standing_orders = "standing orders",
    /// Words that say that something is asked for once.
    one_time_phrases = "one-time phrases",
    /// Words that announce a list of rules for the assistant.
    rule_words = "rule words",
    /// Words that say the opposite of what they mean.
    ironies = "ironies",
    /// Phrases that begin a play wherever they stand.
    made_up_texts = "made-up texts",
    /// Phrases that begin a play at the beginning of a clause.
    play_openings = "play openings",
    /// Phrases before the role of the assistant in a play.
    assistant_roles = "assistant roles",
    /// Phrases before the role of the speaker in a play.
    own_roles = "own roles",
    /// Words after such a phrase that are no role.
    non_roles = "non-roles",
    /// Phrases that end a play.
    play_endings = "play endings",
    /// Words for a made-up text that a colon announces.
    fiction_words = "fiction words",
    /// Words before a colon after which somebody else speaks.
    message_words = "message words",
    /// Words with which people introduce themselves, before the name.
    introductions = "introductions",
    /// Openings of a request to forget what was said.
    forget_openings = "forget openings",
    /// Verbs of a request to forget, before `forget objects`.
    forget_verbs = "forget verbs",
    /// Phrases before what is to be forgotten: `the bit about`.
    forget_objects = "forget objects",
    /// Words after what is to be forgotten: `thing`, after a verb and an article.
    forget_object_endings = "forget object endings",
    /// Openings of a request to delete personal data, or something from the memory.
    delete_openings = "delete openings",
    /// Openings that are such a request only with one of the endings or phrases.
    drop_openings = "drop openings",
    /// Openings that look like a request to forget and are none.
    no_forget_requests = "no requests to forget",
    /// Words for a part of a text, which is not to be forgotten.
    text_nouns = "text nouns",
    /// Words that may stand before such an opening.
    polite_words = "polite words",
    /// Phrases that make a remark a request to forget wherever they stand.
    forget_phrases = "forget phrases",
    /// Words for what was said just before.
    previous_references = "previous references",
    /// Phrases that say that something may stay remembered.
    keep_phrases = "keep phrases",
    /// Phrases that end an instruction, before its subject.
    dismissals = "dismissals",
    /// Phrases that end an instruction, after its subject.
    dismissals_after_object = "dismissals after their object",
    /// Phrases that end something, before its name.
    endings = "endings",
    /// Phrases that end something, after its name.
    endings_after_object = "endings after their object",
    /// Phrases in which the words of an ending mean something else.
    non_endings = "non-endings",
    /// Phrases that say that something has changed.
    changes = "changes",
    /// Openings of a remark about somebody other than the speaker.
    other_persons = "other persons",
    /// Words for the speaker as the subject of a clause.
    first_person_subjects = "first-person subjects",
    /// Words for people other than the speaker, besides relatives.
    people = "people",
    /// Words for the speaker's partner.
    partners = "partners",
    /// Words before a phrase of change that say that it has not happened.
    words_of_no_change = "words of no change",
    /// Words that say that something has changed if an aspect is named.
    aspect_change_words = "words of an aspect change",
    /// Words that are shared by remarks about different things.
    general_words = "general words",
    /// Words beside the name of what has ended.
    beside_ending = "words beside an ending",
    /// Words for the speaker.
    first_person = "first person",
    /// Words for the assistant.
    second_person = "second person",
    /// Headings of notes about oneself.
    note_headings = "note headings",
    /// Words for the author of a note and their relatives.
    note_persons = "note persons",
    /// Labels of what is the author's own in a note.
    note_labels = "note labels",
    /// Labels of a card, which may be anybody's.
    card_labels = "card labels",
    /// Words after a label of what a place offers to its guests.
    offers = "offers",
    /// Openings of lines that stand in no note.
    report_openings = "report openings",
    /// Words without content at the beginning of a remark.
    empty_openings = "empty openings",
    /// Words without content at the end of a remark.
    empty_endings = "empty endings",
    /// Remarks that say nothing if they are all that is said.
    empty_remarks = "empty remarks",
    /// Openings of a remark that needs the one before it.
    dependent_openings = "dependent openings",
    /// Words for what was named before.
    dependent_words = "dependent words",
}

/// Loads the usual spellings, by how people type them.
fn load_spellings(
    sections: &mut LanguageSections,
) -> Result<WordTable<&'static str>, LanguageFileError> {
    let mut spellings = WordTable::default();
    for entry in sections.take("spellings")?.entries()? {
        for word in entry.words {
            spellings.insert(word, entry.key);
        }
    }

    Ok(spellings)
}

/// Loads a section of phrases, each with the words of which one must be in the same remark.
fn load_needed_words(
    sections: &mut LanguageSections,
    section: &str,
) -> Result<WordTable<Phrases>, LanguageFileError> {
    let entries = sections.take(section)?.entries()?;
    Ok(entries
        .into_iter()
        .map(|entry| (entry.key, Phrases::new(entry.words)))
        .collect())
}

/// Loads the words that a request to forget something also means.
fn load_related_words(
    sections: &mut LanguageSections,
) -> Result<WordTable<Vec<&'static str>>, LanguageFileError> {
    let entries = sections.take("related words")?.entries()?;
    Ok(entries
        .into_iter()
        .map(|entry| (entry.key, entry.words))
        .collect())
}

/// Returns the words of a language's messages, or none for a language without a file.
///
/// The file is parsed once. It is a part of the program, and a test loads every file, so a file
/// with a fault does not get here.
pub(super) fn chat_words_of(language: Language) -> &'static ChatWords {
    static WORDS: [OnceLock<ChatWords>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];

    WORDS[language as usize].get_or_init(|| {
        let file = chat_file_of(language);
        file.and_then(|file| ChatWords::load(language, file).ok())
            .unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::RULE_LANGUAGES;

    #[test]
    fn every_file_can_be_loaded() {
        for language in RULE_LANGUAGES {
            let file = chat_file_of(*language).unwrap();
            if let Err(error) = ChatWords::load(*language, file) {
                panic!("{error}");
            }
        }
    }
}
