//! Tests of the encoder: its vectors beside those of the reference implementation, batches, long
//! texts, names, and folders that cannot be used.

mod folders;
mod vectors;

use std::fs;
use std::path::Path;

use domain::ports::{EmbeddingInput, TextEmbedder};
use random_encoder::RandomEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::{FolderEmbedder, FolderError, FolderSettings};

fn write_encoder(encoder: &RandomEncoder) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    encoder.write(folder.path()).expect("a model");
    folder
}

fn settings(folder: &Path) -> FolderSettings {
    FolderSettings {
        folder: folder.to_owned(),
        ..FolderSettings::default()
    }
}

fn open(folder: &Path) -> Result<FolderEmbedder, FolderError> {
    FolderEmbedder::open(&settings(folder))
}

fn write_json(folder: &Path, name: &str, value: &Value) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, value.to_string()).expect("a file");
}

/// Changes a file of JSON.
fn edit_json(folder: &Path, name: &str, edit: impl FnOnce(&mut Value)) {
    let bytes = fs::read(folder.join(name)).expect("a file");
    let mut value = serde_json::from_slice(&bytes).expect("JSON");
    edit(&mut value);
    write_json(folder, name, &value);
}

fn passages<'a>(texts: &[&'a str]) -> Vec<EmbeddingInput<'a>> {
    let passage = |text: &&'a str| EmbeddingInput::Passage(text);
    texts.iter().map(passage).collect()
}

async fn embed(embedder: &FolderEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts = passages(texts);
    embedder
        .embed(embedder.model(), &texts)
        .await
        .expect("vectors")
        .vectors
}

async fn count_tokens(embedder: &FolderEmbedder, text: &str) -> u64 {
    let texts = [EmbeddingInput::Question(text)];
    let embedded = embedder.embed(embedder.model(), &texts).await;
    embedded.expect("vectors").tokens
}

async fn embed_one(embedder: &FolderEmbedder, text: &str) -> Vec<f32> {
    embed(embedder, &[text]).await.remove(0)
}

/// Returns the largest difference between two lists of vectors of the same shape.
fn largest_difference(a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
    assert_eq!(a.len(), b.len());
    let mut largest = 0.0_f32;
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            largest = largest.max((a - b).abs());
        }
    }
    largest
}
