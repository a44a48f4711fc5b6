//! The Lambda function `search`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app| search::router(app, search::LAMBDA_CACHE_BYTES))
}
