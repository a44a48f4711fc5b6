//! Aspects of a person's life, of which each has one answer at a time: the job, the residence, the
//! diet.
//!
//! A remark about an aspect has words for it: `i work in`, `my flat`. A later remark may change the
//! answer without any word of the old one: `quit today`, `back on android`, `we moved, its leeds
//! now`. What was said about the aspect before no longer holds then.

use std::ops::Range;

use domain::memory::OF_ANOTHER;
use domain::{MemoryKind, Retraction, RetractionEffect, Statement};
use text::Language;

use super::assertions::is_asserted;
use super::reading::ReadRemark;
use super::subjects::{
    Subject, clause_after, clause_before, find_opening_person, find_subject, person_of,
};
use super::words::{ChatWords, KeyedMatch, LowerText, chat_words_of, words_of};
use crate::all_languages::all_languages;
use crate::english::lexicon::{is_adverb, is_determiner, is_preposition};

/// The aspect that a remark about a partner is about as well.
const RELATIONSHIP: &str = "relationship";

/// The aspects whose names are answers by themselves. A medicine or program needs a number.
const NAMED_ASPECTS: [&str; 2] = ["car", "phone"];
/// The aspects that people mostly tell of others, such as their children.
const ASPECTS_OF_OTHERS: [&str; 2] = ["age", "school"];
/// The aspects that a remark may tell of anybody, so that its subject decides whose they are.
const ASPECTS_WITH_SUBJECT: [&str; 5] = [
    "diet",
    "job",
    "living arrangement",
    "relationship",
    "residence",
];

/// The aspects of which each person has one, so that a change counts only if it is the speaker's.
const ASPECTS_OF_PERSONS: [&str; 8] = [
    "car",
    "diet",
    "job",
    "living arrangement",
    "phone",
    "phone number",
    "relationship",
    "residence",
];
/// The first words of phrases of change that are nouns: `new job`.
const NOUN_OPENINGS: [&str; 5] = ["first", "last", "new", "no", "our"];

/// Attributes of a person, each with the aspect that it belongs to. Sorted.
const ASPECTS_OF_ATTRIBUTES: &[(&str, &str)] = &[
    ("age", "age"),
    ("diet", "diet"),
    ("drives", "car"),
    ("employer", "job"),
    ("employment", "job"),
    ("job", "job"),
    ("partner", RELATIONSHIP),
    ("phone", "phone number"),
    ("relationship status", RELATIONSHIP),
    ("residence", "residence"),
    ("spouse", RELATIONSHIP),
    ("teaches", "job"),
];

/// Marks the aspects that a statement of a remark is about: of the speaker's life, or of another's.
pub(crate) fn mark_aspects(statement: &mut Statement, remark: &ReadRemark, language: Language) {
    let words = chat_words_of(language);
    let person = find_opening_person(&remark.lower, words, language);
    let mut aspects: Vec<String> = Vec::new();
    // An event stays true, even if an aspect that it mentions changes: `had dinner with my boss`.
    let found = match statement.kind {
        MemoryKind::Event => find_answered_aspects(remark),
        _ => find_aspects(remark),
    };
    for aspect in found {
        let is_of_other = match person {
            None => false,
            Some(Subject::Partner) => aspect != RELATIONSHIP,
            // `She` may be the partner, and a sister is not.
            Some(_) => aspect != RELATIONSHIP || names_relative(&remark.lower, words, language),
        };
        if is_of_other {
            aspects.push(format!("{aspect}{OF_ANOTHER}"));
        } else {
            aspects.push(aspect.to_owned());
        }
    }
    aspects.extend(aspect_of_topic(statement).map(str::to_owned));

    aspects.retain(|aspect| !statement.aspects.contains(aspect));
    aspects.dedup();
    statement.aspects.extend(aspects);
}

/// Checks whether a remark begins with a relative or friend, rather than with a pronoun.
fn names_relative(lower: &LowerText, words: &ChatWords, language: Language) -> bool {
    let first_words = words_of(&lower.text).take(3);
    first_words
        .filter(|word| !words.other_persons.is(word))
        .any(|word| person_of(word, words, language) == Some(Subject::Other))
}

