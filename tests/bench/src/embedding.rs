//! What a text costs with an embedding model: time, tokens, bytes and price.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cli::arguments::ModelOptions;
use domain::ports::{EmbeddingInput, TextEmbedder};
use random_encoder::RandomEncoder;
use search_engine::{Embedder, ModelVector, QuantizedVector, StaticEmbedder};

use crate::rig::percentiles;
use crate::text::TextGenerator;

/// The vocabulary of the built-in table, which is that of all-MiniLM-L6-v2.
const VOCABULARY: &str = include_str!("../../../shared/search-engine/model/vocab.txt");
/// Texts that are embedded before the measurement.
const WARM_UP: usize = 3;

/// The options of the measurement.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EmbeddingOptions {
    /// Texts of the measurement
    #[arg(long, default_value_t = 200)]
    texts: usize,
    /// Characters of a text
    #[arg(long, default_value_t = 800)]
    chars: usize,
    /// A file with a text on each line, instead of made-up texts
    #[arg(long, value_name = "FILE")]
    file: Option<std::path::PathBuf>,
    /// Measure an encoder of the shape of all-MiniLM-L6-v2 with random weights
    #[arg(long, conflicts_with_all = ["embedding_model", "embedding_folder"])]
    random_minilm: bool,
    /// The price of a million tokens at the endpoint, in its currency
    #[arg(long, value_name = "PRICE")]
    price_per_million_tokens: Option<f64>,
    /// The model; the built-in table when there is none
    #[command(flatten)]
    models: ModelOptions,
}

/// The figures of one model.
struct Measurement {
    model: String,
    tokens: u64,
    dimensions: usize,
    vector_bytes: usize,
    /// The time of each text by itself, as a search embeds its question.
    times: Vec<Duration>,
    /// The time of all texts in one call, as processing embeds a document.
    together: Duration,
}

/// Measures the model that the options of the server name.
pub(crate) async fn run(options: EmbeddingOptions) -> Result<()> {
    let texts = match &options.file {
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            text.lines().map(str::to_owned).collect()
        }
        None => {
            let mut generator = TextGenerator::new(7);
            let text = |_| generator.generate_text(options.chars);
            (0..options.texts).map(text).collect::<Vec<_>>()
        }
    };
    anyhow::ensure!(!texts.is_empty(), "there are no texts to embed");

    let folder = tempfile::tempdir()?;
    let mut models = options.models;
    if options.random_minilm {
        let folder = folder.path().join("random-minilm");
        std::fs::create_dir(&folder)?;
        RandomEncoder::minilm(VOCABULARY).write(&folder)?;
        models.embedding_folder = Some(folder);
    }
    let measurement = match models.readers()?.embedder {
        Some(embedder) => measure_model(&embedder, &texts).await?,
        None => measure_table(&texts),
    };
    print_measurement(&texts, measurement, options.price_per_million_tokens);
    Ok(())
}

async fn measure_model(embedder: &Arc<dyn TextEmbedder>, texts: &[String]) -> Result<Measurement> {
    let model = embedder.model();
    for text in texts.iter().take(WARM_UP) {
        embedder
            .embed(model, &[EmbeddingInput::Question(text)])
            .await?;
    }

    let mut times = Vec::with_capacity(texts.len());
    for text in texts {
        let begun = Instant::now();
        embedder
            .embed(model, &[EmbeddingInput::Question(text)])
            .await?;
        times.push(begun.elapsed());
    }

    let passages: Vec<EmbeddingInput<'_>> = texts
        .iter()
        .map(|text| EmbeddingInput::Passage(text))
        .collect();
    let begun = Instant::now();
    let embedded = embedder.embed(model, &passages).await?;
    let together = begun.elapsed();
    let first = embedded.vectors.iter().find(|vector| !vector.is_empty());
    let first = first.context("the model refused every text")?;
    let stored = ModelVector::quantize(Arc::from(model), first);
    Ok(Measurement {
        model: model.to_owned(),
        tokens: embedded.tokens,
        dimensions: first.len(),
        vector_bytes: stored.map_or(0, |vector| vector.codes().len()),
        times,
        together,
    })
}

fn measure_table(texts: &[String]) -> Measurement {
    let table = StaticEmbedder::build_vocabulary();
    let mut times = Vec::with_capacity(texts.len());
    let mut tokens = 0;
    let mut vectors: Vec<QuantizedVector> = Vec::with_capacity(texts.len());
    for text in texts {
        let begun = Instant::now();
        vectors.push(table.embed(text));
        times.push(begun.elapsed());
        tokens += table.count_tokens(text) as u64;
    }

    let begun = Instant::now();
    for (vector, text) in vectors.iter_mut().zip(texts) {
        *vector = table.embed(text);
    }
    let together = begun.elapsed();
    let bytes = vectors.first().map_or(0, |vector| vector.0.len());
    Measurement {
        model: table.model_id().to_owned(),
        tokens,
        dimensions: bytes,
        vector_bytes: bytes,
        times,
        together,
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_measurement(texts: &[String], mut measurement: Measurement, price: Option<f64>) {
    let count = texts.len();
    measurement.times.sort_unstable();
    let p95 = measurement.times[(count - 1) * 95 / 100].as_secs_f64() * 1000.0;
    let (p50, _, _) = percentiles(&mut measurement.times);
    let together = measurement.together.as_secs_f64();
    let (tokens, each) = (measurement.tokens, measurement.tokens as f64 / count as f64);

    println!("model                {}", measurement.model);
    println!("texts                {count}");
    println!("tokens               {tokens} ({each:.0} each)");
    println!("dimensions           {}", measurement.dimensions);
    println!("bytes per vector     {}", measurement.vector_bytes);
    println!("ms per text, alone   p50 {p50:.3}, p95 {p95:.3}");
    println!("texts/s, together    {:.0}", count as f64 / together);
    println!("tokens/s, together   {:.0}", tokens as f64 / together);
    if let Some(price) = price {
        let of_texts = tokens as f64 / 1e6 * price;
        let of_million = each * price;
        println!(
            "price                {of_texts:.6} for these texts, {of_million:.2} for a million"
        );
    }
}
