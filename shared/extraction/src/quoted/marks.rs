//! Marks by which a line shows that the text after it is not the writer's own.

use std::ops::Range;

use domain::SourceMedium;
use text::{find_words, join_words};

use crate::all_languages::all_languages;
use crate::word_list::WordList;

/// The longest line that announces a third party's text, in bytes.
const MAX_LEAD_BYTES: usize = 200;
/// The least length of a quotation that is a text rather than a title or phrase, in characters.
const MIN_QUOTATION_CHARS: usize = 60;
/// The most words in a person's name.
const MAX_NAME_WORDS: usize = 4;

/// Returns the fence character of a line that opens or closes fenced code.
pub(super) fn fence_char(line: &str) -> Option<char> {
    let line = line.trim_start();
    ['`', '~']
        .into_iter()
        .find(|mark| line.chars().take(3).filter(|c| c == mark).count() == 3)
}

/// Checks whether mail programs write a line like this above a forwarded or answered mail.
pub(super) fn is_mail_boundary(line: &str) -> bool {
    let bare = line
        .trim()
        .trim_matches(|c: char| matches!(c, '-' | '_' | '*' | '=' | ':') || c.is_whitespace());
    line.len() <= MAX_LEAD_BYTES && all_languages().mail_boundaries.has(&bare.to_lowercase())
}

/// Returns the name, in lower case, and the value of a mail header.
pub(super) fn parse_header(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.trim().trim_matches('*').split_once([':', '：'])?;
    let name = name.trim().trim_matches('*').to_lowercase();
    let lists = all_languages();
    (lists.sender_headers.has(&name) || lists.other_headers.has(&name))
        .then(|| (name, value.trim().trim_start_matches('*').trim()))
}

/// Checks whether a text begins with the headers of a mail: one that names the sender, and one that
/// only mails have.
pub(super) fn begins_with_mail_headers(text: &str) -> bool {
    find_mail_headers(text).are_of_mail
}

/// The lines with which a text begins and that have the form of mail headers.
pub(super) struct MailHeaders {
    /// True if they are the headers of a mail.
    pub(super) are_of_mail: bool,
    /// Their length in bytes.
    pub(super) len: usize,
}

/// Returns the lines with which a text begins and that have the form of mail headers.
pub(super) fn find_mail_headers(text: &str) -> MailHeaders {
    let lists = all_languages();
    let (mut count, mut names_sender, mut is_certain) = (0, false, false);
    let mut len = 0;
    for full_line in text.split_inclusive('\n') {
        let line = full_line.trim_end_matches(['\r', '\n']);
        let header = parse_header(line);
        if header.is_none() && !is_field(line) && !line.starts_with([' ', '\t']) {
            break;
        }

        len += full_line.len();
        if let Some((name, value)) = header {
            let is_sender = lists.sender_headers.has(&name);
            count += 1;
            names_sender |= is_sender;
            is_certain |= lists.mail_only_headers.has(&name) || is_sender && value.contains('@');
        }
    }

    MailHeaders {
        are_of_mail: count >= 2 && names_sender && is_certain,
        len,
    }
}

/// Checks whether a line begins with a name and a colon, like a header.
fn is_field(line: &str) -> bool {
    let name = line.split_once(':').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns the sender that a mail header names.
pub(super) fn parse_sender(line: &str) -> Option<&str> {
    let (name, value) = parse_header(line)?;
    (all_languages().sender_headers.has(&name) && !value.is_empty()).then_some(value)
}

/// Returns the person's name in the sender of a mail, if it is a name and cannot be read as
/// anything else.
pub(super) fn parse_person_name(sender: &str) -> Option<&str> {
    let name = sender.split('<').next()?.trim().trim_matches('"').trim();
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, '.' | '-' | '\'' | '’'))
    };

    let words: Vec<&str> = name.split_whitespace().collect();
    let reserved_words = [
        "user",
        "assistant",
        "author",
        "you",
        "always",
        "never",
        "system",
    ];

    let has_valid_length =
        (1..=MAX_NAME_WORDS).contains(&words.len()) && words.iter().all(|word| is_name(word));
    let has_no_reserved_word = !words
        .iter()
        .any(|word| reserved_words.contains(&word.to_lowercase().as_str()));

    (has_valid_length && has_no_reserved_word).then_some(name)
}

