//! Messages as people type them: without capitals and apostrophes, several clauses in a sentence,
//! facts in passing inside a question.
//!
//! Values that the person corrects while typing are resolved first ([`corrections`]), and those of the
//! message before ([`later_corrections`]). Then a message is divided into remarks ([`remarks`]). The words of a remark get their usual spelling
//! ([`spelling`]), so that the rules can read them, and its kind is found ([`reading`]). A remark
//! that tells something and that no rule understands is kept word for word ([`episodes`]). A remark
//! that cannot be understood alone is added to the one before it ([`continuation`]), and one that
//! takes back what was said before is a retraction, by its words ([`retractions`], [`endings`]) or by
//! the aspect of the person's life that it changes ([`aspects`]).
//!
//! A plain text in which people note something about themselves is read in the same way ([`notes`]).

mod aspects;
mod assertions;
mod continuation;
mod corrections;
mod denials;
mod endings;
mod episodes;
mod fiction;
mod lasting;
mod later_corrections;
mod notes;
mod plays;
mod reading;
mod referents;
mod remarks;
mod retractions;
mod spelling;
mod subjects;
mod words;

use text::Language;

use words::{LowerText, chat_words_of};

pub(crate) use aspects::{find_aspect_change, mark_aspects};
pub(crate) use continuation::{add_bare_change, continue_statement, needs_previous};
pub(crate) use corrections::{find_corrected_number, find_later_correction, resolve_corrections};
pub(crate) use endings::find_ending;
pub(crate) use episodes::{EpisodeReader, is_episode};
pub(crate) use fiction::find_words_of_others;
pub(crate) use lasting::mark_lasting;
pub(crate) use later_corrections::{MessageCorrection, correct_message, find_message_correction};
pub(crate) use notes::is_personal_note;
pub(crate) use reading::{ReadRemark, RemarkKind, find_quotations, read_remark};
pub(crate) use remarks::split_remarks;
pub(crate) use retractions::{ForgetRequest, find_change, find_forget_request, find_kept_words};
pub(crate) use spelling::spell_out;
pub(crate) use words::KeyedPhrases;

/// Checks whether a line announces what follows.
pub(crate) fn is_announcement(text: &str) -> bool {
    text.ends_with([':', '：'])
}

/// Checks whether a remark continues the clause before it: it begins with a conjunction.
pub(crate) fn continues_clause(text: &str, language: Language) -> bool {
    let words = chat_words_of(language);
    let conjunction_len = words.clause_conjunctions.opening_len(&text.to_lowercase());
    conjunction_len.is_some()
}

/// Checks whether a remark begins another subject than the one before it: `by the way i paint`, `we also
/// keep bees`. In `pays well btw, tram driver` the words belong to the remark before.
pub(crate) fn begins_subject(text: &str, language: Language) -> bool {
    let words = chat_words_of(language);
    let lower = text.to_lowercase();
    let is_begun = |rest: &str| {
        let len = words.new_subjects.opening_len(rest);
        len.is_some_and(|len| !rest[len..].starts_with(','))
    };
    let after_subject = lower.split_once(' ').map_or("", |(_, rest)| rest);
    is_begun(&lower) || is_begun(after_subject)
}

/// Checks whether the subject with which a remark begins is the speaker: `and i'm tired`.
pub(crate) fn begins_with_speaker(remark: &ReadRemark, language: Language) -> bool {
    let subjects = &chat_words_of(language).first_person_subjects;
    subjects.opening_len(&remark.lower.text).is_some()
}

/// Checks whether a text has a word for the speaker.
pub(crate) fn names_speaker(text: &str, language: Language) -> bool {
    let words = chat_words_of(language);
    words.first_person.occur_in(&LowerText::new(text))
}

/// Checks whether a text announces a list of rules for the assistant.
pub(crate) fn announces_rules(text: &str, language: Language) -> bool {
    let words = chat_words_of(language);
    words.rule_words.occur_in(&LowerText::new(text))
}

/// Checks whether a message is a part of a play, so that its words say nothing about the person.
/// `is_playing` says whether the messages before it are.
pub(crate) fn is_made_up(text: &str, language: Language, is_playing: bool) -> bool {
    let words = chat_words_of(language);
    let goes_on = is_playing && !plays::ends_play(text, words);
    goes_on || plays::begins_play(text, words)
}
