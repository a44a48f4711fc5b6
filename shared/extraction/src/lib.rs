//! Extraction of statements and of summaries from text, by rules.
//!
//! English has rules in code. Every other language has a file of words and cues. The crate is pure:
//! it does no I/O and reads no clock, and the same text always gives the same statements.

mod all_languages;
mod chat;
mod cues;
mod dates;
mod english;
#[cfg(test)]
mod golden;
mod languages;
mod message;
mod named_day;
mod orders;
mod question_days;
mod quoted;
mod sentences;
mod summary;
mod word_list;

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use domain::{Attribution, MemoryKind, SourceMedium, Statement, Timestamp, Trust};

use english::{Conversation, SentenceReader};
use text::{Language, LanguageGuess, detect_language, guess_language};

pub use dates::DayRange;
pub use orders::is_order_to_model;
pub use question_days::QuestionDays;
pub use sentences::{BlockKind, Sentence, split_sentences};
pub use summary::{is_hidden_character, summarize};

/// The speaker of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A person: `user` turns, and turns of any named participant who is not the assistant.
    User,
    /// The assistant.
    Assistant,
    /// No particular speaker: the text of a document.
    Author,
    /// Instructions and tool results. No statements are extracted from them.
    Other,
}

/// A part of a source that one speaker said or wrote at one time.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// The text, in Markdown for documents.
    pub text: &'a str,
    /// The position of the first character in the canonical text.
    pub start_char: usize,
    /// The speaker.
    pub role: Role,
    /// The speaker's name, if it is known.
    pub speaker: Option<&'a str>,
    /// The origin of the text if the words are not the speaker's own.
    pub origin: Option<TextOrigin<'a>>,
    /// The time at which it was said. Relative dates are resolved against it.
    pub said_at: Timestamp,
}

impl<'a> Passage<'a> {
    /// Creates a source's only passage, in the own words of a user without a name.
    pub const fn of_user(text: &'a str, said_at: Timestamp) -> Self {
        Self {
            text,
            start_char: 0,
            role: Role::User,
            speaker: None,
            origin: None,
            said_at,
        }
    }
}

/// The origin of a third party's text within a source: a pasted mail, a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOrigin<'a> {
    /// The kind of text.
    pub medium: SourceMedium,
    /// The name of the sender or speaker, if it is known.
    pub name: Option<&'a str>,
}

/// A text from which statements are extracted.
#[derive(Debug, Clone)]
pub struct SourceText<'a> {
    /// The turns of a conversation in order, or the text of a document as one passage.
    pub passages: Vec<Passage<'a>>,
    /// The reliability of the statements. Turns of the assistant get [`Trust::Assistant`],
    /// and third-party text gets [`Trust::External`].
    pub trust: Trust,
}

impl<'a> SourceText<'a> {
    /// Moves third-party text in the source (pasted mails and pages, quotations, transcripts) into
    /// passages of its own. A source that is not the user's own is returned unchanged.
    #[must_use]
    pub fn divided(self) -> Self {
        if !self.trust.is_own_words() {
            return self;
        }

        let is_own_passage =
            |passage: &Passage<'_>| matches!(passage.role, Role::User | Role::Author);
        let divide = |passage: Passage<'a>| {
            if is_own_passage(&passage) {
                quoted::divide_passage(&passage)
            } else {
                vec![passage]
            }
        };

        Self {
            passages: self.passages.into_iter().flat_map(divide).collect(),
            ..self
        }
    }

    /// Returns the trust of a passage's statements, which decides what they may do.
    pub fn trust_of(&self, passage: &Passage<'_>) -> Trust {
        if passage.origin.is_some() || self.trust == Trust::External {
            Trust::External
        } else if passage.role == Role::Assistant {
            Trust::Assistant
        } else {
            self.trust
        }
    }
}

impl TextOrigin<'_> {
    /// Returns the attribution of the statements: where they were read.
    pub fn attribution(self) -> Attribution {
        Attribution::new(self.medium, self.name)
    }
}

