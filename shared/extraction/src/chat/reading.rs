//! The kind of a remark: a question, a request, a statement.

use std::borrow::Cow;
use std::ops::Range;

use text::Language;

use super::remarks::{Remark, count_units, is_begun_clause};
use super::spelling::spell_out;
use super::words::{
    ChatWords, LowerText, chat_words_of, is_unspaced, is_word_char, lower_in_place, words_of,
};
use crate::english::{add_speaker, is_clause, is_open_standing_phrase, is_order};
use crate::sentences::BlockKind;

/// The fewest words of a remark that says something. Two characters of a script without spaces
/// count as a word.
const MIN_UNITS: usize = 2;
/// The fewest words of what a remark tells before it supposes something.
const MIN_UNITS_BEFORE_SUPPOSITION: usize = 3;
/// The most words of a quotation that is a name or a term rather than somebody's words.
const MAX_QUOTED_TERM_WORDS: usize = 2;
/// The same in characters, in scripts without spaces.
const MAX_QUOTED_TERM_CHARS: usize = 6;
/// The most words of a title.
const MAX_TITLE_WORDS: usize = 8;
/// The longest clause before a quotation that names a favourite, in bytes.
const MAX_FAVORITE_BYTES: usize = 120;
/// The most letters of a word that a title has without a capital: `of`, `the`.
const MAX_SMALL_WORD: usize = 3;

/// The purpose of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemarkKind {
    /// Nothing: it only opens or closes.
    Empty,
    /// It asks something.
    Question,
    /// It asks for something to be done now.
    Request,
    /// It says how the assistant is to answer from now on.
    Instruction,
    /// It imagines something, or says the opposite of what it means.
    Supposition,
    /// It tells something.
    Statement,
}

/// A remark in its usual spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadRemark {
    /// The words without those at the ends that carry no content.
    pub(crate) text: String,
    /// Its purpose.
    pub(crate) kind: RemarkKind,
    /// The words in lower case.
    pub(super) lower: LowerText,
    /// True if a supposition follows the words, which is left out.
    pub(crate) ends_in_supposition: bool,
}

#[cfg(test)]
impl ReadRemark {
    /// Returns a statement with this text.
    pub(super) fn statement(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            kind: RemarkKind::Statement,
            lower: LowerText::new(text),
            ends_in_supposition: false,
        }
    }
}

/// Reads a remark.
pub(crate) fn read_remark(remark: &Remark<'_>, language: Language) -> ReadRemark {
    let words = chat_words_of(language);
    let text = drop_aside(remark.sentence.text, words);
    let text = collapse_spaces(&text);
    let spelled = spell_out(&text, language);
    let core = strip_empty_words(&spelled, words);
    let told = told_in_question(core, words).or_else(|| told_in_request(core, words));
    if let Some(told) = told {
        return ReadRemark {
            text: told.to_owned(),
            kind: RemarkKind::Statement,
            lower: LowerText::new(told),
            ends_in_supposition: false,
        };
    }

    let lower = LowerText::new(core);
    let kind = find_kind(remark, core, &lower, language);
    if kind == RemarkKind::Supposition
        && !remark.is_ironic
        && language == Language::English
        && let Some(end) = end_before_supposition(&lower, words)
    {
        let told = strip_empty_words(&core[..end], words);
        return ReadRemark {
            text: told.to_owned(),
            kind: RemarkKind::Statement,
            lower: LowerText::new(told),
            ends_in_supposition: true,
        };
    }

    let mut text = core.to_owned();
    text.extend(full_stop_after(&spelled, core));
    let with_speaker = match kind {
        RemarkKind::Statement if language == Language::English => add_speaker(&text),
        _ => None,
    };
    ReadRemark {
        lower: with_speaker.as_deref().map_or(lower, LowerText::new),
        text: with_speaker.unwrap_or(text),
        kind,
        ends_in_supposition: false,
    }
}

