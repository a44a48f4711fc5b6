//! The binary `recollect`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return sandbox::child_main();
    }
    local::run(local::cli::Cli::parse())
}
