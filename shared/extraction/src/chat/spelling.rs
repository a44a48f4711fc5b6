//! The usual spelling of words that people type in short forms: `im`, `u`, `w/`, `tmrw`.

use std::borrow::Cow;

use text::Language;
use text::calendar::CalendarNames;

use super::words::{ChatWords, chat_words_of, is_word_char};

/// Returns a text in the usual spelling of its language: `im` becomes `i'm`. Names of days and months
/// get capitals.
pub(crate) fn spell_out(text: &str, language: Language) -> Cow<'_, str> {
    let words = chat_words_of(language);
    if words.spellings.is_empty() {
        return Cow::Borrowed(text);
    }

    let tokens = split_tokens(text);
    let mut spelled = String::with_capacity(text.len() + 16);
    let mut is_changed = false;
    for (index, token) in tokens.iter().enumerate() {
        let context = TokenContext {
            previous: index
                .checked_sub(1)
                .map_or("", |at| tokens[at].word.as_str()),
            next: tokens.get(index + 1).map_or("", |next| next.word.as_str()),
            follows_mark: token.gap.contains([',', ':', '(', '+', '*']) || index == 0,
        };
        let replacement = usual_spelling(token, context, words)
            .or_else(|| calendar_name(token, context, language));

        spelled.push_str(token.gap);
        match replacement {
            Some(replacement) => {
                is_changed = true;
                spelled.push_str(&replacement);
            }
            None => spelled.push_str(token.raw),
        }
    }

    if !is_changed {
        return Cow::Borrowed(text);
    }
    let end = tokens.last().map_or(0, |token| token.end);
    spelled.push_str(&text[end..]);
    Cow::Owned(spelled)
}

/// A word as it is typed.
struct Token<'a> {
    /// The text between the word before it and this one.
    gap: &'a str,
    raw: &'a str,
    /// The word in lower case.
    word: String,
    /// The index after its last byte.
    end: usize,
}

/// The words around a token.
#[derive(Debug, Clone, Copy)]
struct TokenContext<'t> {
    previous: &'t str,
    next: &'t str,
    /// True at the beginning and after a mark.
    follows_mark: bool,
}

fn split_tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut end = 0;
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match start {
            None if is_word_char(c) => start = Some(at),
            Some(from) if !is_word_char(c) => {
                tokens.push(Token {
                    gap: &text[end..from],
                    raw: &text[from..at],
                    word: text[from..at].to_lowercase(),
                    end: at,
                });
                end = at;
                start = None;
            }
            _ => {}
        }
    }

    tokens
}

/// Returns the usual spelling of a token, if it differs and the words around it allow no other
/// meaning.
fn usual_spelling(
    token: &Token<'_>,
    context: TokenContext<'_>,
    words: &ChatWords,
) -> Option<String> {
    if token.word == "its" {
        return is_contracted_its(context).then(|| "it's".to_owned());
    }
    if let Some(possessive) = possessive_of_relative(token, context) {
        return Some(possessive);
    }

    let spelling = *words.spellings.get(token.word.as_str())?;
    // A capital letter by itself is a name or a grade: vitamin B, the language R.
    let is_letter = token.word.chars().count() == 1 && token.word != "i";
    if is_letter && token.raw != token.word || token.raw == spelling {
        return None;
    }
    if spelling == "are" && (context.previous.is_empty() || context.next.is_empty()) {
        return None;
    }

    Some(spelling.to_owned())
}

/// Checks whether `its` stands for `it's`: at the beginning of a clause.
fn is_contracted_its(context: TokenContext<'_>) -> bool {
    let begins_clause = context.follows_mark
        || matches!(
            context.previous,
            "and"
                | "but"
                | "so"
                | "because"
                | "bc"
                | "cos"
                | "cuz"
                | "now"
                | "think"
                | "yeah"
                | "no"
                | "ok"
                | "oh"
                | "well"
                | "when"
                | "if"
                | "that"
        );
    begins_clause && !context.next.is_empty()
}