/// Returns the end of what a remark tells before a clause that supposes something: `i live in Leeds`
/// of `i live in Leeds but might be moving to Hull`.
fn end_before_supposition(lower: &LowerText, words: &ChatWords) -> Option<usize> {
    let at = words.suppositions.find(lower)?;
    let is_opening = words
        .supposition_openings
        .opening_len(&lower.text)
        .is_some();
    let is_joint = |word: &str| matches!(word, "and" | "but" | "so" | "though" | "although");
    let joint = lower.words.iter().rev().find(|word| {
        word.start <= at
            && (is_joint(&lower.text[word.start..word.end]) || follows_comma(lower, word))
    })?;
    let end = joint.start;
    let told = lower.text[..end].trim_end_matches([' ', ',']);
    let is_told =
        !is_opening && count_units(told) >= MIN_UNITS_BEFORE_SUPPOSITION && is_clause(told);
    is_told.then_some(told.len())
}

/// Checks whether a comma stands right before a word.
fn follows_comma(lower: &LowerText, word: &Range<usize>) -> bool {
    lower.text[..word.start].trim_end().ends_with(',')
}

/// Returns a text without the aside after its first words: `ich bin Linkshänder` for `ich bin übrigens
/// Linkshänder`.
fn drop_aside<'t>(text: &'t str, words: &ChatWords) -> Cow<'t, str> {
    let lower = LowerText::new(text);
    let mut asides = words.asides.find_ranges(&lower);
    match asides.find(|range| is_begun_clause(&lower.text[..range.start], words)) {
        Some(range) => Cow::Owned([&text[..range.start], &text[range.end..]].concat()),
        None => Cow::Borrowed(text),
    }
}

/// Returns a text with one space in place of several, which a resolved correction leaves behind.
fn collapse_spaces(text: &str) -> Cow<'_, str> {
    if !text.contains("  ") {
        return Cow::Borrowed(text);
    }

    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join(" "))
}

/// Returns the part of a question that is told: `is it weird that i crave ice`.
fn told_in_question<'t>(core: &'t str, words: &ChatWords) -> Option<&'t str> {
    let len = words.presuppositions.opening_len(&lower_in_place(core))?;
    let told = core[len..].trim_start();
    (count_units(told) >= MIN_UNITS).then_some(told)
}

/// Returns the part of a request to remember that is told: `can you remember that i'm vegan`. A
/// question about what is remembered tells nothing: `can you remember my name`.
fn told_in_request<'t>(core: &'t str, words: &ChatWords) -> Option<&'t str> {
    let lower = lower_in_place(core);
    let polite_len = polite_len(&lower, words);
    let asked = &lower[polite_len..];
    let is_asked = words
        .second_person
        .occur_in(&LowerText::new(&lower[..polite_len]));
    let addition = words.profile_additions.opening_len(asked);
    let request = words.remembering_requests.opening_len(asked);
    let len = addition.or(request.filter(|_| is_asked))?;

    let after = asked[len..].trim_start();
    let clause = after
        .strip_prefix("that ")
        .or_else(|| after.strip_prefix(':'))
        .unwrap_or(after)
        .trim_start();
    let rest = LowerText::new(clause);
    let begins_with_speaker = words.first_person_subjects.opening_len(clause).is_some();
    let tells_state = || {
        let mut words = words_of(clause);
        words.any(|word| matches!(word, "are" | "has" | "have" | "is" | "was" | "were"))
    };
    let is_owned = words.first_person.opening_len(clause).is_some()
        && (clause.len() < after.len() || tells_state());
    let is_told = (begins_with_speaker || is_owned) && !words.second_person.occur_in(&rest);
    is_told.then(|| &core[core.len() - clause.len()..])
}

/// Returns the length of the polite words with which a request begins, with the space after them.
fn polite_len(lower: &str, words: &ChatWords) -> usize {
    let mut rest = lower;
    while let Some(len) = words.polite_words.opening_len(rest) {
        rest = rest[len..].trim_start_matches([' ', ',']);
    }

    lower.len() - rest.len()
}

/// Returns the full stop that follows a part of a text.
fn full_stop_after(text: &str, part: &str) -> Option<char> {
    let at = text.rfind(part)? + part.len();
    let next = text.get(at..)?.chars().next()?;
    matches!(next, '.' | '。' | '।').then_some(next)
}

