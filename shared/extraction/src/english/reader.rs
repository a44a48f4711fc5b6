//! Extraction of statements from the sentences of a passage, one sentence after another.

use domain::{MemoryKind, Statement};

use super::classify::{classify_clause, filter_assistant_draft, is_self_contained};
use super::grammar::{ParsedClause, SubjectKind, parse_clause};
use super::opening::{Opening, find_closing, find_main_clause, parse_opening};
use super::piece::{StatementPiece, date_direction, helping_verb, leading_date_end};
use super::render::{PronounSubstitution, render_statement};
use super::words::{Clause, split_words};
use super::{
    Antecedent, ClauseContext, Conversation, Gender, PrecedingStatement, StatementDraft,
    find_antecedent, gender_in, gender_of_person, instruction, is_relative, lead, lexicon,
    occasion, split, topic,
};
use crate::dates::{DateDirection, find_dates};
use crate::sentences::Sentence;
use crate::{Passage, Role};

/// The longest sentence that is read, in bytes. Longer ones are usually lists or tables.
const MAX_SENTENCE_BYTES: usize = 600;
/// The limit on the length of a statement with the sentences that continue it, in bytes.
const MAX_CONTINUED_BYTES: usize = 420;

/// A reader that collects the statements of a passage, sentence by sentence.
pub(crate) struct SentenceReader<'a> {
    passage: &'a Passage<'a>,
    conversation: Conversation<'a>,
    antecedents: Vec<Antecedent>,
    preceding: PrecedingStatement,
    /// True if facts were announced.
    follows_announcement: bool,
    is_first: bool,
    /// True once a text to work on was handed over. The rest of the passage is not read.
    is_quoting: bool,
    statements: Vec<Statement>,
}

impl<'a> SentenceReader<'a> {
    pub(crate) fn new(passage: &'a Passage<'a>, conversation: Conversation<'a>) -> Self {
        Self {
            passage,
            conversation,
            antecedents: Vec::new(),
            preceding: PrecedingStatement::None,
            follows_announcement: false,
            is_first: true,
            is_quoting: false,
            statements: Vec::new(),
        }
    }

    /// Returns the statements that were found.
    pub(crate) fn finish(self) -> Vec<Statement> {
        self.statements
    }

    /// Returns the statements found so far.
    pub(crate) fn statements(&mut self) -> &mut Vec<Statement> {
        &mut self.statements
    }

    /// Adds a statement that no rule has made. The next sentences continue no opinion.
    pub(crate) fn push(&mut self, statement: Statement) {
        self.statements.push(statement);
        self.preceding = PrecedingStatement::None;
    }

    /// Checks whether a text to work on was handed over, so that the rest is not the speaker's own.
    pub(crate) fn is_quoting(&self) -> bool {
        self.is_quoting
    }

    /// Reads the next sentence.
    pub(crate) fn sentence(&mut self, sentence: &Sentence<'_>) {
        if sentence.text.len() > MAX_SENTENCE_BYTES || sentence.text.trim_end().ends_with('?') {
            self.preceding = PrecedingStatement::None;
            return;
        }

        let lower = sentence.text.to_ascii_lowercase();
        let words = split_words(sentence.text, &lower);
        let clause = Clause { words: &words };
        let clause = clause.until_index(find_closing(clause));
        self.is_quoting |= self.passage.role == Role::User
            && !self.conversation.is_note
            && lead::hands_over_text(clause);
        if self.is_quoting {
            return;
        }

        let parsed_opening = parse_opening(clause);
        let first_pieces = parsed_opening.map_or(Vec::new(), |opening| {
            self.pieces(clause.from(opening.at), opening)
        });

        let late_pieces = if self.passage.role == Role::User {
            self.late(clause, parsed_opening, &first_pieces)
        } else {
            None
        };

        let Some(opening) = parsed_opening.or(late_pieces.as_ref().map(|_| Opening::default()))
        else {
            self.preceding = self.preceding.waned();
            return;
        };

        let pieces = late_pieces.unwrap_or(first_pieces);
        let mut was_emitted = false;
        for piece in &pieces {
            was_emitted = self.emit(sentence, piece);
        }

        if pieces.is_empty() {
            self.fragment(sentence, clause);
        }

        self.remember(sentence, clause.from(opening.at), &pieces);
        self.is_first = false;
        self.preceding = match pieces.last().filter(|_| was_emitted) {
            Some(piece) if piece.draft.is_opinion => PrecedingStatement::Opinion(2),
            Some(piece) if piece.draft.kind == MemoryKind::Decision => PrecedingStatement::Decision,
            Some(_) => PrecedingStatement::None,
            // A sentence without a statement may stand between them.
            None => self.preceding.waned(),
        };

        self.follows_announcement |= opening.is_announcement;
    }

