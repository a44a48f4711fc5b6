//! Remarks that are kept word for word, because they tell something that no rule understands.
//!
//! In a message to an assistant, what is neither a question nor a request tells about the person or
//! their world. Such a remark becomes an episode: a statement with a low confidence and no topic,
//! which replaces nothing and never stands in the static profile. An instruction for the assistant
//! that no rule understands is kept as well, as an instruction.

use domain::{MemoryKind, Retraction, Statement};
use text::{Language, detect_language};

use super::aspects::find_aspect_change;
use super::reading::{ReadRemark, RemarkKind};
use super::referents::Referents;
use super::remarks::count_units;
use super::words::{ChatWords, LowerText, chat_words_of};
use crate::Passage;
use crate::cues;
use crate::dates::DayRange;
use crate::english::{
    Conversation, RemarkContext, is_telling_answer, render_instruction, render_remark,
};
use crate::sentences::{BlockKind, Sentence};

/// The confidence of a statement that is kept word for word.
pub(super) const EPISODE_CONFIDENCE: f32 = 0.45;
/// The confidence of an instruction that is kept word for word.
const INSTRUCTION_CONFIDENCE: f32 = 0.8;
/// The characters for each mark of code below which a remark is data.
const MAX_DATA_SHARE: usize = 12;
/// The words from which an answer can be understood without its question.
const MAX_ANSWER_UNITS: usize = 4;
/// The longest remark that is kept, in bytes.
const MAX_EPISODE_BYTES: usize = 400;

/// A reader that keeps the remarks of a passage that tell something.
pub(crate) struct EpisodeReader<'a> {
    passage: &'a Passage<'a>,
    conversation: Conversation<'a>,
    language: Language,
    words: &'static ChatWords,
    heading: Option<Heading>,
    referents: Referents,
}

/// A line that announces the items of a list.
struct Heading {
    /// The words of the line without its colon.
    text: String,
    /// True if the items are rules for the assistant.
    has_rules: bool,
}

impl<'a> EpisodeReader<'a> {
    pub(crate) fn new(
        passage: &'a Passage<'a>,
        conversation: Conversation<'a>,
        language: Language,
    ) -> Self {
        Self {
            passage,
            conversation,
            language,
            words: chat_words_of(language),
            heading: None,
            referents: Referents::new(conversation.speaker),
        }
    }

    /// Notices what a remark announces or names.
    pub(crate) fn notice(
        &mut self,
        sentence: &Sentence<'_>,
        remark: &ReadRemark,
        is_heading: bool,
    ) {
        if sentence.block != BlockKind::ListItem {
            self.heading = None;
        }
        if is_heading {
            self.heading = Some(self.read_heading(remark));
        }
        if self.language == Language::English {
            self.referents.notice(&remark.text);
        }
    }

    fn read_heading(&self, remark: &ReadRemark) -> Heading {
        Heading {
            text: remark.text.trim_end_matches([':', '：', ' ']).to_owned(),
            has_rules: self.words.rule_words.occur_in(&remark.lower),
        }
    }

    /// Returns the episode of a remark that no rule has understood, or `None` if it tells nothing.
    /// `may_continue` says whether there is a remark before it to which it can be added.
    pub(crate) fn episode(
        &self,
        sentence: &Sentence<'_>,
        remark: &ReadRemark,
        may_continue: bool,
    ) -> Option<Statement> {
        if remark.text.len() > MAX_EPISODE_BYTES {
            return None;
        }
        // Among people, a request is made to one of them.
        let may_instruct = !self.conversation.is_group_chat;
        let heading = self.heading.as_ref().filter(|heading| heading.has_rules);
        if let Some(heading) = heading.filter(|_| may_instruct) {
            let text = format!("{}: {}.", capitalize(&heading.text), remark.text);
            return Some(self.instruction(sentence, text));
        }

        match remark.kind {
            RemarkKind::Instruction if may_instruct => {
                let text = self.instruction_text(&remark.text);
                Some(self.instruction(sentence, text))
            }
            RemarkKind::Statement | RemarkKind::Empty
                if !may_continue && self.answers_question(remark) =>
            {
                Some(self.answer(sentence, &remark.text))
            }
            RemarkKind::Statement if is_data(&remark.text) => None,
            RemarkKind::Statement => {
                let told = self.told(sentence, remark, may_continue);
                told.or_else(|| self.answer_among_people(sentence, remark, may_continue))
            }
            _ => None,
        }
    }