fn find_kind(remark: &Remark<'_>, core: &str, lower: &LowerText, language: Language) -> RemarkKind {
    let words = chat_words_of(language);
    let is_standing_order = || {
        let order = &lower.text[polite_len(&lower.text, words)..];
        // "Can you stop giving a cat insulin?" is about the cat.
        let is_about_answers = !remark.is_question || words.first_person.occur_in(lower);
        is_about_answers && words.standing_orders.opening_len(order).is_some()
    };
    let is_standing = || {
        words.standing_phrases.occur_in(lower) && is_addressed(core, lower, language)
            || is_standing_order()
    };
    let is_instruction = || is_standing() && !words.one_time_phrases.occur_in(lower);

    let is_listed = remark.sentence.block == BlockKind::ListItem;
    let min_units = if is_listed { 1 } else { MIN_UNITS };
    let is_empty = || {
        words.empty_remarks.is(&lower.text)
            || words.play_endings.is(&lower.text)
            || language == Language::English && is_signature(&lower.text)
            || is_bare_standing_phrase(&lower.text, language)
    };
    if count_units(core) < min_units || is_empty() {
        RemarkKind::Empty
    } else if is_instruction() {
        RemarkKind::Instruction
    } else if remark.is_question
        || words.question_openings.opening_len(&lower.text).is_some()
        || words.question_endings.ending_len(&lower.text).is_some()
    {
        RemarkKind::Question
    } else if words.request_words.occur_in(lower) {
        RemarkKind::Request
    } else if words
        .supposition_openings
        .opening_len(&lower.text)
        .is_some()
    {
        RemarkKind::Supposition
    } else if words.request_openings.opening_len(&lower.text).is_some() {
        RemarkKind::Request
    } else if remark.is_ironic || words.suppositions.occur_in(lower) {
        RemarkKind::Supposition
    } else {
        RemarkKind::Statement
    }
}

/// Checks whether a remark is the end of a letter: `love, Greta`.
fn is_signature(lower: &str) -> bool {
    const CLOSINGS: [&str; 8] = [
        "all my love",
        "best",
        "best wishes",
        "hugs",
        "lots of love",
        "love",
        "sincerely",
        "yours",
    ];
    lower.split_once(',').is_some_and(|(closing, name)| {
        CLOSINGS.contains(&closing) && name.split_whitespace().count() <= MAX_QUOTED_TERM_WORDS
    })
}

/// Checks whether a remark with a standing phrase speaks to the assistant.
fn is_addressed(core: &str, lower: &LowerText, language: Language) -> bool {
    let words = chat_words_of(language);
    if words.second_person.occur_in(lower) {
        return true;
    }
    if words.first_person.opening_len(&lower.text).is_some() {
        return false;
    }

    let mut phrases = words.standing_phrases.find_ranges(lower);
    language != Language::English
        || phrases.any(|range| !is_open_standing_phrase(&lower.text[range]))
        || is_order(core)
}

/// Checks whether a text is only a phrase to which a clause was added: `from now on` of `from now on
/// I'm vegan`.
fn is_bare_standing_phrase(lower: &str, language: Language) -> bool {
    language == Language::English && is_open_standing_phrase(lower)
}

/// Returns a text without the words and marks at its ends that carry no content.
fn strip_empty_words<'t>(text: &'t str, words: &ChatWords) -> &'t str {
    let mut core = text;
    loop {
        let length = core.len();
        core = core.trim_start_matches(|c: char| !is_word_char(c) && !"$€£#@\"'“„«「~".contains(c));
        if let Some(len) = words.empty_openings.opening_len(&lower_in_place(core)) {
            core = &core[len..];
        }

        core =
            core.trim_end_matches(|c: char| !c.is_alphanumeric() && !")\"'”»」%+:：".contains(c));
        if let Some(len) = words.empty_endings.ending_len(&lower_in_place(core)) {
            core = &core[..core.len() - len];
        }
        if core.len() == length {
            return core;
        }
    }
}

/// Returns the byte ranges of a message that quote more than a name or a term, in order.
pub(crate) fn find_quotations(text: &str, language: Language) -> Vec<Range<usize>> {
    let words = chat_words_of(language);
    let mut quotations = Vec::new();
    let mut open: Option<(usize, char)> = None;
    for (at, c) in text.char_indices() {
        let next = text[at + c.len_utf8()..].chars().next();
        let previous = text[..at].chars().next_back();
        let is_letter = |c: char| c.is_alphanumeric() && !is_unspaced(c);
        let is_inside_word = previous.is_some_and(is_letter) && next.is_some_and(is_letter);
        if is_inside_word {
            continue;
        }

        match open {
            Some((from, mark)) if closing_mark(mark).contains(c) => {
                let quoted = &text[from + mark.len_utf8()..at];
                let is_name = is_term(quoted) || is_title(quoted, words);
                if !is_name && !follows_favorite(&text[..from]) {
                    quotations.push(from..at + c.len_utf8());
                }
                open = None;
            }
            None if !closing_mark(c).is_empty() && opens_quotation(c, previous) => {
                open = Some((at, c));
            }
            _ => {}
        }
    }

    quotations
}

