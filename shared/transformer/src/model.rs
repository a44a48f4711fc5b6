//! A model of a folder: its tokenizer, its encoder, and the vector of a text.

use sha2::{Digest, Sha256};
use tokenizers::{Tokenizer, TruncationParams};

use crate::config::{ModelFiles, Pooling, read_file};
use crate::encoder::Encoder;
use crate::{FolderError, FolderSettings};

/// The number of hexadecimal digits of the digest in a name.
const DIGEST_DIGITS: usize = 16;

/// A model that is ready to embed texts.
#[derive(Debug)]
pub(crate) struct FolderModel {
    /// The name of the folder, and the digest of everything that the vectors of passages depend
    /// on.
    pub(crate) name: String,
    pub(crate) query_prefix: String,
    pub(crate) passage_prefix: String,
    pub(crate) heads: usize,
    pub(crate) dimensions: usize,
    /// The most tokens of a text.
    pub(crate) max_tokens: usize,
    tokenizer: Tokenizer,
    encoder: Encoder,
    pooling: Pooling,
}

impl FolderModel {
    /// Reads the files of a folder.
    pub(crate) fn open(settings: &FolderSettings) -> Result<Self, FolderError> {
        let folder = &settings.folder;
        let files = ModelFiles::read(folder)?;
        let choose_prefix = |set: &Option<String>, read: &Option<String>| {
            set.as_ref().or(read.as_ref()).cloned().unwrap_or_default()
        };
        let passage_prefix = choose_prefix(&settings.passage_prefix, &files.passage_prefix);
        let query_prefix = choose_prefix(&settings.query_prefix, &files.query_prefix);

        let mut digest = Sha256::new();
        let config_path = folder.join("config.json");
        digest.update(Sha256::digest(read_file(&config_path)?));
        let (pooling, max_tokens) = (files.pooling, files.max_tokens);
        digest.update(format!("{pooling:?}\n{max_tokens}\n{passage_prefix}\n"));

        let tokenizer_path = folder.join("tokenizer.json");
        let bytes = read_file(&tokenizer_path)?;
        digest.update(Sha256::digest(&bytes));
        let tokenizer = load_tokenizer(&bytes, &files).map_err(|problem| FolderError {
            path: tokenizer_path,
            problem,
        })?;

        let weights_path = folder.join("model.safetensors");
        let bytes = read_file(&weights_path)?;
        digest.update(Sha256::digest(&bytes));
        let encoder = Encoder::load(bytes, &files.config).map_err(|error| FolderError {
            path: weights_path,
            problem: format!(
                "cannot be used: {error}; the file must have the weights that config.json describes, so \
                 copy both again from where the model is published"
            ),
        })?;

        let digest = hex::encode(digest.finalize());
        Ok(Self {
            name: domain::ports::folder_model_name(&folder_name(folder), &digest[..DIGEST_DIGITS]),
            query_prefix,
            passage_prefix,
            heads: files.config.num_attention_heads,
            dimensions: files.config.hidden_size,
            max_tokens,
            tokenizer,
            encoder,
            pooling,
        })
    }

    /// Returns the tokens of a text, at most as many as the model has positions.
    pub(crate) fn tokenize(&self, text: &str) -> tokenizers::Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, true)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Returns the vectors of texts, each with length 1. A text without tokens gets an empty one.
    pub(crate) fn embed(&self, texts: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
        let mut vectors = vec![Vec::new(); texts.len()];
        let filled: Vec<usize> = (0..texts.len())
            .filter(|index| !texts[*index].is_empty())
            .collect();
        if filled.is_empty() {
            return Ok(vectors);
        }

        let tokens: Vec<&[u32]> = filled.iter().map(|index| texts[*index]).collect();
        let states = self.encoder.forward(&tokens)?;
        let rows_of_texts = states.values.chunks_exact(states.width * self.dimensions);
        for (index, rows) in filled.into_iter().zip(rows_of_texts) {
            let pooled_tokens = match self.pooling {
                Pooling::Mean => texts[index].len(),
                Pooling::First => 1,
            };
            let rows = &rows[..pooled_tokens * self.dimensions];
            vectors[index] = normalized_sum(rows, self.dimensions);
        }
        Ok(vectors)
    }
}

/// Returns the sum of rows, scaled to length 1. It is also their mean, scaled to length 1.
fn normalized_sum(rows: &[f32], dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0.0_f32; dimensions];
    for row in rows.chunks_exact(dimensions) {
        for (total, value) in sum.iter_mut().zip(row) {
            *total += value;
        }
    }

    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in &mut sum {
            *value /= length;
        }
    }
    sum
}

/// Returns the last part of the folder's path. Its snapshot in the cache of Hugging Face has the
/// name of a commit, which the digest tells apart as well.
fn folder_name(folder: &std::path::Path) -> String {
    let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = absolute.file_name().unwrap_or(absolute.as_os_str());
    name.to_string_lossy().into_owned()
}

fn load_tokenizer(bytes: &[u8], files: &ModelFiles) -> Result<Tokenizer, String> {
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| {
        format!("cannot be read: {error}; copy the file again from where the model is published")
    })?;
    let words = tokenizer.get_vocab_size(true);
    if words > files.config.vocab_size {
        return Err(format!(
            "has {words} tokens, but config.json says {}; copy both files from one model",
            files.config.vocab_size
        ));
    }

    // The padding is the encoder's.
    tokenizer.with_padding(None);
    let truncation = TruncationParams {
        max_length: files.max_tokens,
        ..TruncationParams::default()
    };
    tokenizer
        .with_truncation(Some(truncation))
        .map_err(|error| format!("cannot cut long texts: {error}"))?;
    Ok(tokenizer)
}
