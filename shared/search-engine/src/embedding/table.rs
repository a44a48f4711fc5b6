//! The table of word-piece rows: int8 with one scale per row, read in place from the bytes of the
//! program.

use crate::embedding::StaticEmbedder;
use crate::vector::{DIMENSIONS, QuantizedVector};

static ROWS: &[u8] = include_bytes!("../../model/rows.bin");
static SCALES: &[u8] = include_bytes!("../../model/scales.bin");

/// Returns the quantized mean of the rows of `ids`, leaving out the ids of special tokens.
pub(super) fn mean_of_rows(ids: &[u32]) -> QuantizedVector {
    let (rows, _) = pulp::bytemuck::cast_slice::<u8, i8>(ROWS).as_chunks::<DIMENSIONS>();
    let (scales, _) = SCALES.as_chunks::<4>();
    let mut sum = [0f32; DIMENSIONS];
    pulp::Arch::new().dispatch(|| {
        for &id in ids {
            if id <= StaticEmbedder::UNKNOWN {
                continue;
            }
            let (Some(row), Some(scale)) = (rows.get(id as usize), scales.get(id as usize)) else {
                continue;
            };
            let scale = f32::from_le_bytes(*scale);
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum += f32::from(value) * scale;
            }
        }
    });

    QuantizedVector::from_f32(&sum)
}
