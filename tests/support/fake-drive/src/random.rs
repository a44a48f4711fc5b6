//! Numbers and names that look random and are the same in every run with the same seed.

/// A splitmix64 generator.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn flip_coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    /// Returns a name of `length` characters that needs no escaping in an address.
    pub(crate) fn random_name(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        (0..length)
            .map(|_| char::from(ALPHABET[(self.next() >> 58) as usize]))
            .collect()
    }

    /// Returns a number of `length` digits that does not begin with 0.
    pub(crate) fn random_digits(&mut self, length: usize) -> String {
        let digit = |random: &mut Self, min: u64| {
            char::from(b'0' + (min + random.next() % (10 - min)) as u8)
        };
        (0..length)
            .map(|at| digit(self, u64::from(at == 0)))
            .collect()
    }
}
