//! Short codes of vectors, from which cosines are estimated while the vectors are not in memory.
//!
//! A vector is rotated, so that its length is spread over all dimensions and the errors of a code do not
//! depend on its direction. A code has two bits for each component: the sign, and whether it is large,
//! that is, above the root mean square. Together they stand for -3, -1, 1 or 3, nearly the best values
//! for two bits of a normal distribution (Max, "Quantizing for minimum distortion", 1960). The rotation
//! is a random Hadamard transform. The estimate divides by the cosine of vector and code, as that of
//! `RaBitQ` does (Gao and Long, SIGMOD 2024).

use std::cell::OnceCell;

use crate::kernel::SIGN_BYTES;
use crate::vector::{DIMENSIONS, QuantizedVector};

/// The bytes of a code beside the sign bits: a bit for each dimension, and the cosine of vector and code
/// in 255ths.
pub(crate) const MAGNITUDE_BYTES: usize = SIGN_BYTES + 1;
/// The components that change their sign before each of the two steps of the rotation, as bits: the first
/// digits of pi, which are as good as random.
const FLIPS: [[u64; 4]; 2] = [
    [
        0x243F_6A88_85A3_08D3,
        0x1319_8A2E_0370_7344,
        0xA409_3822_299F_31D0,
        0x082E_FA98_EC4E_6C89,
    ],
    [
        0x4528_21E6_38D0_1377,
        0xBE54_66CF_34E9_0C6C,
        0xC0AC_29B7_C97C_50DD,
        0x3F84_D5B5_B547_0917,
    ],
];

/// A unit vector in rotated dimensions, or the zero vector.
pub(crate) struct RotatedVector([f32; DIMENSIONS]);

impl RotatedVector {
    /// Rotates a vector.
    pub(crate) fn of(vector: &QuantizedVector) -> Self {
        // Each step lengthens the vector by the square root of its dimensions.
        let scale = vector.inverse_norm() / DIMENSIONS as f32;
        let mut components = vector.0.map(|component| f32::from(component) * scale);
        for flips in &FLIPS {
            for (index, component) in components.iter_mut().enumerate() {
                if flips[index / 64] >> (index % 64) & 1 == 1 {
                    *component = -*component;
                }
            }
            transform(&mut components);
        }
        Self(components)
    }

    /// Returns one bit for each dimension, set if the component is positive.
    pub(crate) fn sign_bits(&self) -> [u8; SIGN_BYTES] {
        self.bits_where(|component| component > 0.0)
    }

    /// Returns the part of the code that is not the sign bits.
    pub(crate) fn magnitude_bytes(&self) -> [u8; MAGNITUDE_BYTES] {
        let root_mean_square = (1.0 / DIMENSIONS as f32).sqrt();
        let magnitudes = self.bits_where(|component| component.abs() > root_mean_square);
        let cosine = self.code_cosine(&self.sign_bits(), &magnitudes);

        let mut bytes = [0; MAGNITUDE_BYTES];
        bytes[..SIGN_BYTES].copy_from_slice(&magnitudes);
        bytes[SIGN_BYTES] = (cosine * 255.0).round() as u8;
        bytes
    }

    fn bits_where(&self, is_set: impl Fn(f32) -> bool) -> [u8; SIGN_BYTES] {
        let mut bits = [0; SIGN_BYTES];
        for (index, &component) in self.0.iter().enumerate() {
            bits[index / 8] |= u8::from(is_set(component)) << (index % 8);
        }
        bits
    }

    /// Returns the cosine with the values of a code.
    fn code_cosine(&self, signs: &[u8], magnitudes: &[u8]) -> f32 {
        let (components, _) = self.0.as_chunks::<8>();
        let (mut dot, mut large) = (0.0, 0);
        for ((components, &signs), &magnitudes) in components.iter().zip(signs).zip(magnitudes) {
            for (bit, &component) in components.iter().enumerate() {
                let size = 1 + 2 * (i32::from(magnitudes) >> bit & 1);
                let sign = 2 * (i32::from(signs) >> bit & 1) - 1;
                dot += component * (sign * size) as f32;
            }
            large += magnitudes.count_ones();
        }
        dot / code_norm(large)
    }
}

/// Returns the norm of the values of a code with this number of large ones.
fn code_norm(large: u32) -> f32 {
    ((DIMENSIONS as u32 + 8 * large) as f32).sqrt()
}

/// The vector of a query, with which many codes are compared.
pub(crate) struct RotatedQuery {
    vector: RotatedVector,
    /// For each byte of the bits of a code, and for each of its values, the sum of the components whose bits
    /// are set. Computed when a cosine is estimated first.
    sums: OnceCell<Vec<[f32; 256]>>,
}