/// Returns the sender of a text that begins with mail headers. The inner option is `None` if the
/// headers do not name a sender; the outer option is `None` for any other text.
pub fn parse_mail_sender(text: &str) -> Option<Option<&str>> {
    quoted::parse_mail_sender(text)
}

/// Returns the person's name in the sender of a mail, if it is a name and cannot be read as
/// anything else.
pub fn parse_person_name(sender: &str) -> Option<&str> {
    quoted::parse_person_name(sender)
}

/// The length of a speaker's messages, in bytes, from which their language is detected.
const MAX_LANGUAGE_BYTES: usize = 1_500;

/// Returns a text in the usual spelling of its language: `im` becomes `i'm`. Statements are in this
/// spelling.
pub fn spell_out(text: &str) -> Cow<'_, str> {
    chat::spell_out(text, detect_language(text))
}

/// Extracts the statements of a source, in the order of the text.
pub fn extract_statements(source: &SourceText<'_>) -> Vec<Statement> {
    let participants = Participants::of(source);
    let mut statements = Vec::new();
    let mut is_made_up = false;
    let mut question = None;
    let mut previous_turn_starts = HashMap::new();
    let mut last_message: Option<ReadMessage<'_>> = None;
    let mut languages = SpeakerLanguages::new(&source.passages);
    let passages = source.passages.iter().enumerate();
    for (at, passage) in passages.filter(|(_, passage)| passage.role != Role::Other) {
        let trust = source.trust_of(passage);
        let is_note = passage.role == Role::Author
            && passage.speaker.is_none()
            && trust.is_own_words()
            && chat::is_personal_note(passage.text);
        // A note is read like a message, whatever it was sent as.
        let passage = Passage {
            role: if is_note { Role::User } else { passage.role },
            ..*passage
        };
        let language = match is_note {
            true => Language::English,
            false => languages.language_of(&passage),
        };
        // A play that the user has begun goes on until the user ends it.
        let is_own_message = passage.role == Role::User && trust.is_own_words();
        if is_own_message {
            is_made_up = chat::is_made_up(passage.text, language, is_made_up);
        }
        if is_made_up {
            continue;
        }

        let mut scene = participants.scene(&passage, trust);
        scene.named_day = named_day::find_named_day(&source.passages[..=at]);
        scene.is_note = is_note;
        scene.question = question.filter(|_| is_own_message);
        question = match passage.role {
            Role::Assistant => find_last_question(passage.text),
            // Among people, the next one to speak answers.
            Role::User if participants.is_group_chat => find_last_questions(passage.text),
            _ => None,
        };
        let previous_turn_start = previous_turn_starts.get(&passage.speaker).copied();
        let mut text = Cow::Borrowed(passage.text);
        if is_own_message {
            text = chat::resolve_corrections(passage.text, language);
            if let Some(range) = correct_earlier(&passage, &text, language, &mut statements) {
                blank_range(text.to_mut(), range);
            } else if let Some(correction) = chat::find_message_correction(&text, language) {
                let end = passage.start_char + text.chars().count();
                // After a question, it may be the answer.
                let may_correct = correction.is_clear || scene.question.is_none();
                let is_corrected = last_message
                    .as_mut()
                    .filter(|message| may_correct && message.passage.speaker == passage.speaker)
                    .is_some_and(|message| message.correct(&correction, end, &mut statements));
                if is_corrected || correction.is_clear {
                    continue;
                }
            }
        }
        let previous_count = statements.len();
        let corrected = Passage {
            text: &text,
            ..passage
        };
        read_passage(
            &corrected,
            language,
            scene,
            previous_turn_start,
            &mut statements,
        );
        if passage.role == Role::User {
            previous_turn_starts.insert(passage.speaker, passage.start_char);
        }

        let mut found = statements.split_off(previous_count);
        found.retain(is_allowed_statement);
        let attribution = passage.origin.map(TextOrigin::attribution);
        found
            .iter_mut()
            .for_each(|statement| statement.attribution.clone_from(&attribution));
        statements.extend(found);
        if is_own_message {
            last_message = Some(ReadMessage {
                passage,
                text: text.into_owned(),
                language,
                scene,
                previous_turn_start,
                statements: previous_count..statements.len(),
            });
        }
    }

    let mut repetitions = find_repetitions(&statements).into_iter();
    statements.retain(|_| !repetitions.next().unwrap_or(false));

    statements
}

