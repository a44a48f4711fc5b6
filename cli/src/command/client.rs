//! The commands that call the API, of a server or of a data folder that is opened in this process.

mod add;
mod api;
mod ask;
mod config_file;
mod erasure_report;
mod forget;
mod hits;
mod list;
mod open;
mod output;
mod profile;
mod profiles;
mod search;
mod show;
mod status;
mod table;
mod target;
mod watch;

use std::process::ExitCode;

use anyhow::Result;

use crate::arguments::ClientCommand;

/// Runs a command, and returns the exit code that tells its outcome.
pub(super) async fn run_client(command: ClientCommand) -> Result<ExitCode> {
    let outcome = match command {
        ClientCommand::Add(options) => add::run_add(options).await?,
        ClientCommand::Search(options) => search::run_search(options).await?,
        ClientCommand::Ask(options) => ask::run_ask(options).await?,
        ClientCommand::Profile(options) => profile::run_profile(options).await?,
        ClientCommand::List(options) => list::run_list(options).await?,
        ClientCommand::Show(options) => show::run_show(options).await?,
        ClientCommand::Forget(options) => forget::run_forget(options).await?,
        ClientCommand::ErasureReport(options) => {
            erasure_report::run_erasure_report(options).await?
        }
        ClientCommand::Status(options) => status::run_status(options).await?,
        ClientCommand::Watch(options) => watch::run_watch(options).await?,
        ClientCommand::Open(options) => open::run_open(options).await?,
        ClientCommand::Profiles(options) => profiles::run_profiles(&options.action)?,
    };
    Ok(outcome.into())
}