    /// Checks whether a remark can only be understood with the question that it answers.
    fn answers_question(&self, remark: &ReadRemark) -> bool {
        let is_short = count_units(&remark.lower.text) < MAX_ANSWER_UNITS;
        let is_dependent = is_short || self.conversation.is_about_other();
        let has_word = remark.text.chars().filter(|c| c.is_alphanumeric()).count() > 1;
        self.conversation.question.is_some_and(is_open_question)
            && is_dependent
            && has_word
            && !self.words.first_person.occur_in(&remark.lower)
    }

    /// Returns the statement of an answer to another person, which cannot be understood alone: `yeah
    /// half a tablet twice a day`.
    fn answer_among_people(
        &self,
        sentence: &Sentence<'_>,
        remark: &ReadRemark,
        may_continue: bool,
    ) -> Option<Statement> {
        let is_answer = self.conversation.is_group_chat
            && self.conversation.question.is_some()
            && !may_continue
            && is_telling_answer(&remark.text);
        is_answer.then(|| self.answer(sentence, &remark.text))
    }

    /// Returns the statement of an answer, with its question.
    fn answer(&self, sentence: &Sentence<'_>, text: &str) -> Statement {
        let question = self.conversation.question.unwrap_or_default();
        let text = text.trim_end_matches('.');
        let text = if self.language == Language::English {
            let speaker = self.conversation.speaker;
            format!("{speaker}, asked \"{question}\": {text}.")
        } else {
            format!("{question} – {text}")
        };
        self.statement(sentence, text, None)
    }

    /// Returns the statement of a remark that only takes back what was said before.
    pub(crate) fn retracting_statement(
        &self,
        sentence: &Sentence<'_>,
        retraction: Retraction,
    ) -> Statement {
        Statement {
            retraction: Some(retraction),
            ..self.statement(sentence, sentence.text.to_owned(), None)
        }
    }

    fn instruction_text(&self, text: &str) -> String {
        if self.language == Language::English {
            render_instruction(text, self.conversation)
        } else {
            format!("{}.", capitalize(text))
        }
    }

    fn instruction(&self, sentence: &Sentence<'_>, text: String) -> Statement {
        Statement {
            kind: MemoryKind::Instruction,
            is_static: true,
            confidence: INSTRUCTION_CONFIDENCE,
            ..self.statement(sentence, text, None)
        }
    }

    /// Returns the statement of a remark that tells something.
    fn told(
        &self,
        sentence: &Sentence<'_>,
        remark: &ReadRemark,
        may_continue: bool,
    ) -> Option<Statement> {
        let text = remark.text.as_str();
        if self.language != Language::English {
            let days = cues::find_days(text, self.language, self.passage.said_at);
            let text = cues::format_remark(self.passage, text, days);
            return Some(self.statement(sentence, text, days));
        }

        let context = RemarkContext {
            conversation: self.conversation,
            said_at: self.conversation.said_at(self.passage.said_at),
            person: self.referents.person(text),
            may_continue,
            is_listed: self.heading.is_some(),
            is_change: find_aspect_change(remark, self.language).is_some(),
        };
        let remark = render_remark(text, context)?;
        let date = remark.dates.iter().find(|found| !found.is_lasting);
        let mut statement = self.statement(sentence, remark.text, date.map(|found| found.days));
        // "Got laid off today": the day is not over, but it has happened.
        let has_begun = statement
            .event
            .is_some_and(|event| event.from <= self.passage.said_at);
        if remark.is_past && has_begun {
            statement.kind = MemoryKind::Event;
        }
        Some(statement)
    }

