//! The forward pass of BERT and RoBERTa: Devlin et al., <https://arxiv.org/abs/1810.04805>, with the
//! names of weights that transformers gives them.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{LayerNorm, Linear, Module, VarBuilder, ops};

use crate::config::{Activation, EncoderConfig};

/// The layers of an encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    words: Tensor,
    positions: Tensor,
    /// The row of the first kind of segment, which all tokens have.
    segment: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
    first_position: usize,
    pad_token: u32,
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    intermediate: Linear,
    output: Linear,
    output_norm: LayerNorm,
    activation: Activation,
    heads: usize,
}

/// The last hidden states of a batch: for each text and each of its tokens a row.
#[derive(Debug)]
pub(crate) struct HiddenStates {
    /// All rows, text by text. Each text has as many as the longest.
    pub(crate) values: Vec<f32>,
    /// The number of tokens of the longest text.
    pub(crate) width: usize,
}

impl Encoder {
    /// Reads the weights in the format safetensors, and converts them to 32 bits.
    ///
    /// # Errors
    /// Returns an error that names the tensor if one is missing or has another shape than `config`
    /// says.
    pub(crate) fn load(weights: Vec<u8>, config: &EncoderConfig) -> Result<Self> {
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        let root = find_root(weights);
        let hidden = config.hidden_size;

        let embeddings = root.pp("embeddings");
        let words = embeddings.get((config.vocab_size, hidden), "word_embeddings.weight")?;
        let positions = (config.max_position_embeddings, hidden);
        let positions = embeddings.get(positions, "position_embeddings.weight")?;
        let segments = (config.type_vocab_size, hidden);
        let segments = embeddings.get(segments, "token_type_embeddings.weight")?;

        let mut layers = Vec::with_capacity(config.num_hidden_layers);
        for number in 0..config.num_hidden_layers {
            layers.push(Layer::load(
                &root.pp(format!("encoder.layer.{number}")),
                config,
            )?);
        }

        Ok(Self {
            words,
            positions,
            segment: segments.get(0)?,
            norm: load_norm(&embeddings.pp("LayerNorm"), config)?,
            layers,
            first_position: config.first_position(),
            pad_token: config.pad_token_id,
        })
    }

    /// Computes the last hidden states of texts that have at least one token and at most as many
    /// as the model has positions.
    ///
    /// # Errors
    /// Returns an error if a token is not one of the model's.
    pub(crate) fn forward(&self, texts: &[&[u32]]) -> Result<HiddenStates> {
        let width = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let mut ids = Vec::with_capacity(texts.len() * width);
        // Added to the attention scores: it takes the padding out of the softmax.
        let mut mask = Vec::with_capacity(texts.len() * width);
        for text in texts {
            let padding = width - text.len();
            ids.extend_from_slice(text);
            ids.extend(std::iter::repeat_n(self.pad_token, padding));
            mask.extend(std::iter::repeat_n(0.0_f32, text.len()));
            mask.extend(std::iter::repeat_n(f32::NEG_INFINITY, padding));
        }
        let is_padded = mask.iter().any(|value| *value != 0.0);
        let mask = Tensor::from_vec(mask, (texts.len(), 1, 1, width), &Device::Cpu)?;
        let mask = is_padded.then_some(&mask);

        let ids = Tensor::from_vec(ids, texts.len() * width, &Device::Cpu)?;
        let hidden = self.words.dim(1)?;
        let words = self.words.index_select(&ids, 0)?;
        let words = words.reshape((texts.len(), width, hidden))?;
        let positions = self.positions.narrow(0, self.first_position, width)?;
        let places = positions.broadcast_add(&self.segment)?;
        let mut states = self.norm.forward(&words.broadcast_add(&places)?)?;
        for layer in &self.layers {
            states = layer.forward(&states, mask)?;
        }

        let values = states.flatten_all()?.to_vec1()?;
        Ok(HiddenStates { values, width })
    }
}

impl Layer {
    fn load(weights: &VarBuilder, config: &EncoderConfig) -> Result<Self> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let square = |name: &str| candle_nn::linear(hidden, hidden, weights.pp(name));
        Ok(Self {
            query: square("attention.self.query")?,
            key: square("attention.self.key")?,
            value: square("attention.self.value")?,
            attention_output: square("attention.output.dense")?,
            attention_norm: load_norm(&weights.pp("attention.output.LayerNorm"), config)?,
            intermediate: candle_nn::linear(hidden, inner, weights.pp("intermediate.dense"))?,
            output: candle_nn::linear(inner, hidden, weights.pp("output.dense"))?,
            output_norm: load_norm(&weights.pp("output.LayerNorm"), config)?,
            activation: config.hidden_act,
            heads: config.num_attention_heads,
        })
    }

    /// Returns the states after this layer. Both have the shape (texts, tokens, hidden).
    fn forward(&self, states: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        let context = self.attend(states, mask)?;
        let attended = self.attention_output.forward(&context)?;
        let states = self.attention_norm.forward(&(attended + states)?)?;

        let inner = self.intermediate.forward(&states)?;
        let inner = match self.activation {
            Activation::Gelu => inner.gelu_erf()?,
            Activation::GeluTanh => inner.gelu()?,
            Activation::Relu => inner.relu()?,
        };
        let output = self.output.forward(&inner)?;
        self.output_norm.forward(&(output + states)?)
    }

    fn attend(&self, states: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        let (texts, width, hidden) = states.dims3()?;
        let head_size = hidden / self.heads;
        // Shapes (texts, heads, tokens, size of a head).
        let split = |values: Tensor| {
            let values = values.reshape((texts, width, self.heads, head_size))?;
            values.transpose(1, 2)?.contiguous()
        };
        let scale = 1.0 / (head_size as f64).sqrt();
        let query = split((self.query.forward(states)? * scale)?)?;
        let key = split(self.key.forward(states)?)?;
        let value = split(self.value.forward(states)?)?;

        let mut scores = query.matmul(&key.transpose(D::Minus2, D::Minus1)?)?;
        if let Some(mask) = mask {
            scores = scores.broadcast_add(mask)?;
        }
        let weights = ops::softmax_last_dim(&scores)?;
        let context = weights.matmul(&value)?;
        context
            .transpose(1, 2)?
            .contiguous()?
            .reshape((texts, width, hidden))
    }
}

/// Returns the weights below the name of the model, which a file has if it was saved with a head.
fn find_root(weights: VarBuilder<'_>) -> VarBuilder<'_> {
    for name in ["bert", "roberta"] {
        let below = weights.pp(name);
        if below.contains_tensor("embeddings.word_embeddings.weight") {
            return below;
        }
    }
    weights
}

/// Reads a layer normalization. Early files call its weight and bias gamma and beta.
fn load_norm(weights: &VarBuilder, config: &EncoderConfig) -> Result<LayerNorm> {
    let names = if weights.contains_tensor("gamma") {
        ["gamma", "beta"]
    } else {
        ["weight", "bias"]
    };
    let weight = weights.get(config.hidden_size, names[0])?;
    let bias = weights.get(config.hidden_size, names[1])?;
    Ok(LayerNorm::new(weight, bias, config.layer_norm_eps))
}
