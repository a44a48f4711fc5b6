//! `recollect demo`.

use anyhow::Result;

use crate::cli::Demo;

pub(super) async fn demo(_options: Demo) -> Result<()> {
    Ok(())
}
