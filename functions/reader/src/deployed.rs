//! The readers of functions.

use std::env;
use std::io;
use std::sync::Arc;

use remote::{Fetcher, Network, PageFetcher};

use crate::{LocalReader, Reader, ReaderFunction};

/// The variable with the name of the function that reads for others. It is empty in `sam local`, where
/// no function can call another: each function reads for itself there.
pub const READER_FUNCTION: &str = "RECOLLECT_READER_FUNCTION";

/// Returns the reader of a function.
///
/// # Errors
/// Fails if the path of the executable is unknown.
pub fn deployed_reader() -> io::Result<Arc<dyn Reader>> {
    Ok(match lambda::called_function(READER_FUNCTION) {
        Some(function) => Arc::new(ReaderFunction::new(function)),
        None => Arc::new(LocalReader::in_child(env::current_exe()?)),
    })
}

/// Returns the fetcher of pages of a function that runs no parsers.
pub fn deployed_fetcher() -> Arc<dyn PageFetcher> {
    match lambda::called_function(READER_FUNCTION) {
        Some(function) => Arc::new(ReaderFunction::new(function)),
        None => Arc::new(Fetcher::new(Network::public_internet())),
    }
}
