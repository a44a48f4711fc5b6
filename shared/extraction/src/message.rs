//! Messages, remark by remark, by the rules of their language.

use std::ops::Range;

use domain::{MemoryKind, Retraction, Statement, Trust};
use text::Language;

use crate::chat::{
    self, EpisodeReader, ForgetRequest, ReadRemark, RemarkKind, continue_statement,
    continues_clause, find_aspect_change, find_change, find_ending, find_forget_request,
    find_kept_words, is_announcement, mark_aspects, mark_lasting, names_speaker, needs_previous,
    read_remark, split_remarks,
};
use crate::english::{Conversation, SentenceReader, is_brief_request};
use crate::sentences::{BlockKind, Sentence};
use crate::{Passage, cues, is_skipped};

/// Returns the statements of a message, which is read remark by remark. A remark that no rule
/// understands may be kept word for word.
pub(crate) fn read_message(
    passage: &Passage<'_>,
    conversation: Conversation<'_>,
    language: Language,
    sentences: &[Sentence<'_>],
    previous_turn_start: Option<usize>,
) -> Vec<Statement> {
    let mut reader = MessageReader {
        rules: MessageRules::new(passage, conversation, language),
        episodes: EpisodeReader::new(passage, conversation, language),
        quotations: find_quotations(passage, conversation, language),
        language,
        is_about_other: conversation.is_about_other(),
        has_assistant: !conversation.is_group_chat && !conversation.is_note,
        is_answer: conversation.question.is_some(),
        previous: None,
        keeps: Vec::new(),
        has_request: false,
        handed_over_from: find_handed_over_list(passage, sentences, language),
        previous_turn_start,
        changed_aspects: Vec::new(),
    };
    for (at, sentence) in sentences.iter().enumerate() {
        if !is_skipped(sentence.block) {
            let announces = announces_list(sentence, sentences.get(at + 1));
            reader.read_sentence(sentence, announces);
        }
    }

    reader.finish()
}

/// A reader of the remarks of a message.
struct MessageReader<'a> {
    rules: MessageRules<'a>,
    episodes: EpisodeReader<'a>,
    /// The ranges that quote somebody.
    quotations: Vec<Range<usize>>,
    language: Language,
    /// True if the message answers a question about somebody else.
    is_about_other: bool,
    /// True if the message speaks to an assistant.
    has_assistant: bool,
    /// True if the message answers a question.
    is_answer: bool,
    /// The statement that the next remark may continue.
    previous: Option<PreviousStatement>,
    /// The remarks that say what may stay remembered.
    keeps: Vec<Keep>,
    /// True if the message asks to forget something.
    has_request: bool,
    /// The position from which the message is data to work on, if it is.
    handed_over_from: Option<usize>,
    /// The start of the turn of the same speaker before this one.
    previous_turn_start: Option<usize>,
    /// The aspects of the speaker's life that the message has changed so far.
    changed_aspects: Vec<String>,
}

