//! Recognizes credentials and addresses of people in text, so that they do not get into the request log.
//!
//! A word of which any part looks like a credential goes as a whole: what is lost is a bit of a log, what could be left
//! is a key.

mod known;

use known::{NAMES, PREFIXES};

/// What stands in the place of a credential.
pub(crate) const SECRET: &str = "[secret]";
/// What stands in the place of a person's address.
const EMAIL: &str = "[email]";
/// As much of a text is looked at: more than is ever shown, so that nothing is cut before it is recognized.
const WINDOW: usize = 2048;
/// Ids of this service have 22 characters, and a number behind them in chunks; what is random and longer is a credential.
const LONGEST_ID: usize = 29;

/// Whether a field of this name holds a credential.
pub(crate) fn names_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect::<String>()
        .to_lowercase();
    // `token` counts where it is the whole or the end: `tokens` and `tokenCount` are numbers of something.
    plain.ends_with("token")
        || plain == "sig"
        || plain == "otp"
        || NAMES.iter().any(|part| plain.contains(part))
}

/// The first `most` characters of a text, without credentials and addresses of people.
pub(crate) fn cleaned(text: &str, most: usize) -> String {
    let window = &text[..text.floor_char_boundary(WINDOW)];
    let (before, pem) = match window.find("-----BEGIN") {
        Some(start) => (&window[..start], true),
        None => (window, false),
    };

    let mut clean = without_words(before);
    if pem {
        // What comes after the end of the key is given up with it.
        clean.push_str(SECRET);
    }

    let is_cut = window.len() < text.len() && !pem;
    match clean.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None if is_cut => format!("{clean}…"),
        None => clean,
    }
}

/// The text with its telling words replaced.
fn without_words(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut before = Before::Nothing;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(ends_word).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if !word.is_empty() {
            clean.push_str(shown(word, before));
            before = before.then(word);
        }
        let gap = tail.find(|c| !ends_word(c)).unwrap_or(tail.len());
        clean.push_str(&tail[..gap]);
        rest = &tail[gap..];
    }

    clean
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]{}<>,|\\".contains(c)
}

/// What the words before one say about it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// The name of a credential.
    Name,
    /// The name of a credential and a colon or an equals sign: this is the credential.
    Assigned,
    /// A scheme of authentication: this may be the credential.
    Scheme,
}

impl Before {
    /// The state after one more word.
    fn then(self, word: &str) -> Self {
        let name = word.trim_end_matches([':', '=']);
        match (name.is_empty(), name.len() < word.len()) {
            // A sign by itself.
            (true, _) if self == Self::Name => Self::Assigned,
            (true, _) => self,
            _ if is_scheme(name) && self == Self::Assigned => Self::Assigned,
            _ if is_scheme(name) => Self::Scheme,
            (_, true) if names_secret(name) => Self::Assigned,
            (_, false) if names_secret(name) => Self::Name,
            _ => Self::Nothing,
        }
    }
}

/// Whether a word is, or ends with, a scheme of authentication.
fn is_scheme(word: &str) -> bool {
    const SCHEMES: [&str; 5] = ["bearer", "basic", "token", "apikey", "digest"];
    let end = word.rsplit(SIGNS).next().unwrap_or_default();
    SCHEMES
        .iter()
        .any(|scheme| end.eq_ignore_ascii_case(scheme))
}

fn shown(word: &str, before: Before) -> &str {
    let is_sign = word.chars().all(|c| ":=>".contains(c));
    let named = match before {
        Before::Assigned => !is_sign && !is_scheme(word),
        Before::Scheme => {
            word.len() >= 8 && (word.len() >= 16 || word.bytes().any(|b| b.is_ascii_digit()))
        }
        Before::Name | Before::Nothing => false,
    };

    if named || is_secret(word) {
        SECRET
    } else if is_email(word) {
        EMAIL
    } else {
        word
    }
}

/// What stands between the parts of a word.
const SIGNS: [char; 10] = ['&', '?', ';', '#', '=', ':', '@', '%', '/', '.'];

/// Whether a word holds a credential.
fn is_secret(word: &str) -> bool {
    // Most words are short, and no credential without a name is.
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

/// `scheme://user:password@host`.
fn has_password(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    authority
        .rsplit_once('@')
        .is_some_and(|(user, _)| !user.is_empty())
}

/// `name=value` or `name:value` where the name is that of a credential.
fn assigns_secret(part: &str) -> bool {
    let Some((name, value)) = part.split_once(['=', ':']) else {
        return false;
    };
    !value.trim_matches([':', '=']).is_empty() && names_secret(name)
}

/// Whether a key of a well-known service begins at the start of the word or behind any sign in it.
fn has_known_prefix(word: &str) -> bool {
    let begins = |text: &str| {
        PREFIXES
            .iter()
            .any(|(prefix, least)| text.len() >= *least && text.starts_with(prefix))
    };
    begins(word)
        || word
            .match_indices(SIGNS)
            .any(|(at, sign)| begins(&word[at + sign.len()..]))
}

/// Whether it is long and has letters and digits all mixed up, or many digits of hexadecimal.
fn looks_random(part: &str) -> bool {
    let run = |c: char| !(c.is_ascii_alphanumeric() || "+/_-".contains(c));
    part.split(run)
        .filter(|run| run.len() > LONGEST_ID && !is_uuid(run))
        .any(|run| {
            let hex = run.bytes().filter(u8::is_ascii_hexdigit).count();
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
            let digits = run.bytes().filter(u8::is_ascii_digit).count();
            digits > 0 && (hex == run.len() || changes * 100 >= run.len() * 35)
        })
}

/// The customary form of an id that many systems make.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// `123456789:AAH…`, as bots have.
fn is_bot_token(part: &str) -> bool {
    part.trim_start_matches(|c: char| c.is_ascii_alphabetic())
        .split_once(':')
        .is_some_and(|(id, rest)| {
            id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_digit()) && rest.len() >= 30
        })
}

/// Three parts of base64 with dots between them.
fn is_dotted_token(part: &str) -> bool {
    let is_sign = |c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c);
    let runs: Vec<&str> = part.split(is_sign).collect();
    runs.windows(3)
        .any(|runs| runs[0].len() >= 17 && runs[1].len() >= 6 && runs[2].len() >= 25)
}

fn is_email(word: &str) -> bool {
    word.split_once('@').is_some_and(|(local, domain)| {
        local.chars().any(char::is_alphanumeric)
            && domain
                .trim_end_matches(['.', ':', ';', '!', '?'])
                .split('.')
                .filter(|part| !part.is_empty())
                .count()
                >= 2
    })
}

#[cfg(test)]
mod tests;
