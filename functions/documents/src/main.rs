//! The Lambda function `documents`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app| documents::router(app, documents::LAMBDA_FILE_BYTES))
}
