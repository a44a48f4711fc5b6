//! Conversations: the stored form of their turns, and merging a conversation that is sent again.

use serde::{Deserialize, Serialize};

use crate::error::PortError;
use crate::provenance::Provenance;
use crate::time::Timestamp;

/// The largest size of a stored conversation in bytes. It is processed as a whole each time it
/// grows.
pub const MAX_CONVERSATION_BYTES: usize = 8 * 1024 * 1024;

/// The number of turns at the start of a message list that must equal the stored conversation to
/// count as its history. A single equal turn may be a greeting that was repeated.
const HISTORY_TURNS: usize = 2;

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationTurn {
    /// The role: `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// The name of the speaker, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text of the turn.
    pub text: String,
    /// The provenance of the text, if the caller gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The time of the turn, given by the client or taken from its arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl ConversationTurn {
    /// Checks whether both turns have the same role, name and text. Their times do not matter.
    fn has_same_words(&self, other: &Self) -> bool {
        (&self.role, &self.name, &self.text) == (&other.role, &other.name, &other.text)
    }
}

/// Serializes turns as the bytes of a document.
pub fn serialize_turns(turns: &[ConversationTurn]) -> Vec<u8> {
    serde_json::to_vec(turns).expect("strings serialize")
}

/// Parses the bytes of a document.
///
/// # Errors
/// Returns [`PortError::Corrupt`] when [`serialize_turns`] did not produce the bytes.
pub fn parse_turns(bytes: &[u8]) -> Result<Vec<ConversationTurn>, PortError> {
    serde_json::from_slice(bytes)
        .map_err(|_| PortError::Corrupt("the turns of a conversation".into()))
}

/// Returns the conversation after `sent` has arrived: the stored turns, followed by the new ones. A
/// client may send the full history each time, its latest part, or only the new turns. Stored turns
/// are never dropped.
///
/// The following turns at the start of `sent` count as known: the whole stored conversation, or
/// else the turns that repeat its end, or a common beginning of at least two turns (a history that
/// was changed, or that is older than the stored one).
pub fn merge_turns(
    stored: Vec<ConversationTurn>,
    sent: Vec<ConversationTurn>,
) -> Vec<ConversationTurn> {
    let known_count = count_known_turns(&stored, &sent);
    stored
        .into_iter()
        .chain(sent.into_iter().skip(known_count))
        .collect()
}

/// Returns the number of turns at the start of `sent` that are stored already.
pub(crate) fn count_known_turns(stored: &[ConversationTurn], sent: &[ConversationTurn]) -> usize {
    let common = stored
        .iter()
        .zip(sent)
        .take_while(|(old, new)| old.has_same_words(new))
        .count();
    if common == stored.len() {
        return common;
    }

    let history = if common >= HISTORY_TURNS { common } else { 0 };
    // A changed history may be sent a second time.
    let is_repeat = history > 0 && overlap_length(stored, &sent[history..]) == sent.len() - history;

    if is_repeat {
        sent.len()
    } else {
        history.max(overlap_length(stored, sent))
    }
}

/// Returns the length of the longest beginning of `sent` that is also the end of `stored`, in
/// linear time (Knuth, Morris, Pratt 1977).
fn overlap_length(stored: &[ConversationTurn], sent: &[ConversationTurn]) -> usize {
    let mut borders = vec![0; sent.len()];
    let mut length = 0;
    for i in 1..sent.len() {
        length = extend_match(sent, &borders, length, &sent[i]);
        borders[i] = length;
    }

    let tail = &stored[stored.len().saturating_sub(sent.len())..];
    let mut matched = 0;
    for turn in tail {
        if matched == sent.len() {
            matched = borders[matched - 1];
        }
        matched = extend_match(sent, &borders, matched, turn);
    }

    matched
}

