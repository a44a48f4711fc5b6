//! The usual spelling of words that people type in short forms: `im`, `u`, `w/`, `tmrw`.

use std::borrow::Cow;
use std::sync::LazyLock;

use text::calendar::CalendarNames;
use text::{Language, WordTable};

use super::words::{ChatWords, chat_words_of, word_ranges};
use crate::english::lexicon::{VerbForm, is_adverb, parse_verb};

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
        let replacement = respell(&tokens, index, language, words);
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

/// Checks whether a text has a word as people type it in messages: `im`, `on monday`. A wrong `its` is
/// in texts of all kinds, and a single letter may be a name.
pub(super) fn has_typed_spelling(text: &str, language: Language) -> bool {
    let words = chat_words_of(language);
    let tokens = split_tokens(text);
    tokens.iter().enumerate().any(|(index, token)| {
        token.word != "its"
            && token.word.len() > 1
            && respell(&tokens, index, language, words).is_some()
    })
}

/// Returns the usual spelling of one of several tokens, if it differs.
fn respell(
    tokens: &[Token<'_>],
    index: usize,
    language: Language,
    words: &ChatWords,
) -> Option<String> {
    let word_at = |at: usize| tokens.get(at).map_or("", |token| token.word.as_str());
    let token = &tokens[index];
    let context = TokenContext {
        previous: index.checked_sub(1).map_or("", word_at),
        next: word_at(index + 1),
        after_next: word_at(index + 2),
        follows_mark: token.gap.contains([',', ':', '(', '+', '*']) || index == 0,
    };
    usual_spelling(token, context, words).or_else(|| calendar_name(token, context, language))
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
    after_next: &'t str,
    /// True at the beginning and after a mark.
    follows_mark: bool,
}

fn split_tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut end = 0;
    for range in word_ranges(text) {
        let raw = &text[range.clone()];
        tokens.push(Token {
            gap: &text[end..range.start],
            raw,
            word: raw.to_lowercase(),
            end: range.end,
        });
        end = range.end;
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
    if token.word == "ill" && token.raw == token.word {
        return is_contracted_ill(context).then(|| "i'll".to_owned());
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
    begins_clause(context) && !context.next.is_empty()
}

/// Checks whether `ill` stands for `i'll`: at the beginning of a clause, before a verb.
fn is_contracted_ill(context: TokenContext<'_>) -> bool {
    let is_verb =
        matches!(parse_verb(context.next), Some((base, VerbForm::Base)) if !base.is_empty());
    begins_clause(context)
        && (is_verb || matches!(context.next, "be" | "have") || is_adverb(context.next))
}

/// Checks whether a clause begins with a token.
fn begins_clause(context: TokenContext<'_>) -> bool {
    context.follows_mark
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
        )
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
    // "My sisters" are several, and "my sisters name" is that of one.
    let is_name = matches!(
        context.next,
        "age" | "birthday" | "job" | "name" | "number" | "phone"
    );
    let is_of_one = is_name && crate::english::is_relative(bare);
    ((is_relative && has_noun || is_of_one) && is_owned).then(|| format!("{bare}'s"))
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

    let (full_name, is_day) = *english_names().get(token.word.as_str())?;
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

/// Checks whether the words around a short or ambiguous name make it a time: `on sat`, `3 feb`,
/// `tues 4pm`.
fn names_time(token: &Token<'_>, context: TokenContext<'_>, is_day: bool) -> bool {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    if token.word == "sat" && is_sitting(context) {
        return false;
    }

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

/// Checks whether `sat` before these words is the verb: `sat in traffic`, `sat my exam`, but not `sat
/// at 7`.
fn is_sitting(context: TokenContext<'_>) -> bool {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let is_length = || {
        let unit = context.after_next.trim_end_matches('s');
        matches!(unit, "hour" | "hr" | "minute" | "min" | "exam" | "paper")
    };
    let is_after_preposition =
        matches!(context.previous, "on" | "next" | "this" | "last" | "every");
    let is_verb = match context.next {
        "at" => !is_number(context.after_next),
        "a" | "an" | "my" | "the" | "around" | "behind" | "beside" | "by" | "down" | "for"
        | "here" | "in" | "inside" | "next" | "on" | "outside" | "still" | "there" | "through"
        | "under" | "up" | "waiting" | "with" => true,
        next => is_number(next) && is_length(),
    };
    is_verb && !is_after_preposition
}

/// Short forms of weekdays that are also other words, or that the calendar lacks.
const SHORT_WEEKDAYS: [(&str, &str); 4] = [
    ("sat", "saturday"),
    ("sun", "sunday"),
    ("weds", "wednesday"),
    ("thur", "thursday"),
];

/// Returns the names and short forms of weekdays and months, each with the full name, and true for
/// a weekday.
fn english_names() -> &'static WordTable<(&'static str, bool)> {
    static NAMES: LazyLock<WordTable<(&str, bool)>> = LazyLock::new(|| {
        let calendar = CalendarNames::of(Language::English).unwrap_or_default();
        let days = calendar.weekdays.iter().map(|words| (words, true));
        let months = calendar.months.iter().map(|words| (words, false));

        let mut names: WordTable<(&str, bool)> = SHORT_WEEKDAYS
            .into_iter()
            .map(|(short, full_name)| (short, (full_name, true)))
            .collect();
        for (words, is_day) in days.chain(months) {
            let Some(full_name) = words.first() else {
                continue;
            };
            names.extend(words.iter().map(|word| (*word, (*full_name, is_day))));
        }

        names
    });
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
                "ok ill never tell him, ill call gwen",
                "ok i'll never tell him, i'll call gwen",
            ),
            (
                "my dog is ill and an ill wind",
                "my dog is ill and an ill wind",
            ),
            (
                "born 3 feb 1991, due 1st of may",
                "born 3 February 1991, due 1st of May",
            ),
            ("i may go", "i may go"),
            ("tues: vet", "Tuesday: vet"),
            ("sat: vet, sun off", "Saturday: vet, sun off"),
            ("sat morning gym", "Saturday morning gym"),
            ("sat at 7", "Saturday at 7"),
            ("dinner on sat at moms", "dinner on Saturday at moms"),
            ("sat in traffic", "sat in traffic"),
            ("sat at my desk all day", "sat at my desk all day"),
            ("sat 3 hours in traffic", "sat 3 hours in traffic"),
            ("sat my driving test", "sat my driving test"),
            ("I live in Bonn.", "I live in Bonn."),
            ("we use R and vitamin B", "we use R and vitamin B"),
        ] {
            assert_eq!(spell_out(typed, Language::English), expected);
        }
    }
}