/// The languages of the speakers of a source, each of which is found when it is needed first.
struct SpeakerLanguages<'a> {
    passages: &'a [Passage<'a>],
    usual: HashMap<Option<&'a str>, LanguageGuess>,
}

impl<'a> SpeakerLanguages<'a> {
    fn new(passages: &'a [Passage<'a>]) -> Self {
        Self {
            passages,
            usual: HashMap::new(),
        }
    }

    /// Returns the language of a passage. If its own words do not show it, that of all messages of its
    /// speaker counts: `bin dachdecker`.
    fn language_of(&mut self, passage: &Passage<'a>) -> Language {
        let guess = guess_language(passage.text);
        if guess.is_clear || passage.role != Role::User {
            return guess.language;
        }

        let passages = self.passages;
        let speaker = self.usual.entry(passage.speaker);
        let usual = speaker.or_insert_with(|| guess_usual_language(passages, passage.speaker));
        if usual.is_clear {
            usual.language
        } else {
            guess.language
        }
    }
}

/// Returns the language of the messages of a speaker, by the first of them.
fn guess_usual_language(passages: &[Passage<'_>], speaker: Option<&str>) -> LanguageGuess {
    let mut messages = String::new();
    for message in passages {
        if messages.len() > MAX_LANGUAGE_BYTES {
            break;
        }
        if message.role == Role::User && message.speaker == speaker && message.origin.is_none() {
            messages.push_str(message.text);
            messages.push('\n');
        }
    }
    guess_language(&messages)
}

/// Corrects the last statement of the same speaker that has the number which a message corrects:
/// `32 not 30`. Returns the range of the correction in `text`, the message.
fn correct_earlier(
    passage: &Passage<'_>,
    text: &str,
    language: Language,
    statements: &mut [Statement],
) -> Option<Range<usize>> {
    let correction = chat::find_later_correction(text, language)?;
    let earlier = statements.iter_mut().rev().filter(|statement| {
        // The day of an event is computed from its words.
        statement.trust.is_own_words()
            && statement.speaker.as_deref() == passage.speaker
            && statement.event.is_none()
            && !statement.only_retracts()
    });
    // Without the old number, only the last statement can be meant.
    let count = if correction.old.is_some() {
        usize::MAX
    } else {
        1
    };
    let (statement, range) = earlier.take(count).find_map(|statement| {
        let range = chat::find_corrected_number(&statement.text, &correction, language)?;
        Some((statement, range))
    })?;

    let old = statement.text[range.clone()].to_lowercase();
    statement.text.replace_range(range, &correction.new);
    if let Some(topic) = &mut statement.topic {
        topic.value = topic.value.replace(&old, &correction.new);
    }
    let correction_chars = text[..correction.range.end].chars().count();
    statement.end = passage.start_char + correction_chars;

    Some(correction.range)
}

/// A message of the user that has been read.
struct ReadMessage<'a> {
    passage: Passage<'a>,
    /// Its text with the corrections that it makes itself.
    text: String,
    language: Language,
    scene: Conversation<'a>,
    previous_turn_start: Option<usize>,
    /// The places of its statements.
    statements: Range<usize>,
}

