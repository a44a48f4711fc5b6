//! The check that a proposal denies what its source denies, and nothing else.

use std::collections::HashSet;

use super::words::{SourceWord, WordForm, content_roots, tokenize_words, word_root};

/// Words of denial, without those that are common words in another language: `plus`, `mai`.
const NEGATION_WORDS: &str = "ain't cannot jamais kein keine keinem keinen keiner n'est neither never nicht nichts nie niemals no \
    nobody non none nor not nothing nunca não ohne pas sem sin sans senza without не нет никогда नहीं";
/// Signs of denial in scripts that write no spaces between words or join the denial to the verb.
const NEGATION_SIGNS: &str = "不|没|沒|无|無|ない|ません|なかった|않|없|안 ";
/// Words whose meaning is a denial, in any inflection.
const REFUSAL_WORDS: &str = "allergic allergy cancel decline dislike fail hate lack quit refuse reject stop unable hassen dejar \
    odiar détester";
/// Words after which a denial is a paraphrase, although they deny nothing by themselves.
const ALTERNATIVE_WORDS: &str = "avoid except instead rather statt anstatt";
/// Phrases that introduce the alternative that was not chosen.
const CONTRAST_PHRASES: &str =
    "rather than|instead of| over |except|unlike| statt |anstatt|en lugar de|plutôt que";
/// Words for a change after which something no longer holds.
const CHANGE_WORDS: &str = "end former gave give leave left lose lost move replace remove return sell sold switch umgezogen \
    verlassen verkauft aufgehört mudé quitté arrêté";
/// Phrases which say that something no longer holds.
const NO_LONGER_PHRASES: &str =
    "no longer|any more|anymore|nicht mehr|kein mehr|ya no|ne plus|non più|não mais|больше не";
/// Idioms that are denials in form only.
const NEGATION_IDIOMS: &str =
    "not only|can't wait|cannot wait|can’t wait|no doubt|don't forget|not just|nicht nur";
/// Words that begin another clause.
const CLAUSE_CONJUNCTIONS: &str = "aber although and because but doch however mais mas pero sino sondern though und weil whereas while \
    но а";

/// Checks whether a text denies something.
pub(super) fn is_negated(text: &str) -> bool {
    let mut lower = text.to_lowercase();
    for idiom in NEGATION_IDIOMS.split('|') {
        lower = lower.replace(idiom, " ");
    }
    let is_negation = |word: &SourceWord<'_>| {
        NEGATION_WORDS
            .split(' ')
            .any(|negation| negation == word.lower)
            || word.lower.ends_with("n't")
            || word.lower.ends_with("n’t")
    };
    tokenize_words(&lower).iter().any(is_negation)
        || NEGATION_SIGNS.split('|').any(|sign| lower.contains(sign))
}

/// Checks whether a text denies something, refuses it, or describes a change.
pub(super) fn is_negated_or_ended(text: &str) -> bool {
    is_negated(text)
        || contains_root_of(text, REFUSAL_WORDS)
        || contains_root_of(text, CHANGE_WORDS)
}

fn contains_root_of(text: &str, list: &str) -> bool {
    let roots = content_roots(text);
    list.split(' ').any(|word| roots.contains(&word_root(word)))
}

