//! Web pages.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_parsers_panic(), |input: &[u8]| fuzz::read(input, Some("a.html"), None));