    fn statement(
        &self,
        sentence: &Sentence<'_>,
        text: String,
        days: Option<DayRange>,
    ) -> Statement {
        let event = days.and_then(DayRange::to_period);
        let kind = match event {
            Some(event) if event.to > self.passage.said_at => MemoryKind::Plan,
            Some(_) => MemoryKind::Event,
            None => MemoryKind::Fact,
        };

        Statement {
            text,
            start: sentence.start,
            end: sentence.end,
            kind,
            is_static: false,
            confidence: EPISODE_CONFIDENCE,
            trust: self.conversation.trust,
            speaker: self.passage.speaker.map(str::to_owned),
            attribution: None,
            said_at: self.passage.said_at,
            event,
            forget_after: None,
            forget_reason: None,
            topic: None,
            aspects: Vec::new(),
            retraction: None,
            metadata: serde_json::Map::new(),
        }
    }
}

/// Checks for a question that `yes` does not answer.
fn is_open_question(question: &str) -> bool {
    let words = chat_words_of(detect_language(question));
    words
        .open_question_words
        .occur_in(&LowerText::new(question))
}

/// Checks for a line of code or data: JSON, XML, a call.
fn is_data(text: &str) -> bool {
    let marks = text
        .chars()
        .filter(|c| "{}[]<>\"=;_|\\`&".contains(*c))
        .count();
    marks * MAX_DATA_SHARE > text.chars().count()
}

/// Checks whether a statement was kept word for word.
pub(crate) fn is_episode(statement: &Statement) -> bool {
    statement.confidence <= EPISODE_CONFIDENCE
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use domain::Trust;

    use crate::golden::passage_of;
    use crate::{Passage, SourceText, extract_statements};

    /// Returns the texts of what Tom says after a question of Ana's.
    fn answers_of(question: &str, answer: &str) -> Vec<String> {
        let said_by = |speaker, text| Passage {
            speaker: Some(speaker),
            ..passage_of(text)
        };
        let source = SourceText {
            passages: vec![said_by("Ana", question), said_by("Tom", answer)],
            trust: Trust::User,
        };
        let statements = extract_statements(&source);
        statements.into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn what_belongs_to_a_task_tells_nothing() {
        let told = |text| {
            let source = SourceText {
                passages: vec![passage_of(text)],
                trust: Trust::User,
            };
            extract_statements(&source).len()
        };
        for text in [
            "heres the read loop of the scale",
            "don't make it sound posh",
            "say the tea rota is on the board",
            "PB-07 & 18.41 & 74.02 & 62 & 21.4 & above limit",
        ] {
            assert_eq!(told(text), 0, "{text}");
        }
        assert_eq!(told("the scale of the hive drifts in the cold nights"), 1);
    }

    #[test]
    fn an_answer_to_another_person_keeps_the_question() {
        for (question, answer, expected) in [
            (
                "is pip still on the drops?",
                "yeah a full spoon every evening. and hes allergic to beef now",
                "Tom, asked \"is pip still on the drops?\": a full spoon every evening; he's allergic to \
                 beef now.",
            ),
            (
                "is your aunt still in Hull?",
                "yep but shes moving to York soon",
                "Tom, asked \"is your aunt still in Hull?\": she's moving to York soon.",
            ),
            (
                "whats the door code? was 12?",
                "its 9038 now",
                "Tom, asked \"whats the door code? was 12?\": it's 9038 now.",
            ),
            (
                "nice! youve been there what 3 years",
                "5 in may",
                "Tom, asked \"youve been there what 3 years\": 5 in May.",
            ),
        ] {
            assert_eq!(answers_of(question, answer), [expected], "{answer}");
        }
        for (question, answer) in [
            ("fancy pizza?", "sounds good mate"),
            ("can you come?", "sure why not"),
            ("rent is up", "a full spoon every evening"),
        ] {
            assert!(answers_of(question, answer).is_empty(), "{answer}");
        }
    }
}
