//! `recollect mcp`: serves the Model Context Protocol on the standard streams, and enters itself
//! into the configuration of assistants.

mod clients;
mod edit;
mod install;
mod json_text;
mod toml_text;

use std::path::Path;

use anyhow::{Context, Result};
use api_client::ApiClient;
use domain::Secret;
use service::LOCAL_KEY;

use super::{build_outside, log_to_stderr, wait_for_interrupt};
use crate::arguments::{DriveOptions, Mcp, McpAction, McpServe, McpTarget};
use crate::listen::{ServingOptions, build_service, mark_as_own};
use crate::system::LocalSystem;
use crate::workers::Workers;

/// An assistant starts a process of its own, beside others, so its indexes stay small.
const SERVING_OPTIONS: ServingOptions = ServingOptions::for_this_machine(512 * 1024 * 1024);

pub(super) async fn run_mcp(options: Mcp) -> Result<()> {
    match options.action {
        None => serve_assistant(options.serve).await,
        Some(McpAction::Install(install)) => install::install(&install),
        Some(McpAction::Uninstall(uninstall)) => install::uninstall(&uninstall),
    }
}

/// Serves until the input ends or the process is interrupted.
async fn serve_assistant(options: McpServe) -> Result<()> {
    log_to_stderr(&options.log)?;
    let key = Secret::new(options.target.api_key().unwrap_or(LOCAL_KEY));
    if let Some(url) = options.target.server_url() {
        let api = ApiClient::over_http(url).context("--url or RECOLLECT_URL")?;
        return serve_until_interrupted(api.with_key(key)).await;
    }

    let durability = options.target.power_cut.durability;
    let system = LocalSystem::open(options.target.data_folder(), durability, None).await?;
    let external_services = build_outside(&options.models, &DriveOptions::default(), None)?;
    // This process also processes what is added, so that a search finds it without a server.
    let workers = Workers::start(&system, &external_services).await?;
    let routes = build_service(&system, &external_services, SERVING_OPTIONS)?;
    let api = ApiClient::in_process(mark_as_own(routes));

    let result = serve_until_interrupted(api.with_key(key)).await;
    workers.stop().await;
    result
}

async fn serve_until_interrupted(api: ApiClient) -> Result<()> {
    let interrupted = wait_for_interrupt()?;
    tokio::select! {
        result = mcp::serve_stdio(api) => result,
        () = interrupted => Ok(()),
    }
}

impl McpTarget {
    /// Returns the address of the server, unless the command line names a data folder. An empty
    /// variable counts as absent.
    fn server_url(&self) -> Option<&str> {
        let of_environment = self.environment_url.as_deref();
        let of_environment = of_environment.filter(|_| self.data.is_none());
        let url = self.url.as_deref().or(of_environment)?;
        Some(url).filter(|url| !url.trim().is_empty())
    }

    /// Returns the data folder, which counts if there is no server.
    fn data_folder(&self) -> &Path {
        self.data.as_deref().unwrap_or(&self.environment_data)
    }

    /// Returns the key of the server. An empty variable counts as absent.
    fn api_key(&self) -> Option<&str> {
        self.server_url()?;
        let key = self.key.as_deref()?;
        Some(key).filter(|key| !key.trim().is_empty())
    }
}
