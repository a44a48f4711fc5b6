//! Remarks that take back what was said before: requests to forget, instructions that no longer
//! hold, and changes.

use domain::{Retraction, RetractionEffect};
use text::Language;

use super::aspects::changes_aspect_of_other;
use super::assertions::is_asserted;
use super::reading::ReadRemark;
use super::words::{ChatWords, LowerText, chat_words_of, is_unspaced, is_word_char, words_of};

/// The fewest characters of a word by which a change and what it replaces are about the same thing,
/// in scripts with spaces.
const MIN_SHARED_WORD_CHARS: usize = 4;
/// The fewest characters of a word that names something, in scripts with spaces.
const MIN_WORD_CHARS: usize = 2;

/// Particles of Chinese and Japanese around the name of something. Longer ones come first.
const PARTICLES: [&str; 17] = [
    "の話",
    "のこと",
    "について",
    "に関する",
    "の事",
    "的事",
    "关于",
    "把",
    "的",
    "は",
    "を",
    "が",
    "に",
    "で",
    "の",
    "吧",
    "了",
];

/// A remark that asks to forget something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgetRequest {
    pub(crate) retraction: Retraction,
    /// True if it means what was said just before, which it does not name.
    pub(crate) is_about_previous: bool,
}

/// Returns the request to forget that a remark makes, if it makes one.
pub(crate) fn find_forget_request(
    remark: &ReadRemark,
    language: Language,
) -> Option<ForgetRequest> {
    let words = chat_words_of(language);
    let request = strip_politeness(&remark.lower.text, words);

    if words.no_forget_requests.opening_len(request).is_some() {
        return None;
    }

    let has_phrase = words.forget_phrases.occur_in(&remark.lower);
    let opening = forget_opening_len(request, words);
    let deletion = delete_opening_len(request, has_phrase, words);
    let len = match (opening, deletion) {
        (Some(len), _) | (None, Some(len)) => len,
        (None, None) if has_phrase => 0,
        (None, None) => return dismissal(request, words, language),
    };

    // "Don't mention my ex again" names the ex.
    let needed = words.words_of_requests.get(&request[..len]);
    let is_needed = |name: &str| needed.is_some_and(|needed| needed.contain_word(name));
    let mut names = name_words(clause_of(&request[len..]), words, language);
    names.retain(|name| {
        !words.forget_phrases.contain_word(name)
            && !words.forget_object_endings.contain_word(name)
            && !words.previous_references.is(name)
            && !is_needed(name)
    });
    // "Delete my address" means the memory, and "delete my last sentence" does not.
    let is_personal = |name: &String| words.related_words.contains_key(name.as_str());
    let is_of_text = names.first().is_some_and(|name| words.text_nouns.is(name));
    let is_about_other = is_of_text || opening.is_none() && !names.iter().all(is_personal);
    if is_about_other && !has_phrase {
        return dismissal(request, words, language);
    }

    let is_about_previous = names.is_empty() && words.previous_references.occur_in(&remark.lower);
    if names.is_empty() && !is_about_previous {
        return None;
    }

    let aspects = names
        .iter()
        .flat_map(|name| words.aspect_nouns.keys_of(name));
    let aspects: Vec<String> = aspects.map(str::to_owned).collect();
    let related = related_words(&names, words);
    if !aspects.is_empty() {
        // "Forget my work" means the job, and not every remark with the word.
        names.retain(|name| !words.general_words.is(name) || related.contains(&name.as_str()));
    }
    for related in related {
        names.push(related.to_owned());
    }
    Some(ForgetRequest {
        retraction: Retraction {
            aspects,
            ..retraction(RetractionEffect::Forgets, names)
        },
        is_about_previous,
    })
}

/// Returns the length of the opening of a request to forget, before what it names: `forget my`,
/// `wipe the bit about`, `erase the` before `therapy stuff`.
fn forget_opening_len(request: &str, words: &ChatWords) -> Option<usize> {
    let opening = words.forget_openings.opening_len(request).filter(|len| {
        let needed = words.words_of_requests.get(&request[..*len]);
        needed.is_none_or(|needed| needed.occur_in(&LowerText::new(request)))
    });
    let after_verb = || {
        let verb_len = words.forget_verbs.opening_len(request)?;
        let object = request[verb_len..].trim_start();
        let object_at = request.len() - object.len();
        let object_len = words.forget_objects.opening_len(object);
        let has_ending = has_object_ending(object, words);
        object_len
            .or(has_ending.then_some(0))
            .map(|len| object_at + len)
    };
    opening.max(after_verb())
}

