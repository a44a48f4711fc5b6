//! The text of a statement: the words of the source, with the speaker's name for the first person
//! and dates in digits.

use super::super::dates::FoundDate;
use super::grammar::find_adverb_before;
use super::lexicon::{
    VerbForm, is_adverb, is_auxiliary, is_content_word, is_modal, is_pronoun, parse_verb,
    to_third_person,
};
use super::words::{Clause, Word};

/// The words that replace the pronouns of a clause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PronounSubstitution<'a> {
    /// The name of the speaker.
    pub(crate) speaker: &'a str,
    /// The referent of the pronoun at the beginning, if it is known.
    pub(crate) antecedent: Option<&'a str>,
    /// The word, `is` or nothing, that follows the speaker's name before a clause that begins with
    /// its verb.
    pub(crate) lead: Option<&'a str>,
}

/// Writes the words of `clause`, a part of `source`, as a sentence.
pub(crate) fn render_statement(
    source: &str,
    clause: Clause<'_>,
    dates: &[FoundDate],
    substitution: PronounSubstitution<'_>,
) -> String {
    let mut writer = StatementWriter {
        out: String::with_capacity(source.len() + 24),
        substitution,
        has_named_speaker: false,
        has_present_verb: false,
    };

    if let Some(helping_verb) = substitution.lead {
        writer.lead(helping_verb);
    }

    let mut last = None::<&Word<'_>>;
    for (at, word) in clause.words.iter().enumerate() {
        let gap = last.map_or("", |last| &source[last.end..word.start]);
        writer.gap(if gap.contains(['\n', '\t']) { " " } else { gap });
        writer.word(clause, at);
        if let Some(found) = dates
            .iter()
            .find(|found| found.end == at + 1 && omits_date(clause, found))
        {
            writer
                .out
                .push_str(&format!(" ({})", found.days.format_label()));
        }
        last = Some(word);
    }

    finish_sentence(writer.out)
}

/// Checks whether the words of a date leave out what the digits say.
fn omits_date(clause: Clause<'_>, found: &FoundDate) -> bool {
    let words = &clause.words[found.first..found.end];
    clause.lower_at(found.end) != "'s"
        && !words.iter().any(|word| {
            word.lower.len() >= 4 && word.lower.bytes().take(4).all(|byte| byte.is_ascii_digit())
        })
}

/// Capitalizes the text and ends it with a full stop.
fn finish_sentence(text: String) -> String {
    let is_unmatched = |c: char| c == ')' && !text.contains('(');
    let text = text
        .trim()
        .trim_end_matches(is_unmatched)
        .trim_end_matches([',', ';', ':', '—', '–', '-', '.', '!', ' ']);
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>())
        .unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

struct StatementWriter<'a> {
    out: String,
    substitution: PronounSubstitution<'a>,
    /// True once the speaker's name was written.
    has_named_speaker: bool,
    /// True if the last verb of the speaker was put into the third person.
    has_present_verb: bool,
}

