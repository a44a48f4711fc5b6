//! Remarks that cannot be understood without the one before them: `been doing it since August`.

use domain::{MemoryKind, Statement};
use text::Language;

use super::reading::ReadRemark;
use super::remarks::count_units;
use super::words::{LowerText, chat_words_of, is_unspaced, words_of};

/// The fewest words of a remark that can be understood alone without a word for the speaker. Two
/// characters of a script without spaces count as a word.
const MIN_UNITS_ALONE: usize = 4;
/// The longest statement to which a remark is added, with the remark, in bytes.
const MAX_CONTINUED_BYTES: usize = 280;

/// The most words of a remark that only gives a new day, time or number.
const MAX_BARE_CHANGE_WORDS: usize = 8;

/// Checks whether a remark needs another to be understood: the one before it in its sentence, or in
/// its message.
pub(crate) fn needs_previous(
    remark: &ReadRemark,
    language: Language,
    is_same_sentence: bool,
) -> bool {
    let words = chat_words_of(language);
    let lower = &remark.lower;
    let is_short =
        count_units(&lower.text) < MIN_UNITS_ALONE && !words.first_person.occur_in(lower);
    is_same_sentence && is_short
        || words.dependent_openings.opening_len(&lower.text).is_some()
        || words.dependent_words.occur_in(lower)
}

/// Adds a statement to the one before it. Returns the statement if they cannot be one: it has a
/// topic, instructs or ends something, both have a day, or both together are too long. What follows
/// a change of an aspect is mostly the new answer: `we moved. its leeds now`.
pub(crate) fn continue_statement(
    previous: &mut Statement,
    next: Statement,
    remark: &ReadRemark,
) -> Option<Statement> {
    let is_instruction = |statement: &Statement| statement.kind == MemoryKind::Instruction;
    let is_separate = next.topic.is_some()
        || next.retraction.is_some()
        || previous
            .retraction
            .as_ref()
            .is_some_and(|earlier| earlier.aspects.is_empty())
        || previous.event.is_some() && next.event.is_some()
        || is_instruction(&next)
        || is_instruction(previous);
    if is_separate || previous.text.len() + next.text.len() > MAX_CONTINUED_BYTES {
        return Some(next);
    }

    let added = without_speaker(&next, remark);
    let kept = previous.text.trim_end_matches(['.', '。', '।', ' ']);
    let mark = if kept.ends_with(is_unspaced) {
        "。"
    } else {
        "; "
    };
    previous.text = format!("{kept}{mark}{added}");
    previous.end = next.end;
    previous.event = previous.event.or(next.event);
    for aspect in next.aspects {
        if !previous.aspects.contains(&aspect) {
            previous.aspects.push(aspect);
        }
    }
    None
}

/// Adds a statement that only gives a new day, time or number to the one of an earlier message:
/// `14th instead`. Returns the statement if it says more, or if the earlier one has no day.
pub(crate) fn add_bare_change(
    previous: Option<&mut Statement>,
    change: Statement,
    language: Language,
) -> Option<Statement> {
    let has_day = |statement: &&mut Statement| {
        statement.event.is_some()
            && statement.speaker == change.speaker
            && statement.trust == change.trust
            && statement.kind != MemoryKind::Instruction
    };
    let Some(previous) = previous.filter(has_day) else {
        return Some(change);
    };
    let speaker = change.speaker.as_deref().unwrap_or("User");
    let said = change.text.strip_prefix(speaker).unwrap_or(&change.text);
    let said = said.trim_start_matches([':', ' ']);
    let is_too_long = previous.text.len() + said.len() > MAX_CONTINUED_BYTES;
    if is_too_long || !is_bare_change(said, language) {
        return Some(change);
    }

    let kept = previous.text.trim_end_matches('.');
    previous.text = format!("{kept}; {said}");
    previous.end = change.end;
    previous.event = change.event.or(previous.event);
    None
}

