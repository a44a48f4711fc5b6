//! Recognizes credentials and e-mail addresses in text, to keep them out of the request log.
//!
//! If any part of a word looks like a credential, the whole word is removed. The cost is a bit of a
//! log, and the alternative might be a leaked key.

mod known_secrets;

use known_secrets::{KEY_PREFIXES, SECRET_NAME_PARTS};

/// The replacement for a credential.
pub(crate) const SECRET: &str = "[secret]";
/// The replacement for an e-mail address.
const EMAIL: &str = "[email]";
/// The number of bytes of a text that are examined. It is more than is ever shown, so that nothing
/// is cut before it is recognized.
const MAX_SCANNED_BYTES: usize = 2048;
/// The length of the longest id of this service: 22 characters, and a number behind them in chunks.
/// A longer random word counts as a credential.
const LONGEST_ID: usize = 29;

/// Checks whether a field of this name holds a credential.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let normalized = name.replace(|c: char| !c.is_alphanumeric(), "");
    let normalized = normalized.to_lowercase();
    // `token` counts only as the whole name or its end: `tokens` and `tokenCount` are counts.
    normalized.ends_with("token")
        || normalized == "sig"
        || normalized == "otp"
        || SECRET_NAME_PARTS
            .iter()
            .any(|part| normalized.contains(part))
}

/// Returns the first `max_chars` characters of a text, without credentials and e-mail addresses.
pub(crate) fn redact_credentials(text: &str, max_chars: usize) -> String {
    let window = &text[..text.floor_char_boundary(MAX_SCANNED_BYTES)];
    let (prefix, has_pem) = match window.find("-----BEGIN") {
        Some(start) => (&window[..start], true),
        None => (window, false),
    };

    let mut redacted = replace_secret_words(prefix);
    if has_pem {
        // The text after the end of the key is dropped as well.
        redacted.push_str(SECRET);
    }

    let is_cut = window.len() < text.len() && !has_pem;
    match redacted.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &redacted[..end]),
        None if is_cut => format!("{redacted}…"),
        None => redacted,
    }
}

/// Replaces the credentials and e-mail addresses in a text.
fn replace_secret_words(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut context = WordContext::Nothing;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(ends_word).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if !word.is_empty() {
            redacted.push_str(shown_word(word, context));
            context = context.after_word(word);
        }
        let gap = tail.find(|c| !ends_word(c)).unwrap_or(tail.len());
        redacted.push_str(&tail[..gap]);
        rest = &tail[gap..];
    }

    redacted
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]{}<>,|\\".contains(c)
}

/// The hint that the words before a word give about it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WordContext {
    Nothing,
    /// The name of a credential.
    Name,
    /// The name of a credential and a colon or an equals sign: the next word is the credential.
    Assigned,
    /// An authentication scheme: the next word may be the credential.
    Scheme,
}

impl WordContext {
    /// Returns the state after one more word.
    fn after_word(self, word: &str) -> Self {
        let name = word.trim_end_matches([':', '=']);
        match (name.is_empty(), name.len() < word.len()) {
            // A sign by itself.
            (true, _) if self == Self::Name => Self::Assigned,
            (true, _) => self,
            _ if is_scheme(name) && self == Self::Assigned => Self::Assigned,
            _ if is_scheme(name) => Self::Scheme,
            (_, true) if is_secret_name(name) => Self::Assigned,
            (_, false) if is_secret_name(name) => Self::Name,
            _ => Self::Nothing,
        }
    }
}

/// Checks whether a word is, or ends with, an authentication scheme.
fn is_scheme(word: &str) -> bool {
    const SCHEMES: [&str; 5] = ["bearer", "basic", "token", "apikey", "digest"];
    let end = word.rsplit(SEPARATORS).next().unwrap_or_default();
    SCHEMES
        .iter()
        .any(|scheme| end.eq_ignore_ascii_case(scheme))
}