impl MessageReader<'_> {
    /// Reads a sentence. The last remark of one that announces a list is its heading.
    fn read_sentence(&mut self, sentence: &Sentence<'_>, announces_list: bool) {
        let mut is_supposition = false;
        let remarks = split_remarks(sentence, self.language);
        let count = remarks.len();
        for (at, remark) in remarks.into_iter().enumerate() {
            let part = remark.sentence;
            let read = read_remark(&remark, self.language);
            if let Some(request) = find_forget_request(&read, self.language) {
                self.forget(&part, request);
                // The rest of the sentence is about the request.
                return;
            }

            // "I dreamt that I was rich and we had a boat."
            is_supposition = read.kind == RemarkKind::Supposition
                || is_supposition && continues_clause(part.text, self.language);
            if is_supposition {
                continue;
            }

            is_supposition = read.ends_in_supposition;
            let from = self.rules.statements().len();
            self.read_remark(&part, &read, announces_list && at + 1 == count);
            let is_interrupted = read.kind == RemarkKind::Question;
            if is_interrupted || chat::begins_subject(part.text, self.language) {
                self.previous = None;
            }
            self.continue_previous(sentence, &read, from);
            let kept_words = find_kept_words(&read, self.language);
            if !kept_words.is_empty() {
                self.keeps.push(Keep {
                    statements: from..self.rules.statements().len(),
                    words: kept_words,
                });
            }
        }
    }

    /// Adds the retraction of a request to forget.
    fn forget(&mut self, part: &Sentence<'_>, request: ForgetRequest) {
        self.has_request = true;
        let mut retraction = request.retraction;
        if request.is_about_previous {
            let from = self.previous_turn_start.unwrap_or(0);
            retraction.spans.push((from, part.start));
        }

        let statement = self.episodes.retracting_statement(part, retraction);
        self.rules.push(statement);
    }

    fn read_remark(&mut self, part: &Sentence<'_>, read: &ReadRemark, is_heading: bool) {
        self.episodes.notice(part, read, is_heading);
        let is_handed_over = self.handed_over_from.is_some_and(|from| from <= part.start);
        let is_quoted = self
            .quotations
            .iter()
            .any(|quotation| quotation.start < part.end && part.start < quotation.end);
        let is_brief_request = || {
            self.has_assistant
                && self.language == Language::English
                && part.block != BlockKind::ListItem
                && is_brief_request(&read.text, self.is_answer)
        };
        let is_instruction = read.kind == RemarkKind::Instruction;
        if is_handed_over || !is_instruction && (is_quoted || is_brief_request()) {
            return;
        }

        let count = self.rules.statements().len();
        let is_about_other = self.is_about_other && !names_speaker(part.text, self.language);
        let is_rule_heading = is_heading && chat::announces_rules(&read.text, self.language);
        let is_understood = !is_about_other && !is_rule_heading && self.rules.read(part, read);
        if !is_understood
            && !self.rules.is_quoting()
            && !is_heading
            && let Some(episode) = self.episodes.episode(part, read, self.previous.is_some())
        {
            self.rules.push(episode);
        }

        let language = self.language;
        for statement in &mut self.rules.statements()[count..] {
            mark_aspects(statement, read, language);
            mark_lasting(statement);
        }
        if let Some(statement) = self.rules.statements().get_mut(count) {
            statement.retraction = find_retraction(statement, read, language);
            note_changed_aspects(statement, &mut self.changed_aspects);
        }
    }

    /// Adds the statement of a remark to the one before it if it needs that to be understood, or if
    /// no rule has understood either. The statements from `from` on are those of the remark.
    fn continue_previous(&mut self, sentence: &Sentence<'_>, read: &ReadRemark, from: usize) {
        let statements = self.rules.statements();
        if statements.len() == from {
            return;
        }

        // An item of a list stands alone, and so does what follows it.
        let Some(last) = statements
            .last()
            .filter(|_| sentence.block != BlockKind::ListItem)
        else {
            self.previous = None;
            return;
        };

        let is_episode = chat::is_episode(last);
        if let Some(previous) = &self.previous
            && statements.len() == from + 1
            && !answers_apart(&statements[previous.index], read, self.language)
            && (is_episode && previous.is_episode
                || needs_previous(
                    read,
                    self.language,
                    previous.sentence_start == sentence.start,
                ))
            && let Some(next) = statements.pop()
        {
            match continue_statement(&mut statements[previous.index], next, read) {
                Some(next) => statements.push(next),
                None => return,
            }
        }

        self.previous = Some(PreviousStatement {
            index: statements.len() - 1,
            sentence_start: sentence.start,
            is_episode,
        });
    }

    /// Returns the statements that were found. In a message that asks to forget something, what may
    /// stay is no statement of its own.
    fn finish(self) -> Vec<Statement> {
        let mut statements = self.rules.finish();
        if !self.has_request {
            return statements;
        }

        let kept_words: Vec<String> = self
            .keeps
            .iter()
            .flat_map(|keep| keep.words.iter().cloned())
            .collect();
        for keep in self.keeps.iter().rev() {
            statements.drain(keep.statements.clone());
        }
        for statement in &mut statements {
            if let Some(retraction) = &mut statement.retraction {
                retraction.kept_words.clone_from(&kept_words);
            }
        }

        statements
    }
}

