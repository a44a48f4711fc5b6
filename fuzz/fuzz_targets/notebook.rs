//! Jupyter notebooks.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_parsers_panic(), |input: &[u8]| fuzz::extract_and_check(input, Some("a.ipynb"), None));
