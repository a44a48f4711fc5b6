//! Conversations: turns separated by NUL bytes, each with its speaker before a `|`, rendered and
//! cut into windows.

#![no_main]

use content::{ChunkOptions, Turn, chunk_conversation, render_conversation};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(([target, size, overlap], bytes)) = input.split_first_chunk() else {
        return;
    };
    let (turns_per_window, overlap_turns) = (usize::from(*size), usize::from(*overlap));
    let target_chars = usize::from(*target) * 4;
    let options = ChunkOptions {
        target_chars,
        turns_per_window,
        overlap_turns,
        ..ChunkOptions::default()
    };
    let said = String::from_utf8_lossy(bytes);
    let turn = |said: &str| match said.split_once('|') {
        Some((speaker, text)) => Turn {
            speaker: Some(speaker.into()),
            text: text.into(),
            ..Turn::default()
        },
        None => Turn {
            role: "user".into(),
            text: said.into(),
            ..Turn::default()
        },
    };
    let (text, places) = render_conversation(&said.split('\0').map(turn).collect::<Vec<_>>());
    let windows = chunk_conversation(&text, &places, &options);
    fuzz::checks::check_chunks(&text, &windows, target_chars);
    fuzz::checks::check_windows(&text, &places, &windows);
});
