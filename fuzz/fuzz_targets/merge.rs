//! A stored conversation and the messages sent to it: one byte for each turn, and a zero byte
//! between the two.

#![no_main]

use domain::conversation::{Turn, from_bytes, merge, to_bytes};
use libfuzzer_sys::fuzz_target;

fn turns(bytes: &[u8]) -> Vec<Turn> {
    let role = |byte: u8| {
        if byte.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        }
    };
    let turn = |byte: &u8| Turn {
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
    let once = merge(stored.clone(), sent.clone());
    assert!(
        once.starts_with(&stored),
        "nothing that is stored is dropped"
    );
    assert!(
        sent.ends_with(&once[stored.len()..]),
        "what is added was sent"
    );
    assert_eq!(
        merge(once.clone(), sent),
        once,
        "the same again adds nothing"
    );
    assert_eq!(
        from_bytes(&to_bytes(&once)).expect("what was written"),
        once
    );
});
