//! `recollect work`: handles all queued work, and exits.

use anyhow::Result;

use super::{interrupted, log_to_stderr, outside};
use crate::cli::Work;
use crate::system::System;
use crate::workers::{Workers, work_until_idle};

pub(super) async fn work(options: Work) -> Result<()> {
    log_to_stderr(&options.log)?;
    let system = System::open(&options.data.data, options.data.power_cut.durability, None).await?;
    let outside = outside(&options.models, &options.drive, None)?;
    outside.readers.log_walls().await;
    if options.until_idle {
        return work_until_idle(&system, &outside).await;
    }
    let interrupted = interrupted()?;
    let workers = Workers::start(&system, &outside).await?;
    interrupted.await;
    workers.stop().await;
    Ok(())
}
