//! Extraction of statements in languages other than English: one engine, with words and cues from
//! the file of each language.

mod answers;
mod calendar;
mod cue;
mod engine;
mod index;
mod load;
mod wording;

use std::sync::OnceLock;

use domain::{Statement, Timestamp, Trust};

use self::calendar::CalendarWords;
use self::cue::Cue;
use self::index::CueIndex;
use super::dates::DayRange;
use super::languages::rule_file_of;
use super::sentences::{BlockKind, Sentence};
use super::{Passage, Role};
use text::Language;

/// The kind of statement that a cue indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CueMeaning {
    /// No statement.
    Noise,
    /// A standing instruction for the assistant.
    Instruct,
    /// A lasting property, named by the rule.
    Trait,
    /// Something that somebody likes.
    Like,
    /// Something that somebody dislikes or no longer likes.
    Dislike,
    /// Somebody's favourite.
    Favourite,
    /// Something that somebody prefers or wants.
    Prefer,
    /// Somebody's opinion.
    Opinion,
    /// A decision.
    Decide,
    /// Something that somebody will do.
    Plan,
    /// Something that somebody will do, if the sentence has a date.
    Dated,
    /// Something that happened, if the sentence has a date.
    Happened,
    /// A property of a thing, named by the rule.
    Property,
    /// The state of something.
    State,
    /// The state of something, if the sentence has a number, a date or a name.
    Weak,
}

/// The words and cues of a language, from its file.
struct LanguageRules {
    /// Openings of a sentence that carry no information.
    fillers: Vec<&'static str>,
    /// Labels that say what kind of sentence follows. They are not part of the statement.
    labels: Vec<&'static str>,
    /// First words of sentences that cannot be understood alone: pronouns and references to the
    /// sentence before.
    anaphors: Vec<&'static str>,
    /// Words for the speaker.
    first_person: Vec<&'static str>,
    /// Words with which an answer or a subject may begin, and that are not part of it.
    articles: Vec<&'static str>,
    /// Words that end an answer before them.
    answer_ends: Vec<&'static str>,
    /// Words that say that something no longer holds.
    negations: Vec<&'static str>,
    /// Words that end a question, whose question mark may be missing.
    questions: Vec<&'static str>,
    /// Text that joins two clauses.
    conjunctions: Vec<&'static str>,
    /// True if the verb stands last, with its object right before it.
    is_verb_last: bool,
    /// Words for relatives.
    kinship: Vec<KinshipWord>,
    /// The rules. The first cue that matches counts.
    rules: Vec<Rule>,
    /// The index of the rules' cues.
    index: CueIndex,
    /// The words for dates.
    calendar: CalendarWords,
}

/// A word for a relative.
#[derive(Debug)]
struct KinshipWord {
    word: &'static str,
    /// The English word, by which topics name the relative.
    english: &'static str,
}

/// A single cue with its meaning.
#[derive(Debug)]
struct Rule {
    meaning: CueMeaning,
    /// The property that the rule is about, or nothing.
    attribute: &'static str,
    /// The answer, if it is the same in every sentence.
    constant: Option<&'static str>,
    cue: Cue,
}

impl LanguageRules {
    /// Returns the rules that could match a text, in order.
    fn candidates(&self, text: &str) -> impl Iterator<Item = &Rule> {
        let present_words = self.index.present(text);
        let rules = self.rules.iter().enumerate();
        rules
            .filter(move |(rule_index, _)| self.index.admits(*rule_index, &present_words))
            .map(|(_, rule)| rule)
    }
}

/// Returns the rules of a language, or `None` if it has no cues. English has rules in code.
///
/// The file is parsed once. It is a part of the program, and a test loads every file, so a file
/// with a fault does not get here.
fn rules_of(language: Language) -> Option<&'static LanguageRules> {
    static RULES: [OnceLock<Option<LanguageRules>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];

    if language == Language::English {
        return None;
    }

    let file = rule_file_of(language)?;
    RULES[language as usize]
        .get_or_init(|| load::load_rules(language, file).ok())
        .as_ref()
}

/// Extracts the statements of one sentence. Returns nothing for English and for languages without
/// cues.
pub(crate) fn extract_statements(
    passage: &Passage<'_>,
    sentence: &Sentence<'_>,
    language: Language,
    trust: Trust,
) -> Vec<Statement> {
    let is_readable = !matches!(
        sentence.block,
        BlockKind::Heading | BlockKind::Code | BlockKind::Table
    );
    match rules_of(language) {
        Some(rules) if is_readable && passage.role != Role::Other => {
            engine::extract_sentence(rules, passage, sentence, trust)
        }
        _ => Vec::new(),
    }
}

/// Returns the days on which something happens according to a text, those ahead rather than those
/// past. Returns nothing for English and for languages without rules.
pub(crate) fn find_days(text: &str, language: Language, said_at: Timestamp) -> Option<DayRange> {
    let lower = wording::lowercase_chars(text);
    calendar::find_days(
        &rules_of(language)?.calendar,
        &lower,
        said_at,
        calendar::DateSide::Future,
    )
}

/// Checks whether a word in lower case is one for a relative in a language.
pub(crate) fn is_kinship_word(lower: &str, language: Language) -> bool {
    let kinship = rules_of(language).map_or(&[][..], |rules| &rules.kinship);
    kinship.iter().any(|relative| relative.word == lower)
}

/// Checks whether a text names a relative or an animal of somebody.
pub(crate) fn names_relative(text: &str, language: Language) -> bool {
    let kinship = rules_of(language).map_or(&[][..], |rules| &rules.kinship);
    let lower = text.to_lowercase();
    kinship.iter().any(|relative| lower.contains(relative.word))
}

/// Returns the days that a question names, and true if the same days of every year are meant. Returns
/// nothing for English and for languages without rules.
pub(crate) fn find_question_days(
    question: &str,
    language: Language,
    asked_at: Timestamp,
) -> Option<(DayRange, bool)> {
    let lower = wording::lowercase_chars(question);
    calendar::find_question_days(&rules_of(language)?.calendar, &lower, asked_at)
}

/// Returns the text of a statement that is kept word for word, with its days in digits.
pub(crate) fn format_remark(passage: &Passage<'_>, text: &str, days: Option<DayRange>) -> String {
    engine::add_days(wording::format_statement(passage, text), days)
}

#[cfg(test)]
mod tests;
