//! The Lambda function `processor`.

use processor::Processor;
use sandbox::Sandbox;

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }
    let exe = std::env::current_exe()?;
    lambda::queue(|ctx| Processor::new(ctx, Sandbox::child(exe)))?;
    Ok(std::process::ExitCode::SUCCESS)
}
