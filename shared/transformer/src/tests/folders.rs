//! Tests of the names of models, of the forms of files, and of folders that cannot be used.

use std::fs;
use std::path::Path;

use domain::ports::{TextEmbedder, is_folder_model};
use random_encoder::RandomEncoder;
use serde_json::{Map, Value, json};

use super::{count_tokens, edit_json, embed_one, open, settings, write_encoder, write_json};
use crate::FolderEmbedder;

/// Renames the tensors of a file.
fn rename_tensors(folder: &Path, rename: impl Fn(&str) -> String) {
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).expect("weights");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) as usize;
    let header: Map<String, Value> = serde_json::from_slice(&bytes[8..8 + length]).expect("JSON");
    let renamed: Map<String, Value> = header
        .into_iter()
        .map(|(name, entry)| (rename(&name), entry))
        .collect();
    let mut header = Value::Object(renamed).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(&bytes[8 + length..]);
    fs::write(path, file).expect("weights");
}

#[tokio::test]
async fn the_name_stands_for_the_files() {
    let parent = tempfile::tempdir().unwrap();
    let write = |place: &str, seed| {
        let folder = parent.path().join(place).join("minilm");
        fs::create_dir_all(&folder).unwrap();
        let encoder = RandomEncoder {
            seed,
            ..RandomEncoder::tiny()
        };
        encoder.write(&folder).unwrap();
        open(&folder).unwrap()
    };
    let (one, copy, other) = (write("one", 1), write("copy", 1), write("other", 2));
    assert_eq!(one.model(), copy.model());
    assert_ne!(one.model(), other.model());
    assert_ne!(embed_one(&one, "cat").await, embed_one(&other, "cat").await);

    assert!(is_folder_model(one.model()));
    let (name, digest) = one.model().split_once('@').unwrap();
    assert_eq!(name, "folder:minilm");
    assert_eq!(digest.len(), 16);

    edit_json(
        &parent.path().join("one/minilm"),
        "tokenizer.json",
        |tokenizer| {
            tokenizer["normalizer"]["lowercase"] = json!(false);
        },
    );
    let changed = open(&parent.path().join("one/minilm")).unwrap();
    assert_ne!(changed.model(), copy.model(), "another tokenizer");
}

#[tokio::test]
async fn weights_may_have_the_names_of_a_head_and_of_early_files() {
    let folder = write_encoder(&RandomEncoder::tiny());
    let expected = embed_one(&open(folder.path()).unwrap(), "the cat").await;
    rename_tensors(folder.path(), |name| {
        let name = name
            .replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta");
        format!("bert.{name}")
    });
    let found = embed_one(&open(folder.path()).unwrap(), "the cat").await;
    assert_eq!(found, expected);
}

#[test]
fn a_file_that_is_missing_is_named() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = write_encoder(&RandomEncoder::tiny());
        fs::remove_file(folder.path().join(name)).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("/{name}: cannot be read")),
            "{error}"
        );
        assert!(
            error.contains("the folder needs model.safetensors"),
            "{error}"
        );
    }

    let error = open(Path::new("/nowhere")).unwrap_err();
    assert_eq!(error.path, Path::new("/nowhere/config.json"));
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_the_reason() {
    type Change = fn(&Path);
    let cases: [(&str, &str, Change); 11] = [
        ("config.json", "copy the file again", |folder| {
            fs::write(folder.join("config.json"), "{").unwrap();
        }),
        ("config.json", "missing field `hidden_size`", |folder| {
            edit_json(folder, "config.json", |config| {
                config.as_object_mut().unwrap().remove("hidden_size");
            });
        }),
        (
            "config.json",
            "model_type \"gpt2\" is not supported",
            |folder| {
                edit_json(folder, "config.json", |config| {
                    config["model_type"] = json!("gpt2")
                });
            },
        ),
        ("config.json", "absolute positions", |folder| {
            edit_json(folder, "config.json", |config| {
                config["position_embedding_type"] = json!("relative_key");
            });
        }),
        (
            "config.json",
            "a multiple of num_attention_heads",
            |folder| {
                edit_json(folder, "config.json", |config| {
                    config["num_attention_heads"] = json!(5)
                });
            },
        ),
        ("tokenizer.json", "copy the file again", |folder| {
            fs::write(folder.join("tokenizer.json"), "[]").unwrap();
        }),
        (
            "tokenizer.json",
            "copy both files from one model",
            |folder| {
                edit_json(folder, "config.json", |config| {
                    config["vocab_size"] = json!(7)
                });
            },
        ),
        ("model.safetensors", "copy both again", |folder| {
            let path = folder.join("model.safetensors");
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("model.safetensors", "encoder.layer.2.attention", |folder| {
            edit_json(folder, "config.json", |config| {
                config["num_hidden_layers"] = json!(3)
            });
        }),
        (
            "1_Pooling/config.json",
            "this pooling is not supported",
            |folder| {
                write_json(
                    folder,
                    "1_Pooling/config.json",
                    &json!({"pooling_mode_max_tokens": true}),
                );
            },
        ),
        (
            "modules.json",
            "the module \"Dense\" is not supported",
            |folder| {
                write_json(
                    folder,
                    "modules.json",
                    &json!([
                        {"type": "sentence_transformers.models.Transformer"},
                        {"type": "sentence_transformers.models.Dense"},
                    ]),
                );
            },
        ),
    ];
    for (file, reason, change) in cases {
        let folder = write_encoder(&RandomEncoder::tiny());
        change(folder.path());
        let error = open(folder.path()).unwrap_err();
        assert_eq!(error.path, folder.path().join(file), "{error}");
        let message = error.to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[tokio::test]
async fn settings_of_a_published_model_are_read() {
    let folder = write_encoder(&RandomEncoder::tiny());
    write_json(
        folder.path(),
        "modules.json",
        &json!([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]),
    );
    write_json(
        folder.path(),
        "1_Pooling/config.json",
        &json!({
            "word_embedding_dimension": 32, "pooling_mode_cls_token": false,
            "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false,
            "pooling_mode_mean_sqrt_len_tokens": false,
        }),
    );
    write_json(
        folder.path(),
        "config_sentence_transformers.json",
        &json!({"__version__": {"sentence_transformers": "2.0.0"}}),
    );
    // The tokenizers of published models pad and cut texts themselves.
    edit_json(folder.path(), "tokenizer.json", |tokenizer| {
        tokenizer["truncation"] = json!({
            "max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right",
        });
        tokenizer["padding"] = json!({
            "strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
        });
    });
    let embedder = FolderEmbedder::open(&settings(folder.path())).unwrap();
    assert_eq!(count_tokens(&embedder, "a b c d e f").await, 8);
}