/// Returns the aspects that a remark is about.
fn find_aspects(remark: &ReadRemark) -> Vec<&'static str> {
    let mut aspects = find_answered_aspects(remark);
    aspects.extend(all_languages().aspect_mentions.keys_in(&remark.lower));
    aspects.extend(words_of(&remark.lower.text).filter_map(aspect_of_name));
    aspects.sort_unstable();
    aspects.dedup();
    aspects
}

/// Returns the aspects to which a remark gives an answer: `i work at the bank`, `back on android`.
/// `my boss` and `my iphone` only mention one.
fn find_answered_aspects(remark: &ReadRemark) -> Vec<&'static str> {
    let answers = find_answers(remark).into_iter();
    let mut aspects: Vec<&str> = answers.map(|answer| answer.key).collect();
    aspects.sort_unstable();
    aspects.dedup();
    aspects
}

/// Returns the answers to aspects in a remark, each with its place.
fn find_answers(remark: &ReadRemark) -> Vec<KeyedMatch> {
    let lower = &remark.lower;
    let lists = all_languages();
    let mut answers = lists.aspects.matches_in(lower);
    answers.retain(|answer| is_answer(answer, remark));
    let has_number = lower.text.contains(|c: char| c.is_ascii_digit());
    let mut previous = "";
    for range in &lower.words {
        let word = &lower.text[range.clone()];
        let is_mention = lists.own_text_words.has(previous);
        let answered =
            aspect_of_name(word).filter(|aspect| NAMED_ASPECTS.contains(aspect) || has_number);
        answers.extend(answered.filter(|_| !is_mention).map(|key| KeyedMatch {
            range: range.clone(),
            key,
        }));
        previous = word;
    }
    answers
}

/// Checks whether a phrase is followed by an answer where it may have another meaning: `i work from home`,
/// `i'm seeing a therapist`, `i drive to work`.
fn is_answer(phrase: &KeyedMatch, remark: &ReadRemark) -> bool {
    let lower = &remark.lower.text;
    let next = words_of(&lower[phrase.range.end..]).next();
    let next = next.unwrap_or_default();
    match &lower[phrase.range.clone()] {
        "i drive" | "we drive" => !is_preposition(next) && !is_adverb(next) && next != "home",
        "i work from" | "i work in" => !is_determiner(next) && next != "home",
        "i'm seeing" => is_name_of_person(next, &remark.text),
        _ => true,
    }
}

/// Checks whether a word in lower case names somebody in a text. In a text without capitals, any word
/// does that does not begin a noun phrase.
fn is_name_of_person(lower: &str, text: &str) -> bool {
    let is_capital = |word: &&str| {
        let is_speaker = *word == "I" || word.starts_with("I'");
        word.starts_with(char::is_uppercase) && !is_speaker
    };
    let capitals: Vec<&str> = words_of(text).filter(is_capital).collect();
    let is_capitalized = capitals.iter().any(|word| word.to_lowercase() == lower);
    let may_be_name = !lower.is_empty() && !is_determiner(lower);
    is_capitalized
        || matches!(lower, "somebody" | "someone")
        || capitals.is_empty() && !text.contains('I') && may_be_name
}

/// Returns the aspect that a name or unit tells: `android`, `50mg`.
fn aspect_of_name(word: &str) -> Option<&'static str> {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    all_languages().aspect_names.get(unit).copied()
}

/// Returns the aspect to which the topic of a statement about its speaker belongs.
fn aspect_of_topic(statement: &Statement) -> Option<&'static str> {
    let topic = statement.topic.as_ref()?;
    let speaker = statement.speaker.as_deref().unwrap_or("User");
    if topic.subject != speaker.to_lowercase() {
        return None;
    }

    let attributes = ASPECTS_OF_ATTRIBUTES;
    let at = attributes.binary_search_by_key(&topic.attribute.as_str(), |(name, _)| name);
    at.ok().map(|at| attributes[at].1)
}

