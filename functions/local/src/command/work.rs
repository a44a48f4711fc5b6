//! `recollect work`.

use anyhow::Result;

use super::{interrupted, log_to_stderr};
use crate::cli::Work;
use crate::system::System;
use crate::workers::{Workers, work_until_idle};

pub(super) async fn work(options: Work) -> Result<()> {
    log_to_stderr(&options.log)?;
    let system = System::open(&options.data.data, None).await?;
    let readers = options.models.readers()?;
    if options.until_idle {
        return work_until_idle(&system, readers).await;
    }
    let workers = Workers::start(&system, readers).await?;
    interrupted().await;
    workers.stop().await;
    Ok(())
}
