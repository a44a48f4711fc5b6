//! Writes a random encoder into a folder, for a comparison with another implementation:
//!
//! ```text
//! cargo run -p random-encoder --example write_encoder -- tiny FOLDER
//! cargo run -p random-encoder --example write_encoder -- tiny-roberta FOLDER
//! cargo run -p random-encoder --example write_encoder -- minilm FOLDER VOCABULARY
//! ```

use std::path::PathBuf;

use random_encoder::{EncoderKind, RandomEncoder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let shape = arguments.next().ok_or("the first argument is a shape")?;
    let folder = arguments.next().ok_or("the second argument is a folder")?;
    let encoder = match shape.as_str() {
        "tiny" => RandomEncoder::tiny(),
        "tiny-roberta" => RandomEncoder {
            kind: EncoderKind::XlmRoberta,
            ..RandomEncoder::tiny()
        },
        "minilm" => {
            let vocabulary = arguments
                .next()
                .ok_or("the third argument is a vocabulary")?;
            RandomEncoder::minilm(&std::fs::read_to_string(vocabulary)?)
        }
        _ => return Err("a shape is tiny, tiny-roberta or minilm".into()),
    };

    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    encoder.write(&folder)?;
    Ok(())
}