/// Returns the retraction of a remark that changes or ends aspects of the speaker's life, if it does.
pub(crate) fn find_aspect_change(remark: &ReadRemark, language: Language) -> Option<Retraction> {
    let words = chat_words_of(language);
    let lower = &remark.lower;
    let mut changes = all_languages().aspect_changes.matches_in(lower);
    changes.extend(find_named_changes(lower, &remark.text));
    changes.extend(find_final_changes(lower, words));
    changes.retain(|change| {
        is_asserted(lower, change.range.start, words)
            && !is_time(lower, change)
            && is_own_change(change, lower, words, language)
    });

    let has_change = words.changes.occur_in(lower) || words.aspect_change_words.occur_in(lower);
    if has_change {
        let mut answers = find_answers(remark);
        answers.retain(|answer| is_own_answer(answer, lower, words, language));
        changes.extend(answers);
    }
    let mut changed: Vec<&str> = changes.iter().map(|change| change.key).collect();
    changed.extend(whole_change(&lower.text, words));
    // A remark about the partner is about the relationship.
    if find_opening_person(lower, words, language).is_some() {
        changed.retain(|aspect| *aspect == RELATIONSHIP);
    }
    changed.sort_unstable();
    changed.dedup();

    (!changed.is_empty()).then(|| Retraction {
        effect: RetractionEffect::Replaces,
        words: Vec::new(),
        aspects: changed.into_iter().map(str::to_owned).collect(),
        kept_words: Vec::new(),
        spans: Vec::new(),
    })
}

/// Checks whether a phrase of change is followed by a time of day: `i started at 9`.
fn is_time(lower: &LowerText, change: &KeyedMatch) -> bool {
    let after = lower.text[change.range.end..].trim_start();
    lower.text[change.range.clone()].ends_with(" at")
        && after.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the aspects that change by a phrase at the end of a clause, after which only the time may
/// follow: `he left me last year`.
fn find_final_changes(lower: &LowerText, words: &ChatWords) -> Vec<KeyedMatch> {
    let mut changes = all_languages().final_aspect_changes.matches_in(lower);
    changes.retain(|change| {
        let after = clause_after(&lower.text, change.range.end);
        !words_of(after).any(|word| says_more(word, words))
    });
    changes
}

/// Checks whether a change is one of the speaker's life: `I got fired`, and not `Anna got fired`.
fn is_own_change(
    change: &KeyedMatch,
    lower: &LowerText,
    words: &ChatWords,
    language: Language,
) -> bool {
    let phrase = LowerText::new(&lower.text[change.range.clone()]);
    if words.first_person.occur_in(&phrase) || !ASPECTS_OF_PERSONS.contains(&change.key) {
        return true;
    }

    let before = clause_before(&lower.text, change.range.start);
    let last_word = words_of(before).next_back().unwrap_or_default();
    match find_subject(before, words, language) {
        Subject::Speaker => true,
        Subject::Partner => change.key == RELATIONSHIP,
        Subject::Other => {
            let after = clause_after(&lower.text, change.range.end);
            change.key == RELATIONSHIP && words_of(after).any(|word| word == "me")
        }
        Subject::Unknown if !ASPECTS_WITH_SUBJECT.contains(&change.key) => true,
        // "Anna's new job" is Anna's, and "excited about the new job" is the speaker's.
        Subject::Unknown => {
            let first = words_of(&phrase.text).next().unwrap_or_default();
            let is_noun = NOUN_OPENINGS.contains(&first);
            is_noun && !last_word.ends_with("'s") && words.first_person.occur_in(lower)
        }
    }
}

/// Checks whether an answer to an aspect is one of the speaker's life: `I'm vegan now`, and not `my
/// sister is vegan now`.
fn is_own_answer(
    answer: &KeyedMatch,
    lower: &LowerText,
    words: &ChatWords,
    language: Language,
) -> bool {
    let phrase = LowerText::new(&lower.text[answer.range.clone()]);
    if words.first_person.occur_in(&phrase) || !ASPECTS_OF_PERSONS.contains(&answer.key) {
        return true;
    }

    let before = clause_before(&lower.text, answer.range.start);
    match find_subject(before, words, language) {
        Subject::Speaker | Subject::Unknown => true,
        Subject::Partner => answer.key == RELATIONSHIP,
        Subject::Other => false,
    }
}

/// Returns the aspects that change by a phrase of many meanings, and that the remark names:
/// `joined a bank`, not `joined a choir`.
fn find_named_changes(lower: &LowerText, text: &str) -> Vec<KeyedMatch> {
    let lists = all_languages();
    let mut changes = lists.named_aspect_changes.matches_in(lower);
    if changes.is_empty() {
        return changes;
    }

    // A mention is not enough: "I joined a gym near my work".
    let mut named = lists.aspects.keys_in(lower);
    named.extend(lists.aspect_context.keys_in(lower));
    named.extend(words_of(&lower.text).filter_map(aspect_of_name));
    changes.retain(|change| {
        named.contains(&change.key) || starts_at_name(&lower.text, change.range.clone(), text)
    });
    changes
}

/// Checks whether a phrase says that somebody started at a place with a name: `started at Polestar`.
fn starts_at_name(lower: &str, phrase: Range<usize>, text: &str) -> bool {
    let next = words_of(&lower[phrase.end..]).next().unwrap_or_default();
    let is_name = |word: &str| word.starts_with(char::is_uppercase) && word.to_lowercase() == next;
    &lower[phrase] == "started at" && words_of(text).any(is_name)
}

/// Checks whether a remark says that an aspect of somebody else's life is different now: `Theo's in
/// year 5 now`.
pub(super) fn changes_aspect_of_other(remark: &ReadRemark, words: &ChatWords) -> bool {
    let lower = &remark.lower;
    let is_of_anybody = |aspect: &&str| ASPECTS_OF_OTHERS.contains(aspect);
    words.aspect_change_words.occur_in(lower)
        && find_aspects(remark).iter().any(is_of_anybody)
        && !words.first_person.occur_in(lower)
}

/// Returns the aspects that change by the first clause of a remark, if nothing else is said in it
/// than when: `quit today`, `we moved`.
fn whole_change(lower: &str, words: &ChatWords) -> Vec<&'static str> {
    let end = lower.find([',', '.', ';', '(', '!', '。', '、']);
    let clause = &lower[..end.unwrap_or(lower.len())];
    let Some((aspects, len)) = words.whole_aspect_changes.opening_keys(clause) else {
        return Vec::new();
    };

    if words_of(&clause[len..]).any(|word| says_more(word, words)) {
        Vec::new()
    } else {
        aspects.to_vec()
    }
}

