//! Evidence recall of one configuration.

use std::collections::HashSet;

use search_engine::{
    ContainerIndex, Embedder, RankingConfig, SearchHit, SearchQuery, StaticEmbedder,
    search_containers,
};

use crate::data::{ChunkingOptions, Conversation, Members, index};

/// Indexed conversations.
pub(crate) struct Corpus<'a> {
    pub(crate) conversations: &'a [Conversation],
    pub(crate) indexed: Vec<(ContainerIndex, Members)>,
}

impl<'a> Corpus<'a> {
    pub(crate) fn new(conversations: &'a [Conversation], chunking: ChunkingOptions) -> Self {
        Self {
            conversations,
            indexed: conversations.iter().map(|c| index(c, chunking)).collect(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RecallFigures {
    pub(crate) questions: f64,
    pub(crate) turns: f64,
    pub(crate) sessions: f64,
    pub(crate) sessions_in_chunks: f64,
    pub(crate) tokens: f64,
    /// The turn recall and the number of questions, by category.
    pub(crate) categories: [(f64, f64); 6],
    /// Useful hits (with evidence), and those of them with a similarity of at least 0.6.
    pub(crate) useful: (f64, f64),
    /// Hits among the first ten with a similarity of at least 0.6.
    pub(crate) passed: f64,
}

impl RecallFigures {
    fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.turns += other.turns;
        self.sessions += other.sessions;
        self.sessions_in_chunks += other.sessions_in_chunks;
        self.tokens += other.tokens;
        self.passed += other.passed;
        self.useful.0 += other.useful.0;
        self.useful.1 += other.useful.1;
        for (own, added) in self.categories.iter_mut().zip(other.categories) {
            own.0 += added.0;
            own.1 += added.1;
        }
    }

    pub(crate) fn line(&self) -> String {
        let mean = |sum: f64| sum / self.questions;
        let by = |c: usize| self.categories[c].0 / self.categories[c].1.max(1.0);

        format!(
            "turn R@10 {:.3} (multi-hop {:.3} temporal {:.3} open {:.3} single-hop {:.3}) tokens {:.0} | session R@10 {:.3} (in 10 chunks {:.3}) | useful hits >= .6: {:.3}, hits >= .6: {:.1}",
            mean(self.turns),
            by(1),
            by(2),
            by(3),
            by(4),
            mean(self.tokens),
            mean(self.sessions),
            mean(self.sessions_in_chunks),
            self.useful.1 / self.useful.0.max(1.0),
            mean(self.passed),
        )
    }

    pub(crate) fn turn_recall(&self) -> f64 {
        self.turns / self.questions
    }

    pub(crate) fn session_recall(&self) -> f64 {
        self.sessions / self.questions
    }
}

/// Measures questions of categories 1 to 4 in the conversations whose number `is_chosen` accepts.
pub(crate) fn measure(
    corpus: &Corpus<'_>,
    config: RankingConfig,
    is_chosen: impl Fn(usize) -> bool,
) -> RecallFigures {
    let mut figures = RecallFigures::default();
    for (number, conversation) in corpus
        .conversations
        .iter()
        .enumerate()
        .filter(|(n, _)| is_chosen(*n))
    {
        let (index, members) = &corpus.indexed[number];
        for question in conversation
            .questions
            .iter()
            .filter(|q| q.category < 5 && !q.evidence.is_empty())
        {
            let evidence: HashSet<&str> = question.evidence.iter().map(String::as_str).collect();
            figures.add(&measure_question(
                index,
                members,
                &question.text,
                question.category as usize,
                &evidence,
                config,
            ));
        }
    }

    figures
}

fn measure_question(
    index: &ContainerIndex,
    members: &Members,
    text: &str,
    category: usize,
    evidence: &HashSet<&str>,
    config: RankingConfig,
) -> RecallFigures {
    let query = SearchQuery {
        limit: 100,
        config,
        ..SearchQuery::new(text, StaticEmbedder.embed(text))
    };

    let hits = search_containers(&[index], &query)
        .map(|response| response.hits)
        .unwrap_or_default();
    let mut figures = count_evidence(&hits, members, evidence);
    figures.categories[category] = (figures.turns, 1.0);

    figures
}

fn session_of(turn: &str) -> u32 {
    turn.split(':')
        .next()
        .and_then(|session| session[1..].parse().ok())
        .unwrap_or(0)
}

fn count_evidence(
    hits: &[SearchHit],
    members: &Members,
    evidence: &HashSet<&str>,
) -> RecallFigures {
    let evidence_sessions: HashSet<u32> = evidence.iter().map(|turn| session_of(turn)).collect();
    let mut figures = RecallFigures {
        questions: 1.0,
        ..RecallFigures::default()
    };

    let (mut found, mut sessions, mut in_chunks) = (HashSet::new(), Vec::new(), HashSet::new());
    for (rank, hit) in hits.iter().enumerate() {
        let session: u32 = hit
            .document
            .trim_start_matches("session-")
            .parse()
            .unwrap_or(0);
        if !sessions.contains(&session) {
            sessions.push(session);
        }
        if rank >= 10 {
            continue;
        }
        in_chunks.insert(session);
        let passed = f64::from(u8::from(hit.similarity >= 0.6));
        figures.passed += passed;
        figures.tokens += StaticEmbedder.count_tokens(&hit.text) as f64;
        let turns = &members[&(hit.document.clone(), hit.position)];
        let before = found.len();
        found.extend(
            turns
                .iter()
                .map(String::as_str)
                .filter(|turn| evidence.contains(turn)),
        );
        if found.len() > before {
            figures.useful.0 += 1.0;
            figures.useful.1 += passed;
        }
    }

    let share = |count: usize, total: usize| count as f64 / total as f64;
    let session_share = |sessions: &[u32]| {
        sessions
            .iter()
            .filter(|s| evidence_sessions.contains(s))
            .count()
    };

    figures.turns = share(found.len(), evidence.len());
    sessions.truncate(10);
    figures.sessions = share(session_share(&sessions), evidence_sessions.len());
    let in_chunks: Vec<u32> = in_chunks.into_iter().collect();
    figures.sessions_in_chunks = share(session_share(&in_chunks), evidence_sessions.len());

    figures
}
