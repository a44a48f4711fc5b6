//! The Lambda function `reader`.

use std::sync::Arc;

use reader::{LocalReader, Reader, answer_request};

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }

    let reader = Arc::new(LocalReader::in_child(std::env::current_exe()?));
    lambda::run_called(|| {
        let logged = reader.clone();
        tokio::spawn(async move { logged.log_isolation().await });
        move |request| {
            let reader = reader.clone();
            async move { answer_request(reader.as_ref(), request).await }
        }
    })?;

    Ok(std::process::ExitCode::SUCCESS)
}