impl StatementWriter<'_> {
    fn lead(&mut self, helping_verb: &str) {
        self.out.push_str(self.substitution.speaker);
        self.out.push(' ');
        if !helping_verb.is_empty() {
            self.out.push_str(helping_verb);
            self.out.push(' ');
        }
        self.has_named_speaker = true;
    }

    fn gap(&mut self, gap: &str) {
        self.out.push_str(gap);
    }

    fn word(&mut self, clause: Clause<'_>, at: usize) {
        let word = &clause.words[at];
        if at == 0 && self.opening(word.lower) {
            return;
        }

        match word.lower {
            "i" | "im" => {
                self.name("");
                self.out
                    .push_str(if word.lower == "im" { " is" } else { "" });
            }
            "we" => self.name(" and others"),
            "me" => self.name(""),
            "us" if self.has_named_speaker => self.out.push_str("them"),
            "us" => self.name(" and others"),
            "my" | "our" if self.has_named_speaker => self.out.push_str("their"),
            "my" | "our" => self.name("'s"),
            "mine" | "ours" if self.has_named_speaker => self.out.push_str("theirs"),
            "mine" | "ours" => self.name("'s"),
            "myself" | "ourselves" => self.out.push_str("themselves"),
            _ => self.plain(clause, at),
        }
    }

    fn name(&mut self, ending: &str) {
        self.out.push_str(self.substitution.speaker);
        self.out.push_str(ending);
        self.has_named_speaker = true;
    }

    /// Writes the referent of the pronoun at the beginning. Returns false if it is not known.
    fn opening(&mut self, lower: &str) -> bool {
        let Some(antecedent) = self.substitution.antecedent else {
            return false;
        };
        let ending = match lower {
            "his" | "her" | "their" | "its" => "'s",
            _ => "",
        };
        self.out.push_str(antecedent);
        self.out.push_str(ending);
        true
    }

    fn plain(&mut self, clause: Clause<'_>, at: usize) {
        let word = &clause.words[at];
        let is_singular = self.after_speaker(clause, at);
        let expanded = match (word.lower, is_singular) {
            ("'m", _) => Some(" is"),
            ("'re", true) => Some(" is"),
            ("'re", false) => Some(" are"),
            ("are", true) => Some("is"),
            ("'ve", true) => Some(" has"),
            ("'ve", false) => Some(" have"),
            ("'ll", _) => Some(" will"),
            ("'d", _) if !follows_pronoun(clause, at) => None,
            ("'d", _) if is_before_past_form(clause, at) => Some(" had"),
            ("'d", _) => Some(" would"),
            ("'s", _) if at == 1 && self.substitution.antecedent.is_some() => Some(" is"),
            ("am", _) if !follows_hour(clause, at) => Some("is"),
            _ => None,
        };

        if let Some(text) = expanded {
            self.out.push_str(text);
        } else if is_singular && let Some((base, VerbForm::Base)) = parse_verb(word.lower) {
            self.out.push_str(&to_third_person(base));
            self.has_present_verb = true;
        } else if is_singular && is_unknown_verb(clause, at) {
            self.out.push_str(&to_third_person(word.lower));
        } else if at == 0 && self.substitution.lead.is_some() {
            self.out.push_str(&word.raw.to_lowercase());
        } else {
            self.out.push_str(word.raw);
        }
    }

    /// Checks whether the word at `at` is the verb that must agree with the speaker.
    fn after_speaker(&self, clause: Clause<'_>, at: usize) -> bool {
        let mut before = at;
        while let Some(at) = find_adverb_before(clause, before) {
            before = at;
        }

        if before == 0 {
            return self.substitution.lead == Some("");
        }

        match clause.lower_at(before - 1) {
            "you" => before == 1 && self.substitution.antecedent.is_some(),
            "i" => {
                before < 2
                    || !matches!(
                        clause.lower_at(before - 2),
                        "and" | "did" | "do" | "should" | "can" | "would"
                    )
            }
            // The last word of a list is not a verb: "relief and worry".
            "and" | "but" => {
                let continues = clause
                    .words
                    .get(at + 1)
                    .is_some_and(|next| !next.is_punctuation);
                let has_infinitive = clause
                    .until_index(before)
                    .contains_any(&["to", "will", "can", "would", "could", "'ll"]);
                self.has_present_verb && continues && !has_infinitive
            }
            _ => false,
        }
    }
}

/// Checks whether the word after `I` is a verb in its base form that no list has: `I flog dinosaurs`.
fn is_unknown_verb(clause: Clause<'_>, at: usize) -> bool {
    let lower = clause.lower_at(at);
    let is_base = lower.len() > 2
        && lower.bytes().all(|byte| byte.is_ascii_lowercase())
        && !lower.ends_with('s')
        && !lower.ends_with("ly")
        && is_content_word(lower)
        && !is_auxiliary(lower)
        && !is_modal(lower)
        && parse_verb(lower).is_none();
    let is_before_verb = parse_verb(clause.lower_at(at + 1)).is_some();
    is_base && at > 0 && clause.lower_at(at - 1) == "i" && !is_before_verb
}

/// Checks whether a pronoun stands before a word, so that its `'d` is a verb: `they'd`, but not
/// `dx'd`.
fn follows_pronoun(clause: Clause<'_>, at: usize) -> bool {
    let before = if at == 0 { "" } else { clause.lower_at(at - 1) };
    is_pronoun(before) || matches!(before, "i" | "we" | "you" | "who" | "there" | "that")
}

/// Checks whether `am` is a time of day: `7.15 am`, `this am`.
fn follows_hour(clause: Clause<'_>, at: usize) -> bool {
    let before = if at == 0 { "" } else { clause.lower_at(at - 1) };
    before == "this" || before.starts_with(|c: char| c.is_ascii_digit())
}

/// Checks whether a past form follows, after adverbs.
fn is_before_past_form(clause: Clause<'_>, at: usize) -> bool {
    let next = (at + 1..clause.len()).find(|&next| !is_adverb(clause.lower_at(next)));
    let lower = next.map_or("", |next| clause.lower_at(next));
    matches!(parse_verb(lower), Some((_, VerbForm::Past))) || matches!(lower, "better" | "been")
}
