//! Aspects of a person's life, of which each has one answer at a time: the job, the residence, the
//! diet.
//!
//! A remark about an aspect has words for it: `i work in`, `my flat`. A later remark may change the
//! answer without any word of the old one: `quit today`, `back on android`, `we moved, its leeds
//! now`. What was said about the aspect before no longer holds then.

use domain::memory::OF_ANOTHER;
use domain::{Retraction, RetractionEffect, Statement};
use text::Language;

use super::reading::ReadRemark;
use super::words::{ChatWords, LowerText, chat_words_of, words_of};
use crate::all_languages::all_languages;
use crate::english::is_relative;
use crate::english::lexicon::is_adverb;

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
    let is_about_other = is_about_other(&remark.lower.text, words);
    let mut aspects: Vec<String> = Vec::new();
    for aspect in find_aspects(&remark.lower) {
        if is_about_other && aspect != RELATIONSHIP {
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

/// Returns the aspects that a remark is about.
fn find_aspects(lower: &LowerText) -> Vec<&'static str> {
    let mut aspects = find_answered_aspects(lower);
    aspects.extend(all_languages().aspect_mentions.keys_in(lower));
    aspects.extend(words_of(&lower.text).filter_map(aspect_of_name));
    aspects.sort_unstable();
    aspects.dedup();
    aspects
}

/// Returns the aspects to which a remark gives an answer: `i work at the bank`, `back on android`.
/// `my boss` and `my iphone` only mention one.
fn find_answered_aspects(lower: &LowerText) -> Vec<&'static str> {
    let lists = all_languages();
    let mut aspects = lists.aspects.keys_in(lower);
    let has_number = lower.text.contains(|c: char| c.is_ascii_digit());
    let mut previous = "";
    for word in words_of(&lower.text) {
        let is_mention = lists.own_text_words.has(previous);
        let answered =
            aspect_of_name(word).filter(|aspect| NAMED_ASPECTS.contains(aspect) || has_number);
        aspects.extend(answered.filter(|_| !is_mention));
        previous = word;
    }
    aspects
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
    let mut changed = all_languages().aspect_changes.keys_in(lower);
    changed.extend(find_named_changes(lower));
    if language == Language::English && !words.first_person.occur_in(lower) {
        // "Idris started at a new school" is about Idris, and "started at a new school" is not.
        let opening = opening_changes(lower);
        changed.retain(|aspect| !ASPECTS_WITH_SUBJECT.contains(aspect) || opening.contains(aspect));
    }
    changed.extend(whole_change(&lower.text, words));
    let has_change = words.changes.occur_in(lower) || words.aspect_change_words.occur_in(lower);
    if has_change {
        changed.extend(find_answered_aspects(lower));
    }
    // A remark about the partner is about the relationship.
    if is_about_other(&lower.text, words) {
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

/// Returns the aspects that change by a phrase of many meanings, and that the remark names:
/// `joined a bank`, not `joined a choir`.
fn find_named_changes(lower: &LowerText) -> Vec<&'static str> {
    let lists = all_languages();
    let mut changed = lists.named_aspect_changes.keys_in(lower);
    if changed.is_empty() {
        return changed;
    }

    // A mention is not enough: "I joined a gym near my work".
    let mut named = lists.aspects.keys_in(lower);
    named.extend(lists.aspect_context.keys_in(lower));
    named.extend(words_of(&lower.text).filter_map(aspect_of_name));
    changed.retain(|aspect| named.contains(aspect));
    changed
}

/// Returns the aspects of the phrases of change at the first or second word of a remark.
fn opening_changes(lower: &LowerText) -> Vec<&'static str> {
    let lists = all_languages();
    let mut found = Vec::new();
    for start in lower.words.iter().take(2).map(|word| word.start) {
        let before = &lower.text[..start];
        let is_subject = !before.is_empty() && !is_adverb(before.trim_end());
        if is_subject {
            continue;
        }

        for changes in [&lists.aspect_changes, &lists.named_aspect_changes] {
            let aspects = changes.opening_keys(&lower.text[start..]);
            found.extend(aspects.into_iter().flat_map(|(aspects, _)| aspects));
        }
    }

    found
}

/// Checks whether a remark says that an aspect of somebody else's life is different now: `Theo's in
/// year 5 now`.
pub(super) fn changes_aspect_of_other(lower: &LowerText, words: &ChatWords) -> bool {
    let is_of_anybody = |aspect: &&str| ASPECTS_OF_OTHERS.contains(aspect);
    words.aspect_change_words.occur_in(lower)
        && find_aspects(lower).iter().any(is_of_anybody)
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

    let says_more = |word: &str| {
        !words.beside_ending.is(word)
            && !words.stop_words.contains_key(word)
            && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    if words_of(&clause[len..]).any(says_more) {
        Vec::new()
    } else {
        aspects.to_vec()
    }
}

/// Checks whether a remark begins with somebody other than the speaker.
fn is_about_other(lower: &str, words: &ChatWords) -> bool {
    let mut first_words = words_of(lower);
    let is_owned = matches!(first_words.next(), Some("my" | "our" | "the"));
    let is_relative = first_words.take(2).any(is_relative);
    is_owned && is_relative || words.other_persons.opening_len(lower).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(
                find_named_changes(&LowerText::new(text)),
                expected,
                "{text}"
            );
        }
    }
}
