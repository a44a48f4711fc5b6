//! The person or animal to which a pronoun of a message refers.

use std::ops::Range;

use super::words::{first_word, is_word_char, word_ranges};
use crate::english::is_relative;

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
            woman: None,
            man: None,
        }
    }

    /// Returns the person to whom the pronoun at the beginning of a text refers.
    pub(super) fn person(&self, text: &str) -> Option<&str> {
        let found = match first_word(&text.to_lowercase()) {
            "she" | "she's" | "her" | "she'll" => self.woman.as_ref().or(self.last.as_ref()),
            "he" | "he's" | "his" | "he'll" => self.man.as_ref().or(self.last.as_ref()),
            _ => self.last.as_ref(),
        };
        found.map(String::as_str)
    }

    /// Keeps the relatives and animals that a remark names.
    pub(super) fn notice(&mut self, text: &str) {
        let lower = text.to_lowercase();
        if lower.len() != text.len() {
            return;
        }

        let ranges: Vec<Range<usize>> = word_ranges(&lower).collect();
        for (index, range) in ranges.iter().enumerate() {
            if !OWNERS.contains(&&lower[range.clone()]) {
                continue;
            }
            let nouns = ranges.iter().skip(index + 1).take(MAX_ADJECTIVES + 1);
            for range in nouns {
                let noun = lower[range.clone()].trim_end_matches("'s");
                if is_relative(noun) {
                    self.keep(noun, &text[range.start + noun.len()..]);
                    break;
                }
            }
        }
    }

    fn keep(&mut self, noun: &str, following: &str) {
        let mut called = format!("{}'s {noun}", self.speaker);
        if let Some(name) = name_after(following) {
            called.push(' ');
            called.push_str(name);
        }

        match noun {
            "wife" | "girlfriend" | "mother" | "mum" | "mom" | "sister" | "daughter" | "aunt"
            | "niece" | "grandmother" | "grandma" | "fiancée" | "girl" => {
                self.woman = Some(called.clone());
            }
            "husband" | "boyfriend" | "father" | "dad" | "brother" | "son" | "uncle" | "nephew"
            | "grandfather" | "grandpa" | "fiancé" | "boy" => self.man = Some(called.clone()),
            _ => {}
        }
        self.last = Some(called);
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
}