/// Returns the position at which a third party's text begins in a line that hands it over, and the
/// kind of text.
pub(super) fn find_handover(line: &str) -> Option<(usize, Option<SourceMedium>)> {
    let bare = line.trim_end();
    let colon = bare.char_indices().find(|(_, c)| matches!(c, ':' | '：'));
    let (end, after) = match colon {
        Some((at, colon_char)) => (at, at + colon_char.len_utf8()),
        None if bare.ends_with(|c: char| c.is_alphanumeric()) && line.ends_with('\n') => {
            (bare.len(), line.len())
        }
        None => return None,
    };

    let clause = last_clause(&bare[..end]);
    let words = split_words(clause);
    let lists = all_languages();
    let has_word_in = |list: &WordList| words.iter().any(|word| list.has(word));
    let starts_with_pointer = words
        .first()
        .is_some_and(|first| lists.pointing_words.has(first));
    let is_address = after < line.len() && begins_with_address(&line[after..]);
    if end > MAX_LEAD_BYTES
        || has_word_in(&lists.remembering_words)
        || is_address
        || colon.is_none() && !starts_with_pointer
    {
        return None;
    }

    let text_names = [
        (SourceMedium::Mail, &lists.mail_names),
        (SourceMedium::Page, &lists.page_names),
        (SourceMedium::Paste, &lists.other_text_names),
    ];
    let named_medium = text_names.into_iter().find_map(|(medium, names)| {
        let at = words.iter().position(|word| names.has(word))?;
        let is_own = at > 0 && lists.own_text_words.has(&words[at - 1]);
        (!is_own).then_some(medium)
    });

    let is_received = has_word_in(&lists.unnamed_text_words) && has_word_in(&lists.receiving_words);
    (named_medium.is_some() && has_word_in(&lists.pointing_words) || is_received && colon.is_some())
        .then_some((after, Some(named_medium.unwrap_or(SourceMedium::Paste))))
}

/// Checks whether a line says that the text below it was received: `got this from a guy, is it a
/// scam?`
pub(super) fn announces_received_text(line: &str) -> bool {
    let lists = all_languages();
    let words = split_words(line);
    line.len() <= MAX_LEAD_BYTES
        && words.windows(3).any(|part| {
            lists.receiving_words.has(&part[0])
                && lists.unnamed_text_words.has(&part[1])
                && lists.words_after_received_text.has(&part[2])
        })
}

/// Checks whether a line asks for work on the text that it hands over.
pub(super) fn asks_for_work(line: &str) -> bool {
    split_words(line)
        .iter()
        .any(|word| all_languages().task_words.has(word))
}

/// Returns the position at which reported speech begins in a line: several sentences on the line,
/// or the lines after it.
pub(super) fn find_reported_speech(line: &str) -> Option<usize> {
    let (at, mark) = line.char_indices().find(|(_, c)| matches!(c, ':' | '：'))?;
    let lists = all_languages();
    let words = split_words(last_clause(&line[..at]));
    let has_listener = words
        .last()
        .is_some_and(|word| lists.listener_words.has(word));
    let verb = words.get(words.len().checked_sub(1 + usize::from(has_listener))?)?;
    let is_writer = words
        .iter()
        .take(2)
        .any(|word| lists.writer_words.has(word));
    let after = at + mark.len_utf8();
    let speech = line[after..].trim();
    let has_several = speech.is_empty() || has_several_sentences(speech);
    (lists.speech_verbs.has(verb) && !is_writer && has_several && at <= MAX_LEAD_BYTES)
        .then_some(after)
}