/// Returns the length of the opening of a request to delete personal data. `Drop the` needs an ending
/// or a phrase of such a request: `drop the house stuff`, not `drop the kids at school`.
fn delete_opening_len(request: &str, has_phrase: bool, words: &ChatWords) -> Option<usize> {
    let dropping = || {
        let len = words.drop_openings.opening_len(request)?;
        (has_phrase || has_object_ending(&request[len..], words)).then_some(len)
    };
    words.delete_openings.opening_len(request).or_else(dropping)
}

/// Checks whether the first clause of a text ends with a word after what is to be forgotten.
fn has_object_ending(text: &str, words: &ChatWords) -> bool {
    let clause = clause_of(text).trim_end();
    words.forget_object_endings.ending_len(clause).is_some()
}

/// Returns the retraction of a remark that ends an instruction.
fn dismissal(request: &str, words: &ChatWords, language: Language) -> Option<ForgetRequest> {
    let after = words.dismissals.opening_len(request);
    let before = || words.dismissals_after_object.find(&LowerText::new(request));
    let subject = match after {
        Some(len) => &request[len..],
        None => &request[..before()?],
    };
    let names = name_words(subject, words, language);
    (!names.is_empty()).then(|| ForgetRequest {
        retraction: retraction(RetractionEffect::Dismisses, names),
        is_about_previous: false,
    })
}

/// Returns the retraction of a remark that tells a change without naming what it replaces.
pub(crate) fn find_change(remark: &ReadRemark, language: Language) -> Option<Retraction> {
    let words = chat_words_of(language);
    let mut changes = words.changes.find_ranges(&remark.lower);
    let is_changed = changes.any(|change| is_asserted(&remark.lower, change.start, words))
        || changes_aspect_of_other(remark, words);
    if !is_changed {
        return None;
    }

    let mut names = name_words(&remark.lower.text, words, language);
    names.retain(|name| {
        let is_long = name.contains(is_unspaced) || name.chars().count() >= MIN_SHARED_WORD_CHARS;
        let is_general = words.general_words.is(name)
            || words.beside_ending.is(name)
            || words.changes.contain_word(name);
        is_long && !is_general && !name.starts_with(|c: char| c.is_ascii_digit())
    });
    (!names.is_empty()).then(|| retraction(RetractionEffect::Replaces, names))
}

/// Returns a text up to the end of its clause.
pub(super) fn clause_of(text: &str) -> &str {
    let end = text.find([',', '.', ';', '(', '!']).unwrap_or(text.len());
    &text[..end]
}

/// Returns the words of what may stay remembered, if a remark says so.
pub(crate) fn find_kept_words(remark: &ReadRemark, language: Language) -> Vec<String> {
    let words = chat_words_of(language);
    let lower = &remark.lower;
    if words.keep_phrases.occur_in(lower) {
        name_words(&lower.text, words, language)
    } else {
        Vec::new()
    }
}

pub(super) fn retraction(effect: RetractionEffect, words: Vec<String>) -> Retraction {
    Retraction {
        effect,
        words,
        aspects: Vec::new(),
        kept_words: Vec::new(),
        spans: Vec::new(),
    }
}

/// Returns a request without the polite words before it: `can you please`.
fn strip_politeness<'t>(lower: &'t str, words: &ChatWords) -> &'t str {
    let mut request = lower;
    loop {
        let rest = request.trim_start_matches(|c: char| !is_word_char(c));
        match words.polite_words.opening_len(rest) {
            Some(len) => request = &rest[len..],
            None => return rest,
        }
    }
}

/// Returns the words of a text that name something, in order.
pub(super) fn name_words(text: &str, words: &ChatWords, language: Language) -> Vec<String> {
    if text.contains(is_unspaced) && language != Language::Korean {
        return unspaced_names(text, words);
    }

    let mut names = Vec::new();
    for word in words_of(text) {
        let word = word.trim_matches(['\'', '’', '-', '/']);
        let word = word.strip_suffix("'s").unwrap_or(word);
        let is_name = word.chars().count() >= MIN_WORD_CHARS
            && !words.stop_words.contains_key(word)
            && !words.first_person.is(word)
            && !words.empty_endings.is(word);
        if is_name && !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }

    names
}

