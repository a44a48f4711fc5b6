//! A stored conversation and the messages sent to it: one byte for each turn, and a zero byte
//! between the two.

#![no_main]

use domain::conversation::{ConversationTurn, merge_turns, parse_turns, serialize_turns};
use libfuzzer_sys::fuzz_target;

fn turns(bytes: &[u8]) -> Vec<ConversationTurn> {
    let role = |byte: u8| {
        if byte.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        }
    };
    let turn = |byte: &u8| ConversationTurn {
        role: role(*byte).into(),
        name: None,
        text: char::from(byte % 8 + b'a').into(),
        at: None,
        provenance: None,
    };

    bytes.iter().map(turn).collect()
}

fuzz_target!(|input: &[u8]| {
    let (stored, sent) = input.split_at(
        input
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(input.len()),
    );
    let (stored, sent) = (turns(stored), turns(sent.get(1..).unwrap_or_default()));
    let once = merge_turns(stored.clone(), sent.clone());
    assert!(
        once.starts_with(&stored),
        "nothing that is stored is dropped"
    );
    assert!(
        sent.ends_with(&once[stored.len()..]),
        "what is added was sent"
    );
    assert_eq!(
        merge_turns(once.clone(), sent),
        once,
        "the same again adds nothing"
    );
    assert_eq!(
        parse_turns(&serialize_turns(&once)).expect("what was written"),
        once
    );
});
