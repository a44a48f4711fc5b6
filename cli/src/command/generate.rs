//! `recollect completions` and `recollect manual`: what is made from the description of the command
//! line.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::CommandFactory;
use clap_complete::generate;
use clap_mangen::Man;

use crate::arguments::{Cli, Completions, Manual};

/// The name of the program, by which a shell completes it.
const PROGRAM: &str = "recollect";

pub(super) fn print_completions(options: &Completions) -> Result<()> {
    // The generator panics if it cannot write, as when nobody reads.
    let mut script = Vec::new();
    generate(options.shell, &mut Cli::command(), PROGRAM, &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(())
}

pub(super) fn print_manual(options: &Manual) -> Result<()> {
    let mut command = Cli::command();
    command.build();
    for name in &options.command {
        command = match command.find_subcommand(name) {
            Some(subcommand) => subcommand.clone(),
            None => bail!(
                "there is no command {}; `recollect --help` lists them",
                options.command.join(" ")
            ),
        };
    }

    let source = format!("{PROGRAM} {}", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(command).source(source).render(&mut page)?;
    io::stdout().lock().write_all(&page)?;
    Ok(())
}
