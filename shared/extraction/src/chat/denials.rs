//! Values that a person denies in the same sentence, in languages that deny after the value:
//! `卵アレルギーじゃなくて花粉症です`.

use std::borrow::Cow;
use std::ops::Range;

use super::words::{ChatWords, is_unspaced};

/// Marks that end a sentence.
const SENTENCE_ENDS: [char; 9] = ['。', '！', '？', '!', '?', '\n', '「', '『', '」'];
/// Marks of a pause, after which somebody corrects what was just said.
const PAUSES: [char; 8] = ['…', '、', '，', ',', '・', '―', '〜', ' '];

/// Returns a text in which the denied values are spaces, as long in characters.
pub(super) fn resolve_denials<'t>(text: &'t str, words: &ChatWords) -> Cow<'t, str> {
    let mut resolved = Cow::Borrowed(text);
    for link in words.denying_links.unspaced() {
        let mut from = 0;
        while let Some(at) = resolved[from..].find(link).map(|found| from + found) {
            let end = at + link.len();
            from = end;
            if let Some(denied) = find_denied(&resolved, at..end, words) {
                let spaces = " ".repeat(resolved[denied.clone()].chars().count());
                from = denied.start + spaces.len();
                resolved.to_mut().replace_range(denied, &spaces);
            }
        }
    }

    resolved
}

/// Returns the range of a denied value with the link after it, if another value follows.
fn find_denied(text: &str, link: Range<usize>, words: &ChatWords) -> Option<Range<usize>> {
    let after = &text[link.end..];
    let next = after.trim_start_matches(PAUSES);
    // `じゃなくていい`: hiragana right after the link continue it.
    let is_continued = next.len() == after.len() && next.starts_with(is_hiragana);
    if is_continued || next.is_empty() || next.starts_with(SENTENCE_ENDS) {
        return None;
    }

    let head = &text[..link.start];
    let start = head.rfind(SENTENCE_ENDS).map_or(0, |at| {
        at + head[at..].chars().next().map_or(1, char::len_utf8)
    });
    let value = text[start..link.start].trim_end_matches(PAUSES);
    let is_pause = start + value.len() < link.start;
    let kept_len = match last_katakana(value).filter(|_| is_pause) {
        // `抹茶アレルギー…じゃなくて苦手`: only what is said of it was wrong.
        Some(run) if !next.contains(run) => value.len() - run.len(),
        _ => topic_len(value, words),
    };
    Some(start + kept_len..link.end)
}

/// Returns the length of the subject with which a clause begins: `私は`.
fn topic_len(value: &str, words: &ChatWords) -> usize {
    let particles = words.topic_particles.unspaced();
    let ends = particles.filter_map(|particle| Some(value.rfind(particle)? + particle.len()));
    ends.filter(|end| *end < value.len()).max().unwrap_or(0)
}

/// Returns the word in katakana with which a text ends.
fn last_katakana(text: &str) -> Option<&str> {
    let before = text.trim_end_matches(|c| matches!(c, '\u{30a1}'..='\u{30fc}'));
    let run = &text[before.len()..];
    let has_object = before.ends_with(is_unspaced) && !before.ends_with(is_hiragana);
    (!run.is_empty() && has_object).then_some(run)
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

#[cfg(test)]
mod tests {
    use text::Language;

    use super::*;
    use crate::chat::words::chat_words_of;

    #[test]
    fn only_the_value_that_holds_stays() {
        for (text, expected) in [
            (
                "私は抹茶アレルギー…じゃなくて苦手なだけ。次は明日",
                "私は抹茶苦手なだけ。次は明日",
            ),
            (
                "卵アレルギーじゃなくて、乳アレルギーです",
                "、乳アレルギーです",
            ),
            ("母は医者ではなくて看護師です", "母は看護師です"),
            ("猫がいる。私は犬派、じゃなくて猫派", "猫がいる。私は猫派"),
            ("敬語じゃなくていいよ", "敬語じゃなくていいよ"),
            ("そういう意味じゃなくて", "そういう意味じゃなくて"),
        ] {
            let resolved = resolve_denials(text, chat_words_of(Language::Japanese));
            assert_eq!(resolved.chars().count(), text.chars().count(), "{text}");
            assert_eq!(resolved.replace(' ', ""), expected);
        }
    }
}
