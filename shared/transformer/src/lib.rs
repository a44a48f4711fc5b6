//! Embeds texts on the CPU by an encoder of the BERT family, whose files are in a folder.
//!
//! A model is a folder with `model.safetensors`, `tokenizer.json` and `config.json`, as Hugging
//! Face publishes them. The files of sentence-transformers beside them say how to pool, which
//! prefixes texts have, and how long a text may be. The vector of a text is the mean of its last
//! hidden states (or the first one, if the folder says so), with length 1.

#[cfg(feature = "encoder")]
mod batches;
#[cfg(feature = "encoder")]
mod config;
#[cfg(feature = "encoder")]
mod embedder;
#[cfg(feature = "encoder")]
mod encoder;
#[cfg(feature = "encoder")]
mod model;

#[cfg(all(test, feature = "encoder"))]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use domain::ports::TextEmbedder;

#[cfg(feature = "encoder")]
pub use embedder::FolderEmbedder;

/// A folder with an encoder, and the operator's choices for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderSettings {
    /// The folder with `model.safetensors`, `tokenizer.json` and `config.json`.
    pub folder: PathBuf,
    /// The text before each question. Without it, that of the folder's own files, if any.
    pub query_prefix: Option<String>,
    /// The text before each passage. Without it, that of the folder's own files, if any.
    pub passage_prefix: Option<String>,
}

/// The reason why a folder cannot be used, with what to change.
#[derive(Debug, thiserror::Error)]
#[error("the embedding model {}: {problem}", path.display())]
pub struct FolderError {
    /// The file or folder.
    pub path: PathBuf,
    /// The problem, and the change that solves it.
    pub problem: String,
}

/// Reads the model of a folder. Takes about a second for each gigabyte, and while it loads, memory
/// for twice the weights.
///
/// # Errors
/// Returns an error that names the file if one is missing, broken, or of an unsupported kind.
#[cfg(feature = "encoder")]
pub fn open_folder(settings: &FolderSettings) -> Result<Arc<dyn TextEmbedder>, FolderError> {
    Ok(Arc::new(FolderEmbedder::open(settings)?))
}

/// Refuses every folder, because this program was built without the encoder.
///
/// # Errors
/// Always, with the command that builds a program with the encoder.
#[cfg(not(feature = "encoder"))]
pub fn open_folder(settings: &FolderSettings) -> Result<Arc<dyn TextEmbedder>, FolderError> {
    Err(FolderError {
        path: settings.folder.clone(),
        problem:
            "this program was built without transformers; build it with `cargo build --release \
                  --package cli --features transformer`"
                .to_owned(),
    })
}

#[cfg(all(test, not(feature = "encoder")))]
#[test]
fn a_program_without_the_encoder_says_how_to_build_it() {
    let error = open_folder(&FolderSettings::default()).expect_err("no encoder");
    assert!(
        error.to_string().contains("--features transformer"),
        "{error}"
    );
}
