//! The log and the traces of a process. The log goes to a standard stream, and traces go to a
//! collector of OpenTelemetry if one is configured.

mod collector;
mod traces;

use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

pub use traces::{TraceSettings, Traces};

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines of text for people, on standard error. They have colours on a terminal.
    Text,
    /// A JSON object for each event, on standard error.
    Json,
    /// A JSON object for each event, on standard output. The time is left out, because the log
    /// service adds it.
    Lambda,
}

/// Starts the log and the traces of the process. `filter` chooses the events of the log, as in
/// `info` or `search=debug,warn`. Call it once, inside the runtime.
///
/// # Errors
/// Fails if the filter or a setting of the traces is invalid, and when it is called again.
pub fn start(filter: &str, format: LogFormat, traces: &TraceSettings) -> Result<Traces> {
    let traces = Traces::start(traces)?;
    let filter = EnvFilter::try_new(filter)
        .with_context(|| {
            format!("the log filter {filter}: a level or a list like search=debug,warn")
        })?
        // This crate logs whole messages, and with them what is remembered.
        .add_directive("rmcp=error".parse()?)
        // Spans are for traces. In the log, each line would repeat them.
        .add_directive(format!("{}=off", spans::TARGET).parse()?);

    let log = fmt::layer();
    let log = match format {
        LogFormat::Text => log
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal())
            .boxed(),
        LogFormat::Json => log.json().with_writer(io::stderr).with_ansi(false).boxed(),
        LogFormat::Lambda => log.json().without_time().with_ansi(false).boxed(),
    };
    tracing_subscriber::registry()
        .with(log.with_filter(filter))
        .with(traces.layer())
        .try_init()?;
    Ok(traces)
}
