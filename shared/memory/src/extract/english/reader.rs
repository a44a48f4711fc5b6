//! Extraction of statements from the sentences of a passage, one sentence after another.

use domain::{MemoryKind, Statement};

use super::classify::{classify_clause, filter_assistant_draft, is_self_contained};
use super::grammar::{SubjectKind, parse_clause};
use super::opening::{Opening, find_closing, find_main_clause, parse_opening};
use super::piece::{StatementPiece, date_direction, expiry_time, helping_verb, leading_date_end};
use super::render::{PronounSubstitution, render_statement};
use super::words::{Clause, split_words};
use super::{
    Antecedent, ClauseContext, Conversation, PrecedingStatement, StatementDraft, instruction, lead,
    lexicon, occasion, split, topic,
};
use crate::extract::dates::{DateDirection, find_dates};
use crate::extract::sentences::Sentence;
use crate::extract::{Passage, Role};

/// The longest sentence that is read, in bytes. Longer ones are usually lists or tables.
const MAX_SENTENCE_BYTES: usize = 600;
/// The limit on the length of a statement with the sentences that continue it, in bytes.
const MAX_CONTINUED_BYTES: usize = 420;

/// A reader that collects the statements of a passage, sentence by sentence.
pub(crate) struct SentenceReader<'a> {
    passage: &'a Passage<'a>,
    scene: Conversation<'a>,
    anchor: Option<Antecedent>,
    state: PrecedingStatement,
    /// True if facts were announced.
    listing: bool,
    first: bool,
    /// True once a text to work on was handed over. The rest of the passage is not read.
    quoting: bool,
    out: Vec<Statement>,
}

impl<'a> SentenceReader<'a> {
    pub(crate) fn new(passage: &'a Passage<'a>, scene: Conversation<'a>) -> Self {
        Self {
            passage,
            scene,
            anchor: None,
            state: PrecedingStatement::None,
            listing: false,
            first: true,
            quoting: false,
            out: Vec::new(),
        }
    }

    /// Returns the statements that were found.
    pub(crate) fn finish(self) -> Vec<Statement> {
        self.out
    }

    /// Reads the next sentence.
    pub(crate) fn sentence(&mut self, sentence: &Sentence<'_>) {
        if sentence.text.len() > MAX_SENTENCE_BYTES || sentence.text.trim_end().ends_with('?') {
            self.state = PrecedingStatement::None;
            return;
        }

        let lower = sentence.text.to_ascii_lowercase();
        let words = split_words(sentence.text, &lower);
        let clause = Clause { words: &words };
        let clause = clause.until_index(find_closing(clause));
        self.quoting |= self.passage.role == Role::User && lead::hands_over_text(clause);
        if self.quoting {
            return;
        }

        let opened = parse_opening(clause);
        let whole = opened.map_or(Vec::new(), |opening| {
            self.pieces(clause.from(opening.at), opening)
        });

        let late = if self.passage.role == Role::User {
            self.late(clause, opened, &whole)
        } else {
            None
        };

        let Some(opening) = opened.or(late.as_ref().map(|_| Opening::default())) else {
            self.state = self.state.waned();
            return;
        };

        let pieces = late.unwrap_or(whole);
        let mut told = false;
        for piece in &pieces {
            told = self.emit(sentence, piece);
        }

        if pieces.is_empty() {
            self.fragment(sentence, clause);
        }

        self.remember(sentence, clause.from(opening.at), &pieces);
        self.first = false;
        self.state = match pieces.last().filter(|_| told) {
            Some(piece) if piece.draft.opinion => PrecedingStatement::Opinion(2),
            Some(piece) if piece.draft.kind == MemoryKind::Decision => PrecedingStatement::Decision,
            Some(_) => PrecedingStatement::None,
            // A sentence without a statement may stand between them.
            None => self.state.waned(),
        };

        self.listing |= opening.marked;
    }

