//! The files of a folder that describe its model.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::FolderError;

/// The most tokens of a text. The memory of attention grows with their square: 16 heads take 256 MB
/// for a text of this length.
const MAX_TOKENS: usize = 2_048;

/// The kinds of encoders that this crate computes.
const MODEL_TYPES: [&str; 4] = ["bert", "roberta", "xlm-roberta", "camembert"];

/// `config.json`, as transformers writes it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct EncoderConfig {
    pub(crate) model_type: String,
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) intermediate_size: usize,
    #[serde(default)]
    pub(crate) hidden_act: Activation,
    pub(crate) max_position_embeddings: usize,
    #[serde(default = "default_type_count")]
    pub(crate) type_vocab_size: usize,
    #[serde(default = "default_epsilon")]
    pub(crate) layer_norm_eps: f64,
    #[serde(default)]
    pub(crate) pad_token_id: u32,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

/// The function between the two layers of a feed-forward network.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) enum Activation {
    /// GELU by the error function.
    #[default]
    #[serde(rename = "gelu")]
    Gelu,
    /// GELU by its approximation with the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh", alias = "gelu_fast")]
    GeluTanh,
    /// The positive part.
    #[serde(rename = "relu")]
    Relu,
}

fn default_type_count() -> usize {
    2
}

fn default_true() -> bool {
    true
}

fn default_epsilon() -> f64 {
    1e-12
}

impl EncoderConfig {
    /// Returns the row of the position table for the first token. RoBERTa reserves the rows up to
    /// that of its padding token.
    pub(crate) fn first_position(&self) -> usize {
        if self.model_type == "bert" {
            0
        } else {
            self.pad_token_id as usize + 1
        }
    }

    fn check(&self) -> Result<(), String> {
        if !MODEL_TYPES.contains(&self.model_type.as_str()) {
            return Err(format!(
                "model_type {:?} is not supported; use an encoder of type {}",
                self.model_type,
                MODEL_TYPES.join(", ")
            ));
        }
        if let Some(kind) = &self.position_embedding_type
            && kind != "absolute"
        {
            return Err(format!(
                "position_embedding_type {kind:?} is not supported; use a model with absolute positions"
            ));
        }

        let sizes = [
            self.vocab_size,
            self.hidden_size,
            self.num_hidden_layers,
            self.num_attention_heads,
            self.intermediate_size,
            self.type_vocab_size,
        ];
        if sizes.contains(&0) || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(
                "the sizes must be positive, and hidden_size a multiple of num_attention_heads"
                    .to_owned(),
            );
        }
        if self.max_position_embeddings < self.first_position() + 2 {
            return Err("max_position_embeddings leaves no room for a text".to_owned());
        }
        Ok(())
    }
}

/// The way in which the hidden states of a text become its vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    First,
}

/// Everything that the folder says besides its weights and its tokenizer.
#[derive(Debug, Clone)]
pub(crate) struct ModelFiles {
    pub(crate) config: EncoderConfig,
    pub(crate) pooling: Pooling,
    /// The most tokens of a text, with those that the tokenizer adds.
    pub(crate) max_tokens: usize,
    pub(crate) query_prefix: Option<String>,
    pub(crate) passage_prefix: Option<String>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct PoolingFile {
    /// `mean` or `cls` in new files, instead of the fields below.
    pooling_mode: Option<String>,
    #[serde(default = "default_true")]
    include_prompt: bool,
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_weightedmean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
}

#[derive(Deserialize)]
struct SequenceFile {
    max_seq_length: Option<usize>,
}

#[derive(Default, Deserialize)]
struct PromptFile {
    #[serde(default)]
    prompts: Prompts,
}

#[derive(Default, Deserialize)]
struct Prompts {
    query: Option<String>,
    #[serde(alias = "document")]
    passage: Option<String>,
}

impl ModelFiles {
    /// Reads `config.json`, and the files of sentence-transformers if they exist.
    pub(crate) fn read(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join("config.json");
        let config: EncoderConfig = parse(&path, &read_file(&path)?)?;
        if let Err(problem) = config.check() {
            return Err(FolderError { path, problem });
        }

        check_modules(folder)?;
        let sequence: Option<SequenceFile> = parse_optional(folder, "sentence_bert_config.json")?;
        let prompts: Option<PromptFile> =
            parse_optional(folder, "config_sentence_transformers.json")?;
        let prompts = prompts.unwrap_or_default().prompts;

        let mut max_tokens = config.max_position_embeddings - config.first_position();
        if let Some(limit) = sequence.and_then(|file| file.max_seq_length) {
            // Two tokens frame a text.
            max_tokens = max_tokens.min(limit.max(3));
        }
        Ok(Self {
            pooling: read_pooling(folder)?,
            max_tokens: max_tokens.min(MAX_TOKENS),
            query_prefix: prompts.query,
            passage_prefix: prompts.passage,
            config,
        })
    }
}

/// Refuses a model with layers behind the pooling, whose vectors would be others.
fn check_modules(folder: &Path) -> Result<(), FolderError> {
    let Some(modules) = parse_optional::<Vec<Module>>(folder, "modules.json")? else {
        return Ok(());
    };
    for module in modules {
        let name = module.kind.rsplit('.').next().unwrap_or_default();
        if !["Transformer", "Pooling", "Normalize"].contains(&name) {
            return Err(FolderError {
                path: folder.join("modules.json"),
                problem: format!(
                    "the module {name:?} is not supported; use a model with a transformer and a pooling alone"
                ),
            });
        }
    }
    Ok(())
}

fn read_pooling(folder: &Path) -> Result<Pooling, FolderError> {
    const FILE: &str = "1_Pooling/config.json";
    let Some(file) = parse_optional::<PoolingFile>(folder, FILE)? else {
        return Ok(Pooling::Mean);
    };
    let is_other = !file.include_prompt
        || file.pooling_mode_max_tokens
        || file.pooling_mode_mean_sqrt_len_tokens
        || file.pooling_mode_weightedmean_tokens
        || file.pooling_mode_lasttoken;
    let mode = file.pooling_mode.as_deref();
    let is_mean = file.pooling_mode_mean_tokens || mode == Some("mean");
    let is_first = file.pooling_mode_cls_token || mode == Some("cls");
    match (is_mean, is_first) {
        (true, false) if !is_other => Ok(Pooling::Mean),
        (false, true) if !is_other => Ok(Pooling::First),
        _ => Err(FolderError {
            path: folder.join(FILE),
            problem:
                "this pooling is not supported; use a model with the mean of all tokens or with \
                      the first token"
                    .to_owned(),
        }),
    }
}

fn parse_optional<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
) -> Result<Option<T>, FolderError> {
    let path = folder.join(name);
    if path.exists() {
        Ok(Some(parse(&path, &read_file(&path)?)?))
    } else {
        Ok(None)
    }
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, FolderError> {
    serde_json::from_slice(bytes).map_err(|error| FolderError {
        path: path.to_owned(),
        problem: format!(
            "cannot be read: {error}; copy the file again from where the model is published"
        ),
    })
}

/// Reads a file that the folder must have.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, FolderError> {
    std::fs::read(path).map_err(|error| FolderError {
        path: path.to_owned(),
        problem: format!(
            "cannot be read: {error}; the folder needs model.safetensors, tokenizer.json and config.json \
             of a BERT or RoBERTa encoder"
        ),
    })
}