/// Checks whether a text has a number or a name of a day or month, a word of change, and nothing
/// else that names something.
fn is_bare_change(text: &str, language: Language) -> bool {
    let words = chat_words_of(language);
    let lower = LowerText::new(text);
    let is_value = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            || words.calendar.weekdays.contains_key(word)
            || words.calendar.months.contains_key(word)
    };
    let is_change = |word: &str| {
        words.changes.contain_word(word) || words.aspect_change_words.contain_word(word)
    };
    let is_empty = |word: &str| words.stop_words.contains_key(word);
    let is_known = |word: &str| is_value(word) || is_change(word) || is_empty(word);

    lower.words.len() <= MAX_BARE_CHANGE_WORDS
        && words_of(&lower.text).any(is_value)
        && words_of(&lower.text).any(|word| is_change(word) && !is_empty(word))
        && words_of(&lower.text).all(is_known)
}

/// Returns the text of a statement as it continues a sentence: without `User: ` before it, and with
/// the first letter as it was typed.
fn without_speaker(statement: &Statement, remark: &ReadRemark) -> String {
    let speaker = statement.speaker.as_deref().unwrap_or("User");
    let text = &statement.text;
    let unnamed = text.strip_prefix(speaker);
    if let Some(rest) = unnamed.and_then(|rest| rest.strip_prefix(": ")) {
        return rest.to_owned();
    }

    let is_lower = remark.text.starts_with(char::is_lowercase) && unnamed.is_none();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if is_lower => first.to_lowercase().chain(chars).collect(),
        _ => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use domain::{Timestamp, Trust};

    use crate::{Passage, Role, SourceText, extract_statements};

    /// Returns the statements of a message that was written on a Tuesday.
    fn texts_of(message: &str) -> Vec<String> {
        let said_at = Timestamp::parse("day", "2026-10-06").unwrap();
        let passage = Passage::of_user(message, said_at);
        let source = SourceText {
            passages: vec![passage],
            trust: Trust::User,
        };
        let statements = extract_statements(&source);
        statements.into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn a_remark_that_needs_another_is_added_to_it() {
        for (message, expected) in [
            (
                "my parrot is an african grey called Pickle, had him since 2019",
                vec!["User's parrot is an african grey called Pickle; User had him since 2019."],
            ),
            (
                "boat fund just hit 9.5k 🥳 still need it to be safe",
                vec!["User: boat fund just hit 9.5k; User still needs it to be safe."],
            ),
            (
                "hab einen kleinen laden für knöpfe in fürth. dort steht auch mein klavier",
                vec!["Hab einen kleinen laden für knöpfe in fürth; dort steht auch mein klavier"],
            ),
        ] {
            assert_eq!(texts_of(message), expected, "{message}");
        }
    }

    #[test]
    fn a_new_day_is_added_to_what_an_earlier_message_told() {
        let message = |start_char, text| Passage {
            text,
            start_char,
            role: Role::User,
            speaker: None,
            origin: None,
            said_at: Timestamp::parse("day", "2026-10-06").unwrap(),
        };
        let texts_of = |later| {
            let source = SourceText {
                passages: vec![
                    message(0, "mri is on the 9th of november"),
                    message(30, later),
                ],
                trust: Trust::User,
            };
            let statements = extract_statements(&source);
            statements
                .into_iter()
                .map(|statement| statement.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts_of("14th instead"),
            ["Mri is on the 9th of November (2026-11-09); 14th instead."]
        );
        assert_eq!(texts_of("i have 2 dogs now").len(), 2);
    }

    #[test]
    fn rules_and_items_of_a_list_stay_alone() {
        let message = "stuff about me\n- narcolepsy, not allowed to drive\n- left handed";
        assert_eq!(
            texts_of(message),
            [
                "User: narcolepsy, not allowed to drive.",
                "User: left handed."
            ]
        );

        let message = "bullet points only pls, always. i'm allergic to nuts";
        assert_eq!(texts_of(message).len(), 2);
    }
}
