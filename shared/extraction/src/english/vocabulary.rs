//! The words of English, from its language file.

use std::sync::LazyLock;

use super::classes::{self, WordClasses};
use super::lists::{EntryList, PhraseList};
use super::verbs::VerbForms;
use crate::dates::EnglishCalendar;
use crate::languages::rule_file_of;
use crate::word_list::WordList;
use text::Language;
use text::calendar::CalendarNames;
use text::file::{LanguageFileError, LanguageSections};

/// Declares the lists of the vocabulary with the sections from which they are loaded.
macro_rules! vocabulary {
    ($($(#[$note:meta])* $list:ident: $kind:ident = $section:literal,)*) => {
        /// The words of English.
        #[derive(Default)]
        pub(crate) struct Vocabulary {
            /// The classes of small words.
            pub(crate) classes: WordClasses,
            /// The forms of verbs.
            pub(crate) verbs: VerbForms,
            /// The words for dates.
            pub(crate) calendar: EnglishCalendar,
            $($(#[$note])* pub(crate) $list: $kind,)*
        }

        impl Vocabulary {
            fn load() -> Result<Self, LanguageFileError> {
                let Some(file) = rule_file_of(Language::English) else {
                    return Ok(Self::default());
                };
                let mut sections = LanguageSections::parse(file)?;

                let calendar = EnglishCalendar::new(CalendarNames::of(Language::English)?);
                let vocabulary = Self {
                    classes: classes::load_classes(&mut sections, &calendar)?,
                    verbs: VerbForms::load(&mut sections)?,
                    calendar,
                    $($list: $kind::load(&sections.take($section)?)?,)*
                };
                sections.finish()?;

                Ok(vocabulary)
            }
        }
    };
}

vocabulary! {
    /// Interjections and discourse markers.
    fillers: PhraseList = "fillers",
    /// First words of questions and suppositions.
    hypothetical_words: WordList = "hypothetical words",
    /// Remarks that may close a sentence.
    closing_remarks: PhraseList = "closing remarks",
    /// States of a thing.
    states_of_things: PhraseList = "states of things",
    /// Words that sound like an occupation but are not one.
    false_occupations: WordList = "false occupations",
    /// Words before the occupation in what people say about how they do something.
    words_of_skill: WordList = "words of skill",
    /// Occupations that do not sound like one.
    occupations: WordList = "occupations",
    /// Relatives, people and pets of somebody, each of which is an attribute of that name.
    relatives: WordList = "relatives",
    /// Animals and people to whom a pronoun may refer, besides those among the relatives.
    kept_animals: WordList = "kept animals",
    /// Verbs that people put at the beginning of a remark about themselves.
    own_verbs: WordList = "own verbs",
    /// Nouns that form a name with a word in -ing before them: `standing order`.
    heads_after_ing: WordList = "heads after -ing",
    /// Nouns after `left` as a side: `left knee`.
    nouns_after_left: WordList = "nouns after left",
    /// Words that end an answer by themselves.
    tail_words: WordList = "tail words",
    /// Phrases that end an answer after `at`.
    tails_after_at: PhraseList = "tails after at",
    /// Phrases that end an answer after `for`.
    tails_after_for: PhraseList = "tails after for",
    /// Phrases that end an answer after `in`.
    tails_after_in: PhraseList = "tails after in",
    /// Phrases that end an answer after `on`.
    tails_after_on: PhraseList = "tails after on",
    /// Phrases that end an answer after `with`.
    tails_after_with: PhraseList = "tails after with",
    /// Verbs for work on a text.
    text_tasks: WordList = "text tasks",
    /// Words for a text.
    text_nouns: WordList = "text nouns",
    /// Words for examples, for reasons and for the words of somebody else.
    foreign_words: WordList = "foreign words",
    /// The beginnings of brief orders to an assistant.
    brief_orders: PhraseList = "brief orders",
    /// Things that an assistant finds or writes.
    requested_things: PhraseList = "requested things",
    /// Phrases that ask for something.
    requests: PhraseList = "requests",
    /// Phrases that ask to keep something in mind.
    requests_to_remember: PhraseList = "requests to remember",
    /// Words before an instruction that is to hold from now on.
    standing_openings: PhraseList = "standing openings",
    /// Phrases that forbid something for good.
    prohibitions: PhraseList = "prohibitions",
    /// Verbs for things that an assistant does repeatedly, so that asking once means asking for
    /// every time.
    repeated_verbs: WordList = "repeated verbs",
    /// Verbs for things that are hoped, tried or only said to be polite. They commit nobody.
    non_committal_verbs: WordList = "non committal verbs",
    /// Predicates of somebody who will do something.
    commitments: PhraseList = "commitments",
    /// Predicates that express an opinion.
    opinion_predicates: PhraseList = "opinion predicates",
    /// States that people write with a capital letter, which are not names of persons.
    capitalized_states: WordList = "capitalized states",
    /// Places and states in which people live that are no homes.
    no_homes: WordList = "no homes",
    /// Software, services, companies and departments to which people move.
    no_destinations: WordList = "no destinations",
    /// Places, times and wages at or for which people work that are no employers.
    no_employers: WordList = "no employers",
    /// People and measures after `drive` that are no car.
    no_cars: WordList = "no cars",
    /// Nationalities, which are capitalized but are not names of persons.
    nationalities: WordList = "nationalities",
    /// Faiths, which are capitalized but are not names of persons.
    faiths: WordList = "faiths",
    /// Words for a person's state, with the attribute that they answer. A word without an
    /// attribute is its own attribute.
    personal_states: EntryList = "personal states",
    /// Verbs for habits. Each object is a topic of its own.
    habits_by_object: EntryList = "habits by object",
    /// Verbs for activities that last a while. Each object is a topic of its own.
    ongoing_verbs: EntryList = "ongoing verbs",
    /// Verbs with one object at a time, with the preposition before the object. A later object
    /// replaces an earlier one.
    single_object_verbs: EntryList = "single object verbs",
    /// Verbs for which each object is a topic of its own.
    multi_object_verbs: EntryList = "multi object verbs",
    /// Verbs that are habits without an object.
    habits_without_object: WordList = "habits without object",
    /// Objects that do not make a habit.
    idle_objects: WordList = "idle objects",
    /// Verbs of responsibility, with the attribute of the thing that somebody is responsible
    /// for.
    responsibility_verbs: EntryList = "responsibility verbs",
    /// Things that run until they are cancelled.
    contracts: WordList = "contracts",
    /// Things that one has only for a moment or in one's mind.
    momentary_objects: WordList = "momentary objects",
    /// Roles of a person.
    roles: WordList = "roles",
    /// Verbs for abilities.
    abilities: WordList = "abilities",
    /// Objects of activities that take only an hour.
    short_tasks: WordList = "short tasks",
    /// Things that people drink.
    drinks: WordList = "drinks",
    /// Things that people eat.
    foods: WordList = "foods",
    /// Sports that people `do`.
    sports: WordList = "sports",
    /// Groups to which people belong.
    groups: WordList = "groups",
    /// Verbs with an object whose progressive form expresses a habit.
    progressive_habits: WordList = "progressive habits",
    /// Words that end like a past form but are not one.
    false_past_forms: WordList = "false past forms",
    /// Verbs that set the day of an occasion.
    scheduling_verbs: WordList = "scheduling verbs",
    /// States of an occasion whose day is set.
    scheduled_states: WordList = "scheduled states",
    /// Verbs with which somebody gets an occasion that is still to come.
    arranging_verbs: WordList = "arranging verbs",
    /// Nouns for such an occasion, or for what admits to it.
    arranged_things: WordList = "arranged things",
    /// Verbs that say when something begins.
    departure_verbs: WordList = "departure verbs",
    /// Verbs that say when something takes place.
    occurrence_verbs: WordList = "occurrence verbs",
    /// Verbs for another time of the same thing.
    other_time_verbs: WordList = "other time verbs",
    /// Labels that announce a fact.
    announcing_labels: WordList = "announcing labels",
    /// Labels that announce a decision.
    decision_labels: WordList = "decision labels",
    /// Labels that announce a reason, an example or a question.
    reasoning_labels: WordList = "reasoning labels",
    /// Verbs that say that the value of something changes.
    change_verbs: WordList = "change verbs",
    /// Words that report the fact after them.
    reports: PhraseList = "reports",
    /// People, places and papers whose word about somebody is a fact.
    authorities: WordList = "authorities",
    /// Words that ask to take notice.
    notice_words: WordList = "notice words",
    /// Verbs whose past form expresses a mood or talk rather than an event.
    mood_verbs: WordList = "mood verbs",
    /// Phrases within or after an instruction that is to hold from now on.
    standing_phrases: PhraseList = "standing phrases",
    /// Verbs for what an assistant does with an answer.
    manner_verbs: WordList = "manner verbs",
    /// Verbs for what somebody is going to do.
    intending_verbs: WordList = "intending verbs",
    /// Nouns that announce an opinion: `my read is that …`.
    opinion_nouns: WordList = "opinion nouns",
    /// Verbs for what an assistant promises to do.
    promised_verbs: WordList = "promised verbs",
}

/// Returns the words of English. The file is read once.
///
/// It is a part of the program, and a test loads it, so there is no fault to report here.
pub(crate) fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> =
        LazyLock::new(|| Vocabulary::load().unwrap_or_default());
    &VOCABULARY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_can_be_loaded() {
        if let Err(error) = Vocabulary::load() {
            panic!("{error}");
        }
    }
}
