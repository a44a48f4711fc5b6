//! Chunking of any text of any size in any format. The first bytes choose the format, the
//! repetition, the target and the overlap.

#![no_main]

use content::{ChunkOptions, Format, split_into_chunks};
use libfuzzer_sys::fuzz_target;

const FORMATS: [Format; 5] = [
    Format::Text,
    Format::Markdown,
    Format::Code,
    Format::Data,
    Format::Csv,
];

fuzz_target!(|input: &[u8]| {
    let Some(([kind, target, overlap], bytes)) = input.split_first_chunk() else {
        return;
    };
    let (target_chars, overlap_sentences) = (usize::from(*target) * 8, usize::from(*overlap));
    let options = ChunkOptions {
        target_chars,
        overlap_sentences,
        ..ChunkOptions::default()
    };
    // Long texts reveal algorithms that take more than linear time.
    let times = if *kind >= 250 { 64 } else { 1 };
    let text = String::from_utf8_lossy(bytes).repeat(times);
    let chunks = split_into_chunks(&text, FORMATS[usize::from(*kind) % FORMATS.len()], &options);
    fuzz::checks::check_chunks(&text, &chunks, target_chars);
});
