//! Statements that say several things at once: `User has two brothers, Max and Leo, and a sister.`
//!
//! If one of the things is over, the others still hold. Such a statement stays as it is: a stale line
//! beside a newer ending does less harm than the loss of the others.

use crate::words::split_words;

/// Words that join the members of a list, or two clauses.
const JOINS: [&str; 12] = [
    "&", "and", "but", "e", "en", "et", "och", "plus", "und", "y", "и", "а",
];
/// Verbs by which a part is a clause of its own, besides the past forms in `-ed`.
const VERBS: [&str; 17] = [
    "am", "are", "bought", "drives", "eats", "got", "had", "has", "have", "is", "likes", "lives",
    "owns", "was", "were", "went", "works",
];
/// Words that continue a clause: `User has a cat, she is 4`.
const CONTINUATIONS: [&str; 10] = [
    "because", "he", "it", "its", "she", "so", "that", "they", "which", "who",
];
/// The fewest bytes of a past form in `-ed`.
const MIN_PAST_BYTES: usize = 5;

/// A part of a statement in lower case.
#[derive(Default)]
struct Part {
    text: String,
    words: Vec<String>,
    /// True if a word such as `and` joins it to the one before.
    is_joined: bool,
}

impl Part {
    fn has_verb(&self) -> bool {
        self.words.iter().any(|word| is_verb(word))
    }

    fn begins_with_verb(&self) -> bool {
        self.words.first().is_some_and(|word| is_verb(word))
    }

    /// Checks whether the speaker is its subject: `User has a cat`, but not `User's cat is old`.
    fn is_of_speaker(&self) -> bool {
        self.text.starts_with("user ")
    }

    /// Returns the words before its verb.
    fn subject(&self) -> Option<String> {
        let verb = self.words.iter().position(|word| is_verb(word))?;
        (!self.is_of_speaker()).then(|| self.words[..verb].join(" "))
    }
}

/// Checks whether a statement says something that still holds when the things are over that `is_named`
/// finds in the parts of its text. The text is in lower case.
pub(super) fn outlasts_words(text: &str, is_named: impl Fn(&str) -> bool) -> bool {
    let parts = parts_of(text);
    let named: Vec<bool> = parts.iter().map(|part| is_named(&part.text)).collect();
    if parts.len() < 2 || !named.contains(&true) {
        return false;
    }

    let subject = parts[0].subject();
    let is_subject = subject.is_some_and(|subject| is_named(&subject));
    let is_list = parts.iter().any(|part| part.is_joined);
    // "User has a cat called Miso; User's cat is 4" is about Miso as well.
    let is_about_named = |part: &Part| {
        let subject = part.subject().unwrap_or_default();
        let noun = split_words(&subject).pop();
        let mut named_parts = parts.iter().zip(&named).filter(|(_, is_named)| **is_named);
        noun.is_some_and(|noun| named_parts.any(|(part, _)| part.words.contains(&noun)))
    };
    let mut others = parts.iter().enumerate().filter(|(at, _)| !named[*at]);
    others.any(|(at, part)| {
        if is_subject {
            // "Miso is old and has one eye" is about Miso.
            part.has_verb() && !part.begins_with_verb()
        } else if at == 0 && part.is_of_speaker() {
            // "User has a cat" introduces "Miso".
            parts[1].is_joined
        } else {
            part.has_verb() && !is_about_named(part) || is_list
        }
    })
}

/// Checks whether a statement has several clauses, of which a change of one aspect of a life changes
/// only one. The text is in lower case.
pub(super) fn has_clauses(text: &str) -> bool {
    let parts = parts_of(text);
    let clauses = parts
        .iter()
        .filter(|part| part.is_of_speaker() || part.has_verb());
    clauses.count() > 1
}

/// Returns the parts of a text in lower case, which marks and words such as `and` divide. A part that
/// continues the one before it belongs to that one.
fn parts_of(text: &str) -> Vec<Part> {
    // The plural speaker is one, and a short "is" a verb.
    let text = text.replace("user and others", "user");
    let text = text.replace("'s a ", " is a ").replace("'s an ", " is an ");
    let mut parts: Vec<Part> = vec![Part::default()];
    let mut is_divided = false;
    let mut is_joined = false;
    for token in text.split_whitespace() {
        if JOINS.contains(&token) {
            (is_divided, is_joined) = (true, true);
            continue;
        }

        let continues = CONTINUATIONS.contains(&token.split('\'').next().unwrap_or_default());
        if is_divided && !continues && !parts[parts.len() - 1].text.is_empty() {
            parts.push(Part {
                is_joined,
                ..Part::default()
            });
        }
        if let Some(part) = parts.last_mut() {
            part.text.push_str(token);
            part.text.push(' ');
        }
        is_divided = token.ends_with([',', ';', ':', '.', '!']);
        is_joined = false;
    }

    for part in &mut parts {
        part.words = split_words(&part.text);
    }
    parts
}

fn is_verb(word: &str) -> bool {
    let is_past = word.ends_with("ed") && word.len() >= MIN_PAST_BYTES;
    is_past || VERBS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_members_and_clauses_outlast_what_is_over() {
        let outlasts = |text: &str, ended: &str| outlasts_words(text, |part| part.contains(ended));
        for (text, ended) in [
            ("user and others have 3 cats: miso, tofu and nori.", "nori"),
            ("user drives a corolla and rides a ducati.", "ducati"),
            ("max and leo are user's brothers.", "max"),
            ("user's laptop is an m1, phone's a pixel.", "laptop"),
        ] {
            assert!(outlasts(text, ended), "{text}");
        }
        for (text, ended) in [
            ("user and others have a cat: miso.", "miso"),
            ("user's ducati is red and has two seats.", "ducati"),
            ("user has a cat, miso, she's 4.", "miso"),
            ("user works at lidl, nights.", "lidl"),
        ] {
            assert!(!outlasts(text, ended), "{text}");
        }
    }

    #[test]
    fn a_clause_has_a_verb() {
        assert!(has_clauses("diagnosed with asthma, started an inhaler"));
        assert!(has_clauses("user's number is 12, email is a@b.c."));
        assert!(!has_clauses("user works at lidl, nights."));
        assert!(!has_clauses("user's flat is small, it's cold."));
    }
}