/// Returns the range of a quotation of several sentences that begins in a line.
pub(super) fn find_quotation(text: &str, at: usize, line: &str) -> Option<Range<usize>> {
    let is_opening = |(index, c): &(usize, char)| {
        let before = line[..*index].chars().next_back();
        closing_mark(*c).is_some()
            && before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ':' | '：'))
    };
    let (index, _) = line.char_indices().find(is_opening)?;
    let from = at + index;
    let end = from + quotation_end(&text[from..])?;
    let inner = &text[from..end];
    (inner.chars().count() >= MIN_QUOTATION_CHARS && has_several_sentences(inner))
        .then_some(from..end)
}

/// Returns the end of the quotation with which a text begins, including the closing mark.
pub(super) fn quotation_end(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let (mark, from) = (closing_mark(first)?, first.len_utf8());
    text[from..]
        .find(mark)
        .map(|at| from + at + mark.len_utf8())
}

fn closing_mark(opening: char) -> Option<char> {
    Some(match opening {
        '"' => '"',
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '»' => '«',
        '「' => '」',
        '『' => '』',
        _ => return None,
    })
}

/// HTML that may begin in a line.
pub(super) enum HtmlSearch {
    /// The range from the first block tag of the line to the last tag that closes a block.
    Found(Range<usize>),
    /// No block begins in the line.
    NoBlock,
    /// No block ends in the rest of the text.
    NoEnd,
}

/// Looks for the HTML that begins in a line.
pub(super) fn find_html(text: &str, at: usize, line: &str) -> HtmlSearch {
    const BLOCKS: &[&str] = &[
        "!doctype",
        "html",
        "head",
        "body",
        "div",
        "p",
        "h1",
        "h2",
        "h3",
        "ul",
        "ol",
        "li",
        "table",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "blockquote",
        "pre",
        "span",
        "script",
        "style",
        "form",
    ];

    let is_block_tag = |rest: &str| {
        let name = rest
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '!')
            .next()
            .unwrap_or_default();
        let is_bounded = rest[name.len()..].starts_with([' ', '>', '/', '\n']);
        is_bounded && BLOCKS.contains(&name.to_ascii_lowercase().as_str())
    };

    let mut openings = line.match_indices('<');
    let Some((index, _)) = openings.find(|(index, _)| is_block_tag(&line[index + 1..])) else {
        return HtmlSearch::NoBlock;
    };

    let rest = &text[at + index..];
    let mut endings = rest.rmatch_indices("</");
    let last = endings.find(|(index, _)| is_block_tag(&rest[index + 2..]));
    let end = last.and_then(|(last, _)| Some(last + rest[last..].find('>')? + 1));
    match end {
        Some(end) => HtmlSearch::Found(at + index..at + index + end),
        None => HtmlSearch::NoEnd,
    }
}

/// Returns the text after the last complete sentence.
fn last_clause(text: &str) -> &str {
    let sentence_ends = text.rmatch_indices(['.', '!', '?', '…', '。']);
    let mut clauses = sentence_ends
        .map(|(at, mark)| &text[at + mark.len()..])
        .filter(|rest| rest.starts_with(char::is_whitespace));
    clauses.next().unwrap_or(text)
}

fn split_words(text: &str) -> Vec<String> {
    join_words(text, find_words(text), |gap, _| gap == "-")
        .map(|word| word.text.to_lowercase().replace('’', "'"))
        .collect()
}

/// Checks whether a text has more than one sentence.
fn has_several_sentences(text: &str) -> bool {
    let sentence_ends = text
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？'));
    let mut remainders =
        sentence_ends.map(|(at, c)| (&text[at + c.len_utf8()..], matches!(c, '。' | '！' | '？')));
    remainders.any(|(rest, is_wide)| {
        let has_gap = is_wide
            || rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '"' | '”' | ')'));
        has_gap && rest.chars().filter(|c| c.is_alphabetic()).count() >= 3
    })
}

/// Checks whether a text begins with an address, which people mention rather than quote.
fn begins_with_address(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let inner = first.trim_end_matches(['.', ',', '!', '?', ';']);
    first.contains("://") || inner.contains('@') || inner.contains('.') && !inner.ends_with('.')
}
