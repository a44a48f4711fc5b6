//! The person or animal to which a pronoun of a message refers.

use std::ops::Range;

use super::words::{first_word, is_word_char, lower_in_place, word_ranges};
use crate::english::{Gender, gender_in, gender_of_person, gender_of_pronoun, is_relative};

/// The words before a relative or an animal: `my`, `the`.
const OWNERS: [&str; 4] = ["my", "our", "the", "a"];
/// The most words between such a word and the noun: `my little sister`.
const MAX_ADJECTIVES: usize = 2;

/// The persons and animals that a message has named, by the pronouns that may stand for them.
#[derive(Debug)]
pub(super) struct Referents {
    speaker: String,
    /// The one that was named last, as statements call it: `User's son Idris`.
    last: Option<String>,
    /// The gender of the last one, if its word tells it.
    gender_of_last: Option<Gender>,
    /// The last woman or girl.
    woman: Option<String>,
    /// The last man or boy.
    man: Option<String>,
}

impl Referents {
    pub(super) fn new(speaker: &str) -> Self {
        Self {
            speaker: speaker.to_owned(),
            last: None,
            gender_of_last: None,
            woman: None,
            man: None,
        }
    }

    /// Returns the person to whom the pronoun at the beginning of a text refers.
    pub(super) fn person(&self, text: &str) -> Option<&str> {
        let pronoun = gender_of_pronoun(first_word(&text.to_lowercase()));
        // The gender of a friend or a cat is not known.
        let last = self
            .last
            .as_ref()
            .filter(|_| pronoun.is_none() || self.gender_of_last.is_none());
        let found = match pronoun {
            Some(Gender::Female) => self.woman.as_ref().or(last),
            Some(Gender::Male) => self.man.as_ref().or(last),
            None => last,
        };
        found.map(String::as_str)
    }

    /// Keeps the relatives and animals that a remark names.
    pub(super) fn notice(&mut self, text: &str) {
        let lower = lower_in_place(text);
        let ranges: Vec<Range<usize>> = word_ranges(&lower).collect();
        let mut previous = None;
        for (index, range) in ranges.iter().enumerate() {
            let word = &lower[range.clone()];
            if !OWNERS.contains(&word) {
                continue;
            }
            let before: Vec<&str> = ranges[..index]
                .iter()
                .map(|range| &lower[range.clone()])
                .collect();
            let owner = match (word, find_owner(&before)) {
                ("a", Owner::Subject) => previous.clone(),
                ("a", Owner::Nobody) => None,
                _ => Some(self.speaker.clone()),
            };
            let nouns = ranges.iter().skip(index + 1).take(MAX_ADJECTIVES + 1);
            for range in nouns {
                let noun = lower[range.clone()].trim_end_matches("'s");
                if is_relative(noun) {
                    let following = &text[range.start + noun.len()..];
                    previous = owner.map(|owner| self.keep(&owner, noun, following));
                    break;
                }
            }
        }
    }

    /// Keeps a relative or an animal of somebody, and returns how statements call it.
    fn keep(&mut self, owner: &str, noun: &str, following: &str) -> String {
        let mut called = format!("{owner}'s {noun}");
        if let Some(name) = name_after(following) {
            called.push(' ');
            called.push_str(name);
        }

        self.gender_of_last = gender_of_person(noun).or_else(|| {
            let lower = following.to_lowercase();
            gender_in(word_ranges(&lower).map(|range| &lower[range]))
        });
        match self.gender_of_last {
            Some(Gender::Female) => self.woman = Some(called.clone()),
            Some(Gender::Male) => self.man = Some(called.clone()),
            None => {}
        }
        self.last = Some(called.clone());
        called
    }
}

/// The one to whom a person after `a` belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The speaker: `I have a sister`.
    Speaker,
    /// The person who was named before: `my sister has a boyfriend`.
    Subject,
    /// Nobody who is known: `my sister married a doctor`, `Nadia has a brother`.
    Nobody,
}

/// Returns the owner of a person, by the words before `a`.
fn find_owner(before: &[&str]) -> Owner {
    const SPEAKER: [&str; 8] = ["i", "i'm", "i've", "i'd", "we", "we're", "we've", "we'd"];
    const OTHERS: [&str; 8] = [
        "dated", "dating", "had", "has", "is", "married", "met", "seeing",
    ];

    let is_own = before.iter().any(|word| SPEAKER.contains(word));
    let is_others = before.iter().any(|word| OTHERS.contains(word));
    let has_person = || before.iter().any(|word| is_relative(word));
    match before.last() {
        _ if is_own || !is_others => Owner::Speaker,
        Some(&("has" | "had")) if has_person() => Owner::Subject,
        Some(&"got") if before.contains(&"has") && has_person() => Owner::Subject,
        _ => Owner::Nobody,
    }
}

/// Returns the name that follows a noun: `Idris`, `(Biscotti)`.
fn name_after(following: &str) -> Option<&str> {
    let rest = following.trim_start_matches([' ', '(', ',']);
    let is_near = following.len() - rest.len() <= 2;
    let end = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches("'s");
    let is_name = name.starts_with(char::is_uppercase) && name.len() > 1 && !name.starts_with("I'");
    (is_near && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pronoun_refers_to_the_relative_named_last() {
        let mut referents = Referents::new("User");
        referents.notice("lunch ideas for my son Idris");
        referents.notice("the cat (Biscotti) had her stitches out");
        assert_eq!(referents.person("he's in year 6"), Some("User's son Idris"));
        assert_eq!(referents.person("she's fine"), Some("User's cat Biscotti"));
        assert_eq!(Referents::new("User").person("she's fine"), None);
    }

    #[test]
    fn a_pronoun_refers_to_nobody_of_another_gender() {
        for (named, pronoun, expected) in [
            (
                "my sister has a new boyfriend",
                "he's a chef",
                Some("User's sister's boyfriend"),
            ),
            (
                "my sister has a new boyfriend",
                "she's happy",
                Some("User's sister"),
            ),
            (
                "my brother has a son",
                "he is four",
                Some("User's brother's son"),
            ),
            ("my sister called", "he's a chef", None),
            ("my son called", "her train is late", None),
            ("my sister married a doctor", "he lives in Bonn", None),
            ("Nadia has a brother", "he's a chef", None),
            ("i have a sister", "she's a chef", Some("User's sister")),
            ("my friend called", "he's late", Some("User's friend")),
            ("my friend fed his cat", "she's called Luna", None),
        ] {
            let mut referents = Referents::new("User");
            referents.notice(named);
            assert_eq!(referents.person(pronoun), expected, "{named}: {pronoun}");
        }
    }
}
