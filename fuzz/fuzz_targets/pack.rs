//! A pack as a stored blob, and as the JSON inside the blob.

#![no_main]

use domain::Pack;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(pack) = Pack::decode(input) {
        assert_eq!(pack.chunk_texts().len(), pack.chunks.len());
    }
    if let Ok(pack) = serde_json::from_slice::<Pack>(input) {
        assert_eq!(
            Pack::decode(&pack.encode()).expect("what was written"),
            pack
        );
        assert_eq!(pack.chunk_texts().len(), pack.chunks.len());
    }
});
