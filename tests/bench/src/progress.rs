//! Progress of long measurements on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Starts a bar of `steps` steps with the name of the work.
pub(crate) fn progress_bar(work: &'static str, steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64).with_message(work);
    match ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
