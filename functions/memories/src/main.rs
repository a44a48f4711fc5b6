//! The Lambda function `memories`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| Ok(memories::router(app, memories::LAMBDA_CACHE_BYTES)))
}
