//! Hash tables for words that are looked up for every word of a text.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash table by word. Its words are fixed, so nobody can choose some that collide.
pub type WordTable<V> = HashMap<&'static str, V, BuildHasherDefault<FnvHasher>>;

/// The Fowler–Noll–Vo hash, which is fast for short words.
pub struct FnvHasher(u64);

impl Default for FnvHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for FnvHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