fn shown_word(word: &str, context: WordContext) -> &str {
    let is_sign = word.chars().all(|c| ":=>".contains(c));
    let is_marked_secret = match context {
        WordContext::Assigned => !is_sign && !is_scheme(word),
        WordContext::Scheme => {
            word.len() >= 8 && (word.len() >= 16 || word.bytes().any(|b| b.is_ascii_digit()))
        }
        WordContext::Name | WordContext::Nothing => false,
    };

    if is_marked_secret || is_secret(word) {
        SECRET
    } else if is_email(word) {
        EMAIL
    } else {
        word
    }
}

/// The signs between the parts of a word.
const SEPARATORS: [char; 10] = ['&', '?', ';', '#', '=', ':', '@', '%', '/', '.'];

/// Checks whether a word contains a credential.
fn is_secret(word: &str) -> bool {
    // Most words are short, and no unnamed credential is.
    if word.len() < 16 && !word.contains(['=', ':']) {
        return false;
    }

    has_password(word)
        || word.split(['&', '?', ';', '#']).any(assigns_secret)
        || has_known_prefix(word)
        || word
            .split(['&', '?', ';', '#', ':', '@', '%', '='])
            .any(looks_random)
        || word
            .split(['/', '=', '&', '?'])
            .any(|part| is_bot_token(part) || is_dotted_token(part))
}

/// Checks for the form `scheme://user:password@host`.
fn has_password(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => !user.is_empty(),
        None => false,
    }
}

/// Checks for `name=value` or `name:value` with the name of a credential.
fn assigns_secret(part: &str) -> bool {
    let Some((name, value)) = part.split_once(['=', ':']) else {
        return false;
    };
    !value.trim_matches([':', '=']).is_empty() && is_secret_name(name)
}

/// Checks whether a key of a well-known service begins at the start of the word or after any sign
/// in it.
fn has_known_prefix(word: &str) -> bool {
    let matches_prefix = |text: &str| {
        KEY_PREFIXES
            .iter()
            .any(|(prefix, least)| text.len() >= *least && text.starts_with(prefix))
    };
    matches_prefix(word)
        || word
            .match_indices(SEPARATORS)
            .any(|(at, sign)| matches_prefix(&word[at + sign.len()..]))
}

/// Checks whether a part contains a long run that either mixes letters and digits or consists of
/// hexadecimal digits.
fn looks_random(part: &str) -> bool {
    let is_separator = |c: char| !(c.is_ascii_alphanumeric() || "+/_-".contains(c));
    part.split(is_separator)
        .any(|run| run.len() > LONGEST_ID && !is_uuid(run) && is_random_run(run))
}

fn is_random_run(run: &str) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let is_change = |pair: &&[u8]| {
        let (one, two) = (class(pair[0]), class(pair[1]));
        one != two && one.max(two) < 3
    };

    let changes = run.as_bytes().windows(2).filter(is_change).count();
    let has_digits = run.bytes().any(|byte| byte.is_ascii_digit());
    let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit());
    has_digits && (is_hex || changes * 100 >= run.len() * 35)
}

/// Checks for the usual form of a UUID, which many systems use as an id.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Checks for the form `123456789:AAH…` of bot tokens.
fn is_bot_token(part: &str) -> bool {
    let token = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let Some((id, rest)) = token.split_once(':') else {
        return false;
    };
    id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_digit()) && rest.len() >= 30
}

/// Checks for three parts of base64 separated by dots.
fn is_dotted_token(part: &str) -> bool {
    let is_sign = |c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c);
    let runs: Vec<&str> = part.split(is_sign).collect();
    runs.windows(3)
        .any(|runs| runs[0].len() >= 17 && runs[1].len() >= 6 && runs[2].len() >= 25)
}

fn is_email(word: &str) -> bool {
    let Some((local, domain)) = word.split_once('@') else {
        return false;
    };
    let domain = domain.trim_end_matches(['.', ':', ';', '!', '?']);
    let labels = domain.split('.').filter(|label| !label.is_empty());
    local.chars().any(char::is_alphanumeric) && labels.count() >= 2
}

#[cfg(test)]
mod tests;
