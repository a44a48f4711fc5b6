//! Code shared by the fuzz targets: files built from the input, and checks that every result must
//! pass.

#[cfg(feature = "app")]
pub mod app;
pub mod checks;

use std::io::{Cursor, Write};
use std::panic;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use content::{ChunkOptions, ContentSource, extract_document, split_into_chunks};
use tokio::runtime::{Builder, Runtime};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The beginning of a line that starts a part of a package in an input: `@@ name`.
const PART: &str = "@@ ";
/// The most parts of a package. More parts take time and reveal nothing new.
const MAX_PARTS: usize = 64;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
});

static EXTRACTING: AtomicBool = AtomicBool::new(false);

/// Lets the reader catch panics of its parsers, as in production. Any other panic still ends the
/// run.
pub fn let_parsers_panic() {
    let abort = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !EXTRACTING.load(Ordering::SeqCst) {
            abort(info);
        }
    }));
}

/// Extracts the text of a file with the name `name`, chunks it, and checks both results.
pub fn extract_and_check(bytes: &[u8], name: Option<&str>, declared: Option<&str>) {
    EXTRACTING.store(true, Ordering::SeqCst);
    let result = extract_document(&ContentSource {
        bytes,
        name,
        declared_type: declared,
    });

    EXTRACTING.store(false, Ordering::SeqCst);
    match result {
        Ok(extracted) => {
            checks::check_extracted(&extracted);
            let options = ChunkOptions::default();
            let chunks = split_into_chunks(&extracted.text, extracted.format, &options);
            checks::check_chunks(&extracted.text, &chunks, options.target_chars);
        }
        Err(failure) => assert!(!failure.message.is_empty(), "a failure says what is wrong"),
    }
}

/// Reads an input as it is, or as the package that it describes. A description is needed because
/// the fuzzer cannot learn to write checksums.
pub fn extract_package(input: &[u8]) {
    match package(input) {
        Some(bytes) => extract_and_check(&bytes, None, None),
        None => extract_and_check(input, None, None),
    }
}

/// Builds the zip file of the parts that an input describes; `None` if the input does not begin
/// with a part.
fn package(input: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(input);
    let next = format!("\n{PART}");
    let parts = text.strip_prefix(PART)?.split(&next).take(MAX_PARTS);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for part in parts {
        let (name, content) = part.split_once('\n').unwrap_or((part, ""));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        // The writer refuses a name that it already has. Such a part is left out.
        if writer.start_file(name, options).is_ok() {
            writer.write_all(content.as_bytes()).ok()?;
        }
    }

    Some(writer.finish().ok()?.into_inner())
}

/// Splits off the first byte of the input, which the target uses to make a choice.
pub fn split_choice(input: &[u8]) -> (usize, &[u8]) {
    input
        .split_first()
        .map_or((0, input), |(first, rest)| (usize::from(*first), rest))
}

/// Returns the runtime for requests and fetches.
pub fn shared_runtime() -> &'static Runtime {
    &RUNTIME
}
