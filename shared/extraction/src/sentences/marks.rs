//! Sentence boundaries within a block.

use std::sync::LazyLock;

use text::Language;
use text::calendar::CalendarNames;

use crate::all_languages::all_languages;

/// The number of characters beyond which a sentence is cut at a clause.
const MAX_SENTENCE_CHARS: usize = 600;

/// The number of characters in which the next word is looked for after a mark, and the number of bytes
/// in which a closed bracket is looked for before it.
const MAX_LOOK: usize = 1_000;

/// The longest bracket within which no sentence ends, in bytes.
const MAX_BRACKET_BYTES: usize = 60;

/// German month names, which follow the full stop of an ordinal day. A test loads the file from
/// which they come.
static GERMAN_MONTHS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let names = CalendarNames::of(Language::German);
    names.map(|names| names.months.concat()).unwrap_or_default()
});

/// Calls `emit` with the byte range of every sentence, in order.
pub(super) fn for_each_sentence(text: &str, emit: &mut dyn FnMut(usize, usize)) {
    let mut start = 0;
    let mut checked_until = 0;
    for (at, c) in text.char_indices() {
        if at < checked_until || !is_mark(c) {
            continue;
        }

        let end = skip_closing_marks(text, at + c.len_utf8());
        if ends_sentence(text, start, at, c, end) {
            emit_pieces(text, start, end, emit);
            start = end;
        }
        checked_until = end;
    }

    if start < text.len() {
        emit_pieces(text, start, text.len(), emit);
    }
}

/// Checks for a mark that may end a sentence.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | '…' | '。' | '！' | '？' | '｡' | '।' | '॥' | '؟'
    )
}

/// Returns the position after further punctuation, quotes and brackets that belong to the sentence.
fn skip_closing_marks(text: &str, from: usize) -> usize {
    let is_closer = |c: char| {
        is_mark(c)
            || matches!(
                c,
                ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '」' | '』' | '）' | '*' | '_'
            )
    };
    from + text[from..]
        .find(|c| !is_closer(c))
        .unwrap_or(text.len() - from)
}

fn ends_sentence(text: &str, start: usize, at: usize, mark: char, end: usize) -> bool {
    if matches!(mark, '。' | '！' | '？' | '｡' | '।' | '॥') {
        return true;
    }

    let Some(next) = text[end..].chars().next() else {
        return true;
    };

    if !next.is_whitespace() {
        // Chinese and Japanese texts often put a half-width mark right before the next character.
        return mark != '.' && is_wide(next);
    }

    // "In Porto (2:05!! my best) and then home"
    if is_in_bracket(&text[start..at], &text[end..]) {
        return false;
    }

    let mut following = text[end..].chars().take(MAX_LOOK);
    let following = following.find(|c| c.is_alphanumeric());
    // "Halifax (Nova Scotia, not Yorkshire!) next week"
    let look_from = text
        .floor_char_boundary(at.saturating_sub(MAX_LOOK))
        .max(start);
    let closes_bracket = text[at..end].contains(')') && text[look_from..at].contains('(');
    if closes_bracket && following.is_some_and(char::is_lowercase) {
        return false;
    }

    let starts_lowercase = following.is_some_and(char::is_lowercase)
        && !text[start..].trim_start().starts_with(char::is_lowercase);
    let is_single = end == at + mark.len_utf8();

    match mark {
        '.' if is_single => !is_abbreviation(&text[start..at], &text[end..]) && !starts_lowercase,
        '!' | '?' | '؟' => !starts_lowercase || is_single,
        _ => !starts_lowercase,
    }
}

/// Checks whether a short bracket is open between two texts. A mouth such as `:(` opens none. Only as
/// much of the texts is searched as a short bracket can have.
fn is_in_bracket(before: &str, after: &str) -> bool {
    // A face before the bracket is read as well.
    let from = before.len().saturating_sub(MAX_BRACKET_BYTES + 1);
    let before = &before[before.floor_char_boundary(from)..];
    let after = &after[..after.floor_char_boundary(MAX_BRACKET_BYTES + 1)];
    let Some(open) = before.rfind('(') else {
        return false;
    };

    let is_face = before[..open].ends_with([':', ';', '=', '-', '\'']);
    let close = after
        .find([')', '(', '\n'])
        .filter(|at| after[*at..].starts_with(')'));
    let is_short = close.is_some_and(|close| before.len() - open + close <= MAX_BRACKET_BYTES);
    let ends_in_face = close.is_some_and(|close| after[..close].ends_with([':', ';', '=', '-']));
    !is_face && !before[open..].contains(')') && is_short && !ends_in_face
}

/// Checks for a full-width character: Chinese, Japanese, Korean, and their marks.
pub(crate) fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff00}'..='\u{ff60}')
}

/// Checks whether the full stop after `before` belongs to an abbreviation, an initial or an
/// ordinal.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let from = before
        .rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '„' | '“' | '«'))
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(0, char::len_utf8)
        });

    let word = before[from..].to_lowercase();
    let next = after.trim_start();
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(only), None) if only.is_alphabetic() && !is_wide(only) => {
            return word != "i" && word != "я";
        }
        (Some(_), None) => {}
        (Some(first), Some(_)) if first.is_ascii_digit() => {
            return is_ordinal(&before[..from], &word, next);
        }
        _ => {}
    }

    if word.chars().all(|c| c.is_ascii_digit()) {
        return is_ordinal(&before[..from], &word, next);
    }

    if word == "no" {
        // "No." is an answer unless a number follows.
        return next.starts_with(|c: char| c.is_ascii_digit());
    }

    let lists = all_languages();
    lists.non_final_abbreviations.has(&word)
        || (lists.final_abbreviations.has(&word) && !next.starts_with(char::is_uppercase))
}

/// Checks whether `digits` are an ordinal, as in `am 15. März` and `zum 31.1. aus`.
fn is_ordinal(before: &str, digits: &str, next: &str) -> bool {
    if let Some((day, month)) = digits.split_once('.') {
        let is_number = |part: &str, max: u8| part.parse::<u8>().is_ok_and(|part| part <= max);
        let follows_word = before.split_whitespace().next_back().is_some_and(|word| {
            all_languages()
                .words_before_ordinals
                .has(&word.to_lowercase())
        });
        return is_number(day, 31)
            && is_number(month, 12)
            && follows_word
            && next.starts_with(char::is_lowercase);
    }
    if digits.len() > 2 || !digits.chars().all(|c| c.is_ascii_digit()) {
        return false;
    }

    let next = next
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let last = before
        .split_whitespace()
        .next_back()
        .unwrap_or_default()
        .to_lowercase();

    GERMAN_MONTHS.contains(&next.as_str()) || all_languages().words_before_ordinals.has(&last)
}

/// Emits a sentence, cut at clauses if it is too long.
fn emit_pieces(text: &str, mut start: usize, end: usize, emit: &mut dyn FnMut(usize, usize)) {
    while let Some((limit, _)) = text[start..end].char_indices().nth(MAX_SENTENCE_CHARS) {
        let piece = &text[start..start + limit];
        let clause = |marks: &[char]| piece.rfind(marks).filter(|at| *at > limit / 4);
        let at = clause(&[';', '；'])
            .or_else(|| clause(&[',', '，', '、', '—', ':']))
            .or_else(|| clause(&[' ', '\n']));
        let cut = at.map_or(limit, |at| {
            at + piece[at..].chars().next().map_or(1, char::len_utf8)
        });
        emit(start, start + cut);
        start += cut;
    }

    emit(start, end);
}