/// Checks whether a quoted text is a name or a term.
fn is_term(quoted: &str) -> bool {
    let wide = quoted.chars().filter(|c| is_unspaced(*c)).count();
    wide <= MAX_QUOTED_TERM_CHARS && (wide > 0 || count_units(quoted) <= MAX_QUOTED_TERM_WORDS)
}

/// Checks whether a quoted text is a title: `The Name of the Rose`. A sentence of somebody is none: `I am
/// 30`.
fn is_title(quoted: &str, words: &ChatWords) -> bool {
    if quoted.ends_with('.') {
        return false;
    }

    let title: Vec<&str> = quoted.split_whitespace().collect();
    let is_capital = |word: &&str| word.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    let is_small = |word: &&str| {
        word.chars().count() <= MAX_SMALL_WORD && word.chars().all(char::is_lowercase)
    };
    let [first, .., last] = title.as_slice() else {
        return false;
    };
    let is_spoken = words.first_person.is(&first.to_lowercase()) && is_small(&title[1]);
    title.len() <= MAX_TITLE_WORDS
        && !is_spoken
        && is_capital(first)
        && is_capital(last)
        && title.iter().all(|word| is_capital(word) || is_small(word))
}

/// Checks whether the words before a quotation name a favourite, which it tells: `my favourite quote is`.
/// Only the words right before it are searched, because a text may have many quotations.
fn follows_favorite(before: &str) -> bool {
    let from = before.floor_char_boundary(before.len().saturating_sub(MAX_FAVORITE_BYTES));
    let clause = before[from..]
        .rsplit(['.', '!', '?', '\n'])
        .next()
        .unwrap_or_default();
    let lower = clause.to_lowercase();
    let mut words = lower.split_whitespace();
    words.any(|word| matches!(word, "favourite" | "favorite" | "fav"))
        && lower.trim_end().ends_with(" is")
}

/// Checks whether a mark opens a quotation after a character. A straight mark after a letter or a
/// digit is an apostrophe or a unit.
fn opens_quotation(mark: char, previous: Option<char>) -> bool {
    !matches!(mark, '\'' | '’' | '"') || previous.is_none_or(|c| !c.is_alphanumeric())
}

