//! The check that a proposal denies what its source denies, and nothing else.

use std::collections::HashSet;

use super::words::{Form, Word, root, roots, words};

/// Words of denial, without those that are common words in another language: `plus`, `mai`.
const DENIALS: &str = "ain't cannot jamais kein keine keinem keinen keiner n'est neither never nicht nichts nie niemals no \
    nobody non none nor not nothing nunca não ohne pas sem sin sans senza without не нет никогда नहीं";
/// Signs of denial in scripts that write no spaces between words or join the denial to the verb.
const DENYING: &str = "不|没|沒|无|無|ない|ません|なかった|않|없|안 ";
/// Words whose meaning is a denial, in any inflection.
const REFUSALS: &str = "allergic allergy cancel decline dislike fail hate lack quit refuse reject stop unable hassen dejar \
    odiar détester";
/// Words after which a denial is a paraphrase, although they deny nothing by themselves.
const ALTERNATIVES: &str = "avoid except instead rather statt anstatt";
/// Phrases that introduce the alternative that was not chosen.
const CONTRASTS: &str =
    "rather than|instead of| over |except|unlike| statt |anstatt|en lugar de|plutôt que";
/// Words for a change after which something no longer holds.
const CHANGES: &str = "end former gave give leave left lose lost move replace remove return sell sold switch umgezogen \
    verlassen verkauft aufgehört mudé quitté arrêté";
/// Phrases which say that something no longer holds.
const NO_LONGER: &str =
    "no longer|any more|anymore|nicht mehr|kein mehr|ya no|ne plus|non più|não mais|больше не";
/// Idioms that are denials in form only.
const IDIOMS: &str =
    "not only|can't wait|cannot wait|can’t wait|no doubt|don't forget|not just|nicht nur";
/// Words that begin another clause.
const JOINTS: &str = "aber although and because but doch however mais mas pero sino sondern though und weil whereas while \
    но а";

/// Checks whether a text denies something.
pub(super) fn denies(text: &str) -> bool {
    let lower = IDIOMS
        .split('|')
        .fold(text.to_lowercase(), |text, idiom| text.replace(idiom, " "));
    let word = |word: &Word<'_>| {
        DENIALS.split(' ').any(|denial| denial == word.lower)
            || word.lower.ends_with("n't")
            || word.lower.ends_with("n’t")
    };
    words(&lower).iter().any(word) || DENYING.split('|').any(|sign| lower.contains(sign))
}

/// Checks whether a text denies something, refuses it, or describes a change.
pub(super) fn denies_or_ends(text: &str) -> bool {
    denies(text) || has_root(text, REFUSALS) || has_root(text, CHANGES)
}

fn has_root(text: &str, list: &str) -> bool {
    let said = roots(text);
    list.split(' ').any(|word| said.contains(&root(word)))
}

/// Checks that `text` denies something only if its source does, and that it does not turn the
/// matching clause of the source into its opposite.
pub(super) fn agrees(text: &str, sentences: &[&str]) -> bool {
    let any = |holds: &dyn Fn(&str) -> bool| sentences.iter().any(|sentence| holds(sentence));
    let refused = any(&|sentence| {
        denies(sentence) || has_root(sentence, REFUSALS) || has_root(sentence, ALTERNATIVES)
    });

    if denies(text) {
        let lower = text.to_lowercase();
        let no_longer = NO_LONGER.split('|').any(|phrase| lower.contains(phrase));
        return refused || (no_longer && any(&|sentence| has_root(sentence, CHANGES)));
    }

    let source: HashSet<String> = sentences
        .iter()
        .flat_map(|sentence| roots(sentence))
        .collect();
    let said = roots(text);
    let adds = |refusal: String| said.contains(&refusal) && !source.contains(&refusal);
    if REFUSALS.split(' ').map(root).any(adds) {
        return refused;
    }

    let clauses: Vec<_> = sentences
        .iter()
        .flat_map(|sentence| clauses(sentence))
        .collect();
    let (denied, stated): (Vec<&str>, Vec<&str>) =
        clauses.into_iter().partition(|clause| denies(clause));
    let shared = |clause: &&str| roots(clause).intersection(&said).count();
    let most = |clauses: &[&str]| clauses.iter().map(shared).max().unwrap_or(0);
    let stated_words: HashSet<String> = stated.iter().flat_map(|clause| roots(clause)).collect();
    let denied_words: HashSet<String> = denied.iter().flat_map(|clause| roots(clause)).collect();
    let only_denied = |word: &Word<'_>| {
        let root = root(&word.lower);
        denied_words.contains(&root) && !stated_words.contains(&root)
    };

    let turned =
        |word: &Word<'_>| matches!(word.form, Form::Name | Form::Number) && only_denied(word);
    let lower = text.to_lowercase();
    let contrasts = CONTRASTS.split('|').any(|phrase| lower.contains(phrase));

    most(&stated) >= most(&denied) && (contrasts || !words(text).iter().any(turned))
}

/// Splits a sentence into its clauses, approximately.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    for part in sentence.split([
        ',', ';', ':', '.', '!', '?', '(', ')', '–', '—', '，', '。', '；', '、', '\n',
    ]) {
        let mut from = 0;
        for word in words(part)
            .iter()
            .filter(|word| JOINTS.split(' ').any(|joint| joint == word.lower))
        {
            clauses.push(&part[from..word.at]);
            from = word.at;
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
            assert_eq!(agrees(text, &[source]), expected, "{source} / {text}");
        }
    }
}