/// Checks whether a statement gives the name of the user. After "I have a cat", a name without an owner is
/// that of the cat: `名前はモモです`.
fn is_name_of_user(statement: &Statement) -> bool {
    let topic = statement.topic.as_ref();
    topic.is_some_and(|topic| topic.subject == "user" && topic.attribute == "name")
}

/// Checks whether a statement answers an aspect of the speaker's life and a remark begins with the
/// speaker again. The statement can end without the remark: `been vegan for years and im bored of tofu`.
fn answers_apart(statement: &Statement, remark: &ReadRemark, language: Language) -> bool {
    !statement.aspects.is_empty()
        && statement.retraction.is_none()
        && chat::begins_with_speaker(remark, language)
}

/// A statement that the next remark may continue.
struct PreviousStatement {
    /// Its place among the statements.
    index: usize,
    /// The position of its sentence.
    sentence_start: usize,
    /// True if it was kept word for word.
    is_episode: bool,
}

/// A remark that says what may stay remembered.
struct Keep {
    /// The statements that were made of it.
    statements: Range<usize>,
    /// The words that name what may stay.
    words: Vec<String>,
}

/// The rules of a message's language, and the statements found so far.
enum MessageRules<'a> {
    English(Box<SentenceReader<'a>>),
    Cues {
        passage: &'a Passage<'a>,
        language: Language,
        trust: Trust,
        statements: Vec<Statement>,
    },
}

impl<'a> MessageRules<'a> {
    fn new(passage: &'a Passage<'a>, conversation: Conversation<'a>, language: Language) -> Self {
        match language {
            Language::English => {
                Self::English(Box::new(SentenceReader::new(passage, conversation)))
            }
            _ => Self::Cues {
                passage,
                language,
                trust: conversation.trust,
                statements: Vec::new(),
            },
        }
    }

    /// Reads a remark. Returns false if no rule makes a statement of it.
    fn read(&mut self, part: &Sentence<'_>, remark: &ReadRemark) -> bool {
        if matches!(
            remark.kind,
            RemarkKind::Question | RemarkKind::Empty | RemarkKind::Supposition
        ) {
            return false;
        }

        let sentence = Sentence {
            text: &remark.text,
            ..*part
        };
        match self {
            Self::English(reader) => {
                let count = reader.statements().len();
                reader.sentence(&sentence);
                reader.statements().len() > count
            }
            Self::Cues {
                passage,
                language,
                trust,
                statements,
            } => {
                let mut found = cues::extract_statements(passage, &sentence, *language, *trust);
                let follows_relative = statements
                    .last()
                    .is_some_and(|last| cues::names_relative(&last.text, *language));
                if follows_relative && !names_speaker(sentence.text, *language) {
                    found.retain(|statement| !is_name_of_user(statement));
                }
                let is_understood = !found.is_empty();
                statements.extend(found);
                is_understood
            }
        }
    }

    /// Returns the statements found so far.
    fn statements(&mut self) -> &mut Vec<Statement> {
        match self {
            Self::English(reader) => reader.statements(),
            Self::Cues { statements, .. } => statements,
        }
    }

    /// Adds a statement that no rule has made.
    fn push(&mut self, statement: Statement) {
        match self {
            Self::English(reader) => reader.push(statement),
            Self::Cues { statements, .. } => statements.push(statement),
        }
    }

    /// Checks whether a text to work on was handed over, so that the rest is not the speaker's own.
    fn is_quoting(&self) -> bool {
        matches!(self, Self::English(reader) if reader.is_quoting())
    }

    /// Returns the statements that were found.
    fn finish(self) -> Vec<Statement> {
        match self {
            Self::English(reader) => reader.finish(),
            Self::Cues { statements, .. } => statements,
        }
    }
}

/// Notes the aspects that a statement changes, which it is then about. What a message says about an
/// aspect that it has changed before is new as well, and is not taken back: `i start at the bank on
/// monday. handed in my notice at the shop`.
fn note_changed_aspects(statement: &mut Statement, changed_aspects: &mut Vec<String>) {
    let Some(retraction) = &mut statement.retraction else {
        return;
    };

    for aspect in &retraction.aspects {
        if !statement.aspects.contains(aspect) {
            statement.aspects.push(aspect.clone());
        }
    }
    retraction
        .aspects
        .retain(|aspect| !changed_aspects.contains(aspect));
    changed_aspects.extend(retraction.aspects.iter().cloned());
    if retraction.aspects.is_empty() && retraction.words.is_empty() {
        statement.retraction = None;
    }
}