    fn env<'e>(&'e self, opening: Opening) -> ClauseContext<'e> {
        ClauseContext {
            speaker_key: self.conversation.speaker_key,
            listener: self.conversation.listener,
            said_at: self.conversation.said_at(self.passage.said_at),
            is_group_chat: self.conversation.is_group_chat,
            is_spoken: self.passage.role == Role::User,
            is_announced: opening.is_announcement,
            // In a conversation, a later sentence is more often news than an elaboration.
            is_first: self.is_first || self.passage.role == Role::User,
            after_opinion: matches!(self.preceding, PrecedingStatement::Opinion(_)),
            follows_announcement: self.follows_announcement,
            is_conversation: self.passage.role == Role::User,
            antecedents: &self.antecedents,
        }
    }

    /// Returns the parts of a sentence that state something: separately if one of them has a topic
    /// of its own, otherwise as one.
    fn pieces<'w>(&self, clause: Clause<'w>, opening: Opening) -> Vec<StatementPiece<'w>> {
        let context = self.env(opening);
        if opening.is_decision || opening.is_opinion {
            let kind = if opening.is_decision {
                MemoryKind::Decision
            } else {
                MemoryKind::Preference
            };
            let draft = StatementDraft {
                is_opinion: opening.is_opinion,
                ..StatementDraft::new(kind, 0.8)
            };
            let dates = find_dates(clause, context.said_at, DateDirection::Future);
            return vec![StatementPiece {
                clause,
                parsed: None,
                draft,
                dates,
                has_leading_words: false,
            }];
        }

        let clauses = split::split_clause(clause);
        let pieces: Vec<_> = clauses
            .iter()
            .filter_map(|part_clause| self.piece(*part_clause, &context, opening))
            .collect();
        let has_topic = pieces.iter().any(|piece| piece.draft.known_topic.is_some());
        if has_topic || pieces.len() < clauses.len() || pieces.len() < 2 {
            return pieces;
        }

        self.piece(clause, &context, opening)
            .map_or(pieces, |single_piece| vec![single_piece])
    }

    /// Returns the parts of a sentence that states its fact after a lead-in, or `None` if it does
    /// not.
    fn late<'w>(
        &self,
        clause: Clause<'w>,
        parsed_opening: Option<Opening>,
        early_pieces: &[StatementPiece<'w>],
    ) -> Option<Vec<StatementPiece<'w>>> {
        let has_topic = |pieces: &[StatementPiece<'_>]| {
            pieces.iter().any(|piece| piece.draft.known_topic.is_some())
        };
        let pieces_before = |end: usize| {
            let prior_opening = parsed_opening.filter(|opening| opening.at < end);
            prior_opening.map_or(Vec::new(), |prior_opening| {
                self.pieces(
                    clause.until_index(end).from(prior_opening.at),
                    prior_opening,
                )
            })
        };

        let min_start = parsed_opening.map_or(0, |opening| opening.at);
        for start in lead::find_starts(clause).filter(|start| start.at > min_start) {
            if !start.is_announced && (has_topic(early_pieces) || parsed_opening.is_none()) {
                continue;
            }
            let Some(next) = parse_opening(clause.from(start.at)) else {
                continue;
            };
            let later_pieces = self.pieces(clause.from(start.at + next.at), next);
            if has_topic(&later_pieces)
                || start.is_announced && early_pieces.is_empty() && !later_pieces.is_empty()
            {
                let mut pieces = pieces_before(start.end);
                pieces.extend(later_pieces);
                return Some(pieces);
            }
        }

        None
    }

    /// Returns a part of a sentence if it states something.
    fn piece<'w>(
        &self,
        clause: Clause<'w>,
        context: &ClauseContext<'_>,
        opening: Opening,
    ) -> Option<StatementPiece<'w>> {
        if self.passage.role != Role::Assistant
            && let Some((at, draft)) = instruction::draft_instruction(clause, context)
        {
            return Some(StatementPiece {
                clause: clause.from(at),
                parsed: None,
                draft,
                dates: Vec::new(),
                has_leading_words: false,
            });
        }

        let main_start = find_main_clause(clause, leading_date_end(clause, context));
        let parsed = parse_clause(clause.from(main_start))?;
        let direction = date_direction(parsed);
        let mut found = find_dates(clause, context.said_at, direction);
        let has_date = found.iter().any(|found| !found.is_lasting);
        let mut draft = classify_clause(
            parsed,
            context,
            has_date,
            topic::find_topic(parsed, context),
        )?;
        if !is_self_contained(clause, parsed, &draft, has_date, self.passage.role) {
            return None;
        }

        let is_future = matches!(draft.kind, MemoryKind::Plan | MemoryKind::Decision)
            || occasion::date_direction(parsed).is_some();
        if is_future && direction != DateDirection::Future {
            // "Decided on Friday to go this summer": only the dates after `to` are still to come.
            let infinitive_at = (main_start + parsed.verb.main..clause.len())
                .find(|&at| clause.lower_at(at) == "to");
            let from = infinitive_at
                .filter(|_| draft.kind == MemoryKind::Decision)
                .unwrap_or(0);
            let future_dates = find_dates(clause, context.said_at, DateDirection::Future);
            found.retain(|found| found.first < from);
            found.extend(future_dates.into_iter().filter(|found| found.first >= from));
        }

        if opening.is_correction {
            draft.confidence = (draft.confidence + 0.05).min(0.95);
        }

        let draft = if self.passage.role == Role::Assistant {
            filter_assistant_draft(parsed, draft, has_date)?
        } else {
            draft
        };

        Some(StatementPiece {
            clause,
            parsed: Some(parsed),
            draft,
            dates: found,
            has_leading_words: main_start > 0,
        })
    }

    /// Adds the statement of a piece. Returns false if the piece cannot be understood alone.
    fn emit(&mut self, sentence: &Sentence<'_>, piece: &StatementPiece<'_>) -> bool {
        let subject_kind = piece.parsed.map(|parsed| parsed.subject_kind);
        let is_pronoun = subject_kind == Some(SubjectKind::Pronoun);
        let is_third_person = subject_kind.is_some_and(|subject_kind| {
            !matches!(subject_kind, SubjectKind::Speaker | SubjectKind::Named)
        });
        let is_continuation = matches!(self.preceding, PrecedingStatement::Opinion(_))
            && piece.draft.is_opinion
            && is_third_person;
        let first = piece.clause.lower_at(0);
        let can_refer = is_pronoun && !is_continuation && !piece.has_leading_words;
        let antecedent = find_antecedent(&self.antecedents, first)
            .filter(|_| can_refer)
            .cloned();
        if is_pronoun && antecedent.is_none() && !is_continuation {
            return false;
        }

        let antecedent_text = antecedent
            .as_ref()
            .map(|antecedent| antecedent.text.as_str());
        let substitution = PronounSubstitution {
            speaker: self.conversation.speaker,
            antecedent: if subject_kind == Some(SubjectKind::Listener) {
                self.conversation.listener
            } else {
                antecedent_text
            },
            lead: piece
                .parsed
                .filter(|_| subject_kind == Some(SubjectKind::Elided) && !piece.has_leading_words)
                .map(helping_verb),
        };

        let text = render_statement(sentence.text, piece.clause, &piece.dates, substitution);
        if is_continuation && self.continue_last(&text, sentence.end) {
            return true;
        }

        let mut statement = self.statement(text, piece);
        (statement.start, statement.end) = (sentence.start, sentence.end);
        if let Some(antecedent) = antecedent {
            // The referent of a pronoun is only a good guess.
            statement.confidence -= 0.15;
            statement.start = antecedent.start;
        }

        self.statements.push(statement);
        true
    }

    /// Appends a sentence without a verb to the decision before it, on which it elaborates.
    fn fragment(&mut self, sentence: &Sentence<'_>, clause: Clause<'_>) {
        let content_word_count = clause
            .words
            .iter()
            .filter(|word| lexicon::is_content_word(word.lower))
            .count();

        if self.preceding == PrecedingStatement::Decision
            && !self.conversation.is_group_chat
            && content_word_count >= 3
            && parse_clause(clause).is_none()
        {
            let substitution = PronounSubstitution {
                speaker: self.conversation.speaker,
                antecedent: None,
                lead: None,
            };
            let text = render_statement(sentence.text, clause, &[], substitution);
            self.continue_last(&text, sentence.end);
        }
    }

    fn continue_last(&mut self, text: &str, end: usize) -> bool {
        let Some(last) = self
            .statements
            .last_mut()
            .filter(|last| last.text.len() + text.len() < MAX_CONTINUED_BYTES)
        else {
            return false;
        };
        last.text.push(' ');
        last.text.push_str(text);
        last.end = end;
        true
    }

    fn statement(&self, text: String, piece: &StatementPiece<'_>) -> Statement {
        let draft = &piece.draft;
        let said_at = self.passage.said_at;
        let event = piece
            .dates
            .iter()
            .find(|found| !found.is_lasting)
            .and_then(|found| found.days.to_period());
        let event = event.filter(|_| {
            draft.kind != MemoryKind::Instruction && draft.kind != MemoryKind::Preference
        });

        Statement {
            text,
            start: 0,
            end: 0,
            kind: draft.kind,
            is_static: draft.is_static && event.is_none(),
            confidence: draft.confidence,
            trust: self.conversation.trust,
            speaker: self.passage.speaker.map(str::to_owned),
            attribution: None,
            said_at,
            event,
            forget_after: None,
            forget_reason: None,
            topic: draft
                .known_topic
                .as_ref()
                .map(|known_topic| known_topic.topic.clone()),
            aspects: Vec::new(),
            retraction: None,
            metadata: serde_json::Map::new(),
        }
    }

    /// Keeps the subject of the sentence for pronouns in the next one.
    fn remember(
        &mut self,
        sentence: &Sentence<'_>,
        clause: Clause<'_>,
        pieces: &[StatementPiece<'_>],
    ) {
        let Some(parsed) = pieces
            .first()
            .and_then(|piece| piece.parsed)
            .or_else(|| parse_clause(clause))
        else {
            self.antecedents.clear();
            return;
        };

        match parsed.subject_kind {
            SubjectKind::Named
            | SubjectKind::Definite
            | SubjectKind::Owned
            | SubjectKind::Plain => {
                let context = self.env(Opening::default());
                let substitution = PronounSubstitution {
                    speaker: self.conversation.speaker,
                    antecedent: None,
                    lead: None,
                };
                let text = render_statement(sentence.text, parsed.subject(), &[], substitution);
                let text = text.trim_end_matches('.').to_owned();
                let key = topic::subject_key(parsed, &context);
                let subject = key.map(|key| Antecedent {
                    text,
                    key,
                    subject_kind: parsed.subject_kind,
                    gender: gender_of_subject(parsed.subject())
                        .or_else(|| gender_in_clause(clause)),
                    is_object: false,
                    start: sentence.start,
                });
                let subject = subject.and_then(|subject| {
                    owner_of_name(subject, parsed.subject(), self.conversation.speaker)
                });
                let object = subject
                    .as_ref()
                    .and_then(|subject| owned_person(parsed, subject));
                self.antecedents = subject.into_iter().chain(object).collect();
            }
            // A pronoun keeps its referent, once.
            SubjectKind::Pronoun => {}
            _ => self.antecedents.clear(),
        }
    }
}

