//! Words of a message that are not the person's own although nothing quotes them: a draft of a
//! novel, lyrics, the introductions of several people.

use std::ops::Range;

use text::Language;

use crate::english::{announces_message, announces_text, asks_to_edit};

use super::words::{ChatWords, LowerText, chat_words_of, first_word, word_ranges};

/// The longest clause before a colon that announces a made-up text, in bytes.
const MAX_ANNOUNCEMENT_BYTES: usize = 120;
/// The fewest lines in which people introduce themselves that cannot all be one person's.
const MIN_INTRODUCTIONS: usize = 2;

/// Returns the byte ranges of a message in which somebody else speaks.
pub(crate) fn find_words_of_others(text: &str, language: Language) -> Vec<Range<usize>> {
    let words = chat_words_of(language);
    let mut ranges: Vec<Range<usize>> = find_announced(text, words, language).into_iter().collect();
    if language == Language::English {
        ranges.extend(find_text_below_task(text));
    }
    ranges.extend(find_introductions(text, words));
    ranges
}

/// Returns the range of the words of others after a colon, to the end of the paragraph: `for my novel: i
/// was born on a ship`, `my friend texted me: i'm late`.
fn find_announced(text: &str, words: &ChatWords, language: Language) -> Option<Range<usize>> {
    let is_english = language == Language::English;
    let colons = text.match_indices([':', '：']);
    let mut announcements = colons.filter_map(|(at, mark)| {
        let from = at + mark.len();
        let is_announcing = mark != ":" || text[from..].starts_with([' ', '\n']);
        let clause = clause_before(text, at).filter(|_| is_announcing)?;
        let lower = LowerText::new(clause);
        let is_made_up =
            words.fiction_words.occur_in(&lower) || is_english && announces_text(clause);
        let is_message =
            words.message_words.occur_in(&lower) || is_english && announces_message(clause);
        (is_made_up || is_message).then_some((from, is_made_up))
    });

    let (from, is_made_up) = announcements.next()?;
    let range = from..end_of_paragraph(text, from);
    // A message may tell news about its sender: "my landlord texted me: rent is 1400".
    let is_of_other = is_made_up
        || words
            .first_person
            .occur_in(&LowerText::new(&text[range.clone()]));
    is_of_other.then_some(range)
}

/// Returns the end of the first paragraph after a position.
fn end_of_paragraph(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let lead = rest.len() - rest.trim_start().len();
    rest[lead..]
        .find("\n\n")
        .map_or(text.len(), |blank| from + lead + blank)
}

/// Returns the range of the text below a first line that asks to work on it.
fn find_text_below_task(text: &str) -> Option<Range<usize>> {
    let (line, _) = text.split_once('\n')?;
    asks_to_edit(line).then(|| line.len()..end_of_paragraph(text, line.len()))
}

/// Returns the clause before a colon, unless it is too long to announce a text. Only as much of the text
/// is searched, because a text may have a colon at every character.
fn clause_before(text: &str, colon: usize) -> Option<&str> {
    let first = text.floor_char_boundary(colon.saturating_sub(MAX_ANNOUNCEMENT_BYTES + 1));
    let near = &text[first..colon];
    let clause = match near.rfind(['.', '!', '?', '\n', '。']) {
        Some(end) => near.get(end + 1..)?,
        None if first == 0 => near,
        None => return None,
    };
    (clause.len() <= MAX_ANNOUNCEMENT_BYTES).then_some(clause)
}

/// Returns the ranges of the lines in which several people introduce themselves: `im Omar and i run
/// the depot`, and in the next line `im Keisha, night supervisor`. Another line asks for something
/// to be done with them and names nobody.
fn find_introductions(text: &str, words: &ChatWords) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut names = Vec::new();
    let mut is_for_work = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(name) = introduced_name(line, words) {
            lines.push(start..start + line.len());
            names.push(name);
        } else {
            let lower = LowerText::new(line.trim());
            is_for_work |= words.request_openings.opening_len(&lower.text).is_some()
                && !words.first_person.occur_in(&lower);
        }
        start += line.len();
    }

    names.sort_unstable();
    names.dedup();
    if names.len() < MIN_INTRODUCTIONS || !is_for_work {
        lines.clear();
    }
    lines
}

/// Returns the name in lower case with which a line introduces its speaker: one word after `i'm`,
/// before a comma or a conjunction.
fn introduced_name(line: &str, words: &ChatWords) -> Option<String> {
    let lower = line.trim_start().to_lowercase();
    let len = words.introductions.opening_len(&lower)?;
    let rest = lower[len..].trim_start();
    let name = first_word(rest);
    let after = &rest[name.len()..];
    let is_followed = after.starts_with(',')
        || words
            .clause_conjunctions
            .opening_len(after.trim_start())
            .is_some();
    let is_name = !name.is_empty() && !words.stop_words.contains_key(name) && !name.ends_with("ed");
    let has_more = word_ranges(after).count() > 1;
    (is_followed && is_name && has_more).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_colons_is_read_once() {
        let text = "for my novel:".to_owned() + &": ".repeat(50_000);
        let found = find_words_of_others(&text, Language::English);
        assert_eq!(found.first(), Some(&(14..text.len())));
        for announcement in ["a ", "a : ", "bob's message: "] {
            let text = announcement.repeat(20_000) + &":".repeat(20_000);
            assert!(find_words_of_others(&text, Language::English).is_empty());
        }
    }

    #[test]
    fn drafts_and_introductions_are_not_the_persons_own() {
        for (text, expected) in [
            (
                "for my novel: i was born on a ship",
                vec![" i was born on a ship"],
            ),
            ("my novel is done. next: i want a dog", vec![]),
            (
                "my friend's message: i'm stuck in Leeds",
                vec![" i'm stuck in Leeds"],
            ),
            ("mum texted me at 7:30, i missed it", vec![]),
            ("my landlord texted me: rent is 1400 from june", vec![]),
            ("my wife's email: anna@example.com", vec![]),
            (
                "can you check this recipe for me?\nI'm allergic to nuts",
                vec![],
            ),
            ("check this out\nwe just bought a house", vec![]),
            (
                "check my email please\nI'm writing to you",
                vec!["\nI'm writing to you"],
            ),
            (
                "im omar and i run the depot\nim keisha, night shift lead\n\nmake these formal",
                vec![
                    "im omar and i run the depot\n",
                    "im keisha, night shift lead\n",
                ],
            ),
            ("im omar, i run the depot\nwe ship at 6", vec![]),
        ] {
            let found = find_words_of_others(text, Language::English);
            let found: Vec<_> = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
