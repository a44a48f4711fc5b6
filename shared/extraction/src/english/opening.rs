//! Words before a statement that carry no information, and sentences that are not statements.

use super::lexicon::{
    is_adverb, is_auxiliary, is_content_word, is_determiner, is_preposition, is_pronoun, parse_verb,
};
use super::vocabulary::vocabulary;
use super::words::{Clause, Word};

/// The information about a statement in the words before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Opening {
    /// The index at which the statement begins.
    pub(crate) at: usize,
    /// True if it was announced as a fact: `FYI:`, `Confirmed:`.
    pub(crate) is_announcement: bool,
    /// True if it corrects something: `Actually,`.
    pub(crate) is_correction: bool,
    /// True if it was announced as a decision.
    pub(crate) is_decision: bool,
    /// True if it was announced as an opinion.
    pub(crate) is_opinion: bool,
}

/// Returns the opening of a sentence, or `None` if what follows is not a statement.
pub(crate) fn parse_opening(clause: Clause<'_>) -> Option<Opening> {
    let mut opening = Opening::default();
    loop {
        let previous = opening.at;
        opening.at = skip_marks(clause, opening.at)?;
        read_label(clause, &mut opening)?;
        opening.at = skip_exclamation(clause, opening.at);
        skip_filler(clause, &mut opening);
        if opening.at == previous {
            break;
        }
    }

    let rest = clause.from(opening.at);
    let is_hypothetical = vocabulary().hypothetical_words.has(rest.lower_at(0))
        && !(rest.lower_at(0) == "do" && (rest.lower_at(1) == "n't" || rest.lower_at(1) == "not"));
    let word_count = rest
        .words
        .iter()
        .filter(|word| !word.is_punctuation)
        .count();

    (!is_hypothetical && word_count >= 2).then_some(opening)
}

/// Returns the index after the last word of the statement, before remarks at the end:
/// `…, by the way`, `…, wish me luck!`.
pub(crate) fn find_closing(clause: Clause<'_>) -> usize {
    let mut end = clause
        .words
        .iter()
        .rposition(|word| !word.is_punctuation)
        .map_or(0, |last| last + 1);
    let mut cut = clause.len();
    while let Some(comma) = (1..end)
        .rev()
        .take(8)
        .find(|&at| matches!(clause.lower_at(at), "," | "—" | "("))
    {
        if !vocabulary()
            .closing_remarks
            .standing(clause, comma + 1)
            .any(|(_, to)| to == end)
        {
            break;
        }
        end = comma;
        cut = comma;
    }

    cut
}