/// Returns the retraction of a statement that was made of a remark.
fn find_retraction(
    statement: &Statement,
    read: &ReadRemark,
    language: Language,
) -> Option<Retraction> {
    // A statement that denies its own topic ends what it denies, and nothing else.
    let is_denial = statement.topic.as_ref().is_some_and(|topic| topic.negated);
    let ending = find_ending(read, language).filter(|_| !is_denial);
    if statement.kind == MemoryKind::Instruction {
        return ending;
    }

    // A statement with a topic replaces the others with that topic.
    let change = || {
        let has_topic = statement.topic.is_some();
        find_change(read, language).filter(|_| !has_topic)
    };
    let by_words = ending.or_else(change);
    let by_aspects = find_aspect_change(read, language);
    match (by_words, by_aspects) {
        (Some(mut retraction), Some(change)) => {
            retraction.aspects = change.aspects;
            Some(retraction)
        }
        (by_words, by_aspects) => by_words.or(by_aspects),
    }
}

/// Checks whether a sentence announces what follows: it ends with a colon, or it is a line without
/// a full stop before a list.
fn announces_list(sentence: &Sentence<'_>, next: Option<&Sentence<'_>>) -> bool {
    let is_before_list = sentence.block != BlockKind::ListItem
        && next.is_some_and(|next| next.block == BlockKind::ListItem)
        && !sentence.text.ends_with(['.', '!', '?', '。', '！', '？']);
    is_announcement(sentence.text) || is_before_list
}

/// Returns the position after a line that ends with a colon and names nobody, if nothing after it is
/// about the speaker: `to json please, keys in lower case:`. The rest is data to work on.
fn find_handed_over_list(
    passage: &Passage<'_>,
    sentences: &[Sentence<'_>],
    language: Language,
) -> Option<usize> {
    let heading = sentences
        .iter()
        .find(|sentence| is_announcement(sentence.text))?;
    let mut chars = passage.text.char_indices();
    let (at, _) = chars.nth(heading.end - passage.start_char)?;

    let names_speaker = |text: &str| names_speaker(text, language);
    let is_rule = chat::announces_rules(heading.text, language);
    let is_data = !is_rule && !names_speaker(heading.text) && !names_speaker(&passage.text[at..]);
    is_data.then_some(heading.end)
}

/// Returns the ranges of a passage that quote somebody or that somebody else speaks, as positions in
/// the canonical text. Nobody else speaks in a note.
fn find_quotations(
    passage: &Passage<'_>,
    conversation: Conversation<'_>,
    language: Language,
) -> Vec<Range<usize>> {
    let mut quotations = chat::find_quotations(passage.text, language);
    if !conversation.is_note {
        quotations.extend(chat::find_words_of_others(passage.text, language));
    }
    quotations.sort_unstable_by_key(|range| range.start);

    let mut counted = 0;
    let mut chars = passage.start_char;
    for range in &mut quotations {
        chars += passage.text[counted..range.start].chars().count();
        counted = range.start;
        let len = passage.text[range.clone()].chars().count();
        *range = chars..chars + len;
    }
    quotations
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use crate::{Passage, SourceText, extract_statements};

    use super::*;

    #[test]
    fn a_name_after_an_animal_is_not_the_users() {
        let said_at = Timestamp::parse("day", "2025-04-15").unwrap();
        for (text, is_user) in [
            ("猫を二匹飼っています。名前はモモとソラです", false),
            ("犬を飼っています。私の名前は健です", true),
            ("名前は田中です", true),
        ] {
            let found = extract_statements(&SourceText {
                passages: vec![Passage::of_user(text, said_at)],
                trust: Trust::User,
            });
            assert_eq!(found.iter().any(is_name_of_user), is_user, "{text}");
        }
    }
}