/// Returns the gender of the person whom a subject names: `my sister Anna`, `Mrs Lund`.
fn gender_of_subject(subject: Clause<'_>) -> Option<Gender> {
    let title = subject.words.first();
    let title = title.and_then(|word| gender_of_person(word.lower.trim_end_matches('.')));
    let nouns = subject.words.iter().rev();
    let mut people =
        nouns.filter(|word| is_relative(word.lower) || gender_of_person(word.lower).is_some());
    title.or_else(|| gender_of_person(people.next()?.lower))
}

/// Returns the gender that the pronouns of a clause tell, if they agree.
fn gender_in_clause(clause: Clause<'_>) -> Option<Gender> {
    let words = clause.words.iter().map(|word| word.lower);
    gender_in(words.filter(|word| !word.contains(['\'', '’'])))
}

/// Returns the person to whom a pronoun refers after a subject that is the name or the like of somebody:
/// the sister of `my sister's name`. The speaker is nobody to whom it may refer.
fn owner_of_name(mut subject: Antecedent, clause: Clause<'_>, speaker: &str) -> Option<Antecedent> {
    const OF_PERSONS: [&str; 7] = [
        "age",
        "birthday",
        "email",
        "job",
        "name",
        "number",
        "profession",
    ];
    let Some(last) = clause.words.last().map(|word| word.lower) else {
        return Some(subject);
    };
    if !OF_PERSONS.contains(&last) {
        return Some(subject);
    }

    let owner = |text: &str| {
        let owner = text.strip_suffix(last)?.trim_end().strip_suffix("'s")?;
        Some(owner.to_owned())
    };
    let text = owner(&subject.text).filter(|text| text != speaker)?;
    (subject.key, subject.text) = (owner(&subject.key)?, text);
    Some(subject)
}

/// Returns the person whom somebody has: the boyfriend of `my sister has a new boyfriend`.
fn owned_person(parsed: ParsedClause<'_>, owner: &Antecedent) -> Option<Antecedent> {
    const MAX_ADJECTIVES: usize = 2;

    let rest = parsed.rest();
    let has_person = parsed.verb.base == "have"
        && !parsed.verb.negated
        && !parsed.verb.used_to
        && matches!(rest.lower_at(0), "a" | "an")
        && (owner.fits("he") || owner.fits("she"));
    let nouns = rest.words.iter().skip(1).take(MAX_ADJECTIVES + 1);
    let noun = nouns
        .map(|word| word.lower)
        .find(|lower| is_relative(lower))
        .filter(|_| has_person)?;
    Some(Antecedent {
        text: format!("{}'s {noun}", owner.text),
        key: format!("{}'s {noun}", owner.key),
        subject_kind: SubjectKind::Owned,
        gender: Some(gender_of_person(noun)?),
        is_object: true,
        start: owner.start,
    })
}
