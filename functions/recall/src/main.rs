//! The Lambda function `recall`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app| recall::router(app, recall::LAMBDA_CACHE_BYTES))
}