/// Returns `wife's` for `wifes` before a noun: `my wifes 40th`.
fn possessive_of_relative(token: &Token<'_>, context: TokenContext<'_>) -> Option<String> {
    let bare = token.word.strip_suffix('s')?;
    let is_relative = matches!(
        bare,
        "wife"
            | "husband"
            | "mum"
            | "mom"
            | "dad"
            | "niece"
            | "nephew"
            | "cousin"
            | "girlfriend"
            | "boyfriend"
            | "partner"
            | "grandma"
            | "grandpa"
            | "boss"
            | "landlord"
            | "neighbour"
    );
    let is_owned = matches!(context.previous, "my" | "our" | "his" | "her");
    let has_noun = !matches!(
        context.next,
        "" | "and" | "are" | "were" | "is" | "in" | "at" | "on" | "who" | "have" | "live"
    );
    (is_relative && is_owned && has_noun).then(|| format!("{bare}'s"))
}

/// Returns the full name of a day or month with its capital, if the words around the token allow no
/// other meaning.
fn calendar_name(
    token: &Token<'_>,
    context: TokenContext<'_>,
    language: Language,
) -> Option<String> {
    if language != Language::English || token.raw != token.word || token.word.len() < 3 {
        return None;
    }

    let names = english_names();
    let (full_name, is_day) = names
        .weekdays
        .iter()
        .map(|words| (words, true))
        .chain(names.months.iter().map(|words| (words, false)))
        .find_map(|(words, is_day)| {
            words
                .contains(&token.word.as_str())
                .then_some((*words.first()?, is_day))
        })
        .or_else(|| Some((abbreviated_weekday(&token.word)?, true)))?;

    let is_full = token.word.starts_with(full_name);
    let is_ambiguous = matches!(token.word.as_str(), "may" | "march") || !is_full;
    if is_ambiguous && !names_time(token, context, is_day) {
        return None;
    }

    let name = if is_full {
        token.word.as_str()
    } else {
        full_name
    };
    let (first, rest) = name.split_at(1);
    Some(format!("{}{rest}", first.to_uppercase()))
}

/// Returns the weekday of a short form that is also another word.
fn abbreviated_weekday(word: &str) -> Option<&'static str> {
    match word {
        "sat" => Some("saturday"),
        "sun" => Some("sunday"),
        "weds" => Some("wednesday"),
        "thur" => Some("thursday"),
        _ => None,
    }
}

/// Checks whether the words around a short or ambiguous name make it a time: `on sat`, `3 feb`,
/// `tues 4pm`.
fn names_time(token: &Token<'_>, context: TokenContext<'_>, is_day: bool) -> bool {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let is_unmistakable = matches!(token.word.as_str(), "tues" | "thurs" | "weds" | "sept");
    let after_preposition = matches!(
        context.previous,
        "on" | "next"
            | "last"
            | "this"
            | "every"
            | "until"
            | "til"
            | "by"
            | "from"
            | "since"
            | "each"
            | "before"
            | "after"
    );
    let in_month = !is_day && matches!(context.previous, "in" | "of" | "early" | "late" | "mid");
    let beside_number = is_number(context.next) || !is_day && is_number(context.previous);
    let beside_part = is_day
        && matches!(
            context.next,
            "morning" | "mornings" | "evening" | "evenings" | "night" | "pm"
        );
    is_unmistakable
        || after_preposition && (is_day || token.word != "may" || is_number(context.next))
        || in_month
        || beside_number
        || beside_part
        || is_day && context.follows_mark && context.previous.is_empty()
}

/// Returns the names of the English calendar.
fn english_names() -> &'static CalendarNames {
    static NAMES: std::sync::LazyLock<CalendarNames> =
        std::sync::LazyLock::new(|| CalendarNames::of(Language::English).unwrap_or_default());
    &NAMES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_get_their_usual_spelling() {
        for (typed, expected) in [
            (
                "im allergic to sesame w/ my gf",
                "i'm allergic to sesame with my girlfriend",
            ),
            ("its my wifes 40th", "it's my wife's 40th"),
            ("the dog wags its tail", "the dog wags its tail"),
            ("dentist next monday tmrw", "dentist next Monday tomorrow"),
            (
                "born 3 feb 1991, due 1st of may",
                "born 3 February 1991, due 1st of May",
            ),
            ("i may go", "i may go"),
            ("tues: vet", "Tuesday: vet"),
            ("I live in Bonn.", "I live in Bonn."),
            ("we use R and vitamin B", "we use R and vitamin B"),
        ] {
            assert_eq!(spell_out(typed, Language::English), expected);
        }
    }
}
