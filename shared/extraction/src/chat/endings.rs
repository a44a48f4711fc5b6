//! Remarks that say that something is over.

use std::cmp::Reverse;
use std::ops::Range;

use domain::{Retraction, RetractionEffect};
use text::Language;

use super::assertions::is_asserted;
use super::reading::ReadRemark;
use super::retractions::{clause_of, name_words, retraction};
use super::words::{ChatWords, LowerText, Phrases, chat_words_of, is_unspaced, words_of};
use crate::english::lexicon::{is_determiner, is_preposition};

/// The most words that name what has ended.
const MAX_ENDED_WORDS: usize = 2;
/// English prepositions before a name that tells which one has ended: `the call with Anna`.
const NAMING_PREPOSITIONS: [&str; 5] = ["at", "for", "of", "to", "with"];
/// Openings of English phrases that end an occasion, after which such a name may follow. What was sold
/// `to Anna` or `at the market` is not named so.
const OCCASION_ENDINGS: [&str; 4] = ["call", "cancel", "postpone", "reschedule"];

/// Returns the retraction of a remark that says that something is over.
pub(crate) fn find_ending(remark: &ReadRemark, language: Language) -> Option<Retraction> {
    let words = chat_words_of(language);
    let lower = &remark.lower;
    let mut names = if let Some(range) = find_phrase(&words.endings, lower, words) {
        let clause = clause_of(&lower.text[range.end..]);
        names_after(&lower.text[range], clause, words, language)
    } else {
        let range = find_phrase(&words.endings_after_object, lower, words)?;
        names_before(&lower.text[..range.start], words, language)
    };

    names.truncate(MAX_ENDED_WORDS);
    // Such words are in statements about many things.
    let is_named = names.iter().any(|name| !words.general_words.is(name));
    is_named.then(|| retraction(RetractionEffect::Ends, names))
}

/// Returns the words that name what has ended, after a phrase.
fn names_after(phrase: &str, clause: &str, words: &ChatWords, language: Language) -> Vec<String> {
    if is_unspaced_clause(clause, language) {
        return name_words(clause, words, language);
    }

    let is_occasion = language == Language::English
        && OCCASION_ENDINGS
            .iter()
            .any(|opening| phrase.starts_with(opening));
    let of_occasion = is_occasion.then(|| names_of_occasion(clause, words));
    of_occasion
        .flatten()
        .unwrap_or_else(|| nearest_names(words_of(clause), words, language))
}

/// Returns the words that name what has ended, before a phrase.
fn names_before(clause: &str, words: &ChatWords, language: Language) -> Vec<String> {
    if is_unspaced_clause(clause, language) {
        return name_words(clause, words, language);
    }

    let of_noun = (language == Language::English).then(|| names_of_subject(clause, words));
    of_noun
        .flatten()
        .unwrap_or_else(|| nearest_names(words_of(clause).rev(), words, language))
}

/// Returns the range of the first phrase that says what has ended. Of those that begin at one place,
/// the longest counts.
fn find_phrase(phrases: &Phrases, lower: &LowerText, words: &ChatWords) -> Option<Range<usize>> {
    let found = phrases.find_ranges(lower);
    let endings = found.filter(|range| {
        let needed = words.words_of_endings.get(&lower.text[range.clone()]);
        let mut others = words.non_endings.find_ranges(lower);
        is_asserted(lower, range.start, words)
            && needed.is_none_or(|needed| needed.occur_in(lower))
            && !others.any(|other| other.start <= range.start && range.end <= other.end)
    });
    endings.min_by_key(|range| (range.start, Reverse(range.end)))
}

/// Checks for a clause of a script without spaces between its words.
fn is_unspaced_clause(clause: &str, language: Language) -> bool {
    clause.contains(is_unspaced) && language != Language::Korean
}

/// Returns the words that name what has ended, those nearest to the phrase first. They end at a word
/// without a meaning of its own: `the mini down to my dad`.
fn nearest_names<'t>(
    nearest_first: impl Iterator<Item = &'t str>,
    words: &ChatWords,
    language: Language,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in nearest_first {
        match name_words(word, words, language).into_iter().next() {
            Some(name) if words.beside_ending.is(&name) => {}
            Some(name) if name.starts_with(|c: char| c.is_ascii_digit()) => {}
            Some(name) => names.push(name),
            None if names.is_empty() => {}
            None => break,
        }
    }

    names
}

