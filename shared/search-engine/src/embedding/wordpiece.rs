//! The word-piece tokenizer of BERT: clean, surround CJK characters with spaces, strip accents,
//! lowercase, split at punctuation, then match the longest pieces greedily.
//!
//! It follows the behaviour of the `BertNormalizer`, `BertPreTokenizer` and `WordPiece` components
//! with which the model was trained. A golden file in `tests/data` has ids from that
//! implementation. Its character tables are of an older Unicode version, so characters assigned
//! since then may differ.

use std::sync::LazyLock;

use hashbrown::HashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::embedding::StaticEmbedder;

static VOCABULARY_TEXT: &str = include_str!("../../model/vocab.txt");

/// The most characters of a word. A longer one is unknown as a whole (the model's
/// `max_input_chars_per_word`).
const MAX_WORD_CHARS: usize = 100;

pub(super) struct Vocabulary {
    /// Pieces that start a word.
    word_starts: HashMap<&'static str, u32>,
    /// Pieces that continue a word, without their `##`.
    continuations: HashMap<&'static str, u32>,
    /// The size of the longest piece in bytes.
    longest: usize,
}

pub(super) fn load_vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
        let mut word_starts = HashMap::with_capacity(32_768);
        let mut continuations = HashMap::with_capacity(8_192);
        let mut longest = 0;
        for (id, token) in (0u32..).zip(VOCABULARY_TEXT.trim_end_matches('\n').split('\n')) {
            match token.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => continuations.insert(rest, id),
                _ => word_starts.insert(token, id),
            };
            longest = longest.max(token.len());
        }
        Vocabulary {
            word_starts,
            continuations,
            longest,
        }
    });

    &VOCABULARY
}

/// Returns the word-piece ids of `text`.
pub(super) fn encode_text(text: &str) -> Vec<u32> {
    let vocabulary = load_vocabulary();
    let mut ids = Vec::with_capacity(text.len() / 4 + 1);
    let normalized = normalize_text(text);
    for word in normalized.split_whitespace() {
        let mut start = 0;
        for (at, c) in word.char_indices() {
            if is_punctuation(c) {
                vocabulary.push_word(&word[start..at], &mut ids);
                start = at + c.len_utf8();
                vocabulary.push_word(&word[at..start], &mut ids);
            }
        }
        vocabulary.push_word(&word[start..], &mut ids);
    }

    ids
}

impl Vocabulary {
    fn push_word(&self, word: &str, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }

        let previous_len = ids.len();
        let mut rest = word;
        while !rest.is_empty() {
            let pieces = if rest.len() == word.len() {
                &self.word_starts
            } else {
                &self.continuations
            };
            let Some((id, length)) = self.longest_piece(pieces, rest) else {
                break;
            };
            ids.push(id);
            rest = &rest[length..];
        }

        let is_complete = rest.is_empty()
            && (word.len() <= MAX_WORD_CHARS || word.chars().count() <= MAX_WORD_CHARS);
        if !is_complete {
            ids.truncate(previous_len);
            ids.push(StaticEmbedder::UNKNOWN);
        }
    }

    fn longest_piece(
        &self,
        pieces: &HashMap<&'static str, u32>,
        rest: &str,
    ) -> Option<(u32, usize)> {
        let mut end = rest.floor_char_boundary(self.longest);
        while end > 0 {
            if let Some(&id) = pieces.get(&rest[..end]) {
                return Some((id, end));
            }
            end = rest.floor_char_boundary(end - 1);
        }
        None
    }
}

fn normalize_text(text: &str) -> String {
    if text.is_ascii() {
        let is_kept = |c: &char| !c.is_ascii_control() || matches!(c, '\t' | '\n' | '\r');
        return text
            .chars()
            .filter(is_kept)
            .map(|c| c.to_ascii_lowercase())
            .collect();
    }

    let mut cleaned = String::with_capacity(text.len() + 16);
    for c in text.chars().filter(|&c| !is_removed(c)) {
        if is_cjk(c) {
            cleaned.extend([' ', c, ' ']);
        } else {
            cleaned.push(if c.is_whitespace() { ' ' } else { c });
        }
    }

    let unaccented = cleaned
        .nfd()
        .filter(|c| c.general_category() != GeneralCategory::NonspacingMark);
    unaccented.flat_map(char::to_lowercase).collect()
}

fn is_removed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{FFFD}' => true,
        _ => matches!(
            c.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
        ),
    }
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation)
}

/// Checks for the ranges that the model's tokenizer surrounds with spaces. The gap before U+2B920
/// is that tokenizer's own.
fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}
