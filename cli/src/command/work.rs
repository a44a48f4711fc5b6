//! `recollect work`: handles all queued work, and exits.

use anyhow::Result;
use telemetry::LogFormat;

use super::{build_outside, wait_for_interrupt};
use crate::arguments::Work;
use crate::system::LocalSystem;
use crate::workers::{Workers, work_until_idle};

pub(super) async fn run_work(options: Work) -> Result<()> {
    let traces = telemetry::start(&options.log, LogFormat::Text, &options.traces.settings())?;
    let system =
        LocalSystem::open(&options.data.data, options.data.power_cut.durability, None).await?;
    let external_services = build_outside(&options.models, &options.drive, None)?;
    external_services
        .readers
        .pages_and_files
        .log_isolation()
        .await;
    if options.until_idle {
        work_until_idle(&system, &external_services).await?;
    } else {
        let interrupted = wait_for_interrupt()?;
        let workers = Workers::start(&system, &external_services).await?;
        interrupted.await;
        workers.stop().await;
    }
    traces.stop().await;
    Ok(())
}
