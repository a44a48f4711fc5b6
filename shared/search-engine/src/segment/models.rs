//! The vectors of models that the operator chose, each with the dimensions of its model.

use std::sync::Arc;

use bytes::Bytes;

use super::decode_numbers;
use super::strings::StringTable;
use crate::error::SegmentError;
use crate::vector::{MAX_MODEL_DIMENSIONS, ModelRow, inverse_norm};

/// Collects the vectors in the order of the chunks.
#[derive(Debug, Default)]
pub(super) struct ModelVectorWriter {
    /// The models, each with its number of dimensions.
    models: Vec<(Arc<str>, usize)>,
    chunk_models: Vec<u8>,
    vectors: Vec<u8>,
}

impl ModelVectorWriter {
    /// Adds the vector of the next chunk. It is left out if the segment has too many models; the
    /// chunk is then found by its built-in vector.
    pub(super) fn push(&mut self, row: Option<ModelRow<'_>>) {
        let number = row.map_or(0, |row| self.model_number(&row));
        if number > 0
            && let Some(row) = row
        {
            self.vectors
                .extend_from_slice(pulp::bytemuck::cast_slice(row.codes));
        }
        self.chunk_models.extend_from_slice(&number.to_le_bytes());
    }

    /// Returns the number of the vector's model from 1, or 0 if there are too many.
    fn model_number(&mut self, row: &ModelRow<'_>) -> u16 {
        let dimensions = row.codes.len();
        let known = self
            .models
            .iter()
            .position(|(model, len)| model == row.model && *len == dimensions);
        let index = match known {
            Some(index) => index,
            None => {
                self.models.push((row.model.clone(), dimensions));
                self.models.len() - 1
            }
        };
        if let Ok(number) = u16::try_from(index + 1) {
            return number;
        }
        self.models.truncate(usize::from(u16::MAX));
        0
    }

    /// Returns the names, the dimensions, the models of the chunks, and the vectors. All are empty
    /// without vectors.
    pub(super) fn finish(self) -> Result<[Vec<u8>; 4], SegmentError> {
        if self.vectors.is_empty() {
            return Ok(Default::default());
        }

        let names = StringTable::write(self.models.iter().map(|(model, _)| model.as_bytes()))?;
        let mut dimensions = Vec::with_capacity(self.models.len() * 4);
        for (_, len) in &self.models {
            dimensions.extend_from_slice(&(*len as u32).to_le_bytes());
        }
        Ok([names, dimensions, self.chunk_models, self.vectors])
    }
}

/// Reads the vectors in place. It holds 14 bytes per chunk if there are any.
#[derive(Debug, Default)]
pub(super) struct ModelVectorReader {
    models: Vec<(Arc<str>, usize)>,
    chunk_models: Vec<u16>,
    /// The start of each chunk's vector.
    starts: Vec<usize>,
    inverse_norms: Vec<f32>,
    vectors: Bytes,
}

impl ModelVectorReader {
    /// Opens the sections, which are empty in a segment without such vectors.
    pub(super) fn open(
        chunks: usize,
        names: Bytes,
        dimensions: &[u8],
        chunk_models: &[u8],
        vectors: Bytes,
    ) -> Result<Self, SegmentError> {
        if vectors.is_empty() {
            return Ok(Self::default());
        }

        let names = StringTable::open(names)?;
        let dimensions = decode_numbers(dimensions, u32::from_le_bytes);
        let chunk_models = decode_numbers(chunk_models, u16::from_le_bytes);
        if names.len() != dimensions.len() || chunk_models.len() != chunks {
            return Err(SegmentError::Corrupt("vectors of models"));
        }

        let mut models = Vec::with_capacity(dimensions.len());
        for (index, dimensions) in dimensions.into_iter().enumerate() {
            let dimensions = dimensions as usize;
            if dimensions == 0 || dimensions > MAX_MODEL_DIMENSIONS {
                return Err(SegmentError::Corrupt("dimensions of models"));
            }
            models.push((Arc::from(names.text(index)), dimensions));
        }

        let mut reader = Self {
            models,
            chunk_models,
            starts: Vec::with_capacity(chunks),
            inverse_norms: Vec::with_capacity(chunks),
            vectors,
        };
        reader.find_starts()?;
        Ok(reader)
    }

    fn find_starts(&mut self) -> Result<(), SegmentError> {
        let codes: &[i8] = pulp::bytemuck::cast_slice(&self.vectors);
        let mut start = 0;
        for &number in &self.chunk_models {
            let dimensions = match usize::from(number).checked_sub(1) {
                None => 0,
                Some(index) => match self.models.get(index) {
                    Some((_, dimensions)) => *dimensions,
                    None => return Err(SegmentError::Corrupt("models of chunks")),
                },
            };
            let Some(row) = codes.get(start..start + dimensions) else {
                return Err(SegmentError::Corrupt("vectors of models"));
            };
            self.starts.push(start);
            self.inverse_norms.push(inverse_norm(row));
            start += dimensions;
        }

        if start == codes.len() {
            Ok(())
        } else {
            Err(SegmentError::Corrupt("vectors of models"))
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.models.iter().map(|(model, _)| model)
    }

    /// Returns the vector of a chunk, if it has one.
    pub(super) fn row(&self, chunk: u32) -> Option<ModelRow<'_>> {
        let chunk = chunk as usize;
        let index = usize::from(*self.chunk_models.get(chunk)?).checked_sub(1)?;
        let (model, dimensions) = self.models.get(index)?;
        let start = self.starts[chunk];
        let codes: &[i8] = pulp::bytemuck::cast_slice(&self.vectors);
        Some(ModelRow {
            model,
            codes: codes.get(start..start + dimensions)?,
            inverse_norm: self.inverse_norms[chunk],
        })
    }
}
