//! Progress bars of commands.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar on standard error, hidden if that is not a terminal. `length` is 0 if it becomes known
/// later.
///
/// # Errors
/// Fails if the template cannot be read.
pub(super) fn progress_bar(template: &str, length: usize) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template(template)?.progress_chars("=> ");
    Ok(ProgressBar::new(u64::try_from(length)?).with_style(style))
}
