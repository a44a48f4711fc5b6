//! `recollect work`: handles all queued work, and exits.

use anyhow::Result;

use super::{build_outside, log_to_stderr, wait_for_interrupt};
use crate::arguments::Work;
use crate::system::LocalSystem;
use crate::workers::{Workers, work_until_idle};

pub(super) async fn run_work(options: Work) -> Result<()> {
    log_to_stderr(&options.log)?;
    let system =
        LocalSystem::open(&options.data.data, options.data.power_cut.durability, None).await?;
    let outside = build_outside(&options.models, &options.drive, None)?;
    outside.readers.log_isolation().await;
    if options.until_idle {
        return work_until_idle(&system, &outside).await;
    }
    let interrupted = wait_for_interrupt()?;
    let workers = Workers::start(&system, &outside).await?;
    interrupted.await;
    workers.stop().await;
    Ok(())
}
