//! The inner loops. They are also compiled for AVX2, which is chosen at run time (`pulp`); other
//! targets use their baseline.

use crate::vector::{DIMENSIONS, QuantizedVector};

/// The number of bytes in a row of sign bits.
pub(crate) const SIGN_BYTES: usize = DIMENSIONS / 8;

#[inline(always)]
fn dot_product(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    let mut sum = 0i32;
    for i in 0..DIMENSIONS {
        sum += i32::from(i16::from(a[i])) * i32::from(i16::from(b[i]));
    }
    sum
}

/// Returns the dot product of two rows.
pub(crate) fn dot_rows(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    pulp::Arch::new().dispatch(|| dot_product(a, b))
}

/// Returns the dot product of two vectors of the same length.
pub(crate) fn dot_codes(a: &[i8], b: &[i8]) -> i32 {
    pulp::Arch::new().dispatch(|| {
        let mut sum = 0i32;
        for (&a, &b) in a.iter().zip(b) {
            sum += i32::from(i16::from(a)) * i32::from(i16::from(b));
        }
        sum
    })
}

/// Writes the cosine of `query` with each row of `rows` to `out`. `inverse_norms` are those of the
/// rows.
pub(crate) fn write_cosines(
    query: &QuantizedVector,
    rows: &[i8],
    inverse_norms: &[f32],
    out: &mut [f32],
) {
    let scale = query.inverse_norm();
    let (rows, _) = rows.as_chunks::<DIMENSIONS>();
    pulp::Arch::new().dispatch(|| {
        for ((row, norm), out) in rows.iter().zip(inverse_norms).zip(out.iter_mut()) {
            *out = dot_product(&query.0, row) as f32 * *norm * scale;
        }
    });
}

/// Writes the number of different bits between `query` and each row of `rows` to `out`, at most 254.
pub(crate) fn write_sign_distances(query: &[u8; SIGN_BYTES], rows: &[u8], out: &mut [u8]) {
    let query: [u64; 4] = pulp::bytemuck::pod_read_unaligned(query);
    let (rows, _) = rows.as_chunks::<SIGN_BYTES>();
    pulp::Arch::new().dispatch(|| {
        for (row, out) in rows.iter().zip(out.iter_mut()) {
            let row: [u64; 4] = pulp::bytemuck::pod_read_unaligned(row);
            let mut distance = 0;
            for i in 0..4 {
                distance += (row[i] ^ query[i]).count_ones();
            }
            *out = distance.min(254) as u8;
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row() -> impl Strategy<Value = [i8; DIMENSIONS]> {
        proptest::collection::vec(any::<i8>(), DIMENSIONS).prop_map(|row| row.try_into().unwrap())
    }

    proptest! {
        #[test]
        fn dot_products_are_those_of_plain_loops(a in row(), b in row()) {
            let expected: i32 = a.iter().zip(&b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            prop_assert_eq!(dot_rows(&a, &b), expected);
            prop_assert_eq!(dot_codes(&a, &b), expected);
        }

        #[test]
        fn sign_distances_are_those_of_plain_loops(rows in proptest::collection::vec(any::<[u8; SIGN_BYTES]>(), 1..9)) {
            let query = rows[0].map(|byte| !byte);
            let mut distances = vec![0; rows.len()];
            write_sign_distances(&query, rows.as_flattened(), &mut distances);
            let expected = rows.iter().map(|row| {
                let bytes = row.iter().zip(&query);
                let different: u32 = bytes.map(|(a, b)| (a ^ b).count_ones()).sum();
                different.min(254) as u8
            });
            prop_assert_eq!(distances, expected.collect::<Vec<u8>>());
        }
    }
}
