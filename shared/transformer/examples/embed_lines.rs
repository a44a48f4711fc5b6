//! Prints the vectors of the texts on standard input, one for each line, by the encoder of a folder.
//! `tests/encoder/reference.py` prints those of the reference implementation.
//!
//! ```text
//! cargo run --release -p transformer --features encoder --example embed_lines -- FOLDER < texts.txt
//! ```

use std::error::Error;
use std::io::stdin;

use domain::ports::EmbeddingInput;
use transformer::{FolderSettings, open_folder};

#[expect(clippy::print_stdout, reason = "the vectors are the result")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("the argument is a folder")?;
    let embedder = open_folder(&FolderSettings {
        folder: folder.into(),
        ..FolderSettings::default()
    })?;

    let lines: Vec<String> = stdin().lines().collect::<Result<_, _>>()?;
    let texts: Vec<EmbeddingInput<'_>> = lines
        .iter()
        .map(|line| EmbeddingInput::Passage(line))
        .collect();
    let embedded = embedder.embed(embedder.model(), &texts).await?;
    println!("{}", serde_json::to_string(&embedded.vectors)?);
    Ok(())
}
