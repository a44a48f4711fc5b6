//! Documents, presentations and workbooks: a complete file, or a package described by its parts.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_parsers_panic(), |input: &[u8]| fuzz::extract_package(input));