/// Checks that `text` denies something only if its source does, and that it does not turn the
/// matching clause of the source into its opposite.
pub(super) fn agrees_in_polarity(text: &str, sentences: &[&str]) -> bool {
    let any_sentence =
        |predicate: &dyn Fn(&str) -> bool| sentences.iter().any(|sentence| predicate(sentence));
    let is_refused = any_sentence(&|sentence| {
        is_negated(sentence)
            || contains_root_of(sentence, REFUSAL_WORDS)
            || contains_root_of(sentence, ALTERNATIVE_WORDS)
    });

    if is_negated(text) {
        let lower = text.to_lowercase();
        let says_no_longer = NO_LONGER_PHRASES
            .split('|')
            .any(|phrase| lower.contains(phrase));
        return is_refused
            || (says_no_longer
                && any_sentence(&|sentence| contains_root_of(sentence, CHANGE_WORDS)));
    }

    let source_roots = content_roots_of_all(sentences);
    let text_roots = content_roots(text);
    for refusal in REFUSAL_WORDS.split(' ') {
        let root = word_root(refusal);
        if text_roots.contains(&root) && !source_roots.contains(&root) {
            return is_refused;
        }
    }

    let clauses: Vec<_> = sentences
        .iter()
        .flat_map(|sentence| split_clauses(sentence))
        .collect();
    let (negated_clauses, stated_clauses): (Vec<&str>, Vec<&str>) =
        clauses.into_iter().partition(|clause| is_negated(clause));
    let shared_roots = |clause: &&str| content_roots(clause).intersection(&text_roots).count();
    let max_shared = |clauses: &[&str]| clauses.iter().map(shared_roots).max().unwrap_or(0);
    let stated_words = content_roots_of_all(&stated_clauses);
    let negated_words = content_roots_of_all(&negated_clauses);
    let is_only_negated = |word: &SourceWord<'_>| {
        let root = word_root(&word.lower);
        negated_words.contains(&root) && !stated_words.contains(&root)
    };

    let is_reversed = |word: &SourceWord<'_>| {
        matches!(word.form, WordForm::Name | WordForm::Number) && is_only_negated(word)
    };
    let lower = text.to_lowercase();
    let has_contrast = CONTRAST_PHRASES
        .split('|')
        .any(|phrase| lower.contains(phrase));

    max_shared(&stated_clauses) >= max_shared(&negated_clauses)
        && (has_contrast || !tokenize_words(text).iter().any(is_reversed))
}

/// Returns the roots of the words with content in several texts.
fn content_roots_of_all(texts: &[&str]) -> HashSet<String> {
    texts.iter().flat_map(|text| content_roots(text)).collect()
}

/// Splits a sentence into its clauses, approximately.
fn split_clauses(sentence: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    for part in sentence.split([
        ',', ';', ':', '.', '!', '?', '(', ')', '–', '—', '，', '。', '；', '、', '\n',
    ]) {
        let mut from = 0;
        for word in tokenize_words(part) {
            let is_conjunction = CLAUSE_CONJUNCTIONS
                .split(' ')
                .any(|conjunction| conjunction == word.lower);
            if is_conjunction {
                clauses.push(&part[from..word.at]);
                from = word.at;
            }
        }
        clauses.push(&part[from..]);
    }

    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_neither_added_nor_lost() {
        for (source, text, expected) in [
            ("I don't live in Lund.", "User lives in Lund.", false),
            ("I don't live in Lund.", "User does not live in Lund.", true),
            ("I live in Lund, not in Ystad.", "User lives in Lund.", true),
            (
                "I live in Lund, not in Ystad.",
                "User lives in Ystad.",
                false,
            ),
            ("I can't stand cilantro.", "User dislikes cilantro.", true),
            ("I can't stand cilantro.", "User loves cilantro.", false),
            ("I don't eat fish but love rice.", "User loves rice.", true),
            (
                "I can't wait to see Lund.",
                "User looks forward to seeing Lund.",
                true,
            ),
            ("I like tea.", "User does not like tea.", false),
            (
                "Ida wants it on Monday, not on Friday.",
                "Ida wants it on Monday rather than Friday.",
                true,
            ),
            (
                "Ida wants it on Monday, not on Friday.",
                "Ida wants it on Friday.",
                false,
            ),
            (
                "I take careful forecasts even if they cost.",
                "User takes careful forecasts to avoid cost.",
                true,
            ),
            ("I avoid gluten.", "User does not eat gluten.", true),
            ("I quit coffee.", "User no longer drinks coffee.", true),
            (
                "I moved from Ystad to Lund.",
                "User no longer lives in Ystad.",
                true,
            ),
            ("I moved to Lund.", "User never moved to Lund.", false),
            ("I never moved to Lund.", "User moved to Lund.", false),
            ("I don't hate tea.", "User hates tea.", false),
            ("I like tea a lot.", "User dislikes tea a lot.", false),
            ("Ich mag keinen Fisch.", "User mag Fisch.", false),
            ("我不喜欢茶。", "User 喜欢茶。", false),
        ] {
            assert_eq!(
                agrees_in_polarity(text, &[source]),
                expected,
                "{source} / {text}"
            );
        }
    }
}
