//! Questions to the user.

use std::io::IsTerminal;

use anyhow::{Result, bail};
use console::Term;

/// Checks that there is somebody to ask.
///
/// # Errors
/// Fails if the command runs without a terminal, and says which option to add.
pub(in crate::command) fn check_terminal() -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    bail!("cannot ask here (no terminal); use --yes to skip the question");
}

/// Asks on the terminal whether to go on.
///
/// # Errors
/// Fails without a terminal.
pub(in crate::command) fn ask(question: &str) -> Result<bool> {
    check_terminal()?;
    let terminal = Term::stderr();
    terminal.write_str(&format!("{question} [y/N] "))?;
    let answer = terminal.read_line()?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
