//! The child process: confines itself, then reads one document.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use content::{ContentFailure, ContentSource, ExtractedDocument};

use crate::ChildHeader;
use crate::confinement::confine_process;

/// The longest header that is accepted.
const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// The stack of the parser thread, large enough for the deepest recursion that real files need.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Extracts the document on standard input, and writes the JSON result to standard output.
///
/// Before it reads anything, it gives up all other capabilities ([`confine_process`]). A binary's
/// `main` must call it before anything else, if its first argument is
/// [`CHILD_ARGUMENT`](crate::CHILD_ARGUMENT). It returns a failure only if the parent did not
/// follow the protocol or is gone.
pub fn child_main() -> ExitCode {
    match run_child() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_child() -> io::Result<()> {
    let confinement = confine_process()?;
    let mut input = io::stdin().lock();
    let header = read_header(&mut input)?;
    if header.asks_for_walls {
        return Ok(serde_json::to_writer(io::stdout().lock(), &confinement)?);
    }

    // A buffer that grows while it is read would take twice the memory.
    let mut bytes = Vec::with_capacity(header.size);
    input.read_to_end(&mut bytes)?;
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || extract_document(&header, &bytes))?;
    let result = worker
        .join()
        .map_err(|_| io::Error::other("the parser panicked"))?;
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &result)?;

    output.flush()
}

fn extract_document(
    header: &ChildHeader,
    bytes: &[u8],
) -> Result<ExtractedDocument, ContentFailure> {
    let source = ContentSource {
        bytes,
        name: header.name.as_deref(),
        declared_type: header.declared.as_deref(),
    };
    content::extract_document(&source)
}

fn read_header(input: &mut impl Read) -> io::Result<ChildHeader> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > MAX_HEADER_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the header is too long",
        ));
    }
    let mut header = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut header)?;
    Ok(serde_json::from_slice(&header)?)
}