    fn env<'e>(&'e self, opening: Opening) -> ClauseContext<'e> {
        ClauseContext {
            key: self.scene.key,
            listener: self.scene.listener,
            said_at: self.passage.said_at,
            chat: self.scene.chat,
            said: self.passage.role == Role::User,
            marked: opening.marked,
            // In a conversation, a later sentence is more often news than an elaboration.
            first: self.first || self.passage.role == Role::User,
            after_opinion: matches!(self.state, PrecedingStatement::Opinion(_)),
            listing: self.listing,
            talk: self.passage.role == Role::User,
            anchor: self.anchor.as_ref(),
        }
    }

    /// Returns the parts of a sentence that state something: separately if one of them has a topic
    /// of its own, otherwise as one.
    fn pieces<'w>(&self, clause: Clause<'w>, opening: Opening) -> Vec<StatementPiece<'w>> {
        let env = self.env(opening);
        if opening.decision || opening.opinion {
            let kind = if opening.decision {
                MemoryKind::Decision
            } else {
                MemoryKind::Preference
            };
            let draft = StatementDraft {
                opinion: opening.opinion,
                ..StatementDraft::new(kind, 0.8)
            };
            let dates = find_dates(clause, env.said_at, DateDirection::Future);
            return vec![StatementPiece {
                clause,
                reading: None,
                draft,
                dates,
                shifted: false,
            }];
        }

        let parts = split::split_clause(clause);
        let pieces: Vec<_> = parts
            .iter()
            .filter_map(|part| self.piece(*part, &env, opening))
            .collect();
        let apart = pieces.iter().any(|piece| piece.draft.known.is_some());
        if apart || pieces.len() < parts.len() || pieces.len() < 2 {
            return pieces;
        }

        self.piece(clause, &env, opening)
            .map_or(pieces, |whole| vec![whole])
    }

    /// Returns the parts of a sentence that states its fact after a lead-in, or `None` if it does
    /// not.
    fn late<'w>(
        &self,
        clause: Clause<'w>,
        opened: Option<Opening>,
        whole: &[StatementPiece<'w>],
    ) -> Option<Vec<StatementPiece<'w>>> {
        let told =
            |pieces: &[StatementPiece<'_>]| pieces.iter().any(|piece| piece.draft.known.is_some());
        let before = |end: usize| {
            let begun = opened.filter(|opening| opening.at < end);
            begun.map_or(Vec::new(), |begun| {
                self.pieces(clause.until_index(end).from(begun.at), begun)
            })
        };

        let begun = opened.map_or(0, |opening| opening.at);
        for start in lead::find_starts(clause).filter(|start| start.at > begun) {
            if !start.announced && (told(whole) || opened.is_none()) {
                continue;
            }
            let Some(next) = parse_opening(clause.from(start.at)) else {
                continue;
            };
            let later = self.pieces(clause.from(start.at + next.at), next);
            if told(&later) || start.announced && whole.is_empty() && !later.is_empty() {
                let mut pieces = before(start.end);
                pieces.extend(later);
                return Some(pieces);
            }
        }

        None
    }

    /// Returns a part of a sentence if it states something.
    fn piece<'w>(
        &self,
        clause: Clause<'w>,
        env: &ClauseContext<'_>,
        opening: Opening,
    ) -> Option<StatementPiece<'w>> {
        if self.passage.role != Role::Assistant
            && let Some((at, draft)) = instruction::draft_instruction(clause, env)
        {
            return Some(StatementPiece {
                clause: clause.from(at),
                reading: None,
                draft,
                dates: Vec::new(),
                shifted: false,
            });
        }

        let main = find_main_clause(clause, leading_date_end(clause, env));
        let reading = parse_clause(clause.from(main))?;
        let direction = date_direction(reading);
        let mut found = find_dates(clause, env.said_at, direction);
        let dated = found.iter().any(|found| !found.lasting);
        let mut draft = classify_clause(reading, env, dated, topic::find_topic(reading, env))?;
        if !is_self_contained(clause, reading, &draft, dated, self.passage.role) {
            return None;
        }

        let ahead = matches!(draft.kind, MemoryKind::Plan | MemoryKind::Decision)
            || occasion::date_direction(reading).is_some();
        if ahead && direction != DateDirection::Future {
            // "Decided on Friday to go this summer": only the dates after `to` are still to come.
            let aim =
                (main + reading.verb.main..clause.len()).find(|&at| clause.lower_at(at) == "to");
            let from = aim
                .filter(|_| draft.kind == MemoryKind::Decision)
                .unwrap_or(0);
            let coming = find_dates(clause, env.said_at, DateDirection::Future);
            found.retain(|found| found.first < from);
            found.extend(coming.into_iter().filter(|found| found.first >= from));
        }

        if opening.correction {
            draft.confidence = (draft.confidence + 0.05).min(0.95);
        }

        let draft = if self.passage.role == Role::Assistant {
            filter_assistant_draft(reading, draft, dated)?
        } else {
            draft
        };

        Some(StatementPiece {
            clause,
            reading: Some(reading),
            draft,
            dates: found,
            shifted: main > 0,
        })
    }

    /// Adds the statement of a piece. Returns false if the piece cannot be understood alone.
    fn emit(&mut self, sentence: &Sentence<'_>, piece: &StatementPiece<'_>) -> bool {
        let who = piece.reading.map(|reading| reading.who);
        let pronoun = who == Some(SubjectKind::Pronoun);
        let other =
            who.is_some_and(|who| !matches!(who, SubjectKind::Speaker | SubjectKind::Named));
        let goes_on =
            matches!(self.state, PrecedingStatement::Opinion(_)) && piece.draft.opinion && other;
        let first = piece.clause.lower_at(0);
        let fits =
            |anchor: &Antecedent| pronoun && !goes_on && !piece.shifted && anchor.fits(first);
        let anchor = self.anchor.clone().filter(fits);
        if pronoun && anchor.is_none() && !goes_on {
            return false;
        }

        let meant = anchor.as_ref().map(|anchor| anchor.text.as_str());
        let voice = PronounSubstitution {
            speaker: self.scene.speaker,
            antecedent: if who == Some(SubjectKind::Listener) {
                self.scene.listener
            } else {
                meant
            },
            lead: piece
                .reading
                .filter(|_| who == Some(SubjectKind::Elided) && !piece.shifted)
                .map(helping_verb),
        };

        let text = render_statement(sentence.text, piece.clause, &piece.dates, voice);
        if goes_on && self.continue_last(&text, sentence.end) {
            return true;
        }

        let mut statement = self.statement(text, piece);
        (statement.start, statement.end) = (sentence.start, sentence.end);
        if let Some(anchor) = anchor {
            // The referent of a pronoun is only a good guess.
            statement.confidence -= 0.15;
            statement.start = anchor.start;
        }

        self.out.push(statement);
        true
    }

    /// Appends a sentence without a verb to the decision before it, on which it elaborates.
    fn fragment(&mut self, sentence: &Sentence<'_>, clause: Clause<'_>) {
        let much = clause
            .words
            .iter()
            .filter(|word| lexicon::is_content_word(word.low))
            .count();

        if self.state == PrecedingStatement::Decision
            && !self.scene.chat
            && much >= 3
            && parse_clause(clause).is_none()
        {
            let voice = PronounSubstitution {
                speaker: self.scene.speaker,
                antecedent: None,
                lead: None,
            };
            let text = render_statement(sentence.text, clause, &[], voice);
            self.continue_last(&text, sentence.end);
        }
    }

    fn continue_last(&mut self, text: &str, end: usize) -> bool {
        let Some(last) = self
            .out
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
            .find(|found| !found.lasting)
            .and_then(|found| found.days.to_period());
        let event = event.filter(|_| {
            draft.kind != MemoryKind::Instruction && draft.kind != MemoryKind::Preference
        });

        let over = piece
            .reading
            .is_some_and(|reading| reading.verb.past && draft.kind == MemoryKind::Event);
        let forget_after = event
            .filter(|_| !over)
            .and_then(|event| expiry_time(event, draft, said_at));

        Statement {
            text,
            start: 0,
            end: 0,
            kind: draft.kind,
            is_static: draft.is_static && event.is_none(),
            confidence: draft.confidence,
            trust: self.scene.trust,
            speaker: self.passage.speaker.map(str::to_owned),
            attribution: None,
            said_at,
            event,
            forget_after,
            forget_reason: forget_after.map(|_| "its time has passed".to_owned()),
            topic: draft.known.as_ref().map(|known| known.topic.clone()),
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
        let Some(reading) = pieces
            .first()
            .and_then(|piece| piece.reading)
            .or_else(|| parse_clause(clause))
        else {
            self.anchor = None;
            return;
        };

        match reading.who {
            SubjectKind::Named
            | SubjectKind::Definite
            | SubjectKind::Owned
            | SubjectKind::Plain => {
                let env = self.env(Opening::default());
                let voice = PronounSubstitution {
                    speaker: self.scene.speaker,
                    antecedent: None,
                    lead: None,
                };
                let text = render_statement(sentence.text, reading.subject(), &[], voice);
                let text = text.trim_end_matches('.').to_owned();
                let key = topic::subject_key(reading, &env);
                self.anchor = key.map(|key| Antecedent {
                    text,
                    key,
                    who: reading.who,
                    start: sentence.start,
                });
            }
            // A pronoun keeps its referent, once.
            SubjectKind::Pronoun => {}
            _ => self.anchor = None,
        }
    }
}
