//! Quantized text vectors.

use std::sync::Arc;

use crate::kernel;

/// The number of dimensions of a [`QuantizedVector`].
pub const DIMENSIONS: usize = 256;

/// A direction in 256 dimensions as int8: the unit vector, scaled so that its largest component is
/// ±127.
///
/// The cosine of two vectors is `dot(a, b) / (norm(a) * norm(b))`, with norms of the integers, so
/// the scale of a vector has no meaning and does not have to be stored. Scaling by the largest
/// component instead of by 127 keeps about two bits more of each component, because components of a
/// unit vector are near 1/16. The zero vector (of an empty or unknown text) has cosine 0 with every
/// vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QuantizedVector(pub [i8; DIMENSIONS]);

impl std::fmt::Debug for QuantizedVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({:?}…)", &self.0[..4])
    }
}

impl Default for QuantizedVector {
    fn default() -> Self {
        Self::ZERO
    }
}

impl QuantizedVector {
    /// The vector of a text without known words.
    pub const ZERO: Self = Self([0; DIMENSIONS]);

    /// Quantizes `values`.
    ///
    /// Shorter input is padded with zeros. Longer input (from a model with more dimensions) is
    /// folded to 256 dimensions by a count sketch, which preserves the expected cosines. Values
    /// that are not finite count as zero.
    #[must_use]
    pub fn from_f32(values: &[f32]) -> Self {
        let mut folded = [0f32; DIMENSIONS];
        for (index, &value) in values.iter().enumerate() {
            if !value.is_finite() {
                continue;
            }
            if values.len() <= DIMENSIONS {
                folded[index] = value;
            } else {
                let hash = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
                folded[(hash >> 32) as usize % DIMENSIONS] += sign * value;
            }
        }

        let largest = folded.iter().fold(0f32, |max, v| max.max(v.abs()));
        if largest <= f32::MIN_POSITIVE {
            return Self::ZERO;
        }

        Self(folded.map(|v| (v / largest * 127.0).round() as i8))
    }

    /// Returns the row `index` of contiguous vectors, or the zero vector past the end.
    pub(crate) fn row_of(vectors: &[i8], index: u32) -> Self {
        let (rows, _) = vectors.as_chunks::<DIMENSIONS>();
        rows.get(index as usize)
            .map_or(Self::ZERO, |row| Self(*row))
    }

    /// Returns the integer dot product.
    #[must_use]
    pub fn dot(&self, other: &Self) -> i32 {
        kernel::dot_rows(&self.0, &other.0)
    }

    /// Returns 1 / Euclidean norm of the integers; 0 for the zero vector.
    #[must_use]
    pub fn inverse_norm(&self) -> f32 {
        let square = self.dot(self);
        if square == 0 {
            0.0
        } else {
            1.0 / (square as f32).sqrt()
        }
    }

    /// Returns the cosine similarity, -1..=1; 0 if either vector is zero.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        self.dot(other) as f32 * self.inverse_norm() * other.inverse_norm()
    }

    /// Returns one bit per dimension, set if the component is positive.
    pub(crate) fn sign_bits(&self) -> [u8; DIMENSIONS / 8] {
        let mut bits = [0u8; DIMENSIONS / 8];
        for (index, &value) in self.0.iter().enumerate() {
            bits[index / 8] |= u8::from(value > 0) << (index % 8);
        }
        bits
    }
}

/// The most dimensions of a [`ModelVector`]. The largest common models have 4,096.
pub const MAX_MODEL_DIMENSIONS: usize = 8_192;

/// A vector of a model that the operator has chosen, with as many dimensions as the model has. Like
/// a [`QuantizedVector`], it is a direction, scaled so that its largest component is ±127.
#[derive(Clone, PartialEq)]
pub struct ModelVector {
    model: Arc<str>,
    codes: Arc<[i8]>,
    inverse_norm: f32,
}

impl std::fmt::Debug for ModelVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ModelVector({}, {})", self.model, self.codes.len())
    }
}

impl Eq for ModelVector {}

impl ModelVector {
    /// Quantizes the `values` that `model` returned. Returns `None` if they have no direction:
    /// without values, with too many, with one that is not finite, or with zeros only.
    #[must_use]
    pub fn quantize(model: Arc<str>, values: &[f32]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let largest = values.iter().fold(0f32, |max, value| max.max(value.abs()));
        if largest <= f32::MIN_POSITIVE {
            return None;
        }

        let mut codes = Vec::with_capacity(values.len());
        for value in values {
            codes.push((value / largest * 127.0).round() as i8);
        }
        Self::from_codes(model, codes)
    }

    /// Returns the vector that was stored as `codes`. Returns `None` if they have no direction.
    #[must_use]
    pub fn from_codes(model: Arc<str>, codes: impl Into<Arc<[i8]>>) -> Option<Self> {
        let codes = codes.into();
        if codes.len() > MAX_MODEL_DIMENSIONS {
            return None;
        }
        let inverse_norm = inverse_norm(&codes);
        (inverse_norm > 0.0).then_some(Self {
            model,
            codes,
            inverse_norm,
        })
    }

    /// Returns the name of the model.
    #[must_use]
    pub fn model(&self) -> &Arc<str> {
        &self.model
    }

    /// Returns one signed byte for each dimension.
    #[must_use]
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// Returns the cosine similarity, -1..=1. It is 0 if the vectors are of different models.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        self.row().cosine(&other.row())
    }

    pub(crate) fn row(&self) -> ModelRow<'_> {
        ModelRow {
            model: &self.model,
            codes: &self.codes,
            inverse_norm: self.inverse_norm,
        }
    }
}

/// A [`ModelVector`] that is read in place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelRow<'a> {
    pub(crate) model: &'a Arc<str>,
    pub(crate) codes: &'a [i8],
    pub(crate) inverse_norm: f32,
}

impl ModelRow<'_> {
    /// Returns the cosine similarity; 0 if the rows are of different models.
    pub(crate) fn cosine(&self, other: &Self) -> f32 {
        if !self.is_comparable(other) {
            return 0.0;
        }
        let dot = kernel::dot_codes(self.codes, other.codes);
        dot as f32 * self.inverse_norm * other.inverse_norm
    }

    /// Checks whether both rows are of one model.
    pub(crate) fn is_comparable(&self, other: &Self) -> bool {
        self.codes.len() == other.codes.len() && self.model == other.model
    }

    pub(crate) fn to_vector(self) -> ModelVector {
        ModelVector {
            model: self.model.clone(),
            codes: self.codes.into(),
            inverse_norm: self.inverse_norm,
        }
    }
}

/// Returns 1 / Euclidean norm of `codes`; 0 if all are 0.
pub(crate) fn inverse_norm(codes: &[i8]) -> f32 {
    let square = kernel::dot_codes(codes, codes);
    if square == 0 {
        0.0
    } else {
        1.0 / (square as f32).sqrt()
    }
}
