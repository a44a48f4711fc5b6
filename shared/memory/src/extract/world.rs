//! Statements in languages other than English: one engine, one table of cues per language.

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

use self::calendar::Calendar;
use self::cue::Cue;
use self::index::Index;
use super::language::Tongue;
use super::sentences::{Block, Sentence};
use super::{Passage, Role};

/// What a cue shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// The sentence gives nothing.
    Noise,
    /// What the assistant is always to do.
    Instruct,
    /// A lasting property that the rule names.
    Trait,
    /// What somebody likes.
    Like,
    /// What somebody dislikes or no longer likes.
    Dislike,
    /// Somebody's favourite.
    Favourite,
    /// What somebody would rather have, or wants.
    Prefer,
    /// What somebody thinks.
    Opinion,
    /// What was decided.
    Decide,
    /// What somebody will do.
    Plan,
    /// The same, if the sentence says when.
    Dated,
    /// What happened, if the sentence says when.
    Happened,
    /// A property of a thing that the rule names.
    Property,
    /// How something is.
    State,
    /// How something is, if the sentence has a number, a date or a name.
    Weak,
}

/// The words of a language.
struct Language {
    /// What a sentence may begin with that says nothing; divided by `|`, as all lists of words.
    fillers: &'static str,
    /// Labels that say what a sentence is, and are no part of the statement.
    labels: &'static str,
    /// First words of sentences that cannot be read alone: pronouns and references to the sentence before.
    anaphors: &'static str,
    /// Words for the speaker.
    first: &'static str,
    /// Words that an answer or a subject begins with and that are no part of it.
    articles: &'static str,
    /// Words that an answer ends before.
    stops: &'static str,
    /// Words that say that something holds no longer.
    negations: &'static str,
    /// Words that a question ends with, where the mark may be missing.
    questions: &'static str,
    /// What joins two clauses.
    joints: &'static str,
    /// Words of kinship with the English word.
    kin: &'static [(&'static str, &'static str)],
    /// Cues, divided by `;`, of a sign about a property; the first that fits counts.
    rules: &'static [(Sign, &'static str, &'static str)],
    /// The words for dates.
    calendar: Calendar,
}

/// What one cue shows.
struct Rule {
    sign: Sign,
    about: &'static str,
    cue: Cue,
}

/// A language with its cues compiled.
struct Compiled {
    language: &'static Language,
    rules: Vec<Rule>,
    index: Index,
}

impl Compiled {
    fn new(language: &'static Language) -> Self {
        let rules = language.rules.iter().flat_map(|(sign, about, cues)| {
            let cues = cues.split(';').filter(|cue| !cue.trim().is_empty());
            cues.map(|cue| Rule {
                sign: *sign,
                about,
                cue: Cue::new(cue),
            })
        });

        let rules: Vec<_> = rules.collect();
        let index = Index::new(rules.iter().map(|rule| &rule.cue));

        Self {
            language,
            rules,
            index,
        }
    }

    /// The rules that could fit a text, in their order.
    fn candidates(&self, text: &str) -> impl Iterator<Item = &Rule> {
        let present = self.index.present(text);
        let rules = self.rules.iter().enumerate();
        rules
            .filter(move |(number, _)| self.index.admits(*number, &present))
            .map(|(_, rule)| rule)
    }
}

/// The tables of a language, if there are any.
fn compiled(tongue: Tongue) -> Option<&'static Compiled> {
    macro_rules! tables {
        ($($tongue:ident => $module:ident),*) => {
            match tongue {
                $(Tongue::$tongue => {
                    static TABLE: LazyLock<Compiled> = LazyLock::new(|| Compiled::new(&$module::LANGUAGE));
                    Some(&TABLE)
                })*
                Tongue::English | Tongue::Other => None,
            }
        };
    }

    tables!(
        German => german, Spanish => spanish, French => french, Portuguese => portuguese, Italian => italian,
        Russian => russian, Hindi => hindi, Chinese => chinese, Japanese => japanese, Korean => korean
    )
}

/// The statements of one sentence, none in English and in languages without tables.
pub(crate) fn statements(
    passage: &Passage<'_>,
    sentence: &Sentence<'_>,
    tongue: Tongue,
    trust: Trust,
) -> Vec<Statement> {
    let readable = !matches!(sentence.block, Block::Heading | Block::Code | Block::Table);
    match compiled(tongue) {
        Some(tables) if readable && passage.role != Role::Other => {
            engine::read(tables, passage, sentence, trust)
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod notes;
#[cfg(test)]
mod tests;
