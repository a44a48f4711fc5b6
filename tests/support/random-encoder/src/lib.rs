//! Writes encoders of the BERT family with made-up weights into a folder: `model.safetensors`,
//! `tokenizer.json` and `config.json`. The weights are determined by the names of the tensors, so
//! the same encoder always has the same files.

mod weights;

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use weights::TensorFile;

/// The tokens that every vocabulary begins with. The padding is token 0 for BERT and token 1 for
/// XLM-RoBERTa.
const SPECIAL_TOKENS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The kind of an encoder, which determines the positions of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncoderKind {
    /// Positions start at 0.
    Bert,
    /// Positions start behind that of the padding token.
    XlmRoberta,
}

/// The shape and the words of an encoder.
#[derive(Debug, Clone)]
pub struct RandomEncoder {
    /// The kind.
    pub kind: EncoderKind,
    /// The number of layers.
    pub layers: usize,
    /// The dimensions of hidden states and vectors.
    pub hidden: usize,
    /// The number of attention heads.
    pub heads: usize,
    /// The dimensions between the two layers of a feed-forward network.
    pub intermediate: usize,
    /// The most tokens of a text, with the two around it.
    pub max_tokens: usize,
    /// The word pieces besides the special tokens.
    pub pieces: Vec<String>,
    /// Groups of words of the vocabulary that have the same row in the table of words, so that
    /// their texts have the same vectors.
    pub synonyms: Vec<Vec<String>>,
    /// Distinguishes the weights of encoders of the same shape.
    pub seed: u64,
}

impl RandomEncoder {
    /// Returns an encoder of 2 layers and 32 dimensions. Its pieces are the letters and a few
    /// words. It takes `feline` for `ship` and `vessel` for `cat`, as no other model does.
    pub fn tiny() -> Self {
        let mut pieces = Vec::new();
        for letter in 'a'..='z' {
            pieces.push(letter.to_string());
            pieces.push(format!("##{letter}"));
        }
        for word in [
            ".", "?", ":", "##s", "the", "a", "query", "passage", "cat", "ship", "feline", "vessel",
        ] {
            if !pieces.iter().any(|piece| piece == word) {
                pieces.push(word.to_owned());
            }
        }
        let group = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        Self {
            kind: EncoderKind::Bert,
            layers: 2,
            hidden: 32,
            heads: 4,
            intermediate: 64,
            max_tokens: 24,
            pieces,
            synonyms: vec![group(["cat", "vessel"]), group(["ship", "feline"])],
            seed: 1,
        }
    }

    /// Returns an encoder of the shape of all-MiniLM-L6-v2: 6 layers, 384 dimensions and 22
    /// million weights. `vocabulary` has a word piece on each line.
    pub fn minilm(vocabulary: &str) -> Self {
        let pieces = vocabulary
            .lines()
            .filter(|piece| !SPECIAL_TOKENS.contains(piece));
        Self {
            layers: 6,
            hidden: 384,
            heads: 12,
            intermediate: 1536,
            max_tokens: 512,
            pieces: pieces.map(str::to_owned).collect(),
            synonyms: Vec::new(),
            ..Self::tiny()
        }
    }

