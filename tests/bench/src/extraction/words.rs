//! Words and sentences, found independently of the code under measurement.

use std::collections::BTreeSet;

pub(super) type Words = BTreeSet<String>;

/// Returns the content words as rough stems.
pub(super) fn content_words(text: &str) -> Words {
    const STOP: &[&str] = &[
        "a", "an", "the", "of", "in", "on", "at", "for", "to", "and", "or", "but", "is", "are",
        "was", "were", "be", "been", "it", "its", "that", "this", "these", "those", "with", "by",
        "from", "as", "than", "i", "we", "they", "he", "she", "her", "his", "their", "them", "my",
        "our", "me", "us", "you", "your", "will", "would", "ll", "ve", "re", "d", "s", "t", "m",
        "has", "have", "had", "do", "does", "did", "not", "no", "if", "so", "user", "author",
        "others", "into", "hasn", "haven", "doesn", "don", "aren", "isn", "even", "when", "who",
        "which", "there", "then", "just", "very", "over", "rather", "more", "all", "any",
    ];
    let words = text
        .split(|letter: char| !letter.is_alphanumeric())
        .map(str::to_lowercase);

    words
        .filter(|word| !word.is_empty() && !STOP.contains(&word.as_str()))
        .map(|word| stem_word(&word))
        .collect()
}

fn stem_word(word: &str) -> String {
    let endings = ["ing", "ed", "es", "s", "ly", "e"];
    let long = |cut: &&str| cut.chars().count() >= 3;
    if let Some(cut) = word.strip_suffix("ies").filter(|cut| long(cut)) {
        return format!("{cut}y");
    }
    let cut = endings
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(long));
    cut.unwrap_or(word).to_owned()
}

/// Returns the spans of sentences, in characters.
pub(super) fn sentence_spans(text: &str) -> Vec<(usize, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let mut spans = Vec::new();
    let mut start = 0;
    for at in 0..chars.len() {
        let wide = matches!(chars[at], '。' | '！' | '？');
        let narrow = matches!(chars[at], '.' | '!' | '?')
            && chars.get(at + 1).is_none_or(|next| next.is_whitespace());
        if wide || narrow {
            spans.push((start, at + 1));
            start = at + 1;
        }
    }

    if start < chars.len() {
        spans.push((start, chars.len()));
    }

    spans
}

pub(super) fn is_sentence_end(text: &str, (start, end): (usize, usize)) -> String {
    text.chars().skip(start).take(end - start).collect()
}
