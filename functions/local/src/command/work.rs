//! `recollect work`.

use anyhow::Result;
use sandbox::Sandbox;

use super::{interrupted, log_to_stderr};
use crate::cli::Work;
use crate::system::System;
use crate::workers::{Workers, work_until_idle};

pub(super) async fn work(options: Work) -> Result<()> {
    log_to_stderr(&options.log)?;
    let system = System::open(&options.data.data).await?;
    let sandbox = Sandbox::child(std::env::current_exe()?);
    if options.until_idle {
        return work_until_idle(&system, sandbox).await;
    }
    let workers = Workers::start(&system, sandbox).await?;
    interrupted().await;
    workers.stop().await;
    Ok(())
}
