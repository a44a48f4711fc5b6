//! Chooses the reader of a deployed function.

use std::env;
use std::sync::Arc;

use anyhow::Result;
use lambda::Deployment;
use remote::{Fetcher, Network, PageFetcher};

use crate::{LocalReader, Reader, RemoteReader};

/// The variable with the name of the function `reader`. It is empty in `sam local`, where no function
/// can call another: each function reads for itself there.
const READER_FUNCTION: &str = "RECOLLECT_READER_FUNCTION";

/// Returns the reader of a function.
///
/// # Errors
/// Fails if the variable `RECOLLECT_READER_FUNCTION` is not set, or if the path of the executable is
/// unknown.
pub fn deployed_reader(deployment: &Deployment) -> Result<Arc<dyn Reader>> {
    Ok(match deployment.function(READER_FUNCTION)? {
        Some(function) => Arc::new(RemoteReader::new(function)),
        None => Arc::new(LocalReader::in_child(env::current_exe()?)),
    })
}

/// Returns the page fetcher of a function that parses no files.
///
/// # Errors
/// Fails if the variable `RECOLLECT_READER_FUNCTION` is not set.
pub fn deployed_fetcher(deployment: &Deployment) -> Result<Arc<dyn PageFetcher>> {
    Ok(match deployment.function(READER_FUNCTION)? {
        Some(function) => Arc::new(RemoteReader::new(function)),
        None => Arc::new(Fetcher::new(Network::public_internet())),
    })
}