impl RotatedQuery {
    /// Rotates the vector of a query.
    pub(crate) fn of(vector: &QuantizedVector) -> Self {
        Self {
            vector: RotatedVector::of(vector),
            sums: OnceCell::new(),
        }
    }

    /// Returns the sign bits.
    pub(crate) fn sign_bits(&self) -> [u8; SIGN_BYTES] {
        self.vector.sign_bits()
    }

    /// Estimates the cosine with the vector that has this code. The estimate is right on average, and its
    /// error has a standard deviation of about .02.
    pub(crate) fn estimate_cosine(&self, signs: &[u8], magnitudes: &[u8]) -> f32 {
        match magnitudes.split_last() {
            Some((&accuracy @ 1.., magnitudes)) => {
                let cosine = self.code_cosine(signs, magnitudes) * 255.0 / f32::from(accuracy);
                cosine.clamp(-1.0, 1.0)
            }
            _ => 0.0, // The zero vector.
        }
    }

    /// Returns what [`RotatedVector::code_cosine`] does, in a tenth of the time.
    fn code_cosine(&self, signs: &[u8], magnitudes: &[u8]) -> f32 {
        let sums = self.sums.get_or_init(|| self.sum_components());
        let (mut dot, mut large) = (0.0, 0);
        for ((sums, &signs), &magnitudes) in sums.iter().zip(signs).zip(magnitudes) {
            let sum = |bits: u8| sums[usize::from(bits)];
            // Each component counts once with its sign, and a large one twice more.
            dot += sum(signs) - sum(!signs);
            dot += 2.0 * (sum(signs & magnitudes) - sum(!signs & magnitudes));
            large += magnitudes.count_ones();
        }
        dot / code_norm(large)
    }

    fn sum_components(&self) -> Vec<[f32; 256]> {
        let (components, _) = self.vector.0.as_chunks::<8>();
        let sums = components.iter().map(|components| {
            let mut sums = [0.0; 256];
            for bits in 1..sums.len() {
                let lowest = bits.trailing_zeros() as usize;
                sums[bits] = sums[bits & (bits - 1)] + components[lowest];
            }
            sums
        });
        sums.collect()
    }
}

/// The fast Walsh–Hadamard transform.
fn transform(components: &mut [f32; DIMENSIONS]) {
    let mut half = 1;
    while half < DIMENSIONS {
        for block in components.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Embedder, StaticEmbedder};

    fn estimate(query: &QuantizedVector, vector: &QuantizedVector) -> f32 {
        let coded = RotatedVector::of(vector);
        RotatedQuery::of(query).estimate_cosine(&coded.sign_bits(), &coded.magnitude_bytes())
    }

    #[test]
    fn sums_of_components_give_the_cosine_of_a_code() {
        let query = StaticEmbedder.embed("a train to Lisbon");
        let query = RotatedQuery::of(&query);
        for text in ["a train to Porto", "the barn is red", "Lisbon"] {
            let coded = RotatedVector::of(&StaticEmbedder.embed(text));
            let (signs, magnitudes) = (coded.sign_bits(), coded.magnitude_bytes());
            let magnitudes = &magnitudes[..SIGN_BYTES];
            let expected = query.vector.code_cosine(&signs, magnitudes);
            let found = query.code_cosine(&signs, magnitudes);
            assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
        }
    }

    #[test]
    fn estimates_are_near_the_cosines_and_right_on_average() {
        let texts = include_str!("search/everyday.txt");
        let vectors: Vec<QuantizedVector> = texts
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| StaticEmbedder.embed(line))
            .collect();

        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for query in &vectors {
            for vector in vectors.iter().filter(|vector| *vector != query) {
                let error = estimate(query, vector) - query.cosine(vector);
                sum += error;
                squares += error * error;
                count += 1.0;
            }
        }
        assert!(count > 1_000.0, "{count} pairs");
        let (mean, deviation): (f32, f32) = (sum / count, (squares / count).sqrt());
        assert!(mean.abs() < 0.005, "the mean error is {mean}");
        assert!(deviation < 0.03, "the standard deviation is {deviation}");
    }

    #[test]
    fn a_vector_is_like_itself_and_the_zero_vector_like_none() {
        let vector = StaticEmbedder.embed("a train to Lisbon");
        assert!((estimate(&vector, &vector) - 1.0).abs() < 0.01);
        assert_eq!(estimate(&vector, &QuantizedVector::ZERO), 0.0);
        assert_eq!(estimate(&QuantizedVector::ZERO, &vector), 0.0);
    }
}