/// Returns the marks that close a quotation, or nothing for any other character.
fn closing_mark(opening: char) -> &'static str {
    match opening {
        '"' => "\"",
        '\'' | '‘' => "'’",
        '“' => "”“",
        '„' => "“”",
        '«' => "»",
        '»' => "«",
        '「' => "」",
        '『' => "』",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::split_remarks;
    use crate::sentences::Sentence;

    #[test]
    fn remarks_are_told_apart_by_what_they_do() {
        for (text, kind) in [
            ("ok thanks lol", RemarkKind::Empty),
            ("what can i make for dinner", RemarkKind::Question),
            ("can spend like 20k on the kitchen", RemarkKind::Statement),
            ("help me write a cover letter", RemarkKind::Request),
            ("if i ever had a kid", RemarkKind::Supposition),
            ("my knee hurts if i do hills", RemarkKind::Statement),
            ("is it weird that i crave ice?", RemarkKind::Statement),
            ("is it weird?", RemarkKind::Question),
            ("from now on all prices in CAD", RemarkKind::Instruction),
            ("from now on", RemarkKind::Empty),
            ("stop recommending beef", RemarkKind::Instruction),
            (
                "please don't suggest anything with nuts",
                RemarkKind::Instruction,
            ),
            ("don't suggest this one", RemarkKind::Statement),
            ("he should stop giving me work", RemarkKind::Statement),
            (
                "can you remember i'm allergic to latex?",
                RemarkKind::Statement,
            ),
            (
                "could you note down that my locker is 4417?",
                RemarkKind::Statement,
            ),
            (
                "can you make a note that my sister moved",
                RemarkKind::Statement,
            ),
            (
                "could you please keep in mind i eat halal?",
                RemarkKind::Statement,
            ),
            (
                "add to my profile that i'm a vegetarian",
                RemarkKind::Statement,
            ),
            ("can you remember my name?", RemarkKind::Question),
            ("can you remember what i said?", RemarkKind::Question),
            ("can you save my draft?", RemarkKind::Question),
            ("can you remember my wife's name?", RemarkKind::Question),
            ("can you remember my wife’s name?", RemarkKind::Question),
            ("can you remember my wife is vegan?", RemarkKind::Statement),
            ("can you stop recommending beef?", RemarkKind::Instruction),
            ("can you stop sending me links?", RemarkKind::Instruction),
            ("can you stop giving a cat insulin?", RemarkKind::Question),
            ("i always go by bike", RemarkKind::Statement),
            ("btw left handed", RemarkKind::Statement),
        ] {
            let sentence = Sentence {
                text,
                start: 0,
                end: text.len(),
                block: BlockKind::Prose,
            };
            let remark = split_remarks(&sentence, Language::English)[0];
            assert_eq!(read_remark(&remark, Language::English).kind, kind, "{text}");
        }
    }

    #[test]
    fn asides_are_left_out_and_words_that_look_like_them_are_not() {
        for (language, text, expected) in [
            (
                Language::German,
                "ich bin übrigens Linkshänder",
                "ich bin Linkshänder",
            ),
            (
                Language::English,
                "my bread turns out dense",
                "my bread turns out dense",
            ),
            (Language::English, "my İ btw“ẞ” cat", "my İ “ẞ” cat"),
            (
                Language::Japanese,
                "私は静かなところで育ちました",
                "私は静かなところで育ちました",
            ),
            (Language::Chinese, "我面对了很多困难", "我面对了很多困难"),
            (Language::Chinese, "我有另外两个孩子", "我有另外两个孩子"),
        ] {
            let sentence = Sentence {
                text,
                start: 0,
                end: text.len(),
                block: BlockKind::Prose,
            };
            let remarks = split_remarks(&sentence, language);
            assert_eq!(remarks.len(), 1, "{text}");
            assert_eq!(read_remark(&remarks[0], language).text, expected);
        }
    }

    #[test]
    fn closings_thanks_and_sympathy_say_nothing() {
        for (language, texts) in [
            (
                Language::English,
                &["great timing right", "ugh perfect timing"][..],
            ),
            (Language::German, &["haha du ärmste", "gute besserung!"]),
            (
                Language::Japanese,
                &[
                    "ありがとうございます。",
                    "いいね！",
                    "助かる〜",
                    "そうなんですよ",
                ],
            ),
            (Language::Portuguese, &["ahah ok.", "eu sei eu sei"]),
            (Language::Chinese, &["谢谢你", "太好了！"]),
            (Language::Russian, &["спасибо большое"]),
        ] {
            for text in texts {
                let sentence = Sentence {
                    text,
                    start: 0,
                    end: text.len(),
                    block: BlockKind::Prose,
                };
                let remark = split_remarks(&sentence, language)[0];
                let kind = read_remark(&remark, language).kind;
                assert_eq!(kind, RemarkKind::Empty, "{text}");
            }
        }
    }

    #[test]
    fn quotations_are_longer_than_a_term() {
        for (text, expected) in [
            (
                "say 'i live in Utrecht' in Turkish",
                vec!["'i live in Utrecht'"],
            ),
            ("never say 'simply' to me", vec![]),
            ("my favourite book is \"The Name of the Rose\"", vec![]),
            ("watched \"All Quiet on the Western Front\"", vec![]),
            ("my favorite quote is \"less is more\"", vec![]),
            (
                "my boss asked: what is \"less is more\"",
                vec!["\"less is more\""],
            ),
            ("it's the dogs' bed and that's it", vec![]),
            ("he said \"I am 30\"", vec!["\"I am 30\""]),
            ("we read \"I Am Legend\" at school", vec![]),
            ("\"My name is Ilse.\" better?", vec!["\"My name is Ilse.\""]),
            (
                "「私は神戸に住んでいます」って",
                vec!["「私は神戸に住んでいます」"],
            ),
        ] {
            let found: Vec<_> = find_quotations(text, Language::English)
                .into_iter()
                .map(|range| &text[range])
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