/// Returns the name of the noun phrase with a preposition that is the subject of an ending: the noun,
/// and the name after it. `my flight to berlin` before `was cancelled`.
fn names_of_subject(clause: &str, words: &ChatWords) -> Option<Vec<String>> {
    let tokens: Vec<&str> = words_of(clause).collect();
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(_, word)| is_preposition(word))
    {
        let is_name = |word: &&&str| name_of(word, words).is_some();
        let noun_len = tokens[..at].iter().rev().take_while(is_name).count();
        let opening = tokens[..at - noun_len].last();
        let has_opening = opening.is_some_and(|word| is_noun_opening(word));
        if noun_len > 0 && has_opening {
            let nearest_first = tokens[..at].iter().rev().copied();
            let noun = || nearest_names(nearest_first, words, Language::English);
            return Some(names_around(&tokens, at, words).unwrap_or_else(noun));
        }
    }
    None
}

/// Returns the name of an occasion after the phrase that ends it: `appointment with the dentist` after
/// `cancelled my`.
fn names_of_occasion(clause: &str, words: &ChatWords) -> Option<Vec<String>> {
    let tokens: Vec<&str> = words_of(clause).collect();
    let at = tokens.iter().position(|word| is_preposition(word))?;
    let is_noun = at > 0 && name_of(tokens[at - 1], words).is_some();
    is_noun.then(|| names_around(&tokens, at, words)).flatten()
}

/// Returns the noun before a preposition and the name after it, if the preposition tells which one.
fn names_around(tokens: &[&str], at: usize, words: &ChatWords) -> Option<Vec<String>> {
    if !NAMING_PREPOSITIONS.contains(&tokens[at]) {
        return None;
    }

    let mut after = tokens[at + 1..].iter();
    let named = after.find(|word| !is_noun_opening(word))?;
    Some(vec![
        name_of(tokens[at - 1], words)?,
        name_of(named, words)?,
    ])
}

/// Returns the name that an English word is, if it is one.
fn name_of(word: &str, words: &ChatWords) -> Option<String> {
    let name = name_words(word, words, Language::English).pop()?;
    let is_other = words.beside_ending.is(&name) || is_preposition(&name);
    (!is_other && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

/// Checks whether a noun phrase begins with a word: `the`, `my`.
fn is_noun_opening(word: &str) -> bool {
    is_determiner(word) || matches!(word, "a" | "an" | "my" | "our" | "the")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_name_what_is_over() {
        for (language, text, expected) in [
            (Language::English, "sold the v50 finally", "v50"),
            (
                Language::English,
                "after 6 years i'm not vegan anymore",
                "vegan",
            ),
            (Language::English, "jonas and i split up last week", "jonas"),
            (Language::English, "i love the gym", ""),
            (Language::English, "i haven't sold the car yet", ""),
            (Language::English, "i still haven't quit smoking", ""),
            (Language::English, "i want to quit the choir", ""),
            (Language::Spanish, "dejé el chiringuito", "chiringuito"),
            (Language::Italian, "ho mollato il clarinetto", "clarinetto"),
            (Language::Hindi, "कॉल सेंटर छोड़ दिया", "सेंटर"),
        ] {
            let ending = find_ending(&ReadRemark::statement(text), language);
            let words = ending.map_or(Vec::new(), |ending| ending.words);
            assert_eq!(words.first().map_or("", String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn an_ending_has_all_words_of_its_name_and_none_of_many_meanings() {
        use Language::{English, German};
        for (language, text, expected) in [
            (
                English,
                "my flight to berlin was cancelled",
                &["flight", "berlin"][..],
            ),
            (
                English,
                "my call with anna got cancelled",
                &["call", "anna"],
            ),
            (
                English,
                "cancelled my appointment with the dentist",
                &["appointment", "dentist"],
            ),
            (English, "the wedding is off", &["wedding"]),
            (English, "i left the band", &["band"]),
            (English, "my dog rex died", &["rex", "dog"]),
            (English, "i no longer live with my parents", &[]),
            (English, "i no longer work at siemens", &[]),
            (English, "left the dog with my mum", &[]),
            (English, "left the gym at 9", &[]),
            (English, "done with work", &[]),
            (English, "i'm not in london this week", &[]),
            (English, "not in the office today", &[]),
            (English, "i'm not a fan of mushrooms", &[]),
            (English, "jonas is off sick", &[]),
            (English, "my phone is dead", &[]),
            (English, "my phone died", &[]),
            (German, "mein bruder verkauft versicherungen", &[]),
            (German, "heute keine arbeit", &[]),
            (German, "ich hab kein klavier mehr", &["klavier"]),
            (German, "ich hab das klavier verkauft", &["klavier"]),
        ] {
            let ending = find_ending(&ReadRemark::statement(text), language);
            let words = ending.map_or(Vec::new(), |ending| ending.words);
            assert_eq!(words, expected, "{text}");
        }
    }
}