    /// Writes the three files into a folder that exists.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let vocabulary = self.vocabulary();
        fs::write(folder.join("config.json"), self.config(vocabulary.len()))?;
        fs::write(folder.join("tokenizer.json"), self.tokenizer(&vocabulary))?;
        fs::write(folder.join("model.safetensors"), self.weights(&vocabulary))
    }

    fn vocabulary(&self) -> Vec<&str> {
        let mut vocabulary = SPECIAL_TOKENS.to_vec();
        vocabulary.swap(0, self.pad_token());
        vocabulary.extend(self.pieces.iter().map(String::as_str));
        vocabulary
    }

    fn pad_token(&self) -> usize {
        match self.kind {
            EncoderKind::Bert => 0,
            EncoderKind::XlmRoberta => 1,
        }
    }

    /// Returns the number of rows of the position table.
    fn positions(&self) -> usize {
        match self.kind {
            EncoderKind::Bert => self.max_tokens,
            EncoderKind::XlmRoberta => self.max_tokens + self.pad_token() + 1,
        }
    }

    fn segments(&self) -> usize {
        match self.kind {
            EncoderKind::Bert => 2,
            EncoderKind::XlmRoberta => 1,
        }
    }

    fn config(&self, words: usize) -> String {
        let (kind, architecture) = match self.kind {
            EncoderKind::Bert => ("bert", "BertModel"),
            EncoderKind::XlmRoberta => ("xlm-roberta", "XLMRobertaModel"),
        };
        let config = json!({
            "architectures": [architecture],
            "hidden_act": "gelu",
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": self.positions(),
            "model_type": kind,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "pad_token_id": self.pad_token(),
            "position_embedding_type": "absolute",
            "type_vocab_size": self.segments(),
            "vocab_size": words,
        });
        format!("{config:#}\n")
    }

    fn tokenizer(&self, vocabulary: &[&str]) -> String {
        let mut ids = Map::new();
        for (id, piece) in vocabulary.iter().enumerate() {
            ids.insert((*piece).to_owned(), json!(id));
        }
        let special = |piece: &str| {
            json!({
                "id": ids[piece], "content": piece, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true,
            })
        };
        let frame = |piece: &str| json!({"id": piece, "ids": [ids[piece]], "tokens": [piece]});
        let token = |piece: &str| json!({"SpecialToken": {"id": piece, "type_id": 0}});
        let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
        let tokenizer = json!({
            "version": "1.0",
            "truncation": Value::Null,
            "padding": Value::Null,
            "added_tokens": SPECIAL_TOKENS.map(special),
            "normalizer": {
                "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": Value::Null, "lowercase": true,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [token("[CLS]"), text("A"), token("[SEP]")],
                "pair": [token("[CLS]"), text("A"), token("[SEP]"), text("B"), token("[SEP]")],
                "special_tokens": {"[CLS]": frame("[CLS]"), "[SEP]": frame("[SEP]")},
            },
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": ids,
            },
        });
        tokenizer.to_string()
    }

    fn weights(&self, vocabulary: &[&str]) -> Vec<u8> {
        let mut file = TensorFile::new(self.seed);
        let (hidden, inner) = (self.hidden, self.intermediate);

        let synonyms = self.synonym_ids(vocabulary);
        file.add_table(
            "embeddings.word_embeddings.weight",
            vocabulary.len(),
            hidden,
            &synonyms,
        );
        file.add_table(
            "embeddings.position_embeddings.weight",
            self.positions(),
            hidden,
            &[],
        );
        file.add_table(
            "embeddings.token_type_embeddings.weight",
            self.segments(),
            hidden,
            &[],
        );
        file.add_norm("embeddings.LayerNorm", hidden);
        for layer in 0..self.layers {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            file.add_linear(&name("attention.self.query"), hidden, hidden);
            file.add_linear(&name("attention.self.key"), hidden, hidden);
            file.add_linear(&name("attention.self.value"), hidden, hidden);
            file.add_linear(&name("attention.output.dense"), hidden, hidden);
            file.add_norm(&name("attention.output.LayerNorm"), hidden);
            file.add_linear(&name("intermediate.dense"), hidden, inner);
            file.add_linear(&name("output.dense"), inner, hidden);
            file.add_norm(&name("output.LayerNorm"), hidden);
        }
        file.into_bytes()
    }

    /// Returns pairs of ids: the first has the row of the second.
    fn synonym_ids(&self, vocabulary: &[&str]) -> Vec<(usize, usize)> {
        let id = |word: &str| vocabulary.iter().position(|piece| *piece == word);
        let mut pairs = Vec::new();
        for group in &self.synonyms {
            let mut ids = group.iter().filter_map(|word| id(word));
            if let Some(first) = ids.next() {
                pairs.extend(ids.map(|other| (other, first)));
            }
        }
        pairs
    }
}
