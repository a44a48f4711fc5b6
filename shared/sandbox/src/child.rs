//! The child's side: limits first, then one document.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use content::{Extracted, Failure, Source};
use rlimit::Resource;

use crate::Header;

/// What a child may allocate, in bytes, the stack of its parser included: with the pages of the program itself it stays
/// below 512 MiB resident. Parsers of hostile files took 2 to 6 GiB.
const MEMORY_BYTES: u64 = 480 * 1024 * 1024;
/// The address space of a child, in bytes, for systems that do not count what is allocated.
const ADDRESS_SPACE_BYTES: u64 = 1024 * 1024 * 1024;
/// The processor time of a child, in seconds. More threads than one cannot stretch it.
const CPU_SECONDS: u64 = 60;
/// The longest header that is believed.
const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// The stack of the thread that parses: enough for the deepest recursion that real files need.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Extracts the one document that stands on standard input, and writes the JSON result to standard output.
///
/// To be called by a binary's `main` before anything else, when its first argument is
/// [`CHILD_ARGUMENT`](crate::CHILD_ARGUMENT). Returns a failure only if the parent did not speak the protocol
/// or has gone.
pub fn child_main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<()> {
    limit()?;
    let mut input = io::stdin().lock();
    let header = read_header(&mut input)?;
    // Growing while it is read would take twice the memory.
    let mut bytes = Vec::with_capacity(header.size);
    input.read_to_end(&mut bytes)?;
    let worker =
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || extract(&header, &bytes))?;
    let result = worker.join().map_err(|_| io::Error::other("the parser panicked"))?;
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &result)?;
    output.flush()
}

fn extract(header: &Header, bytes: &[u8]) -> Result<Extracted, Failure> {
    let source = Source { bytes, name: header.name.as_deref(), declared: header.declared.as_deref() };
    content::extract(&source)
}

/// Sets the limits that the process cannot lift again.
fn limit() -> io::Result<()> {
    for (resource, limit) in [
        (Resource::DATA, MEMORY_BYTES),
        (Resource::AS, ADDRESS_SPACE_BYTES),
        (Resource::CPU, CPU_SECONDS),
        (Resource::CORE, 0),
        (Resource::FSIZE, 0),
    ] {
        // A lower limit of the surroundings stays.
        let (_, hard) = resource.get()?;
        let limit = limit.min(hard);
        resource.set(limit, limit)?;
    }
    Ok(())
}

fn read_header(input: &mut impl Read) -> io::Result<Header> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > MAX_HEADER_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the header is too long"));
    }
    let mut header = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut header)?;
    Ok(serde_json::from_slice(&header)?)
}