/// Returns the parts of a text in a script without spaces that remain without its phrases and stop
/// words, each of at least two characters.
fn unspaced_names(text: &str, words: &ChatWords) -> Vec<String> {
    let mut rest = text.to_owned();
    for phrase in words
        .forget_phrases
        .unspaced()
        .chain(words.endings_after_object.unspaced())
        .chain(words.first_person.unspaced())
        .chain(words.empty_endings.unspaced())
        .chain(words.previous_references.unspaced())
    {
        rest = rest.replace(phrase, " ");
    }
    for particle in PARTICLES {
        rest = rest.replace(particle, " ");
    }

    rest.split(|c: char| !c.is_alphanumeric())
        .filter(|part| part.chars().count() >= 2)
        .map(str::to_owned)
        .collect()
}

/// Returns the words that a request to forget also means.
fn related_words<'w>(names: &[String], words: &'w ChatWords) -> Vec<&'w str> {
    let mut related = Vec::new();
    for name in names {
        if let Some(more) = words.related_words.get(name.as_str()) {
            related.extend(more.iter().copied());
        }
    }

    related
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_forget_name_what_they_mean() {
        for (language, text, expected) in [
            (
                Language::English,
                "please forget what I told you about my ex",
                "ex",
            ),
            (
                Language::English,
                "can you remove my salary from your memory",
                "salary",
            ),
            (
                Language::English,
                "can you wipe the bit about my brother",
                "brother",
            ),
            (Language::English, "forget the therapy stuff", "therapy"),
            (Language::English, "clear the table", ""),
            (Language::English, "i always forget my keys", ""),
            (Language::English, "delete my last sentence", ""),
            (Language::English, "delete my address", "address"),
            (Language::English, "forget it", ""),
            (
                Language::German,
                "vergiss bitte das mit meiner Therapie",
                "therapie",
            ),
            (Language::Japanese, "休職の話は忘れてください", "休職"),
            (Language::Chinese, "把我面试的事忘掉吧", "面试"),
        ] {
            let request = find_forget_request(&ReadRemark::statement(text), language);
            let words = request.map_or(Vec::new(), |request| request.retraction.words);
            assert_eq!(words.first().map_or("", String::as_str), expected, "{text}");
        }

        let previous = find_forget_request(
            &ReadRemark::statement("don't remember that"),
            Language::English,
        );
        assert!(previous.is_some_and(|request| request.is_about_previous));
    }

    #[test]
    fn ordinary_remarks_are_no_requests_to_forget() {
        let names_of = |text: &str| {
            let request = find_forget_request(&ReadRemark::statement(text), Language::English);
            let request = request.map(|request| request.retraction);
            let forgets = request.filter(|request| request.effect == RetractionEffect::Forgets);
            forgets.map(|request| request.words[0].clone())
        };
        for text in [
            "- take my meds",
            "drop the kids at school, then work till 5",
            "don't remember his name but he works at the bank",
            "don't remember when we moved",
            "remove that sentence about my dog please",
            "delete that line about my job at siemens.",
            "don't mention my salary.",
            "don't mention it",
            "forget i asked",
        ] {
            assert_eq!(names_of(text), None, "{text}");
        }
        for (text, expected) in [
            ("drop the house stuff", "house"),
            ("don't mention my ex again", "ex"),
            ("don't remember my address", "address"),
            ("forget i mentioned my ex", "ex"),
            ("remove that about my dog", "dog"),
        ] {
            assert_eq!(names_of(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn requests_to_forget_mean_no_words_of_many_meanings() {
        let forget = |text: &str| {
            let request =
                find_forget_request(&ReadRemark::statement(text), Language::English).unwrap();
            request.retraction
        };
        for (text, broad) in [
            ("forget my job", "work"),
            ("forget about my work", "work"),
            ("forget my son's school", "year"),
            ("delete my address", "close"),
            ("can you remove my finances from your memory", "paid"),
        ] {
            let words = forget(text).words;
            assert!(!words.iter().any(|word| word == broad), "{text}: {words:?}");
        }
        assert_eq!(forget("forget about my work").aspects, ["job"]);
    }

    #[test]
    fn changes_replace_what_shares_a_word() {
        for (language, text, expected) in [
            (
                Language::English,
                "new slot for physio, thursdays 8am",
                vec!["physio"],
            ),
            (Language::English, "physio went fine this morning", vec![]),
            (
                Language::English,
                "neuro took me off the amitriptyline",
                vec!["neuro", "amitriptyline"],
            ),
            (
                Language::German,
                "der zahnarzttermin ist verschoben",
                vec!["zahnarzttermin"],
            ),
        ] {
            let change = find_change(&ReadRemark::statement(text), language);
            let words = change.map_or(Vec::new(), |change| change.words);
            assert_eq!(words, expected, "{text}");
        }
    }
}
