//! Extraction of statements in languages other than English: one engine, with a table of cues for
//! each language.

mod answers;
mod calendar;
mod cue;
mod engine;
mod index;
mod wording;

mod chinese;
mod french;
mod german;
mod hindi;
mod italian;
mod japanese;
mod korean;
mod portuguese;
mod russian;
mod spanish;

use std::sync::LazyLock;

use domain::{Statement, Trust};

use self::calendar::CalendarWords;
use self::cue::Cue;
use self::index::CueIndex;
use super::language::Language;
use super::sentences::{BlockKind, Sentence};
use super::{Passage, Role};

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

/// The words and cues of a language.
///
/// The words in each list are separated by `|`.
struct LanguageTables {
    /// Openings of a sentence that carry no information.
    fillers: &'static str,
    /// Labels that say what kind of sentence follows. They are not part of the statement.
    labels: &'static str,
    /// First words of sentences that cannot be understood alone: pronouns and references to the
    /// sentence before.
    anaphors: &'static str,
    /// Words for the speaker.
    first_person: &'static str,
    /// Words with which an answer or a subject may begin, and that are not part of it.
    articles: &'static str,
    /// Words that end an answer before them.
    stop_words: &'static str,
    /// Words that say that something no longer holds.
    negations: &'static str,
    /// Words that end a question, whose question mark may be missing.
    questions: &'static str,
    /// Text that joins two clauses.
    conjunctions: &'static str,
    /// Words for relatives, each with the English word.
    kinship: &'static [(&'static str, &'static str)],
    /// The rules: a sign, the property that it is about, and cues separated by `;`. The first cue
    /// that matches counts.
    rules: &'static [(CueMeaning, &'static str, &'static str)],
    /// The words for dates.
    calendar: CalendarWords,
}

/// A single cue with its meaning.
struct Rule {
    meaning: CueMeaning,
    attribute: &'static str,
    cue: Cue,
}

/// A language with its compiled cues.
struct CompiledLanguage {
    language: &'static LanguageTables,
    rules: Vec<Rule>,
    index: CueIndex,
}

impl CompiledLanguage {
    fn new(language: &'static LanguageTables) -> Self {
        let rules = language
            .rules
            .iter()
            .flat_map(|(meaning, attribute, cues)| {
                let cues = cues.split(';').filter(|cue| !cue.trim().is_empty());
                cues.map(|cue| Rule {
                    meaning: *meaning,
                    attribute,
                    cue: Cue::new(cue),
                })
            });

        let rules: Vec<_> = rules.collect();
        let index = CueIndex::new(rules.iter().map(|rule| &rule.cue));

        Self {
            language,
            rules,
            index,
        }
    }

    /// Returns the rules that could match a text, in order.
    fn candidates(&self, text: &str) -> impl Iterator<Item = &Rule> {
        let present_words = self.index.present(text);
        let rules = self.rules.iter().enumerate();
        rules
            .filter(move |(rule_index, _)| self.index.admits(*rule_index, &present_words))
            .map(|(_, rule)| rule)
    }
}

/// Returns the tables of a language, or `None` if there are none.
fn compiled_language(language: Language) -> Option<&'static CompiledLanguage> {
    macro_rules! tables {
        ($($language:ident => $module:ident),*) => {
            match language {
                $(Language::$language => {
                    static TABLE: LazyLock<CompiledLanguage> = LazyLock::new(|| CompiledLanguage::new(&$module::LANGUAGE));
                    Some(&TABLE)
                })*
                Language::English | Language::Other => None,
            }
        };
    }

    tables!(
        German => german, Spanish => spanish, French => french, Portuguese => portuguese, Italian => italian,
        Russian => russian, Hindi => hindi, Chinese => chinese, Japanese => japanese, Korean => korean
    )
}

/// Extracts the statements of one sentence. Returns nothing for English and for languages without
/// tables.
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
    match compiled_language(language) {
        Some(compiled) if is_readable && passage.role != Role::Other => {
            engine::extract_sentence(compiled, passage, sentence, trust)
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod notes;
#[cfg(test)]
mod tests;