/// Checks whether a word beside a change says more than when it was.
fn says_more(word: &str, words: &ChatWords) -> bool {
    !words.beside_ending.is(word)
        && !words.stop_words.contains_key(word)
        && !word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::RemarkKind;
    use crate::golden::extract_as;

    #[test]
    fn attributes_are_sorted() {
        assert!(ASPECTS_OF_ATTRIBUTES.is_sorted());
    }

    #[test]
    fn phrases_of_many_meanings_change_only_a_named_aspect() {
        for (text, expected) in [
            ("the dose was reduced to 20", &["medication"][..]),
            ("my hours were reduced to 20", &[]),
            ("i'm not taking the tablets", &["medication"]),
            ("i'm not taking the bus", &[]),
            ("i joined a gym near my work", &[]),
            ("my husband drinks, so i left him", &["relationship"]),
            ("die miete wurde erhöht auf 950", &[]),
            ("sertralin erhöht auf 50 mg", &["medication"]),
            ("on est passé à table", &[]),
        ] {
            let changes = find_named_changes(&LowerText::new(text), text);
            let aspects: Vec<&str> = changes.iter().map(|change| change.key).collect();
            assert_eq!(aspects, expected, "{text}");
        }
    }

    /// Returns the aspects that a remark changes.
    fn changed_aspects(text: &str, language: Language) -> Vec<String> {
        let remark = ReadRemark {
            text: text.to_owned(),
            kind: RemarkKind::Statement,
            lower: LowerText::new(text),
            ends_in_supposition: false,
        };
        let change = find_aspect_change(&remark, language);
        change.map_or(Vec::new(), |change| change.aspects)
    }

    #[test]
    fn changes_that_have_not_happened_or_mean_other_things_change_nothing() {
        use Language::{English, German};
        for (language, text, expected) in [
            (English, "i never got married", &[][..]),
            (English, "i almost got fired today", &[]),
            (English, "i want to quit my job", &[]),
            (English, "don't know what i'd do if i lost my job", &[]),
            (English, "my laptop stopped working", &[]),
            (English, "tomorrow is my last day in rome", &[]),
            (English, "i get out of work at 5", &[]),
            (English, "my class started at 9", &[]),
            (English, "mum left me a voicemail", &[]),
            (English, "we're done with the kitchen", &[]),
            (English, "i met someone from work", &[]),
            (English, "we tried a new place for ramen", &[]),
            (English, "the bank put me on hold", &[]),
            (English, "i stopped being scared of flying", &[]),
            (English, "i switched to the night shift", &[]),
            (German, "ich bin nach hause gefahren", &[]),
            (German, "der vertrag wurde gekündigt", &[]),
            (English, "he left me last year", &["relationship"]),
            (English, "i stopped being vegan", &["diet"]),
            (English, "neuro put me on sertraline", &["medication"]),
            (English, "i've been out of work since june", &["job"]),
            (English, "i started at the bakery", &["job"]),
            (German, "ich bin nach köln gezogen", &["residence"]),
        ] {
            assert_eq!(changed_aspects(text, language), expected, "{text}");
        }
        let upgrade = changed_aspects("i upgraded to an electric toothbrush", English);
        assert!(!upgrade.contains(&"phone".to_owned()), "{upgrade:?}");
    }

    #[test]
    fn what_is_different_now_changes_only_its_own_aspect() {
        use Language::{English, Italian};
        for (language, text, expected) in [
            (English, "I live alone now", &["living arrangement"][..]),
            (
                English,
                "I live with my boyfriend now",
                &["living arrangement"],
            ),
            (English, "I live in York now", &["residence"]),
            (English, "I work from home now", &[]),
            (English, "I'm seeing a therapist now", &[]),
            (English, "I drive to work these days", &[]),
            (English, "I work in Leeds now", &["job"]),
            (English, "i'm seeing someone now", &["relationship"]),
            (English, "I'm seeing Jonas now", &["relationship"]),
            (English, "i drive a corolla now", &["car"]),
            (English, "I run every single day now", &[]),
            (Italian, "adesso sono single", &["relationship"]),
        ] {
            assert_eq!(changed_aspects(text, language), expected, "{text}");
        }
    }

    #[test]
    fn a_past_event_is_not_about_what_it_mentions() {
        let statements = extract_as(Language::English, "had dinner with my boss yesterday");
        let aspects = &statements.first().unwrap().aspects;
        assert!(aspects.is_empty(), "{aspects:?}");
    }

    #[test]
    fn changes_in_the_lives_of_others_are_not_the_speakers() {
        use Language::{English, French, German, Russian};
        for (language, text, expected) in [
            (English, "my sister got married last week", &[][..]),
            (English, "my brother broke up with ana", &[]),
            (English, "my parents are getting divorced", &[]),
            (English, "my parents moved back to poland", &[]),
            (English, "our neighbours moved away", &[]),
            (English, "my husband's new job starts in may", &[]),
            (English, "my daughter's first day at nursery", &[]),
            (English, "my team lead got promoted to director", &[]),
            (English, "anna got fired so i'm covering her shifts", &[]),
            (English, "i heard my sister got fired", &[]),
            (Russian, "сестра переехала в казань", &[]),
            (German, "meine eltern sind umgezogen", &[]),
            (German, "mein kollege wurde entlassen", &[]),
            (French, "mon frère a un nouveau travail", &[]),
            (English, "i got fired", &["job"]),
            (English, "yesterday got fired", &["job"]),
            (English, "my husband dumped me", &["relationship"]),
            (English, "my wife and i got divorced", &["relationship"]),
            (
                English,
                "me and my sister moved back to poland",
                &["residence"],
            ),
            (English, "my girlfriend broke up with me", &["relationship"]),
            (English, "my boyfriend and i split up", &["relationship"]),
            (
                English,
                "so nervous about the new job but i want it",
                &["job"],
            ),
            (German, "ich wurde entlassen", &["job"]),
            (Russian, "я переехала в казань", &["residence"]),
        ] {
            assert_eq!(changed_aspects(text, language), expected, "{text}");
        }
    }
}