/// Returns the length of the longest beginning of `pattern` with which a text ends after `turn` is
/// appended, given that it ended with the first `matched` turns before.
fn extend_match(
    pattern: &[ConversationTurn],
    borders: &[usize],
    mut matched: usize,
    turn: &ConversationTurn,
) -> usize {
    while matched > 0 && !pattern[matched].has_same_words(turn) {
        matched = borders[matched - 1];
    }
    match pattern.get(matched) {
        Some(next) if next.has_same_words(turn) => matched + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates turns that alternate between user and assistant, from the words of a text.
    fn turns(words: &str) -> Vec<ConversationTurn> {
        let turn = |text: &str| {
            let role = if text.starts_with('a') {
                "assistant"
            } else {
                "user"
            };
            ConversationTurn {
                role: role.into(),
                name: None,
                text: text.into(),
                provenance: None,
                at: None,
            }
        };

        words.split_whitespace().map(turn).collect()
    }

    fn merged(stored: &str, sent: &str) -> String {
        let merged = merge_turns(turns(stored), turns(sent));
        merged
            .iter()
            .map(|turn| turn.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn full_history_and_new_messages_come_to_the_same() {
        assert_eq!(merged("", "u1 a1"), "u1 a1");
        assert_eq!(
            merged("u1 a1", "u1 a1 u2 a2"),
            "u1 a1 u2 a2",
            "full history"
        );
        assert_eq!(merged("u1 a1", "u2 a2"), "u1 a1 u2 a2", "only what is new");
        assert_eq!(
            merged("u1 a1 u2 a2", "u2 a2 u3"),
            "u1 a1 u2 a2 u3",
            "the latest part"
        );
    }

    #[test]
    fn the_same_again_adds_nothing() {
        assert_eq!(merged("u1 a1 u2", "u1 a1 u2"), "u1 a1 u2");
        assert_eq!(
            merged("u1 a1 u2", "u2"),
            "u1 a1 u2",
            "the retry of a single message"
        );
        assert_eq!(
            merged("u1 a1 u2 a2", "u1 a1"),
            "u1 a1 u2 a2",
            "an older history that comes late"
        );
    }

    #[test]
    fn nothing_stored_is_dropped() {
        assert_eq!(
            merged("u1 a1 u2 a2", "u1 a1 u2b a2b"),
            "u1 a1 u2 a2 u2b a2b",
            "a changed history"
        );
        assert_eq!(
            merged("hi a1 u2 a2", "hi a3"),
            "hi a1 u2 a2 hi a3",
            "a greeting that is said again"
        );
        assert_eq!(
            merged("u1 ok a1", "ok"),
            "u1 ok a1 ok",
            "a short answer that is given again"
        );
    }

    #[test]
    fn the_time_of_arrival_does_not_make_a_turn_new() {
        let at = |millis, mut turns: Vec<ConversationTurn>| {
            turns
                .iter_mut()
                .for_each(|turn| turn.at = Some(Timestamp::from_millis(millis)));
            turns
        };
        let grown = merge_turns(at(1000, turns("u1 a1")), at(2000, turns("u1 a1 u2")));
        let times: Vec<_> = grown
            .iter()
            .map(|turn| turn.at.expect("a time").as_millis())
            .collect();
        assert_eq!(times, [1000, 1000, 2000]);
    }

    #[test]
    fn the_stored_shape_of_version_1_stays_readable() {
        let golden = br#"[{"role":"user","name":"Ann","text":"hi","at":"2025-04-15T09:30:00.000Z"},{"role":"tool","text":"x"}]"#;
        let turns = parse_turns(golden).unwrap();
        assert_eq!(turns[0].at.unwrap().as_millis(), 1_744_709_400_000);
        assert_eq!(turns[1].name, None);
        assert_eq!(parse_turns(&serialize_turns(&turns)).unwrap(), turns);
        assert!(parse_turns(b"{").is_err());
    }

    proptest::proptest! {
        #[test]
        fn overlaps_are_those_that_trying_finds(stored in "[ab]{0,12}", sent in "[ab]{0,12}") {
            let spaced = |text: &str| turns(&text.chars().map(|c| format!("{c} ")).collect::<String>());
            let (stored, sent) = (spaced(&stored), spaced(&sent));
            let ends_with = |length: &usize| stored.ends_with(&sent[..*length]);
            let tried = (0..=stored.len().min(sent.len())).rev().find(ends_with).unwrap_or(0);
            proptest::prop_assert_eq!(overlap_length(&stored, &sent), tried);
        }

        #[test]
        fn what_was_stored_stays_in_front_and_sending_again_changes_nothing(
            stored in proptest::collection::vec("[uax][12]", 0..8),
            sent in proptest::collection::vec("[uax][12]", 0..8),
        ) {
            let (stored, sent) = (turns(&stored.join(" ")), turns(&sent.join(" ")));
            let once = merge_turns(stored.clone(), sent.clone());
            proptest::prop_assert_eq!(&once[..stored.len()], &stored[..]);
            let twice = merge_turns(once.clone(), sent);
            proptest::prop_assert_eq!(twice, once);
        }
    }
}
