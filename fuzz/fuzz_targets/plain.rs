//! Text in every encoding, Markdown, tables, data and code. The first byte chooses the declared
//! type of the file.

#![no_main]

use libfuzzer_sys::fuzz_target;

const NAMES: [Option<&str>; 8] = [
    None,
    Some("a.txt"),
    Some("a.md"),
    Some("a.csv"),
    Some("a.tsv"),
    Some("a.json"),
    Some("a.yaml"),
    Some("a.rs"),
];
const DECLARED: [Option<&str>; 4] = [
    None,
    Some("text/plain; charset=koi8-r"),
    Some("text/html; charset=shift_jis"),
    Some("text/csv; charset=utf-16le"),
];

fuzz_target!(init: fuzz::let_parsers_panic(), |input: &[u8]| {
    let (choice, bytes) = fuzz::split_choice(input);
    fuzz::extract_and_check(bytes, NAMES[choice % 8], DECLARED[choice / 8 % 4]);
});