/// Skips marks. Returns `None` at a quotation, which holds the words of somebody else.
fn skip_marks(clause: Clause<'_>, mut at: usize) -> Option<usize> {
    while let Some(word) = clause
        .words
        .get(at)
        .filter(|word| word.is_punctuation && !matches!(word.lower, "$" | "€" | "£" | "#" | "@"))
    {
        if word.lower == "\"" {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Reads a label such as `Quick fact for the file:` or `My take on X:` into `opening`. Returns
/// `None` if the label announces a reason.
fn read_label(clause: Clause<'_>, opening: &mut Opening) -> Option<()> {
    let end = opening.at
        + clause
            .from(opening.at)
            .until_index(12)
            .index_of_any(0, &[":"]);
    if clause.lower_at(end) != ":" {
        return Some(());
    }

    let label = clause.until_index(end).from(opening.at);
    if label.has_word_in(&vocabulary().reasoning_labels) {
        return None;
    }

    if label.has_word_in(&vocabulary().opinion_nouns) && label.lower_at(0) == "my" {
        opening.is_opinion = true;
    } else if label.has_word_in(&vocabulary().decision_labels) {
        opening.is_decision = true;
        if label
            .words
            .iter()
            .filter(|word| is_content_word(word.lower))
            .count()
            < 3
        {
            opening.at = end + 1;
        }
    } else if label.has_word_in(&vocabulary().announcing_labels) {
        opening.is_announcement = true;
        opening.is_correction |= label.contains_any(&["correction"]);
        opening.at = end + 1;
    }

    Some(())
}

/// Skips an exclamation such as `Wow, Gina!` or `Hey Mel,`: a few interjections or names before a
/// mark.
fn skip_exclamation(clause: Clause<'_>, at: usize) -> usize {
    let rest = clause.from(at);
    let end = rest.until_index(6).index_of_any(0, &["!", ","]);
    if end == 0 || end >= rest.len() || !matches!(rest.lower_at(end), "!" | ",") {
        return at;
    }

    let is_empty_word = |word: &Word<'_>| {
        vocabulary().fillers.has(word.lower)
            || !is_content_word(word.lower)
            || matches!(
                word.lower,
                "good" | "glad" | "hear" | "way" | "go" | "too" | "buddy" | "man" | "dude" | "girl"
            )
    };

    let words = &rest.words[..end];
    let is_name = words.len() == 1
        && words[0].is_capitalized()
        && parse_verb(words[0].lower).is_none()
        && rest.lower_at(end) == ","
        && matches!(rest.lower_at(end + 1), "i" | "we" | "my" | "you");
    let is_greeting = vocabulary().fillers.has(words[0].lower)
        && words
            .iter()
            .skip(1)
            .all(|word| is_empty_word(word) || word.is_capitalized());

    if is_greeting || is_name {
        at + end + 1
    } else {
        at
    }
}

fn skip_filler(clause: Clause<'_>, opening: &mut Opening) {
    let Some(end) = vocabulary().fillers.end(clause, opening.at) else {
        return;
    };
    let has_comma = clause.lower_at(end) == ",";
    let has_subject = matches!(
        clause.lower_at(end),
        "i" | "we" | "my" | "our" | "the" | "he" | "she" | "it" | "they" | "you" | "that" | "this"
    );
    let is_label = clause.lower_at(end) == ":" || clause.lower_at(end) == "—";
    let stands_alone = matches!(
        clause.lower_at(opening.at),
        "and" | "but" | "so" | "plus" | "also"
    ) || matches!(clause.lower_at(end), "!" | "so" | "and" | "but");
    let is_no_determiner = clause.lower_at(opening.at) == "no" && !has_comma;

    if (has_comma || has_subject || is_label || stands_alone) && !is_no_determiner {
        opening.is_correction |= matches!(
            clause.lower_at(opening.at),
            "actually" | "sorry" | "wait" | "correction" | "oops" | "no"
        );
        opening.is_announcement |=
            is_label && vocabulary().announcing_labels.has(clause.lower_at(end - 1));
        opening.at = end + usize::from(has_comma || is_label);
    }
}

/// Returns the index at which the main clause begins, after a phrase of time or place:
/// `In 2019, I …`, `Last week I …`.
pub(crate) fn find_main_clause(clause: Clause<'_>, date_end: Option<usize>) -> usize {
    if let Some(end) = date_end {
        return end + usize::from(clause.lower_at(end) == ",");
    }

    let first = clause.lower_at(0);
    let is_adverbial = is_preposition(first)
        || matches!(
            first,
            "when" | "while" | "because" | "although" | "though" | "once" | "ever"
        );
    if is_adverb(first) && matches!(clause.lower_at(1), "," | "i" | "we") {
        return 1 + usize::from(clause.lower_at(1) == ",");
    }

    if let Some(at) = find_bare_lead(clause) {
        return at;
    }

    let comma = clause.until_index(16).index_of_any(1, &[","]);
    if !is_adverbial || comma + 2 >= clause.len() || clause.lower_at(comma) != "," {
        return 0;
    }

    let next = clause.words[comma + 1];
    let starts_clause = next.is_capitalized()
        || is_determiner(next.lower)
        || matches!(next.lower, "i" | "we" | "he" | "she" | "they" | "it");

    if starts_clause { comma + 1 } else { 0 }
}

/// Returns the index of `I` or `we` after a phrase of time or reason without a comma:
/// `Since March I …`, `Every day we …`.
fn find_bare_lead(clause: Clause<'_>) -> Option<usize> {
    let first = clause.lower_at(0);
    let is_lead = is_preposition(first)
        || matches!(
            first,
            "these" | "every" | "each" | "right" | "nowadays" | "lately" | "due" | "thanks"
        );
    let at = clause.until_index(10).index_of_any(1, &["i", "we"]);
    let lead_clause = clause.until_index(at);
    let is_finite = |word: &Word<'_>| {
        word.is_punctuation
            || is_pronoun(word.lower) && !is_determiner(word.lower)
            || is_auxiliary(word.lower)
    };
    let has_inner_clause = lead_clause.words.iter().any(is_finite)
        || lead_clause.contains_any(&["who", "which", "where", "what", "how", "if", "you"]);
    let is_joined = matches!(
        lead_clause.words.last()?.lower,
        "and" | "than" | "as" | "before" | "after" | "until" | "since"
    );
    // "In the city I live in the rent is high": a second verb belongs to the phrase.
    let main_clause = clause.from(at + 2).until_index(
        clause
            .from(at + 2)
            .index_of_any(0, &[",", "and", "but", "because", "that", "so"]),
    );
    let has_other_verb = main_clause.contains_any(&["is", "are", "was", "were"]);

    (is_lead && at < clause.len().min(10) && !has_inner_clause && !is_joined && !has_other_verb)
        .then_some(at)
}
