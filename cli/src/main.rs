//! The binary `recollect`.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_else(|| "recollect".to_owned());
    if arguments.next().as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return sandbox::child_main();
    }
    cli::run_command(cli::arguments::Cli::parse(), &program)
}
