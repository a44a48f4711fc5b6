//! `recollect open`: opens the server's page in the browser.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::output::{Outcome, Output, print_note};
use super::target::{OpenService, Purpose};
use crate::arguments::Open;

/// The program that opens an address in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

pub(super) async fn run_open(options: Open) -> Result<Outcome> {
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    if service.folder.is_some() {
        bail!("a browser needs a server; start one with `recollect serve`");
    }
    // The address was parsed as one of http or https, so it cannot be an option of the program.
    let address = format!("{}/", service.client.address());
    Output::stdout(false).print(&format!("{address}\n"))?;
    if options.print {
        return Ok(Outcome::Done);
    }

    let mut opener = Command::new(OPENER);
    opener.arg(&address).stdin(Stdio::null());
    let status = opener.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        print_note(&format!(
            "{OPENER} could not open it. Open the address yourself."
        ));
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Done)
}
