//! The subcommands.

/// Prints a line of the answer of a command.
macro_rules! print_line {
    () => {
        $crate::command::print_text("\n")
    };
    ($($arguments:tt)*) => {
        $crate::command::print_text(&format!("{}\n", format_args!($($arguments)*)))
    };
}

mod aws_endpoints;
mod backup;
mod check;
mod client;
mod confirm;
mod demo;
mod deploy;
mod dev;
mod doctor;
mod generate;
mod keys;
mod mcp;
mod place;
mod progress;
mod recall;
mod recover;
mod serve;
mod transfer;
mod trial;
mod work;

use std::io::Write;
use std::process::ExitCode;

use telemetry::TraceSettings;

use crate::arguments::{Cli, Command, DriveOptions, ModelOptions};
use crate::external_services::ExternalServices;

/// Runs the command line. `program` is the path by which this program was called, which need not be
/// on PATH. The commands that are printed as next steps begin with it.
#[expect(
    clippy::print_stderr,
    reason = "a program's last words go to standard error"
)]
pub fn run_command(cli: Cli, program: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let result = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let result = runtime.block_on(async {
            match cli.command {
                None => serve::run_server(cli.serve, program).await?,
                Some(Command::Client(command)) => return client::run_client(command).await,
                Some(Command::Serve(serve)) => serve::run_server(serve, program).await?,
                Some(Command::Demo(demo)) => demo::run_demo(demo, program).await?,
                Some(Command::Keys(keys)) => keys::run_keys(keys.action).await?,
                Some(Command::Check(check)) => return Ok(check::run_check(check).await),
                Some(Command::Export(export)) => return transfer::run_export(export).await,
                Some(Command::Import(import)) => transfer::run_import(import).await?,
                Some(Command::Backup(backup)) => return backup::run_backup(backup).await,
                Some(Command::Restore(restore)) => return backup::run_restore(restore).await,
                Some(Command::AwsEndpoints(endpoints)) => {
                    aws_endpoints::aws_endpoints(endpoints).await?
                }
                Some(Command::Deploy(deploy)) => return deploy::run_deploy(deploy).await,
                Some(Command::Rollback(rollback)) => return deploy::run_rollback(rollback).await,
                Some(Command::Recall(recall)) => recall::run_recall(recall).await?,
                Some(Command::Recover(recover)) => return recover::run_recover(recover).await,
                Some(Command::Doctor(doctor)) => return doctor::run_doctor(doctor).await,
                Some(Command::Dev(dev)) => dev::run_dev(dev).await?,
                Some(Command::Work(work)) => work::run_work(work).await?,
                Some(Command::Completions(options)) => generate::print_completions(&options)?,
                Some(Command::Manual(options)) => generate::print_manual(&options)?,
                Some(Command::Mcp(options)) => mcp::run_mcp(options).await?,
            }
            Ok(ExitCode::SUCCESS)
        });
        // A blocking read that is still running must not delay the exit.
        runtime.shutdown_timeout(std::time::Duration::from_secs(2));
        result
    });

    match result {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recollect: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a text to standard output. A command goes on when nobody reads its output any more, as after
/// `| head`, and when the text cannot be written, which is told on standard error.
fn print_text(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    if let Err(error) = printed
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        writeln!(std::io::stderr(), "recollect: cannot print: {error}").ok();
    }
}

/// Checks whether a command failed because nobody reads its output any more, as after `| head`.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Returns what this process may reach, according to its options.
fn build_outside(
    models: &ModelOptions,
    drive: &DriveOptions,
    public_url: Option<String>,
) -> anyhow::Result<ExternalServices> {
    let readers = models.readers()?;
    let connectors =
        connectors::all_connectors(&drive.settings(), readers.pages_and_files.clone())?;
    Ok(ExternalServices {
        readers,
        connectors,
        public_url,
    })
}

/// Sends the log of a command to standard error. The command has no traces.
fn log_to_stderr(filter: &str) -> anyhow::Result<()> {
    let traces = TraceSettings::default();
    telemetry::start(filter, telemetry::LogFormat::Text, &traces)?;
    Ok(())
}

/// Starts listening for Ctrl-C and SIGTERM. The future resolves when one of them arrives.
fn wait_for_interrupt() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