impl ReadMessage<'_> {
    /// Reads the message anew with a value that a later one corrects, which ends at `end`. Returns false if
    /// the correction changes no statement.
    fn correct(
        &mut self,
        correction: &chat::MessageCorrection,
        end: usize,
        statements: &mut Vec<Statement>,
    ) -> bool {
        let corrected = chat::correct_message(&self.text, correction, self.language);
        let Some((text, range)) = corrected else {
            return false;
        };
        let passage = Passage {
            text: &text,
            ..self.passage
        };
        let mut found = Vec::new();
        read_passage(
            &passage,
            self.language,
            self.scene,
            self.previous_turn_start,
            &mut found,
        );
        found.retain(is_allowed_statement);

        let former = &statements[self.statements.clone()];
        if found.len() != former.len() {
            return false;
        }
        let value_start = self.passage.start_char + self.text[..range.start].chars().count();
        let (old, new) = (self.text[range].chars().count(), correction.chars());
        let place = |at: usize| match at {
            at if at >= value_start + new => at + old - new,
            at => at.min(value_start + old),
        };
        for (statement, former) in found.iter_mut().zip(former) {
            (statement.start, statement.end) = (place(statement.start), place(statement.end));
            if statement.text != former.text {
                statement.end = end;
            }
        }
        let is_changed = found
            .iter()
            .zip(former)
            .any(|(statement, former)| statement.text != former.text);
        if is_changed {
            statements.splice(self.statements.clone(), found);
            self.text = text;
        }
        is_changed
    }
}

/// Replaces a range of a text by as many spaces.
fn blank_range(text: &mut String, range: Range<usize>) {
    let spaces = " ".repeat(text[range.clone()].chars().count());
    text.replace_range(range, &spaces);
}

/// Openings of sentences that tell the reader what to do, in lower case.
const ORDER_OPENINGS: &[&str] = &[
    "always ",
    "never ",
    "from now on",
    "please ",
    "answer ",
    "remember ",
    "make sure ",
    "be sure ",
    "do not ever ",
    "don't ever ",
    "whenever ",
    "call me ",
    "going forward",
    "by default,",
];

/// Checks that a statement is not an order of somebody other than the user. The words of others may
/// state, but never instruct.
fn is_allowed_statement(statement: &Statement) -> bool {
    let is_order = || {
        let text = statement.text.to_lowercase();
        ORDER_OPENINGS.iter().any(|order| text.starts_with(order))
            || is_order_to_model(&statement.text)
    };
    statement.trust.is_own_words()
        || statement.kind != MemoryKind::Instruction
            && (statement.trust != Trust::External || !is_order())
}

/// Marks the statements to drop because they are repeated. The first of several equal statements
/// stays, unless a different answer to the same topic came in between; then the last one stays.
fn find_repetitions(statements: &[Statement]) -> Vec<bool> {
    let mut repetitions = vec![false; statements.len()];
    let mut seen = HashMap::new();
    let mut latest = HashMap::new();
    for (at, statement) in statements.iter().enumerate() {
        let text = statement.text.to_lowercase();
        let topic = statement
            .topic
            .as_ref()
            .map(|topic| (&topic.subject, &topic.attribute));
        let previous = topic.and_then(|topic| latest.insert(topic, text.clone()));
        match seen.entry((text, &statement.speaker)) {
            Entry::Vacant(entry) => {
                entry.insert(at);
            }
            Entry::Occupied(mut entry)
                if previous.is_some_and(|previous| previous != entry.key().0) =>
            {
                repetitions[entry.insert(at)] = true;
            }
            Entry::Occupied(_) => repetitions[at] = true,
        }
    }

    repetitions
}

/// Adds the statements of one passage to `statements`.
fn read_passage(
    passage: &Passage<'_>,
    language: Language,
    conversation: Conversation<'_>,
    previous_turn_start: Option<usize>,
    statements: &mut Vec<Statement>,
) {
    let sentences = split_sentences(passage);
    if passage.role == Role::User && conversation.trust.is_own_words() {
        let mut found = message::read_message(
            passage,
            conversation,
            language,
            &sentences,
            previous_turn_start,
        )
        .into_iter();
        if let Some(first) = found.next() {
            let first = chat::add_bare_change(statements.last_mut(), first, language);
            statements.extend(first);
        }
        statements.extend(found);
        return;
    }

    if language != Language::English {
        for sentence in &sentences {
            statements.extend(cues::extract_statements(
                passage,
                sentence,
                language,
                conversation.trust,
            ));
        }
        return;
    }

    let mut reader = SentenceReader::new(passage, conversation);
    for sentence in &sentences {
        if !is_skipped(sentence.block) {
            reader.sentence(sentence);
        }
    }

    statements.extend(reader.finish());
}

/// Checks for a block of which no statements are extracted.
fn is_skipped(block: BlockKind) -> bool {
    matches!(
        block,
        BlockKind::Heading | BlockKind::Code | BlockKind::Table | BlockKind::Quote
    )
}

/// The participants of a source.
struct Participants<'a> {
    /// The name of the only user, if there is one.
    user: Option<&'a str>,
    /// True if several people talk with each other, without an assistant.
    is_group_chat: bool,
}

impl<'a> Participants<'a> {
    fn of(source: &SourceText<'a>) -> Self {
        let users = source
            .passages
            .iter()
            .filter(|passage| passage.role == Role::User);
        let names: HashSet<_> = users.map(|passage| passage.speaker).collect();
        let has_assistant = source
            .passages
            .iter()
            .any(|passage| passage.role == Role::Assistant);
        let user = if names.len() == 1 {
            names.iter().next().copied().flatten()
        } else {
            None
        };

        Self {
            user,
            is_group_chat: names.len() > 1 && !has_assistant,
        }
    }

    fn scene<'p>(&self, passage: &Passage<'p>, trust: Trust) -> Conversation<'p>
    where
        'a: 'p,
    {
        let default_speaker = match passage.role {
            Role::Assistant => "The assistant",
            _ if trust == Trust::External => "The author",
            _ => "User",
        };
        let speaker = passage.speaker.unwrap_or(default_speaker);
        let key = if speaker == "The author" {
            "author"
        } else {
            speaker
        };
        let user = if trust == Trust::External {
            "The author"
        } else {
            "User"
        };
        let listener = (passage.role == Role::Assistant).then(|| self.user.unwrap_or(user));

        Conversation {
            speaker,
            speaker_key: key,
            listener,
            is_group_chat: self.is_group_chat,
            trust,
            named_day: None,
            question: None,
            is_note: false,
        }
    }
}

/// Returns the questions with which a person's message ends: `whats the gate code again? was it 12?`,
/// `you've been there what 3 years`.
fn find_last_questions(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let Some(last) = find_last_question(text) else {
        return find_guess(text);
    };

    let before = text[..text.len() - last.len()].trim_end();
    let earlier = find_last_question(before).filter(|_| before.ends_with(['?', '？']));
    let both = earlier.map(|earlier| text[before.len() - earlier.len()..].trim());
    both.filter(|both| both.len() <= MAX_QUESTION_BYTES)
        .or(Some(last))
}

/// Returns the sentence with which a text ends if it asks whether a number is right: `its been what 3
/// years`.
fn find_guess(text: &str) -> Option<&str> {
    let from = text.rfind(['.', '!', '\n']).map_or(0, |at| at + 1);
    let sentence = text[from..].trim();
    let (_, guess) = sentence.split_once(" what ")?;
    (guess.starts_with(|c: char| c.is_ascii_digit()) && sentence.len() <= MAX_QUESTION_BYTES)
        .then_some(sentence)
}

/// The longest question that is kept with its answer, in bytes.
const MAX_QUESTION_BYTES: usize = 140;

/// Returns the question with which a text ends, or `Tell me about him.`
fn find_last_question(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let body = text.trim_end_matches(['?', '？', '.']);
    let from = body
        .rfind(['.', '!', '?', '\n', '。', '！', '？', ':'])
        .map_or(0, |at| {
            at + body[at..].chars().next().map_or(1, char::len_utf8)
        });
    let question = text[from..].trim();
    let is_question = question.ends_with(['?', '？']) || question.starts_with("Tell me");
    (is_question && question.len() <= MAX_QUESTION_BYTES).then_some(question)
}
